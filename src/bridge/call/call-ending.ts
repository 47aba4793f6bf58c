import { valueContextOf } from '../records/value-context.ts';
import { wait } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import { Role, type CallEventData, type EndReason, type Turn } from '../../protocol/events.ts';
import type { CallEvents } from '../events/call-events.ts';
import {
  gapsOf,
  incompleteFrom,
  legsOf,
  pausesOf,
  shortGapsOf,
  turnsOf,
  type LegRow,
} from '../events/call-rows.ts';
import type { LegOutcome } from '../leg/leg-audio.ts';
import type { CallEnvironment } from './environment.ts';
import { completedData, endedCallOf } from './completed.ts';
import { fitted } from './long-call.ts';
import type { CallLeg } from './call-leg.ts';
import type { GapSpan, Span } from '../records/incomplete.ts';
import { callLength, legDurationS, lengthOf } from './length.ts';
import type { CallLength, CallRecord } from '../records/call-record.ts';
import type { CallInput, CallState, Deadline } from './call-state.ts';
import { talkOf } from './statistics.ts';
import { conversationOf, noSummary, summaryAndWrapUp, type CallConversation } from './summary.ts';

type CallEndingOptions = {
  env: CallEnvironment;
  record: CallRecord;
  events: CallEvents;
  log: Logger;
  /** The language of the last final: the summary is written in it. */
  languageCode: () => string;
  legs: () => readonly CallLeg[];
  state: () => CallState;
  isWithdrawn: () => boolean;
  take: (input: CallInput) => void;
  /** Called when the summary and `call.completed` are durable as well. The call is then completely finished. */
  over: () => void;
};

type Finishing = Extract<CallState, { at: 'finishing' }>;
type Ending = Extract<CallState, { at: 'ending' }>;

/**
 * Carries out the last part of a call: the legs finish, missing audio and missing words are declared as gaps,
 * `call.ended` is committed once, then the summary with `call.completed`. How far the end has come is in the call's state, not here.
 */
export class CallEnding {
  readonly #options: CallEndingOptions;

  constructor(options: CallEndingOptions) {
    this.#options = options;
  }

  /**
   * Both waits count from the hang-up, so neither the wait for a lost stream nor a restart lengthens them. If the clock
   * was set back since then, the elapsed time counts as zero.
   */
  finishLegs({ reason, hungUpAt }: Finishing): void {
    const { env, events, legs } = this.#options;
    const { startedAt } = this.#options.record;
    const audioS = Math.max(0, ...legs().map((leg) => leg.positionS()));
    events.knowLength(callLength({ startedAt, hungUpAt, reason, audioS }));
    events.hungUp(hungUpAt, reason);
    const finalsMs = env.config.finalsWaitMs;
    const passedMs = Math.max(0, env.clock.now() - hungUpAt);
    const withinMs = Math.max(finalsMs, env.config.finishWithinMs - passedMs);
    for (const leg of legs()) if (!leg.isDone) this.#finishLeg(leg, finalsMs, withinMs);
  }

  end(state: Ending): void {
    this.#inBackground(() => this.#end(state));
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
        // A leg that fails to finish must not keep the call open for ever.
        log.error({ err: error, legId: leg.record.id }, 'leg failed to finish');
        this.#legDone(leg, { finals: 'late' });
      },
    );
  }

  #legDone(leg: CallLeg, { finals }: Pick<LegOutcome, 'finals'>): void {
    const { events, log, state, take } = this.#options;
    if (state().at === 'left') return;
    if (finals === 'late') {
      take({ type: 'deadline-passed', deadline: 'finals' });
      // Bytes that were never sent are declared in a gap of their own. The gap here is for words that never came back.
      const { lost } = leg;
      const end =
        lost !== undefined && lost.end >= leg.positionS() - 0.001 ? lost.start : leg.positionS();
      const start = Math.max(leg.heardUntilS, leg.offsetS ?? 0);
      if (this.#deadline === 'finals' && end > start) {
        const detail = 'the last finals did not come in time';
        events.gap(leg, { cause: 'deadline', start, end, bytes: 0, detail });
        log.warn(
          { legId: leg.record.id, fromS: start, toS: end },
          `${detail}: TRUNKLINE_FINALS_WAIT_MS sets the longest wait`,
        );
      }
    }
    leg.isDone = true;
    this.#checkLedger(leg);
    void events.legSettled(leg);
    take({ type: 'leg-done', leg: leg.record.id });
  }

  get #deadline(): Deadline | null {
    const state = this.#options.state();
    return state.at === 'finishing' ? state.deadline : null;
  }

  /** A ledger that does not balance is a bug of ours. It is logged for the operator, and the call still ends. */
  #checkLedger(leg: CallLeg): void {
    const { events, log } = this.#options;
    const ledger = leg.audio.ledger();
    if (isBalanced(ledger)) return;
    log.error({ legId: leg.record.id, ledger }, 'audio of a leg is unaccounted for');
    const what = 'received is not acknowledged + gaps + paused';
    events.warn('LEDGER_UNBALANCED', `leg ${leg.record.id}: ${what}`);
  }

  async #end({ reason, hungUpAt, deadline }: Ending): Promise<void> {
    const { env, record, events, take } = this.#options;
    const { db } = env.store;
    await events.settled();
    const facts = await this.#untilRead(async () => ({
      turns: await turnsOf(db, record.id),
      legs: await legsOf(db, record.id),
      gaps: await gapsOf(db, record.id),
      shortGaps: await shortGapsOf(db, record.id),
      pauses: await pausesOf(db, record.id),
    }));
    if (facts === undefined) return;
    const endedAt = env.clock.now();
    const { startedAt } = record;
    const row = { started_at: startedAt, hung_up_at: hungUpAt, end_reason: reason };
    const length = lengthOf(row, facts.legs);
    if (length === undefined) return;
    events.knowLength(length);
    const data = endedData({ ...facts, reason, length, endedAt, deadline });
    const hasRecording = env.recording && facts.legs.some((leg) => leg.received > 0);
    const { turns } = facts;
    if (await events.ended(data, hungUpAt, endedAt, { hasRecording, turns }))
      take({ type: 'committed' });
  }

  async #summarise(): Promise<void> {
    const { env, record, events, over } = this.#options;
    const { db } = env.store;
    // Withdrawn audio is deleted before the summary is committed. After a crash in between, the next start repeats this
    // step.
    if (this.#options.isWithdrawn()) await this.#untilRead(() => env.eraseAudio(record.id));
    // The speech service has the unredacted words. By now all results of the call are stored here, so the sessions at
    // the service can be erased.
    if (env.config.redactEntities.length > 0)
      await this.#untilRead(() => env.eraseSessions(record.id));
    // Words are covered before the summary's commit, which allows the recording to leave for the object store. A call
    // also has words to cover if redaction was switched off while it ran.
    await this.#untilRead(() => env.coverAudio(record.id));
    const facts = await this.#untilRead(async () => ({
      conversation: await conversationOf(db, record.id),
      ended: await endedCallOf(db, record.id),
    }));
    if (facts?.ended === undefined) return; // the call was left or erased
    const { conversation, ended } = facts;
    const made = await this.#summaryOf(conversation);
    const summary = { ...made.summary, incomplete: incompleteFrom(ended.row.incomplete) };
    const now = env.clock.now();
    const links = env.links.linksOf(record.id, now);
    const transcriptUrl = env.links.transcriptUrl(record.id, now);
    const completed = completedData({ record, ended, summary, links });
    const { secondPasses, wrapUps } = env;
    const isDone = await events.summarised(
      fitted(summary, transcriptUrl),
      fitted(completed, transcriptUrl),
      async (tx) => {
        await secondPasses.order(tx, record.id);
        if (made.wrapUp !== undefined)
          await wrapUps.keep(tx, record.id, made.wrapUp, summary.summary.text);
      },
    );
    if (!isDone && this.#options.state().at === 'left') return;
    secondPasses.wake();
    wrapUps.wake();
    events.changed();
    await events.settled(); // events that could not be stored cause a warning, which is written after the last event
    over();
  }

  /**
   * Reading the conversation is retried. Making the summary is not, because it would fail again in the same way; the
   * event then reports the failure.
   */
  async #summaryOf(
    conversation: CallConversation,
  ): Promise<Awaited<ReturnType<typeof summaryAndWrapUp>>> {
    const { env, log } = this.#options;
    const { summaryType: type, summaryWaitMs: deadlineMs } = env.config;
    try {
      const languageCode = this.#options.languageCode();
      const made = await summaryAndWrapUp(conversation, {
        language: env.language,
        callId: this.#options.record.id,
        type,
        languageCode,
        deadlineMs,
        about: valueContextOf(this.#options.record),
      });
      if (made.wrapUp === undefined) return made;
      return { ...made, wrapUp: await env.wrapUps.suggested(made.wrapUp, conversation.turns) };
    } catch (error) {
      log.error({ err: error }, 'the summary of a call could not be made and was given up');
      return { summary: noSummary(conversation.turns, type, 'the summary could not be made') };
    }
  }

  /** Retries a read that fails because of the store, until this process stops handling the call. */
  async #untilRead<T>(read: () => Promise<T>): Promise<T | undefined> {
    const { env, log, state } = this.#options;
    for (let attempt = 0; state().at !== 'left'; attempt++) {
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

  /** A bug here must end neither the process nor other calls. The next start of the process continues the call. */
  #inBackground(work: () => Promise<void>): void {
    work().catch((error: unknown) => {
      this.#options.log.error({ err: error }, 'unexpected error at the end of a call');
    });
  }
}

type EndedFacts = {
  reason: EndReason;
  length: CallLength;
  endedAt: number;
  deadline: Deadline | null;
  gaps: readonly GapSpan[];
  shortGaps: CallEventData<'call.ended'>['short_gaps'];
  pauses: readonly Span[];
  legs: readonly LegRow[];
  turns: readonly Turn[];
};

/** The data of `call.ended`: every leg with its ledger, and statistics of the conversation. Pure. */
function endedData(facts: EndedFacts): CallEventData<'call.ended'> {
  const legs = facts.legs.map((leg) => ({
    id: leg.id,
    role: Role.safeParse(leg.role).data ?? 'customer',
    track: leg.track,
    duration: legDurationS(leg),
    ledger: ledgerOf(leg),
  }));
  return {
    reason: facts.reason,
    hung_up_at: new Date(facts.length.hungUpAt).toISOString(),
    ended_at: new Date(facts.endedAt).toISOString(),
    deadline: facts.deadline,
    legs,
    ...talkOf(facts),
    gap_count: facts.gaps.length,
    short_gaps: facts.shortGaps,
    reconnects: facts.legs.reduce((sum, leg) => sum + leg.reconnects, 0),
  };
}

type LedgerParts = { received: number; acknowledged: number; gaps: number; paused: number };

/** True if every received byte of a finished leg was acknowledged, lies in a declared gap, or was paused. */
export function isBalanced(ledger: LedgerParts): boolean {
  return ledger.received === ledger.acknowledged + ledger.gaps + ledger.paused;
}

function ledgerOf({ received, acknowledged, gaps, paused, filler }: LegRow) {
  return { received, acknowledged, gaps, paused, filler };
}
