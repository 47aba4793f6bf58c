import type { LanguageRunner } from '../../language/runner.ts';
import { mayChange, tidied } from '../../language/text/tidy.ts';
import { withText, type FinalResult, type Result } from '../records/timeline.ts';
import type { ToldLeg } from './told-leg.ts';

type WrittenFinalsOptions = {
  language: LanguageRunner;
  callId: string;
  /** The calling code of the call's country. */
  callingCode(): string | undefined;
  /** Passes on a result. Results leave in the order in which they arrived. */
  tell(leg: ToldLeg, result: Result): void;
  failed(error: unknown): void;
  /** Called when too many results wait. The new result is dropped, and the session's record still has it. */
  refused(): void;
};

/** At most this many results of one call wait for a final before them to be written. Above that, the newest is refused. */
export const maxResultsWaiting = 5_000;

/**
 * Writes the numbers of finals as figures before the finals are told. Finals without numbers pass at once, unless an
 * earlier result still waits.
 */
export class WrittenFinals {
  readonly #options: WrittenFinalsOptions;
  #last: Promise<void> = Promise.resolve();
  #waiting = 0;

  constructor(options: WrittenFinalsOptions) {
    this.#options = options;
  }

  add(leg: ToldLeg, result: Result): void {
    const options = this.#options;
    if (this.#waiting === 0 && !isChanged(result)) return options.tell(leg, plainly(result));
    if (this.#waiting >= maxResultsWaiting) return options.refused();
    this.#waiting++;
    this.#last = this.#last
      .then(async () => options.tell(leg, await this.#written(result)))
      .catch((error: unknown) => options.failed(error))
      .finally(() => this.#waiting--);
  }

  /** Resolves when no result waits. */
  async settled(): Promise<void> {
    while (this.#waiting > 0) await this.#last;
  }

  async #written(result: Result): Promise<Result> {
    if (!isChanged(result)) return plainly(result);
    const { language, callId } = this.#options;
    const callingCode = this.#options.callingCode();
    const { text, language: spokenIn } = result.data;
    const block = await language.run(
      'written',
      { texts: [text], context: { language: spokenIn, callingCode } },
      { owner: callId },
    );
    return withText(result, block.results?.[0] ?? tidied(text, spokenIn));
  }
}

function isChanged(result: Result): result is FinalResult {
  return result.type === 'call.transcript' && mayChange(result.data.text);
}

function plainly(result: Result): Result {
  if (result.type !== 'call.transcript') return result;
  return withText(result, tidied(result.data.text, result.data.language));
}
