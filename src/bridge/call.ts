import type { Clock } from '../lib/clock.ts';
import { newId } from '../lib/ids.ts';
import type { Logger } from '../lib/log.ts';
import type { LanguageRunner } from '../language/runner.ts';
import type { StoredEvent } from '../outbox/enqueue.ts';
import type { EventLeg, GapCause } from '../protocol/events.ts';
import type { ServerMessage } from '../protocol/live-messages.ts';
import type { SpeechClient } from '../speech-client/client.ts';
import type { Store } from '../store/store.ts';
import { endedData, isBalanced } from './call-ended.ts';
import { CallLeg, isSameFormat, wholeBytes, type LegRecord } from './call-leg.ts';
import type { CallRecord } from './call-record.ts';
import { gapsOf, insertLeg, insertStream, legsOf, turnsOf, updateLeg } from './call-rows.ts';
import {
  publicState,
  step,
  takesStreams,
  type CallInput,
  type CallState,
  type Effect,
} from './call-state.ts';
import type { OpenedStream, StreamControl, StreamEnd, StreamStart } from './call-stream.ts';
import { OpenStream } from './open-stream.ts';
import { summaryOf } from './call-summary.ts';
import { CommitQueue, type Draft } from './commit-queue.ts';
import type { BridgeConfig } from './config.ts';
import { legMetadata } from './custom-metadata.ts';
import type { Journal, RecoveredLeg } from './journal.ts';
import {
  openLegAudio,
  type LegGap,
  type LegOutcome,
  type LegRequest,
  type LegState,
} from './leg-audio.ts';
import { levelOf } from './level.ts';
import type { LiveFeed } from './live-feed.ts';
import { bridgeMetrics } from './metrics.ts';
import { roleOf } from './roles.ts';
import { callOverrides, sessionRequest } from './session-request.ts';
import { finalOf, place, type Result } from './timeline.ts';

export type CallEnvironment = {
  config: BridgeConfig;
  store: Store;
  journal: Journal;
  speech: SpeechClient;
  language: LanguageRunner;
  feed: LiveFeed;
  clock: Clock;
  log: Logger;
  recording: boolean;
  /** After each commit that holds events: the outbox has work. */
  wakeOutbox(): void;
  onOver(call: Call): void;
};

export type Pauser = 'operator' | 'carrier';
type Warning = { code: string; message: string; at: string };

/** Offsets of legs that start this close together are the jitter of their first frames. */
const togetherS = 0.1;

/** A hole shorter than this between two streams of a leg is not worth declaring. */
const smallestHoleS = 0.1;

/** Silence of more than this is not written for one hole; the rest of it is declared without bytes. */
const longestFillS = 600;

/** One phone call: carries out what `step` decides. Owns the legs, the timers and the order of the events. */
export class Call {
  readonly record: CallRecord;
  readonly #env: CallEnvironment;
  readonly #log: Logger;
  readonly #commits: CommitQueue;
  readonly #legs = new Map<string, CallLeg>();
  readonly #streams = new Map<string, OpenStream>();
  readonly #pausers = new Set<Pauser>();
  readonly #counts: Record<string, number> = {};
  readonly #warnings: Warning[] = [];
  #state: CallState;
  #zeroMs: number | undefined;
  #pausedAt = 0;
  #hungUpAt: number | undefined;
  #deadline: string | null = null;
  #languageCode = 'en';
  #stopWaiting: (() => void) | undefined;

  constructor(
    env: CallEnvironment,
    record: CallRecord,
    state: CallState = { at: 'live', streams: new Set() },
  ) {
    this.#env = env;
    this.record = record;
    this.#state = state;
    this.#log = env.log.child({ callId: record.id, carrier: record.carrier });
    this.#commits = new CommitQueue({
      record,
      store: env.store,
      clock: env.clock,
      log: this.#log,
      onCommitted: (events) => this.#committed(events),
      onRefused: () => this.count('uncommitted'),
    });
  }

  get state(): 'live' | 'finishing' | 'ended' {
    return publicState(this.#state);
  }

  get takesStreams(): boolean {
    return takesStreams(this.#state);
  }

  get legs(): readonly CallLeg[] {
    return [...this.#legs.values()];
  }

  get isPaused(): boolean {
    return this.#pausers.size > 0;
  }

  get counts(): Readonly<Record<string, number>> {
    return this.#counts;
  }

  // --- streams -----------------------------------------------------------------------------------

  /** The first stream's rows are committed by whoever begins the call; a joining stream brings its own. */
  async join(start: StreamStart, control: StreamControl): Promise<OpenedStream> {
    for (const open of this.#streams.values())
      if (open.carrierStreamId === start.streamId) {
        this.count('duplicate-stream');
        return { outcome: 'duplicate', callId: this.record.id };
      }
    const { stream, newLegs } = this.attach(start, control);
    await this.#commits.add({
      rows: async (tx) => {
        for (const leg of newLegs) await insertLeg(tx, this.record.id, leg);
        await insertStream(tx, this.#streamRow(stream));
      },
    });
    return this.opened(stream);
  }

  /** Takes the stream up at once, so that nothing ends the call while its rows are being written. */
  attach(start: StreamStart, control: StreamControl): { stream: OpenStream; newLegs: LegRecord[] } {
    const tracks = new Map<string, LegRecord>();
    const newLegs: LegRecord[] = [];
    for (const track of start.tracks) {
      const going = this.#goingLeg(start, track);
      const leg = going ?? this.#newLeg(start, track);
      if (going === undefined) newLegs.push(leg);
      tracks.set(track.name, leg);
    }
    const stream = new OpenStream({
      call: this,
      start,
      control,
      tracks,
      id: newId('str', this.#env.clock.now()),
    });
    this.#streams.set(stream.id, stream);
    this.#take({ type: 'stream-opened', stream: stream.id });
    return { stream, newLegs };
  }

  /** The stream's rows are committed: its legs may reach for sessions. */
  opened(stream: OpenStream): OpenedStream {
    for (const leg of stream.tracks.values()) if (!this.#legs.has(leg.id)) this.openLeg(leg);
    this.#env.feed.publish({ kind: 'call', callId: this.record.id });
    return { outcome: 'opened', stream, startPaused: this.isPaused };
  }

  audio(stream: OpenStream, legId: string, payload: Buffer): void {
    const leg = this.#legs.get(legId);
    const { clock } = this.#env;
    const nowMs = clock.monotonicMs();
    if (leg === undefined || !this.takesStreams) return this.count('late');
    if (!leg.takesFrom(stream.id, nowMs)) return this.count('second-stream-audio');
    const frameS = payload.length / leg.bytesPerSecond;
    if (leg.offsetS === undefined) this.#placeLeg(leg, nowMs, frameS);
    else if (leg.takeReopened()) this.#fillHole(leg, this.#callTimeS(nowMs) - frameS);
    if (this.#env.feed.isWatched) leg.level = levelOf(payload, leg.record.encoding);
    leg.quietFilledS = 0;
    leg.audio.push(payload);
  }

  /** The carrier itself lost this much: silence instead, and a declared gap. */
  lost(legId: string, durationMs: number, cause: string): void {
    const leg = this.#legs.get(legId);
    if (leg === undefined || durationMs <= 0) return;
    const lostS = durationMs / 1_000;
    if (leg.offsetS === undefined) this.#placeLeg(leg, this.#env.clock.monotonicMs(), 0);
    const start = leg.positionS();
    const bytes = wholeBytes(
      leg.record,
      Math.min(longestFillS, Math.max(0, lostS - leg.quietFilledS)),
    );
    if (bytes > 0) leg.audio.filler(bytes);
    this.#gap(leg, { cause: 'carrier', start, end: start + lostS, bytes, detail: cause });
  }

  count(what: string): void {
    this.#counts[what] = (this.#counts[what] ?? 0) + 1;
    bridgeMetrics.oddities.inc({ what });
  }

  warn(code: string, message: string): void {
    this.#log.warn({ code }, 'call has a warning');
    bridgeMetrics.warnings.inc({ code });
    this.#warnings.push({ code, message, at: new Date(this.#env.clock.now()).toISOString() });
    void this.#commits.add({
      rows: async (tx) => {
        await tx
          .updateTable('calls')
          .set({ warnings: JSON.stringify(this.#warnings) })
          .where('id', '=', this.record.id)
          .execute();
      },
    });
  }

  /** Sessions keep the language they were opened with; legs that open later take the new one. */
  languageChanged(code: string): void {
    const { overrides } = callOverrides({ language: code }, this.#env.config.callParameters);
    Object.assign(this.record.overrides, overrides);
    this.count('language');
  }

  dtmf(digit: string, legId: string | undefined): void {
    this.count('dtmf');
    if (!this.#env.config.dtmfEvents || digit === '') return;
    const leg = legId === undefined ? undefined : this.#legs.get(legId);
    const at = leg?.positionS() ?? this.#nowS();
    // The digit itself goes nowhere: it may be part of a card number.
    this.#say({ type: 'call.dtmf', data: { at: rounded(at), digit: '*' } }, leg);
  }

  streamEnded(stream: OpenStream, how: StreamEnd, detail: string | undefined): void {
    if (!this.#streams.delete(stream.id)) return;
    for (const leg of this.#legs.values()) leg.release(stream.id);
    const closedAt = this.#env.clock.now();
    const openLegs = new Set(this.legs.filter((leg) => !leg.isDone).map((leg) => leg.record.id));
    this.#log.info({ how, detail }, 'stream ended');
    if (how !== 'drain')
      void this.#commits.add({
        rows: async (tx) => {
          await tx
            .updateTable('streams')
            .set({ closed_at: closedAt, end_reason: how })
            .where('id', '=', stream.id)
            .execute();
        },
      });
    this.#take({ type: 'stream-ended', stream: stream.id, how, legs: openLegs });
    this.#env.feed.publish({ kind: 'call', callId: this.record.id });
  }

  // --- pausing -----------------------------------------------------------------------------------

  /** Bytes stop at once; resolves when the pause would survive a crash. */
  async pause(by: Pauser): Promise<void> {
    if (this.#pausers.has(by)) return;
    const isFirst = this.#pausers.size === 0;
    this.#pausers.add(by);
    if (isFirst) {
      this.#pausedAt = this.#env.clock.now();
      for (const leg of this.#legs.values()) leg.audio.pause();
    }
    if (by === 'operator') for (const stream of this.#streams.values()) stream.control.pause();
    await this.#commitPause(
      isFirst ? { type: 'call.paused', data: { at: this.#nowS(), by } } : undefined,
    );
  }

  async resume(by: Pauser): Promise<void> {
    if (!this.#pausers.delete(by)) return;
    const isLast = this.#pausers.size === 0;
    const duration = rounded(Math.max(0, this.#env.clock.now() - this.#pausedAt) / 1_000);
    if (isLast)
      for (const leg of this.#legs.values()) {
        leg.audio.resume();
        this.#keepPace(leg, this.#nowS());
      }
    if (by === 'operator') for (const stream of this.#streams.values()) stream.control.resume();
    await this.#commitPause(
      isLast ? { type: 'call.resumed', data: { at: this.#nowS(), by, duration } } : undefined,
    );
  }

  async #commitPause(
    said: Pick<NonNullable<Draft['event']>, 'type' | 'data'> | undefined,
  ): Promise<void> {
    const paused = (this.#pausers.has('operator') ? 1 : 0) + (this.#pausers.has('carrier') ? 2 : 0);
    await this.#commits.add({
      ...(said === undefined
        ? {}
        : { event: { ...said, occurredAt: this.#env.clock.now() } as Draft['event'] & object }),
      rows: async (tx) => {
        await tx
          .updateTable('calls')
          .set({ paused, paused_at: paused === 0 ? null : this.#pausedAt })
          .where('id', '=', this.record.id)
          .execute();
      },
    });
    this.#env.feed.publish({ kind: 'call', callId: this.record.id });
  }

  // --- legs --------------------------------------------------------------------------------------

  openLeg(record: LegRecord, recovered?: RecoveredLeg, offsetS?: number): CallLeg {
    const { config, journal, speech, clock } = this.#env;
    const metadata = legMetadata(this.record.metadata, {
      legId: record.id,
      role: record.role,
      track: record.track,
    });
    const request = sessionRequest({
      template: config.session,
      overrides: this.record.overrides,
      format: record,
      metadata,
    });
    const audio = openLegAudio({
      legId: record.id,
      callId: this.record.id,
      request: request as LegRequest,
      ...(config.region === undefined ? {} : { region: config.region }),
      journal,
      speech,
      recording: this.#env.recording,
      paused: this.isPaused,
      ...(recovered === undefined ? {} : { recovered }),
      log: this.#log.child({ legId: record.id }),
      clock,
      onMessage: (message, sessionId, atS) => this.#heard(leg, message, sessionId, atS),
      onState: (state) => this.#legChanged(leg, state),
      onGap: (gap) => this.#legGap(leg, gap),
      onSession: (session) => {
        void this.#commits.add({
          rows: async (tx) => {
            await tx
              .insertInto('leg_sessions')
              .values({
                id: session.id,
                leg_id: record.id,
                call_id: this.record.id,
                offset_s: session.offsetS,
                opened_at: clock.now(),
              })
              .onConflict((conflict) => conflict.doNothing())
              .execute();
            await tx
              .updateTable('legs')
              .set({ session_id: session.id })
              .where('id', '=', record.id)
              .execute();
          },
        });
      },
    });
    const leg: CallLeg = new CallLeg(record, audio, offsetS);
    this.#legs.set(record.id, leg);
    return leg;
  }

  #goingLeg(start: StreamStart, track: StreamStart['tracks'][number]): LegRecord | undefined {
    const format = {
      encoding: start.encoding,
      sampleRate: start.sampleRate,
      channels: track.channels,
    };
    return this.legs.find(
      (leg) => !leg.isDone && leg.record.track === track.name && isSameFormat(leg.record, format),
    )?.record;
  }

  #newLeg(start: StreamStart, track: StreamStart['tracks'][number]): LegRecord {
    const { config, clock } = this.#env;
    const direction = this.record.direction;
    return {
      id: newId('leg', clock.now()),
      role:
        track.role ??
        roleOf(config.roles, { carrier: start.carrier, direction, track: track.name }),
      channelRoles: config.stereoRoles,
      track: track.name,
      startedAt: clock.now(),
      encoding: start.encoding,
      sampleRate: start.sampleRate,
      channels: track.channels,
    };
  }

  #heard(leg: CallLeg, message: ServerMessage, sessionId: string, atS: number): void {
    const zeroS = (leg.offsetS ?? 0) + atS;
    const placed = place(message, { sessionId, zeroS }, leg.lastFinals.get(sessionId));
    const final = finalOf(message);
    if (final !== undefined) leg.lastFinals.set(sessionId, final);
    if (placed.kind === 'result') this.#addResult(leg, placed.result);
    if (placed.kind !== 'partial' || !this.#env.feed.isWatched) return;
    const { utteranceId, start, end, text, language, channel } = placed.partial;
    this.#env.feed.publish({
      kind: 'partial',
      callId: this.record.id,
      message: {
        type: 'partial',
        call_id: this.record.id,
        leg_id: leg.record.id,
        role: leg.roleOf(channel),
        utterance: { utterance_id: utteranceId, session_id: sessionId, start, end, text, language },
      },
    });
  }

  #addResult(leg: CallLeg, result: Result): void {
    const { type, data, key, sessionId, channel, start, end, text } = result;
    const role = leg.roleOf(channel);
    void this.#commits.add({
      identity: { legId: leg.record.id, sessionId, kind: type, key, role, start, end, text },
      event: {
        type,
        data,
        occurredAt: this.#env.clock.now(),
        leg: { ...this.#eventLeg(leg), role, session_id: sessionId },
      } as Draft['event'] & object,
    });
    if (type !== 'call.transcript') return;
    leg.heardUntilS = Math.max(leg.heardUntilS, end);
    this.#languageCode = data.language;
    bridgeMetrics.finals.inc();
    for (const stream of this.#streams.values())
      stream.control.result?.({
        track: leg.record.track,
        text,
        startS: start,
        endS: end,
        confidence: data.confidence,
        language: data.language,
      });
  }

  #legChanged(leg: CallLeg, state: LegState): void {
    if (state.at === 'resuming') {
      leg.reconnects++;
      bridgeMetrics.reconnects.inc();
    }
    this.#env.feed.publish({ kind: 'call', callId: this.record.id });
  }

  #legGap(leg: CallLeg, gap: LegGap): void {
    const start = (leg.offsetS ?? 0) + gap.startS;
    if (gap.cause === 'deadline') this.#deadline = 'finishWithin';
    this.#gap(leg, {
      cause: gap.cause,
      start,
      end: start + gap.durationS,
      bytes: gap.bytes,
      detail: gapDetails[gap.cause],
    });
  }

  #gap(
    leg: CallLeg,
    gap: {
      cause: GapCause;
      start: number;
      end: number;
      bytes: number;
      detail: string;
    },
  ): void {
    const [start, end] = [rounded(gap.start), rounded(gap.end)];
    bridgeMetrics.gaps.inc({ cause: gap.cause });
    void this.#commits.add({
      // A restart finds the same hole again: its place and cause are what it is known by.
      identity: {
        legId: leg.record.id,
        sessionId: '',
        kind: 'call.gap',
        key: `${gap.cause}:${start}:${gap.bytes}`,
        role: leg.record.role,
        start,
        end,
        text: '',
      },
      event: {
        type: 'call.gap',
        data: {
          cause: gap.cause,
          start,
          end,
          duration: rounded(end - start),
          bytes: gap.bytes,
          detail: gap.detail,
        },
        occurredAt: this.#env.clock.now(),
        leg: this.#eventLeg(leg),
      },
    });
  }

  // --- the clock ---------------------------------------------------------------------------------

  #callTimeS(monotonicMs: number): number {
    return this.#zeroMs === undefined ? 0 : (monotonicMs - this.#zeroMs) / 1_000;
  }

  #nowS(): number {
    return rounded(Math.max(0, this.#callTimeS(this.#env.clock.monotonicMs())));
  }

  /** The first byte of the first leg is the zero of the call's clock. */
  #placeLeg(leg: CallLeg, nowMs: number, frameS: number): void {
    const { clock } = this.#env;
    const firstByteMs = nowMs - frameS * 1_000;
    const isFirst = this.#zeroMs === undefined;
    this.#zeroMs ??= firstByteMs;
    const offsetS = this.#callTimeS(firstByteMs);
    leg.offsetS = offsetS < togetherS ? 0 : rounded(offsetS);
    const offsetMs = Math.round(leg.offsetS * 1_000);
    const zeroAt = Math.round(clock.now() - frameS * 1_000);
    void this.#commits.add({
      rows: async (tx) => {
        await tx
          .updateTable('legs')
          .set({ offset_ms: offsetMs })
          .where('id', '=', leg.record.id)
          .execute();
        if (isFirst)
          await tx
            .updateTable('calls')
            .set({ zero_at: zeroAt })
            .where('id', '=', this.record.id)
            .execute();
      },
    });
  }

  /** Between two streams of one leg: silence of the hole's length, so that times stay true. */
  #fillHole(leg: CallLeg, resumedS: number): void {
    const start = leg.positionS();
    const holeS = resumedS - start;
    if (holeS < smallestHoleS) return;
    const bytes = wholeBytes(leg.record, Math.min(longestFillS, holeS));
    leg.audio.filler(bytes);
    this.#gap(leg, {
      cause: 'carrier',
      start,
      end: start + holeS,
      bytes,
      detail: 'no stream of the call was open',
    });
  }

  /** A carrier that sends nothing while nobody speaks: silence keeps the leg on the call's clock. */
  keepPace(nowMs: number): void {
    const { quietFillMs } = this.#env.config;
    if (quietFillMs === 0 || !this.takesStreams) return;
    for (const leg of this.#legs.values())
      if (leg.hasOwner && nowMs - leg.quietSinceMs >= quietFillMs)
        this.#keepPace(leg, this.#callTimeS(nowMs));
  }

  #keepPace(leg: CallLeg, nowS: number): void {
    if (leg.offsetS === undefined) return;
    const behindS = nowS - leg.positionS();
    if (behindS < smallestHoleS || behindS > longestFillS) return;
    leg.quietFilledS += behindS;
    leg.audio.filler(wholeBytes(leg.record, behindS));
  }

  // --- the end -----------------------------------------------------------------------------------

  #take(input: CallInput): void {
    const before = this.state;
    const [state, effects] = step(this.#state, input);
    this.#state = state;
    for (const effect of effects) this.#carryOut(effect);
    if (this.state !== before) this.#env.feed.publish({ kind: 'call', callId: this.record.id });
  }

  #carryOut(effect: Effect): void {
    switch (effect) {
      case 'await-stream':
        return this.awaitStream();
      case 'stop-waiting':
        return this.#stopWaiting?.();
      case 'finish-legs':
        return this.#finishLegs();
      case 'end':
        return void this.#end();
      case 'summarise':
        return void this.summarise();
      case 'abandon-legs':
        return this.#commits.leave();
    }
  }

  /** A stream of the call may come back; after the wait the call is over. */
  awaitStream(): void {
    this.#hungUpAt = this.#env.clock.now();
    this.#stopWaiting = this.#env.clock.after(this.#env.config.rejoinWaitMs, () => {
      const legs = new Set(this.legs.filter((leg) => !leg.isDone).map((leg) => leg.record.id));
      this.#take({ type: 'wait-over', legs });
    });
  }

  #finishLegs(hungUpAt = this.#env.clock.now()): void {
    this.#hungUpAt = hungUpAt;
    const reason = this.#state.at === 'finishing' ? this.#state.reason : 'stop';
    void this.#commits.add({
      rows: async (tx) => {
        await tx
          .updateTable('calls')
          .set({
            state: 'finishing',
            hung_up_at: hungUpAt,
            end_reason: reason,
            counts: JSON.stringify(this.#counts),
          })
          .where('id', '=', this.record.id)
          .execute();
      },
    });
    const { finalsWaitMs, finishWithinMs } = this.#env.config;
    const withinMs = Math.max(finalsWaitMs, finishWithinMs - (this.#env.clock.now() - hungUpAt));
    for (const leg of this.#legs.values()) {
      if (leg.isDone) continue;
      const settled = async (): Promise<void> => {
        await this.#commits.add({ rows: (tx) => updateLeg(tx, leg) });
      };
      leg.audio.finish({ finalsMs: finalsWaitMs, withinMs, settled }).then(
        (outcome) => this.#legDone(leg, outcome),
        (error: unknown) => {
          // A leg that cannot even finish must not keep the call from ending.
          this.#log.error({ err: error, legId: leg.record.id }, 'leg failed to finish');
          this.#legDone(leg, { finals: 'late' });
        },
      );
    }
  }

  #legDone(leg: CallLeg, outcome: Pick<LegOutcome, 'finals'>): void {
    const end = leg.positionS();
    if (outcome.finals === 'late') {
      this.#deadline ??= 'finals';
      // Bytes that never went out have their own gap; this one is for words that never came back.
      if (this.#deadline === 'finals' && end > leg.heardUntilS)
        this.#gap(leg, {
          cause: 'deadline',
          start: leg.heardUntilS,
          end,
          bytes: 0,
          detail: 'the last finals did not come in time',
        });
    }
    leg.isDone = true;
    this.#checkBooks(leg);
    void this.#commits.add({ rows: (tx) => updateLeg(tx, leg) });
    this.#take({ type: 'leg-done', leg: leg.record.id });
  }

  #checkBooks(leg: CallLeg): void {
    const ledger = leg.audio.ledger();
    if (isBalanced(ledger)) return;
    this.#log.error({ legId: leg.record.id, ledger }, 'audio of a leg is unaccounted for');
    this.warn(
      'LEDGER_UNBALANCED',
      `leg ${leg.record.id}: received is not acknowledged + gaps + paused`,
    );
  }

  async #end(): Promise<void> {
    const { clock, store } = this.#env;
    await this.#commits.settled();
    const facts = await this.#untilItWorks(async () => ({
      turns: await turnsOf(store.db, this.record.id),
      legs: await legsOf(store.db, this.record.id),
      gaps: await gapsOf(store.db, this.record.id),
    }));
    if (facts === undefined) return;
    const endedAt = clock.now();
    const hungUpAt = this.#hungUpAt ?? endedAt;
    const reason = this.#state.at === 'ending' ? this.#state.reason : 'stop';
    const { startedAt } = this.record;
    const data = endedData({
      ...facts,
      reason,
      startedAt,
      hungUpAt,
      endedAt,
      deadline: this.#deadline,
    });
    const hasRecording = this.#env.recording && facts.legs.some((leg) => leg.received > 0);
    const done = await this.#commits.add({
      event: { type: 'call.ended', data, occurredAt: endedAt },
      rows: async (tx) => {
        await tx
          .updateTable('calls')
          .set({
            state: 'ended',
            hung_up_at: hungUpAt,
            ended_at: endedAt,
            end_reason: reason,
            deadline: this.#deadline,
            statistics: JSON.stringify(data),
            counts: JSON.stringify(this.#counts),
            warnings: JSON.stringify(this.#warnings),
            has_recording: hasRecording ? 1 : 0,
            summary_due: 1,
          })
          .where('id', '=', this.record.id)
          .execute();
      },
    });
    if (!done) return;
    bridgeMetrics.hangUpToEnded.observe((endedAt - hungUpAt) / 1_000);
    this.#take({ type: 'committed' });
  }

  async summarise(): Promise<void> {
    const { store, language, config, clock } = this.#env;
    const data = await this.#untilItWorks(() =>
      summaryOf({
        db: store.db,
        language,
        callId: this.record.id,
        type: config.summaryType,
        languageCode: this.#languageCode,
        deadlineMs: config.summaryWaitMs,
      }),
    );
    if (data === undefined) return;
    await this.#commits.add({
      event: { type: 'call.summary', data, occurredAt: clock.now() },
      rows: async (tx) => {
        await tx
          .updateTable('calls')
          .set({ summary_due: 0, summary: JSON.stringify(data.summary) })
          .where('id', '=', this.record.id)
          .execute();
      },
    });
    this.#env.feed.publish({ kind: 'call', callId: this.record.id });
    this.#env.onOver(this);
  }

  /** Reads that fail with the store are tried again until the call is left. */
  async #untilItWorks<T>(work: () => Promise<T>): Promise<T | undefined> {
    for (let attempt = 0; this.#state.at !== 'left'; attempt++) {
      try {
        return await work();
      } catch (error) {
        this.#log.error({ err: error, attempt }, 'call could not be read');
        await new Promise<void>(
          (resolve) => void this.#env.clock.after(Math.min(5_000, 100 * 2 ** attempt), resolve),
        );
      }
    }
    return undefined;
  }

  /** The process stops: what is on disk goes on in the next one. */
  async leave(): Promise<void> {
    await Promise.all(this.legs.map((leg) => leg.audio.leave()));
    await this.#commits.settled();
    this.#take({ type: 'leave' });
  }

  /** Erasure: nothing of the call is written or sent from here on. */
  async abandon(): Promise<void> {
    this.#take({ type: 'leave' });
    for (const stream of this.#streams.values()) stream.forget();
    this.#streams.clear();
    await Promise.all(this.legs.map((leg) => leg.audio.abandon()));
    await this.#commits.settled();
  }

  // --- taking up after a restart -----------------------------------------------------------------

  /** What the rows of an unfinished call say; its legs are opened one by one before this. */
  restore(rows: {
    pausedBy: number;
    pausedAt: number;
    zeroAgoMs: number | undefined;
    hungUpAt: number | undefined;
    deadline: string | null;
  }): void {
    if (rows.pausedBy & 1) this.#pausers.add('operator');
    if (rows.pausedBy & 2) this.#pausers.add('carrier');
    this.#pausedAt = rows.pausedAt;
    this.#hungUpAt = rows.hungUpAt;
    this.#deadline = rows.deadline;
    if (rows.zeroAgoMs !== undefined) this.#zeroMs = this.#env.clock.monotonicMs() - rows.zeroAgoMs;
  }

  /** Goes on from the restored state: waits for a stream, finishes the legs, or says the end. */
  goOn(): void {
    if (this.#state.at === 'waiting') this.awaitStream();
    else if (this.#state.at === 'finishing') this.#finishLegs(this.#hungUpAt);
    else if (this.#state.at === 'ending') void this.#end();
    else if (this.#state.at === 'ended') void this.summarise();
  }

  // --- small things ------------------------------------------------------------------------------

  #say(said: Pick<NonNullable<Draft['event']>, 'type' | 'data'>, leg?: CallLeg): void {
    const event = {
      ...said,
      occurredAt: this.#env.clock.now(),
      ...(leg === undefined ? {} : { leg: this.#eventLeg(leg) }),
    };
    void this.#commits.add({ event: event as Draft['event'] & object });
  }

  #eventLeg(leg: CallLeg): EventLeg {
    return {
      id: leg.record.id,
      role: leg.record.role,
      track: leg.record.track,
      session_id: leg.audio.sessionId() ?? null,
    };
  }

  #streamRow(stream: OpenStream): Parameters<typeof insertStream>[1] {
    return {
      id: stream.id,
      callId: this.record.id,
      carrierStreamId: stream.carrierStreamId,
      openedAt: stream.openedAt,
    };
  }

  #committed(events: StoredEvent[]): void {
    this.#env.wakeOutbox();
    for (const event of events) this.#env.feed.publish({ kind: 'event', event });
  }
}

const gapDetails: Record<LegGap['cause'], string> = {
  journal: 'the disk refused the audio while the speech service was away',
  damaged: 'the journal was damaged here',
  service: 'the speech service lost audio that it had acknowledged',
  deadline: 'the speech service could not be reached in time',
  sessions: 'the leg used up its sessions',
  refused: 'the speech service does not take sessions of this kind',
};

const rounded = (value: number): number => Math.round(value * 1_000) / 1_000;
