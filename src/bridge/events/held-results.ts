import type { Clock } from '../../lib/clock.ts';
import type { ToldLeg } from './told-leg.ts';
import { Questions } from './questions.ts';
import { Speaker, type AddOn, type Final, type Redactor } from './redactor.ts';
import type { Result, WaitingResults } from '../records/timeline.ts';

type HeldResultsOptions = {
  redactor: Redactor;
  clock: Clock;
  /** Passes on a redacted result. Results leave in the order in which they arrived. */
  tell(leg: ToldLeg, result: Result): void;
  /**
   * Called when a bug of ours breaks the redaction of a result. The result is dropped so that it is not shown
   * unredacted; other results are not affected.
   */
  failed(error: unknown): void;
  /** Called when too many results wait. The new result is dropped. */
  refused(): void;
};

/**
 * At most this many results of one call wait for the language thread. Above that, the newest is refused and counted.
 */
export const maxHeldResults = 5_000;

export type LeftResults = { leg: ToldLeg; waiting: WaitingResults };

type Entry = { leg: ToldLeg; result: Result; order: number; redacted?: Result };

/**
 * The results of a call on their way through redaction. A final that may end with the beginning of a number waits for
 * the next final of its speaker, at most until its deadline. Results that arrive meanwhile wait behind it, so that
 * results leave in the order of the call.
 *
 *   result ──▶ line ──▶ redacted, one after the other ──▶ told from the front of the line
 *                           └─ held: until the next final, the deadline, a flush ─┘
 */
export class HeldResults {
  readonly #options: HeldResultsOptions;
  readonly #line: Entry[] = [];
  readonly #speakers = new Map<string, { speaker: Speaker; stopWaiting: () => void }>();
  readonly #questions = new Questions();
  /** Identities of results that came from the journal. If the service sends such a result again, it is ignored. */
  readonly #restored = new Set<string>();
  #last: Promise<unknown> = Promise.resolve();
  #order = 0;
  #closed = false;

  constructor(options: HeldResultsOptions) {
    this.#options = options;
    options.redactor.onFailure((error) => options.failed(error));
  }

  get isEmpty(): boolean {
    return this.#line.length === 0;
  }

  add(leg: ToldLeg, result: Result): void {
    if (this.#closed || this.#restored.has(identityOf(leg, result))) return;
    if (this.#line.length >= maxHeldResults) return this.#options.refused();
    this.#push({ leg, result, order: this.#order++ });
  }

  /**
   * Takes over results that an earlier process still held when it ended. They come before all new results of their
   * legs.
   */
  restore(legs: readonly LeftResults[]): void {
    const entries: Entry[] = [];
    for (const { leg, waiting } of legs) {
      this.#options.redactor.restoreUsed(waiting.used);
      for (const turn of waiting.asked ?? []) this.#questions.add(turn);
      for (const [channel, tail] of Object.entries(waiting.tails))
        this.#speakers.set(speakerKey(leg.record.id, Number(channel)), newSpeaker(tail));
      for (const { order, result } of waiting.results) entries.push({ leg, result, order });
    }
    for (const entry of entries.sort((one, other) => one.order - other.order)) {
      this.#restored.add(identityOf(entry.leg, entry.result));
      this.#push({ ...entry, order: this.#order++ });
    }
    for (const { leg } of legs) leg.audio.keepState();
  }

  /** Releases the results that wait, of one leg or of all, and resolves when they have been handed on. */
  async flush(leg?: ToldLeg): Promise<void> {
    const until = this.#order;
    const waits = (entry: Entry): boolean =>
      entry.order < until && (leg === undefined || isOf(leg.record.id, entry));
    // Results leave in the order of the call, so a final that another leg holds may stand before this leg's. All
    // speakers are therefore flushed, in a few rounds, because releasing one final can make add-ons after it ready.
    for (let round = 0; round < 4 && !this.#closed && this.#line.some(waits); round++) {
      for (const key of this.#speakers.keys()) this.#flushSpeaker(key);
      await this.#last;
    }
  }

  /** The held results for the leg's journal. Undefined if there are none. */
  waitingOf(legId: string): WaitingResults | undefined {
    const results = this.#line
      .filter((entry) => isOf(legId, entry))
      .map(({ order, result }) => ({ order, result }));
    const tails: Record<string, string> = {};
    for (const channel of [0, 1]) {
      const tail = this.#speakers.get(speakerKey(legId, channel))?.speaker.state.tail;
      if (tail !== undefined && tail !== '') tails[channel] = tail;
    }
    const { used } = this.#options.redactor;
    const asked = this.#questions.of(legId);
    return results.length + Object.keys(used).length + Object.keys(tails).length + asked.length ===
      0
      ? undefined
      : { results, tails, used, ...(asked.length === 0 ? {} : { asked }) };
  }

  /** Stops passing on results, because the call was erased or because the journal keeps them for the next process. */
  close(): void {
    this.#closed = true;
    for (const { stopWaiting } of this.#speakers.values()) stopWaiting();
  }

  #push(entry: Entry): void {
    this.#line.push(entry);
    this.#inOrder(async () => {
      try {
        await this.#look(entry);
      } catch (error) {
        this.#line.splice(this.#line.indexOf(entry), 1);
        throw error;
      } finally {
        this.#tellReady();
      }
      // The result is held or waits for a held one. It is written to the leg's journal before a crash can lose it.
      if (this.#line.includes(entry)) entry.leg.audio.keepState();
    });
  }

  #inOrder(work: () => Promise<void>): void {
    this.#last = this.#last
      .then(() => (this.#closed ? undefined : work()))
      .catch((error: unknown) => this.#options.failed(error));
  }

  async #look(entry: Entry): Promise<void> {
    const { leg, result } = entry;
    const key = speakerKey(leg.record.id, result.channel);
    let one = this.#speakers.get(key);
    if (one === undefined) this.#speakers.set(key, (one = newSpeaker()));
    if (result.type !== 'call.transcript') {
      // An add-on is redacted like its final, so it waits while that final is held.
      if (!one.speaker.holds(result)) await this.#addOn(entry, result, one.speaker);
      return;
    }
    const wasWaiting = one.speaker.held.length > 0;
    const { start, end, text } = result;
    const asked = this.#askedBefore(leg, key, result);
    this.#questions.add({ speaker: key, text, start, end });
    const { released, holdMs } = await this.#options.redactor.final(one.speaker, result, asked);
    await this.#released(leg, released);
    if (holdMs === 0) one.stopWaiting();
    // The deadline is that of the first held final. Further finals do not extend it.
    else if (!wasWaiting || one.speaker.held.length === 1) {
      one.stopWaiting();
      one.stopWaiting = this.#options.clock.after(holdMs, () => this.#flushSpeaker(key));
    }
  }

  #askedBefore(leg: ToldLeg, speaker: string, { channel, start, end }: Final): string[] {
    return this.#questions.before({ speaker, role: leg.roleOf(channel), start, end });
  }

  #flushSpeaker(key: string): void {
    const one = this.#speakers.get(key);
    if (one === undefined || one.speaker.held.length === 0) return;
    one.stopWaiting();
    this.#inOrder(async () => {
      const [first] = one.speaker.held;
      const entry = this.#line.find(({ result }) => result === first);
      const asked = entry && first && this.#askedBefore(entry.leg, key, first);
      const released = await this.#options.redactor.flush(one.speaker, asked);
      if (entry !== undefined) await this.#released(entry.leg, released);
      this.#tellReady();
    });
  }

  /** Passes on released finals and the add-ons that waited for them. */
  async #released(leg: ToldLeg, finals: readonly Final[]): Promise<void> {
    for (const redacted of finals) {
      const identity = identityOf(leg, redacted);
      const entry = this.#line.find(
        (its) => its.redacted === undefined && identityOf(its.leg, its.result) === identity,
      );
      if (entry !== undefined) entry.redacted = redacted;
    }
    for (const entry of this.#line) {
      const { result } = entry;
      if (entry.redacted !== undefined || result.type === 'call.transcript') continue;
      const legId = leg.record.id;
      const one = this.#speakers.get(speakerKey(legId, result.channel));
      if (one && isOf(legId, entry) && finals.some((final) => isAbout(result, final)))
        await this.#addOn(entry, result, one.speaker);
    }
  }

  async #addOn(entry: Entry, addOn: AddOn, speaker: Speaker): Promise<void> {
    entry.redacted = await this.#options.redactor.addOn(speaker, addOn);
  }

  #tellReady(): void {
    for (let first = this.#line[0]; first?.redacted && !this.#closed; first = this.#line[0]) {
      this.#options.tell(first.leg, first.redacted);
      this.#line.shift();
    }
  }
}

function newSpeaker(tail?: string): { speaker: Speaker; stopWaiting: () => void } {
  return { speaker: new Speaker(tail), stopWaiting: () => undefined };
}

function speakerKey(legId: string, channel: number): string {
  return `${legId} ${channel}`;
}

function isOf(legId: string, { leg }: Entry): boolean {
  return leg.record.id === legId;
}

function isAbout(addOn: AddOn, final: Final): boolean {
  return addOn.sessionId === final.sessionId && addOn.data.utterance_id === final.data.utterance_id;
}

function identityOf(leg: ToldLeg, { sessionId, type, key }: Result): string {
  return `${leg.record.id} ${sessionId} ${type} ${key}`;
}
