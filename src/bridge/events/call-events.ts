import type { Transaction } from 'kysely';
import { articlesAsPlaybook, type Hit } from '../../assist/hits.ts';
import type { RuleSet } from '../../assist/rule-set.ts';
import type { Said } from '../records/timeline.ts';
import { within, type Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import { round3 } from '../../lib/round.ts';
import type { StoredEvent } from '../../outbox/enqueue.ts';
import type { CallEventData, EndReason, Turn } from '../../protocol/events.ts';
import type { Database } from '../../store/schema.ts';
import type { Store } from '../../store/store.ts';
import type { LegRecord } from '../records/leg-record.ts';
import { insertFoundHit, keepContentKeys } from './content-keys.ts';
import { eventLeg, type ToldLeg } from './told-leg.ts';
import type { CallLength, CallRecord } from '../records/call-record.ts';
import {
  forgetLegStates,
  insertLeg,
  insertPartyKeys,
  insertStream,
  keepAgent,
  keepHidden,
  keepLanguages,
  languagesToKeep,
  keepShortGaps,
  updateCall,
  updateLeg,
  wordsInRow,
} from './call-rows.ts';
import type { SpeakersData } from '../../protocol/live-messages.ts';
import { Assistance } from './assistance.ts';
import type { CallKnowledge } from './knowledge-cards.ts';
import { CallSpeakers } from './voice-labels.ts';
import { codeOf, CommitQueue, type Draft } from './commit-queue.ts';
import type { Gap } from '../records/gap.ts';
import { HeldGaps } from './held-gaps.ts';
import { HeldResults, type LeftResults } from './held-results.ts';
import type { LegSession } from '../records/leg-record.ts';
import type { LiveFeed } from '../live-feed.ts';
import type { BridgeConfig } from '../config.ts';
import { bridgeMetrics } from '../metrics.ts';
import type { CallLease } from '../records/lease.ts';
import { EntityJoiner } from './entity-joiner.ts';
import type { Redactor } from './redactor.ts';
import { WrittenFinals } from './written-finals.ts';
import type { LanguageRunner } from '../../language/runner.ts';
import { valueContextOf } from '../records/value-context.ts';
import {
  isNeutral,
  isNothing,
  toldOf,
  type Result,
  type WaitingResults,
} from '../records/timeline.ts';

type CallEventsOptions = {
  config: Pick<BridgeConfig, 'neutralSentiment' | 'agentSentiment'>;
  record: CallRecord;
  store: Store;
  feed: LiveFeed;
  clock: Clock;
  /** The present time in seconds of the call. */
  nowS(): number;
  log: Logger;
  redactor: Redactor | undefined;
  language: LanguageRunner;
  /** The playbooks. The call keeps those that it begins with. */
  playbooks: { readonly current: RuleSet };
  knowledge?: CallKnowledge | undefined;
  /** Pauses the call for so many seconds, because a rule says so. */
  pause(seconds: number): void;
  /** Hears the call in another language from now on, because a rule says so. */
  speakIn(language: string): void;
  lease: CallLease;
  share?: ((tx: Transaction<Database>) => Promise<void>) | undefined;
  wakeOutbox(): void;
  onLeaseLost(): void;
};

/** At most this many warnings are stored with one call. Later ones are only logged and counted. */
export const maxWarnings = 100;
/** At the end of a call here, its entities may take this long to be joined, so that the journal contains them. */
const joinedWithinMs = 5_000;

type Warning = { code: string; message: string; at: string };

/**
 * Writes every event of one call in the order in which things happened, with its rows in the same transaction.
 * Nothing else writes the rows of a running call.
 */
export class CallEvents {
  readonly counts: Record<string, number> = {};
  readonly #options: CallEventsOptions;
  readonly #commits: CommitQueue;
  readonly #warnings: Warning[] = [];
  readonly #held: HeldResults | undefined;
  readonly #gaps: HeldGaps;
  readonly #entities: EntityJoiner;
  readonly #written: WrittenFinals;
  readonly #speakers = new CallSpeakers();
  readonly assistance: Assistance;
  #length: CallLength | undefined;

  constructor(options: CallEventsOptions) {
    this.#options = options;
    this.#commits = new CommitQueue({
      ...options,
      length: () => this.#length,
      onCommitted: (events) => this.#committed(events),
      onRefused: () => this.count('uncommitted'),
      onSetAside: (draft, error) => this.#setAside(draft, error),
    });
    const { redactor, clock, log, language, record } = options;
    this.#entities = new EntityJoiner({
      language,
      callId: record.id,
      about: () => valueContextOf(record),
      failed: (error) => {
        this.count('bug');
        log.error({ err: error }, 'the entities of an utterance could not be stored');
      },
    });
    this.assistance = new Assistance({
      set: options.playbooks.current,
      ...{ record, knowledge: options.knowledge, now: () => this.#now, nowS: () => options.nowS() },
      keep: (rows) => void this.#commits.add({ rows }),
      tell: (hit, said) => this.#addHit(hit, said),
      pause: (seconds) => options.pause(seconds),
      speakIn: (language) => options.speakIn(language),
      failed: (error) => {
        this.count('bug');
        log.error({ err: error }, 'the rules of playbooks failed on a result');
      },
    });
    this.#written = new WrittenFinals({
      language,
      callId: record.id,
      callingCode: () => valueContextOf(record).callingCode,
      tell: (leg, result) => this.#addResult(leg, result),
      failed: (error) => {
        this.count('bug');
        log.error({ err: error }, 'a result could not be told');
      },
      refused: () => this.count('unwritten'),
    });
    this.#gaps = new HeldGaps({ clock, tell: (leg, gap) => this.#addGap(leg, gap) });
    this.#held =
      redactor &&
      new HeldResults({
        redactor,
        clock,
        tell: (leg, result) => this.#addResult(leg, result),
        failed: (error) => {
          this.count('bug');
          log.error({ err: error }, 'a result could not be redacted and is not told');
        },
        refused: () => this.count('unredacted'),
      });
  }

  get #id(): string {
    return this.#options.record.id;
  }

  get #now(): number {
    return this.#options.clock.now();
  }

  /** Tells watchers to read the call again. */
  changed(): void {
    this.#options.feed.publish({ kind: 'call', callId: this.#id });
  }

  count(what: string): void {
    this.counts[what] = (this.counts[what] ?? 0) + 1;
    bridgeMetrics.oddities.inc({ what });
  }

  /** Stores a warning. With `told`, receivers also get it as an event, in its place in the order. */
  warn(code: string, message: string, told = false): void {
    this.#options.log.warn({ code }, 'call has a warning');
    bridgeMetrics.warnings.inc({ code });
    if (this.#warnings.length >= maxWarnings) return;
    this.#warnings.push({ code, message, at: new Date(this.#now).toISOString() });
    const warnings = JSON.stringify(this.#warnings);
    const said: Said = { type: 'call.warning', data: { code, message } };
    void this.#commits.add({
      ...(told ? { event: { said, occurredAt: this.#now } } : {}),
      rows: (tx) => updateCall(tx, this.#id, { warnings }),
    });
  }

  streamOpened(
    id: string,
    carrierStreamId: string,
    newLegs: readonly LegRecord[],
  ): Promise<boolean> {
    const openedAt = this.#now;
    return this.#commits.add({
      rows: async (tx) => {
        for (const leg of newLegs) await insertLeg(tx, this.#id, leg);
        await insertStream(tx, { id, callId: this.#id, carrierStreamId, openedAt });
      },
    });
  }

  streamClosed(id: string, reason: string): void {
    const closed_at = this.#now;
    void this.#commits.add({
      rows: async (tx) => {
        await tx
          .updateTable('streams')
          .set({ closed_at, end_reason: reason })
          .where('id', '=', id)
          .execute();
      },
    });
  }

  sessionOpened(leg: LegRecord, session: LegSession): void {
    const opened_at = this.#now;
    void this.#commits.add({
      rows: async (tx) => {
        await tx
          .insertInto('leg_sessions')
          .values({
            id: session.id,
            leg_id: leg.id,
            call_id: this.#id,
            offset_s: session.offsetS,
            opened_at,
          })
          .onConflict((conflict) => conflict.doNothing())
          .execute();
        await tx
          .updateTable('legs')
          .set({ session_id: session.id })
          .where('id', '=', leg.id)
          .execute();
      },
    });
  }

  /**
   * Stores where the leg's first byte lies on the call's clock. The first leg of a call also stores the clock's zero.
   */
  legPlaced(leg: ToldLeg, zeroAt: number | undefined): void {
    const offset_ms = Math.round((leg.offsetS ?? 0) * 1_000);
    void this.#commits.add({
      rows: async (tx) => {
        await tx.updateTable('legs').set({ offset_ms }).where('id', '=', leg.record.id).execute();
        if (zeroAt !== undefined) await updateCall(tx, this.#id, { zero_at: zeroAt });
      },
    });
  }

  /**
   * Writes one event for one result. The service may repeat a result; its identity in `leg_results` shows the
   * repetition, which is dropped.
   */
  result(leg: ToldLeg, result: Result): void {
    if (result.type === 'call.transcript') this.#entities.heard(leg, result);
    if (result.type === 'call.entities')
      this.#entities.join(leg, result, (joined) => {
        if (!isNothing(joined)) this.#take(leg, joined);
      });
    else this.#take(leg, result);
  }

  #take(leg: ToldLeg, result: Result): void {
    if (this.#held === undefined) this.#written.add(leg, result);
    else this.#held.add(leg, result);
  }

  /** The results of a leg that are held back and not sent as events yet, for the leg's journal. */
  waitingOf(legId: string): WaitingResults | undefined {
    const gaps = this.#gaps.waitingOf(legId);
    const results = this.#held?.waitingOf(legId);
    if (gaps === undefined) return results;
    return { ...(results ?? { results: [], tails: {}, used: {} }), gaps };
  }

  /** Takes over results that an earlier process had received and not yet sent as events. */
  restoreResults(left: readonly LeftResults[]): void {
    for (const { leg, waiting } of left)
      if (waiting.gaps !== undefined) this.#gaps.restore(leg, waiting.gaps);
    if (this.#held !== undefined) return this.#held.restore(left);
    for (const { leg, waiting } of left)
      for (const { result } of waiting.results) this.#written.add(leg, result);
  }

  /**
   * Resolves when no entities wait to be joined and no final to be written, or after some seconds. Those that wait are
   * in no journal.
   */
  async joined(): Promise<void> {
    await within(this.#options.clock, joinedWithinMs, this.#passedOn());
  }

  /** Resolves when every result has been handed to the redaction or to the store. */
  async #passedOn(): Promise<void> {
    await this.#entities.settled();
    await this.#written.settled();
    await this.assistance.settled();
  }

  /**
   * Stops holding back results and gaps. Those that were not sent as events stay in the journal for the next process.
   */
  stopHolding(): void {
    this.#held?.close();
    this.#gaps.close();
  }

  #addResult(leg: ToldLeg, result: Result): void {
    const { type, key, sessionId, channel, start, end, text, spoken } = result;
    const { id: legId, track } = leg.record;
    const role = leg.roleOf(channel);
    const { neutralSentiment, agentSentiment } = this.#options.config;
    // Feelings come in here alone: what is dropped is in no row, event or page.
    if (!agentSentiment && type === 'call.sentiment' && role !== 'customer') return;
    const event = {
      said: toldOf(result, legId),
      occurredAt: this.#now,
      speechEndedAt: type === 'call.transcript' ? this.#wallTimeOf(end) : undefined,
      leg: { id: legId, role, track, session_id: sessionId, language: leg.language.of(channel) },
    };
    const heard = this.assistance.arrival(leg, result);
    const isQuiet = !neutralSentiment && isNeutral(result);
    void this.#commits.add({
      identity: {
        ...{ legId, sessionId, kind: type, key, role, start, end },
        text,
        spoken,
        heard: heard && JSON.stringify(heard),
        ...(type === 'call.transcript' ? { speaker: () => this.#speakers.of(sessionId, key) } : {}),
      },
      ...(isQuiet ? {} : { event }),
      ...(result.hidden === undefined
        ? {}
        : { rows: (tx) => keepHidden(tx, this.#id, leg, result) }),
    });
    if (type === 'call.transcript') bridgeMetrics.finals.inc();
    if (heard !== undefined) this.assistance.take(leg, result, heard);
  }

  #addHit(hit: Hit, said: readonly Said[]): void {
    const occurredAt = this.#now;
    const rule = hit.playbook === articlesAsPlaybook ? 'article' : hit.rule;
    bridgeMetrics.ruleHits.inc({ playbook: hit.playbook, rule });
    void this.#commits.add({
      once: (tx) => insertFoundHit(tx, this.#id, hit),
      also: said.map((one) => ({ said: one, occurredAt })),
    });
  }

  /**
   * Stores who says what on a leg with several parties. Watchers read the call again; no event reports the speakers
   * before the end.
   */
  speakers(leg: ToldLeg, sessionId: string, told: SpeakersData): void {
    if (!this.#speakers.take(sessionId, told)) return;
    const of = { callId: this.#id, legId: leg.record.id, sessionId };
    void this.#commits
      .add({ rows: (tx) => this.#speakers.write(tx, of, told.utterances) })
      .then((isDurable) => {
        if (isDurable) this.changed();
      });
  }

  /**
   * Converts a second of the call to wall time. Audio that arrived faster than it was spoken would end in the future,
   * so the result is at most now.
   */
  #wallTimeOf(callS: number): number {
    return Math.round(this.#now - Math.max(0, this.#options.nowS() - callS) * 1_000);
  }

  /** Reports a gap once its length is known: the next gap may touch it. */
  gap(leg: ToldLeg, gap: Gap): void {
    this.#gaps.add(leg, gap);
  }

  #addGap(leg: ToldLeg, gap: Gap): void {
    const [start, end] = [round3(gap.start), round3(gap.end)];
    const { cause, bytes, detail } = gap;
    bridgeMetrics.gaps.inc({ cause });
    void this.#commits.add({
      // A restart finds the hole again, so the event is identified by the hole's place and cause.
      identity: {
        legId: leg.record.id,
        sessionId: '',
        kind: 'call.gap',
        // Audio that was given up for one service may be sent again and lost again. The place alone would then not be
        // unique.
        key: cause === 'service' ? `${cause}:${start}:${bytes}` : `${cause}:${start}`,
        role: leg.record.role,
        start,
        end,
        text: '',
      },
      event: {
        said: {
          type: 'call.gap',
          data: { cause, start, end, duration: round3(end - start), bytes, detail },
        },
        occurredAt: this.#now,
        leg: eventLeg(leg),
      },
    });
  }

  /** The digit itself is neither stored nor sent, because it may be part of a card number. */
  keyPressed(leg: ToldLeg | undefined, at: number): void {
    this.assistance.pressed(round3(at));
    void this.#commits.add({
      event: {
        said: { type: 'call.dtmf', data: { at: round3(at), digit: '*' } },
        occurredAt: this.#now,
        leg: leg && eventLeg(leg),
      },
    });
  }

  /** Stores the pause. The row says who holds the pause, so that it survives the process. */
  async pauseChanged(heldBy: number, pausedAt: number, said: Said | undefined): Promise<boolean> {
    // The redaction releases the finals that it holds before the pause begins: a number cannot continue in audio that
    // nobody hears.
    await this.#passedOn();
    if (this.#held?.isEmpty === false) await this.#held.flush();
    this.#gaps.flush();
    return this.#commits.add({
      event: said && { said, occurredAt: this.#now },
      rows: (tx) =>
        updateCall(tx, this.#id, { paused: heldBy, paused_at: heldBy === 0 ? null : pausedAt }),
    });
  }

  /** Sets the length of the phone call that later events give. */
  knowLength(length: CallLength | undefined): void {
    this.#length = length;
  }

  hungUp(hungUpAt: number, reason: EndReason): void {
    this.assistance.hungUp();
    const counts = JSON.stringify(this.counts);
    void this.#commits.add({
      rows: (tx) =>
        updateCall(tx, this.#id, {
          state: 'finishing',
          hung_up_at: hungUpAt,
          end_reason: reason,
          counts,
        }),
    });
  }

  /** Sets the parties that later events give, and makes the call findable by their numbers. */
  partiesLearnt(): void {
    const { record } = this.#options;
    const { direction = null, from = null, to = null, metadata } = record;
    const custom_metadata = JSON.stringify(metadata);
    void this.#commits.add({
      rows: async (tx) => {
        await updateCall(tx, this.#id, {
          direction,
          from_number: from,
          to_number: to,
          custom_metadata,
        });
        await insertPartyKeys(tx, record);
      },
    });
  }

  /** Stores the agent who has the call now, and tells of the change. */
  agentChanged(data: CallEventData<'call.agent'>): Promise<boolean> {
    const { agent } = this.#options.record;
    return this.#commits.add({
      event: { said: { type: 'call.agent', data }, occurredAt: this.#now },
      rows: (tx) => keepAgent(tx, this.#id, agent),
    });
  }

  /** Stores settings that changed during the call, for sessions after a restart too, and the contact who changed them. */
  overridesChanged(): void {
    const { overrides, contact = null } = this.#options.record;
    const changes = { overrides: JSON.stringify(overrides), contact: contact && JSON.stringify(contact) }; // prettier-ignore
    void this.#commits.add({ rows: (tx) => updateCall(tx, this.#id, changes) });
  }

  /** Stores the language of a leg, which is another one now, and that of the call. */
  languageKnown(leg: ToldLeg): void {
    const known = languagesToKeep(leg, this.#options.record);
    void this.#commits.add({ rows: (tx) => keepLanguages(tx, known) });
  }

  async legSettled(leg: ToldLeg): Promise<boolean> {
    await this.#passedOn();
    await this.#held?.flush(leg);
    this.#gaps.flush(leg);
    const short = this.#gaps.shortOf(leg.record.id);
    return this.#commits.add({
      rows: async (tx) => {
        await updateLeg(tx, leg);
        if (short !== undefined) await keepShortGaps(tx, this.#id, leg, short);
      },
    });
  }

  /** `call.ended` and the row's new state are one commit. From then on the call waits for its summary. */
  ended(
    data: CallEventData<'call.ended'>,
    hungUpAt: number,
    endedAt: number,
    { hasRecording, turns }: { hasRecording: boolean; turns: readonly Turn[] },
  ): Promise<boolean> {
    bridgeMetrics.ended.inc({ reason: data.reason });
    this.#options.log.info(
      { reason: data.reason, durationS: data.duration, gaps: data.gap_count },
      'call ended',
    );
    bridgeMetrics.hangUpToEnded.observe((endedAt - hungUpAt) / 1_000);
    return this.#commits.add({
      event: { said: { type: 'call.ended', data }, occurredAt: endedAt },
      rows: (tx) =>
        updateCall(tx, this.#id, {
          state: 'ended',
          hung_up_at: hungUpAt,
          ended_at: endedAt,
          end_reason: data.reason,
          deadline: data.deadline,
          statistics: JSON.stringify(data),
          incomplete: data.incomplete == null ? null : JSON.stringify(data.incomplete),
          counts: JSON.stringify(this.counts),
          duration_ms: Math.round(data.duration * 1_000),
          ...wordsInRow(turns),
          has_recording: hasRecording ? 1 : 0,
          summary_due: 1,
        }).then(() => forgetLegStates(tx, this.#id)),
    });
  }

  /**
   * Stores both summary events in one commit. A crash between two commits would lose the second event or repeat the
   * first. `also` runs in the commit and orders work on the whole call that begins now.
   */
  summarised(
    data: CallEventData<'call.summary'>,
    completed: CallEventData<'call.completed'>,
    also?: (tx: Transaction<Database>) => Promise<void>,
  ): Promise<boolean> {
    const occurredAt = this.#now;
    return this.#commits.add({
      event: { said: { type: 'call.summary', data }, occurredAt },
      followedBy: { said: { type: 'call.completed', data: completed }, occurredAt },
      rows: async (tx) => {
        const summary = JSON.stringify({ ...data.summary, mood: completed.sentiment });
        await updateCall(tx, this.#id, { summary_due: 0, summary });
        await keepContentKeys(tx, this.#id, completed);
        await also?.(tx);
      },
    });
  }

  /** Resolves when everything that was added so far is durable. */
  async settled(): Promise<void> {
    await this.#passedOn();
    await this.#held?.flush();
    this.#gaps.flush();
    // Results that were held back have been heard by now.
    await this.assistance.settled();
    await this.#commits.settled();
  }

  leave(): void {
    this.stopHolding();
    this.#commits.leave();
  }

  #setAside({ event, identity }: Draft, error: unknown): void {
    const what = event?.said.type ?? identity?.kind ?? 'a change of the call';
    const code = codeOf(error);
    this.#options.log.error({ what, code }, 'a row that the store can never take was set aside');
    this.count('not-stored');
    // A warning that cannot be stored causes no further warning.
    if (event === undefined && identity === undefined) return;
    this.warn('EVENT_NOT_STORED', `${what} was not stored: the database refused it (${code})`);
  }

  #committed(events: StoredEvent[]): void {
    this.#options.wakeOutbox();
    for (const event of events) {
      const { occurredAt, speechEndedAt } = event;
      if (speechEndedAt !== null)
        bridgeMetrics.speechEndToFinal.observe((occurredAt - speechEndedAt) / 1_000);
      this.#options.feed.publish({ kind: 'event', event });
    }
  }
}
