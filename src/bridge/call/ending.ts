import { wait } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import type { EndReason } from '../../protocol/events.ts';
import { endedData, isBalanced } from './call-ended.ts';
import type { CallEnvironment } from './environment.ts';
import type { CallLeg } from './leg.ts';
import type { CallRecord } from './record.ts';
import { gapsOf, legsOf, turnsOf } from '../events/call-rows.ts';
import type { CallEvents } from '../events/call-events.ts';
import { summaryOf } from './summary.ts';
import type { LegOutcome } from '../leg/leg-audio.ts';

export type CallEndingOptions = {
  env: CallEnvironment;
  record: CallRecord;
  events: CallEvents;
  log: Logger;
  /** What was spoken last: the summary is written in it. */
  languageCode: () => string;
  legs: () => readonly CallLeg[];
  isLeft: () => boolean;
  legDone: (legId: string) => void;
  /** `call.ended` is durable. */
  committed: () => void;
  /** The summary is durable too: nothing more will come of this call. */
  over: () => void;
};

/** The last part of a call: legs finish, what is missing is declared, the end is told once, then the summary. */
export class CallEnding {
  /** When the last stream ended, unless one came back after that. */
  hungUpAt: number | undefined;
  /** The wait that ran out before every final was there. */
  deadline: string | null = null;
  readonly #options: CallEndingOptions;

  constructor(options: CallEndingOptions) {
    this.#options = options;
  }

  /** The wait for a stream and a restart count from the hang-up; a clock that was set back makes it no longer. */
  finishLegs(reason: EndReason): void {
    const { env, events, legs } = this.#options;
    const now = env.clock.now();
    const hungUpAt = (this.hungUpAt ??= now);
    events.hungUp(hungUpAt, reason);
    const finalsMs = env.config.finalsWaitMs;
    const passedMs = Math.max(0, now - hungUpAt);
    const withinMs = Math.max(finalsMs, env.config.finishWithinMs - passedMs);
    for (const leg of legs()) if (!leg.isDone) this.#finishLeg(leg, finalsMs, withinMs);
  }

  end(reason: EndReason): void {
    this.#inBackground(() => this.#end(reason));
  }

  summarise(): void {
    this.#inBackground(() => this.#summarise());
  }

  #finishLeg(leg: CallLeg, finalsMs: number, withinMs: number): void {
    const { events, log } = this.#options;
    const settled = (): Promise<boolean> => events.legSettled(leg);
    leg.audio.finish({ finalsMs, withinMs, settled }).then(
      (outcome) => this.#legDone(leg, outcome),
      (error: unknown) => {
        // A leg that cannot even finish must not keep the call from ending (F68).
        log.error({ err: error, legId: leg.record.id }, 'leg failed to finish');
        this.#legDone(leg, { finals: 'late' });
      },
    );
  }

  #legDone(leg: CallLeg, { finals }: Pick<LegOutcome, 'finals'>): void {
    const { events, log, isLeft, legDone } = this.#options;
    if (isLeft()) return;
    if (finals === 'late') this.deadline ??= 'finals';
    // Bytes that never went out have their own gap; this one is for words that never came back.
    const end = leg.positionS();
    const start = Math.max(leg.heardUntilS, leg.offsetS ?? 0);
    if (this.deadline === 'finals' && finals === 'late' && end > start) {
      const detail = 'the last finals did not come in time';
      events.gap(leg, { cause: 'deadline', start, end, bytes: 0, detail });
      log.warn(
        { legId: leg.record.id, fromS: start, toS: end },
        `${detail}: TRUNKLINE_FINALS_WAIT_MS is how long they are waited for`,
      );
    }
    leg.isDone = true;
    this.#checkBooks(leg);
    void events.legSettled(leg);
    legDone(leg.record.id);
  }

  #checkBooks(leg: CallLeg): void {
    const { events, log } = this.#options;
    const ledger = leg.audio.ledger();
    if (isBalanced(ledger)) return;
    log.error({ legId: leg.record.id, ledger }, 'audio of a leg is unaccounted for');
    const what = 'received is not acknowledged + gaps + paused';
    events.warn('LEDGER_UNBALANCED', `leg ${leg.record.id}: ${what}`);
  }

  async #end(reason: EndReason): Promise<void> {
    const { env, record, events, committed } = this.#options;
    const { db } = env.store;
    await events.settled();
    const facts = await this.#untilRead(async () => ({
      turns: await turnsOf(db, record.id),
      legs: await legsOf(db, record.id),
      gaps: await gapsOf(db, record.id),
    }));
    if (facts === undefined) return;
    const endedAt = env.clock.now();
    const hungUpAt = this.hungUpAt ?? endedAt;
    const { startedAt } = record;
    const { deadline } = this;
    const data = endedData({ ...facts, reason, startedAt, hungUpAt, endedAt, deadline });
    const hasRecording = env.recording && facts.legs.some((leg) => leg.received > 0);
    if (await events.ended(data, hungUpAt, endedAt, hasRecording)) committed();
  }

  async #summarise(): Promise<void> {
    const { env, record, events, over } = this.#options;
    const { store, language, config } = env;
    const data = await this.#untilRead(() =>
      summaryOf({
        db: store.db,
        language,
        callId: record.id,
        type: config.summaryType,
        languageCode: this.#options.languageCode(),
        deadlineMs: config.summaryWaitMs,
      }),
    );
    if (data === undefined || !(await events.summarised(data))) return;
    events.changed();
    over();
  }

  /** Reads that fail with the store are tried again until the call is left. */
  async #untilRead<T>(read: () => Promise<T>): Promise<T | undefined> {
    const { env, log, isLeft } = this.#options;
    for (let attempt = 0; !isLeft(); attempt++) {
      try {
        return await read();
      } catch (error) {
        log.error({ err: error, attempt }, 'call could not be read');
        const delayMs = Math.min(5_000, 100 * 2 ** attempt);
        await wait(env.clock, delayMs);
      }
    }
    return undefined;
  }

  /** A fault of ours leaves the call as its rows say; the next start takes it up again (F68, F71). */
  #inBackground(work: () => Promise<void>): void {
    work().catch((error: unknown) => {
      this.#options.log.error({ err: error }, 'unexpected error at the end of a call');
    });
  }
}
