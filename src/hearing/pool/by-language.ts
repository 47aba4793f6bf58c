import type {
  Recogniser,
  RecogniserEvent,
  RecogniserStatus,
  RecogniserStreamOptions,
  StreamAdmission,
} from '../recogniser.ts';

type WantedLanguages = Pick<RecogniserStreamOptions, 'languages'>;

type ByLanguageParts = {
  /** Reads what its model covers, and everything if the other model is not installed. */
  first: Recogniser;
  /** Reads the other languages, and detects languages. */
  others: Recogniser;
  /** True if the model of `others` is installed. */
  isInstalled: () => boolean;
};

/** Covered before the model is there: nobody knows its languages yet. */
const usual = ['en'];

/**
 * Two recognisers as one. The request's languages decide which of them reads a stream. They share one machine, so a
 * stream of one takes away room of the other.
 */
export class ByLanguage implements Recogniser {
  readonly #parts: ByLanguageParts;

  constructor(parts: ByLanguageParts) {
    this.#parts = parts;
  }

  get mostProcesses(): number {
    return this.#parts.first.mostProcesses;
  }

  status(): RecogniserStatus {
    const { first, others, isInstalled } = this.#parts;
    const own = first.status();
    if (!isInstalled()) return own;
    const beside = others.status();
    const languages =
      own.model === null ? [] : [...new Set([...own.languages, ...beside.languages])];
    return { ...own, languages, streams: own.streams + beside.streams };
  }

  admits(
    wanted: WantedLanguages,
    streams: number,
  ): Exclude<StreamAdmission, { outcome: 'admitted' }> | { outcome: 'admitted' } {
    const { first, others } = this.#parts;
    const [target, other] = this.#isForOthers(wanted) ? [others, first] : [first, others];
    const admission = target.admits(wanted, streams);
    if (admission.outcome !== 'admitted' || !this.#parts.isInstalled()) return admission;
    const [own, beside] = [target.status(), other.status()];
    const share = (own.streams + streams) / own.capacity + beside.streams / beside.capacity;
    if (beside.streams === 0 || share <= 1) return admission;
    return {
      outcome: 'at-capacity',
      detail: `${own.streams + beside.streams} channels are in use, in several languages, and leave no room for ${streams} more`,
      retryAfterS: 5,
    };
  }

  open(
    options: RecogniserStreamOptions,
    onEvent: (event: RecogniserEvent) => void,
  ): StreamAdmission {
    const { first, others } = this.#parts;
    return (this.#isForOthers(options) ? others : first).open(options, onEvent);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#parts.others[Symbol.asyncDispose]();
    await this.#parts.first[Symbol.asyncDispose]();
  }

  /** Detection needs the model that knows many languages, unless the first model covers all that may be spoken. */
  #isForOthers({ languages }: WantedLanguages): boolean {
    const { first, others, isInstalled } = this.#parts;
    if (!isInstalled()) return false;
    const known = first.status().languages;
    const covered = known.length > 0 ? known : usual;
    if (languages.length === 0) return covered.length === 1;
    if (languages.every((language) => covered.includes(language))) return false;
    return others.status().languages.some((language) => languages.includes(language));
  }
}
