import type { Transaction } from 'kysely';
import { z } from 'zod';
import type { AssistMoment, Database } from '../../store/schema.ts';
import { round3 } from '../../lib/round.ts';

/** Speech under way is noted again after this many seconds of it. */
const speechStepS = 1;
/** A note of speech waits for the next result of the call for at most so long. Without one it gets a row of its own. */
const unwrittenSpeechS = 4;

/** At most this many results are remembered, more than a busy call of three hours has. Then the oldest go. */
const maxKnown = 20_000;

/** When a result reached the rules, and the speech that was under way before: `[when it was known, until when]`. */
export const HeardNote = z.object({
  ms: z.number(),
  speaking: z.array(z.tuple([z.number(), z.number()])).optional(),
});
export type HeardNote = z.infer<typeof HeardNote>;

export type Moment = Omit<AssistMoment, 'call_id' | 'language'> & { language?: string };

export async function insertMoment(
  tx: Transaction<Database>,
  callId: string,
  { language = null, ...moment }: Omit<Moment, 'language'> & { language?: string | null },
): Promise<void> {
  await tx
    .insertInto('assist_moments')
    .values({ call_id: callId, language, ...moment })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

type ArrivalsOptions = {
  /** The present time in seconds of the call. */
  nowS(): number;
  keep(moment: Moment): void;
};

/**
 * Notes when something reaches the rules of a call: each at a millisecond of its own, in order. Whoever hears the call
 * again brings everything in the same order, and the same seconds are judged in between.
 */
export class Arrivals {
  readonly #options: ArrivalsOptions;
  readonly #known = new Set<string>();
  #lastMs = -1;
  #spokenS = -speechStepS;
  #writtenS = 0;
  #speaking: [number, number][] = [];

  constructor(options: ArrivalsOptions) {
    this.#options = options;
  }

  /** The arrival of something now, in milliseconds of the call. */
  next(): number {
    this.#lastMs = Math.max(Math.round(this.#options.nowS() * 1_000), this.#lastMs + 1);
    return this.#lastMs;
  }

  /** Time has passed: what comes later is later. */
  passed(nowS: number): void {
    this.#lastMs = Math.max(this.#lastMs, Math.round(nowS * 1_000));
  }

  /** Takes over an arrival that an earlier process noted. */
  restored(heardS: number, key?: string): void {
    this.passed(heardS);
    if (key !== undefined) this.#remember(key);
  }

  /** The arrival of a result, with what was not written yet. Undefined if it came before. */
  ofResult(key: string, endS: number): HeardNote | undefined {
    if (this.#known.has(key)) return undefined;
    this.#remember(key);
    const speaking = this.#speaking;
    this.#speaking = [];
    this.#spokenS = Math.max(this.#spokenS, endS);
    this.#writtenS = this.#options.nowS();
    const ms = this.next();
    return speaking.length === 0 ? { ms } : { ms, speaking };
  }

  #remember(key: string): void {
    this.#known.add(key);
    for (const oldest of this.#known) {
      if (this.#known.size <= maxKnown) break;
      this.#known.delete(oldest);
    }
  }

  /** The arrival of a moment that is no result, and gets a row. */
  ofMoment(kind: Moment['kind'], atS: number, language?: string): number {
    const heard_ms = this.next();
    this.#options.keep({ heard_ms, kind, at_ms: Math.round(atS * 1_000), ...(language === undefined ? {} : { language }) }); // prettier-ignore
    return heard_ms;
  }

  /** Writes what waits for the next result: a hit is told that depends on it, and a kill would lose it. */
  write(): void {
    for (const [heard_ms, at_ms] of this.#speaking) this.#options.keep({ heard_ms, kind: 'speaking', at_ms }); // prettier-ignore
    this.#speaking = [];
  }

  /** The arrival of speech under way, and its time as it is noted. Undefined where it says little that is new. */
  ofSpeech(atS: number): { heard: number; at: number } | undefined {
    if (atS < this.#spokenS + speechStepS) return undefined;
    const at = round3(atS);
    this.#spokenS = at;
    const nowS = this.#options.nowS();
    if (nowS - this.#writtenS >= unwrittenSpeechS) {
      this.#writtenS = nowS;
      return { heard: this.ofMoment('speaking', at), at };
    }
    const heard = this.next();
    this.#speaking.push([heard, Math.round(at * 1_000)]);
    return { heard, at };
  }
}
