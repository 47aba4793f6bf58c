import type { LegRecord } from '../records/leg-record.ts';
import { within } from '../../lib/clock.ts';
import { reasonOf } from '../../lib/errors.ts';
import { newId } from '../../lib/ids.ts';
import { loggedId, type Logger } from '../../lib/log.ts';
import { CallClock } from './call-clock.ts';
import { CallLanguage } from './call-language.ts';
import { CallHoles, gapDetails } from './holes.ts';
import { CallEnding } from './call-ending.ts';
import { shareLegs } from './leg-states.ts';
import { CallLeg, type LeftLeg } from './call-leg.ts';
import type { CallEnvironment } from './environment.ts';
import { AgentBinding } from './binding.ts';
import { ContactSearch } from './contact-search.ts';
import { type CallRecord } from '../records/call-record.ts';
import {
  publicState,
  step,
  takesStreams,
  type CallInput,
  type CallState,
  type Effect,
} from './call-state.ts';
import { CallEvents } from '../events/call-events.ts';
import type { CallLease } from '../records/lease.ts';
import type {
  CallFacts,
  CallStream,
  OpenedStream,
  StreamControl,
  StreamEnd,
  StreamEvent,
  StreamStart,
} from '../streams.ts';
import type { LegGap } from '../records/ledger.ts';
import { Leg } from '../leg/leg-audio.ts';
import type { LegState } from '../leg/session-state.ts';
import { bridgeMetrics } from '../metrics.ts';
import { Expectations } from './expectations.ts';
import { HeardWords } from './heard-words.ts';
import { goingLeg, newLeg, requestOf } from './new-leg.ts';
import { Pauses, type Pauser } from './pauses.ts';
import { Redactor } from '../events/redactor.ts';
import { learnt, toldFacts } from './facts.ts';

/**
 * After a callback reported the end of the call, last words may still come. If none come for this long, the socket's
 * close was lost.
 */
const overQuietMs = 5_000;

type OpenCallOptions = {
  env: CallEnvironment;
  record: CallRecord;
  /** The restored state, for a call that continues after a restart. */
  state?: CallState | undefined;
  onOver: (call: Call) => void;
  /** The fence number under which this node owns the call. */
  fence?: number | undefined;
  /** Called when another node has taken the call. */
  onLeaseLost: (call: Call) => void;
};

/** A carrier's handle on a call. It takes the frames of one socket and tells them apart by track. */
type OpenStream = CallStream & {
  readonly id: string;
  readonly carrierStreamId: string;
  readonly control: StreamControl;
  readonly tracks: ReadonlyMap<string, LegRecord>;
  /** The age of the audio that arrives now, because frames waited until the call was open. */
  waitedS: number;
};

/** One phone call. It carries out the decisions of `step` and owns the legs, the streams and the waits. */
export class Call {
  readonly record: CallRecord;
  readonly events: CallEvents;
  readonly lease: CallLease;
  readonly holes: CallHoles;
  readonly #env: CallEnvironment;
  readonly #log: Logger;
  readonly #clock: CallClock;
  readonly #pauses: Pauses;
  readonly #heard: HeardWords;
  readonly expectations: Expectations;
  readonly binding: AgentBinding;
  readonly contact: ContactSearch;
  readonly language: CallLanguage;
  readonly #ending: CallEnding;
  readonly #legs = new Map<string, CallLeg>();
  readonly #streams = new Map<string, OpenStream>();
  #state: CallState;
  #stopWaiting: (() => void) | undefined;
  /** The time at which a carrier's callback reported that the phone call is over. */
  #overSinceMs: number | undefined;

  constructor({ env, record, state, onOver, onLeaseLost, fence = 0 }: OpenCallOptions) {
    this.#env = env;
    this.record = record;
    this.lease = { node: env.node, fence };
    this.#state = state ?? { at: 'live', streams: new Set() };
    const { id: callId, carrier, carrierCallId } = record;
    this.#log = env.log.child({ callId, carrier, carrierCallId: loggedId(carrierCallId) });
    this.#clock = new CallClock(env.clock);
    const nowS = (): number => this.#clock.nowS();
    const legs = (): readonly CallLeg[] => this.legs;
    this.events = new CallEvents({
      ...env,
      record,
      nowS,
      log: this.#log,
      pause: (seconds) => void this.#pauses.pauseForRule(seconds),
      speakIn: (named) => this.language.changedTo(named),
      redactor: Redactor.from(env.language, record, env.config),
      lease: this.lease,
      share: env.takeOverMs === 0 ? undefined : (tx) => shareLegs(tx, [this]),
      onLeaseLost: () => onLeaseLost(this),
    });
    this.binding = new AgentBinding({ ...env, record, events: this.events, nowS });
    this.language = new CallLanguage({ config: env.config, record, events: this.events, legs });
    this.contact = new ContactSearch({
      env,
      record,
      events: this.events,
      legs,
      language: this.language,
    });
    this.holes = new CallHoles(this.#clock, this.events);
    this.expectations = new Expectations(env.clock, legs);
    this.#heard = new HeardWords({
      expectations: this.expectations,
      env,
      callId,
      events: this.events,
      streams: () => this.#streams.values(),
      languageKnown: (leg) => this.language.known(leg),
      withdraw: () => this.#withdraw('words'),
    });
    this.#ending = new CallEnding({
      env,
      record,
      events: this.events,
      log: this.#log,
      languageCode: () => this.#heard.languageCode,
      legs,
      state: () => this.#state,
      isWithdrawn: () => this.isWithdrawn,
      take: (input) => this.#take(input),
      over: () => {
        this.expectations.close();
        this.#pauses.close();
        onOver(this);
      },
    });
    this.#pauses = new Pauses({
      clock: env.clock,
      nowS,
      legs,
      streams: () => [...this.#streams.values()],
      events: this.events,
      keepPace: (leg) => this.holes.fillPause(leg),
      discarded: (leg, lengthS) => this.holes.discarded(leg, lengthS),
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
    return this.#pauses.isPaused;
  }

  get counts(): Readonly<Record<string, number>> {
    return this.events.counts;
  }

  pause(by: Pauser): Promise<void> {
    return this.#pauses.pause(by);
  }

  /**
   * True if somebody on the call withdrew their consent. The call stays paused, and its audio is deleted at its end.
   */
  get isWithdrawn(): boolean {
    return this.#pauses.isHeldBy('consent');
  }

  resume(by: 'operator' | 'carrier'): Promise<void> {
    return this.#pauses.resume(by);
  }

  // --- what callbacks of the carrier say ----------------------------------------------------------

  /**
   * Adds facts from callbacks: numbers, the direction, and the end of the phone call, which its socket may never tell.
   */
  learn(facts: CallFacts): void {
    const news = learnt(this.record, facts);
    if (news !== undefined) {
      Object.assign(this.record, news);
      this.events.partiesLearnt();
      this.events.changed();
      this.binding.learn();
      this.language.numbersLearnt();
      void this.contact.look();
    }
    if (facts.isOver !== true) return;
    this.#overSinceMs ??= this.#env.clock.monotonicMs();
    // When the process shuts down, its calls are left to the next one.
    if (this.#state.at !== 'waiting' || this.#state.reason === 'drain') return;
    this.#stopWaiting?.();
    this.#take({ type: 'wait-over', legs: this.#openLegIds() });
  }

  /** Ends the silent streams of a call that is over, as if they had sent their own stop. */
  endWhenOver(nowMs: number): void {
    if (this.#overSinceMs === undefined || this.#streams.size === 0) return;
    const heardMs = Math.max(this.#overSinceMs, ...this.legs.map((leg) => leg.quietSinceMs));
    if (nowMs - heardMs < overQuietMs) return;
    const reason = 'the carrier says that the call is over';
    for (const { control } of this.#streams.values()) control.disconnect(reason, 'stop');
  }

  /** Another node may have received the callbacks, or this one before a restart. */
  async #lookForEnd(): Promise<void> {
    try {
      this.learn(await toldFacts(this.#env.store.db, this.record, this.#env.factsOf));
    } catch (error) {
      this.#log.warn({ reason: reasonOf(error) }, 'callbacks of a call could not be read');
    }
  }

  // --- streams -----------------------------------------------------------------------------------

  /** Adds another stream to the call. Its rows are durable before the carrier learns that the stream is open. */
  async join(start: StreamStart, control: StreamControl): Promise<OpenedStream> {
    for (const open of this.#streams.values())
      if (open.carrierStreamId === start.streamId) {
        this.events.count('duplicate-stream');
        return { outcome: 'duplicate', callId: this.record.id };
      }
    const { stream, newLegs } = this.attach(start, control);
    const isStored = await this.events.streamOpened(stream.id, start.streamId, newLegs);
    // A commit fails in two cases: the queue is full, which loses only this row, or this node no longer has the call.
    if (!isStored && this.#state.at === 'left')
      return {
        outcome: 'refused',
        reason: 'the call went to another node: come back, and it goes on there',
      };
    return this.opened(stream);
  }

  /** The number of legs that this stream would add to the call. */
  newTracksOf(start: StreamStart): number {
    return start.tracks.filter((track) => goingLeg(this.legs, start, track) === undefined).length;
  }

  /**
   * Adds the stream to the call's state before its rows are written. If its rows came first, the last other stream
   * could end meanwhile, and the call would be over before this stream begins.
   */
  attach(start: StreamStart, control: StreamControl): { stream: OpenStream; newLegs: LegRecord[] } {
    const tracks = new Map<string, LegRecord>();
    const newLegs: LegRecord[] = [];
    for (const track of start.tracks) {
      const going = goingLeg(this.legs, start, track);
      const leg = going ?? newLeg(start, track, this.record.direction, this.#env);
      if (going === undefined) newLegs.push(leg);
      tracks.set(track.name, leg);
    }
    const id = newId('str', this.#env.clock.now());
    const stream: OpenStream = {
      id,
      callId: this.record.id,
      carrierStreamId: start.streamId,
      control,
      tracks,
      waitedS: 0,
      take: (event) => this.#takeFrom(stream, event),
      end: (how, detail) => this.#streamEnded(stream, how, detail),
    };
    this.#streams.set(stream.id, stream);
    this.#take({ type: 'stream-opened', stream: stream.id });
    return { stream, newLegs };
  }

  /**
   * Called when the stream's rows are committed. Only then do its legs ask for sessions, so that every session has a
   * call in the database even after a crash.
   */
  opened(stream: OpenStream): OpenedStream {
    for (const leg of stream.tracks.values()) if (!this.#legs.has(leg.id)) this.openLeg(leg);
    this.events.changed();
    return { outcome: 'opened', stream, startPaused: this.isPaused };
  }

  /** Takes an event of one of the call's streams. It runs for every frame, so nothing is allocated here. */
  #takeFrom(stream: OpenStream, event: StreamEvent): void {
    if (!this.#streams.has(stream.id)) return; // it has ended, or its call is erased
    switch (event.type) {
      case 'audio':
        return this.#audio(stream, event.track, event.payload);
      case 'lost':
        return this.#lost(this.#legOf(stream, event.track), event.durationMs, event.cause);
      case 'quiet':
        return this.#quiet(this.#legOf(stream, event.track), event.durationMs);
      case 'count':
        return this.events.count(event.what);
      case 'dtmf':
        return this.#dtmf(event.digit, this.#legOf(stream, event.track));
      case 'paused':
        return void this.pause('carrier');
      case 'resumed':
        // Audio that the carrier discarded during its own pause belongs to the pause and is not declared as a gap.
        return void this.#pauses.resume('carrier', event.discardedMs / 1_000);
      case 'language':
        return this.language.changedByCarrier(event.code);
      case 'waited':
        stream.waitedS = event.durationMs / 1_000;
    }
  }

  #legOf(stream: OpenStream, track: string | undefined): CallLeg | undefined {
    const record = track === undefined ? undefined : stream.tracks.get(track);
    return record === undefined ? undefined : this.#legs.get(record.id);
  }

  #audio(stream: OpenStream, track: string, payload: Buffer): void {
    if (!stream.tracks.has(track)) return this.events.count('unknown-track');
    const leg = this.#legOf(stream, track);
    const nowMs = this.#env.clock.monotonicMs();
    if (leg === undefined || !this.takesStreams) return this.events.count('late');
    if (!leg.takesFrom(stream.id, nowMs)) return this.events.count('second-stream-audio');
    const frameS = payload.length / leg.bytesPerSecond;
    const agoS = frameS + stream.waitedS;
    if (leg.offsetS === undefined) this.#placeLeg(leg, agoS);
    else if (leg.takeReopened()) this.holes.fillBetweenStreams(leg, this.#clock.atS(nowMs) - agoS);
    if (this.#env.feed.isWatched) leg.hearLevel(payload);
    leg.quietFilledS = 0;
    leg.unknownToS = undefined;
    leg.audio.push(payload);
    if (!this.isPaused && leg.showsOtherLaw(payload)) this.#warnOfCompanding(leg);
  }

  /** Audio decoded with the wrong law is noise. The declared law is kept: the carrier's settings must be corrected. */
  #warnOfCompanding({ record: { encoding, track } }: CallLeg): void {
    const shown = encoding === 'mulaw' ? 'alaw' : 'mulaw';
    this.events.warn(
      'WRONG_COMPANDING',
      `track ${track} is declared ${encoding} and sounds like ${shown}; the declared law is kept`,
    );
  }

  /** Handles audio that the carrier reports as lost. Silence takes its place, and a gap is declared. */
  #lost(leg: CallLeg | undefined, durationMs: number, cause: string): void {
    if (leg === undefined || !(durationMs > 0) || !this.takesStreams) return;
    if (leg.offsetS === undefined) this.#placeLeg(leg, 0);
    this.holes.lost(leg, durationMs / 1_000, cause);
  }

  /** Handles a pause in which the carrier sent nothing. */
  #quiet(leg: CallLeg | undefined, durationMs: number): void {
    if (leg?.offsetS === undefined || !(durationMs > 0) || !this.takesStreams) return;
    this.holes.quiet(leg, durationMs / 1_000);
  }

  #dtmf(digit: string, leg: CallLeg | undefined): void {
    this.events.count('dtmf');
    if (
      digit !== '' &&
      digit === this.#env.config.consentWithdrawKey &&
      leg?.record.role !== 'agent'
    )
      this.#withdraw('a key press');
    if (!this.#env.config.dtmfEvents || digit === '') return;
    this.events.keyPressed(leg, leg?.positionS() ?? this.#clock.nowS());
  }

  /**
   * Stops the audio at once after consent was withdrawn. The recorded part is deleted when nothing more of the call is
   * being written.
   */
  #withdraw(how: string): void {
    if (this.isWithdrawn || !this.takesStreams) return;
    this.events.warn(
      'CONSENT_WITHDRAWN',
      `the consent was withdrawn by ${how}: the call stays paused, and its audio is erased at its end`,
    );
    void this.pause('consent');
  }

  #streamEnded(stream: OpenStream, how: StreamEnd, detail: string | undefined): void {
    if (!this.#streams.delete(stream.id)) return;
    for (const leg of this.#legs.values()) leg.release(stream.id, how === 'stop');
    this.#log.info({ how, detail }, 'stream ended');
    if (how !== 'drain') this.events.streamClosed(stream.id, how);
    this.#take({
      type: 'stream-ended',
      stream: stream.id,
      how,
      at: this.#env.clock.now(),
      legs: this.#openLegIds(),
    });
    this.events.changed();
  }

  // --- legs --------------------------------------------------------------------------------------

  openLeg(record: LegRecord, left: LeftLeg = {}): CallLeg {
    const audio = this.#openAudio(record, () => leg, left);
    const leg: CallLeg = new CallLeg(record, audio, left);
    this.#legs.set(record.id, leg);
    this.language.asked(leg);
    audio.begin();
    // A crash may have come before the rows of the leg's sessions. An erasure must find all sessions.
    if (left.recovered !== undefined)
      for (const session of audio.sessions()) this.events.sessionOpened(record, session);
    return leg;
  }

  #openAudio(record: LegRecord, leg: () => CallLeg, { recovered, told }: LeftLeg): Leg {
    const { config, journal, speech, clock } = this.#env;
    return new Leg({
      legId: record.id,
      callId: this.record.id,
      request: requestOf(record, this.record, config),
      region: config.region,
      journal,
      speech,
      recording: this.#env.recording,
      numberPauseS: config.numberPauseS,
      paused: this.isPaused,
      recovered,
      told,
      waiting: () => this.events.waitingOf(record.id),
      log: this.#log,
      clock,
      onMessage: (message, sessionId, atS) =>
        this.#guarded(() => this.#heard.take(leg(), message, sessionId, atS)),
      onState: (state) => this.#legChanged(leg(), state),
      onGap: (gap) => this.#guarded(() => this.#legGap(leg(), gap)),
      onSession: (session) => this.events.sessionOpened(record, session),
    });
  }

  #legChanged(leg: CallLeg, state: LegState): void {
    if (state.at === 'resuming') {
      leg.reconnects++;
      bridgeMetrics.reconnects.inc();
    }
    this.events.changed();
  }

  #legGap(leg: CallLeg, { cause, startS, durationS, bytes }: LegGap): void {
    const start = (leg.offsetS ?? 0) + startS;
    if (cause === 'deadline') this.#take({ type: 'deadline-passed', deadline: 'finishWithin' });
    const detail = gapDetails[cause];
    const end = start + durationS;
    leg.lost = { start, end };
    this.events.gap(leg, { cause, start, end, bytes, detail });
  }

  /** A bug in the handling of one message costs only that message. It ends neither the call nor the process. */
  #guarded(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.events.count('bug');
      this.#log.error({ err: error }, 'unexpected error in a call');
    }
  }

  #openLegIds(): ReadonlySet<string> {
    return new Set(this.legs.filter((leg) => !leg.isDone).map((leg) => leg.record.id));
  }

  // --- the clock ---------------------------------------------------------------------------------

  #placeLeg(leg: CallLeg, frameS: number): void {
    const zeroAt = this.#clock.place(leg, frameS);
    this.events.legPlaced(leg, zeroAt);
  }

  /**
   * Writes silence for a carrier that sends nothing while nobody speaks, so that the leg stays on the call's clock. A
   * party that is muted for twenty minutes gets twenty minutes of silence, half a second at a time, measured by our
   * own clock.
   */
  keepPace(nowMs: number): void {
    if (this.takesStreams && !this.isPaused) this.events.assistance.tick(this.#clock.nowS());
    const { quietFillMs } = this.#env.config;
    if (quietFillMs === 0 || !this.takesStreams) return;
    for (const leg of this.#legs.values())
      if (leg.hasOwner && nowMs - leg.quietSinceMs >= quietFillMs) this.holes.keepPace(leg, nowMs);
  }

  // --- the end -----------------------------------------------------------------------------------

  #take(input: CallInput): void {
    const before = this.state;
    if (input.type === 'wait-over') for (const leg of this.legs) this.holes.tellUnknownEnd(leg);
    const [state, effects] = step(this.#state, input);
    this.#state = state;
    for (const effect of effects) this.#carryOut(effect);
    if (this.state !== before) this.events.changed();
  }

  #carryOut(effect: Effect): void {
    const state = this.#state;
    switch (effect) {
      case 'await-stream':
        return this.#awaitStream();
      case 'stop-waiting':
        return this.#stopWaiting?.();
      case 'finish-legs':
        if (state.at === 'finishing') this.#ending.finishLegs(state);
        return;
      case 'end':
        if (state.at === 'ending') this.#ending.end(state);
        return;
      case 'summarise':
        return this.#ending.summarise();
      case 'abandon-legs':
        return this.events.leave();
    }
  }

  /** Waits for a stream of the call to come back. If the wait times out, the call is over. */
  #awaitStream(): void {
    this.#stopWaiting = this.#env.clock.after(this.#env.config.rejoinWaitMs, () =>
      this.#take({ type: 'wait-over', legs: this.#openLegIds() }),
    );
    void this.#lookForEnd();
  }

  /**
   * Lets go of the call because the process stops. Journals and rows stay on disk, and the next start continues the
   * call. Returns false if the store had not taken everything within this time; the remaining commits are then not
   * retried.
   */
  async leave(storeWithinMs: number): Promise<boolean> {
    await this.events.joined();
    this.expectations.close();
    this.#pauses.close();
    for (const leg of this.legs) leg.audio.leave();
    this.events.stopHolding();
    const isStored = await within(this.#env.clock, storeWithinMs, this.events.settled());
    this.#take({ type: 'leave' });
    // The state machine does not leave an ended call, but the call's summary may still wait here and must be stopped.
    this.events.leave();
    return isStored;
  }

  /** Closes the call's streams. The carrier should reopen them at the node that has the call now. */
  disconnect(reason: string): void {
    for (const { control } of this.#streams.values()) control.disconnect(reason);
  }

  /**
   * Drops the call because it was erased or taken by another node: nothing more of it is written or sent. Recordings of
   * finished legs stay. An erasure deletes them itself, and after a take-over the other node does not have the files of
   * this disk.
   */
  async abandon(): Promise<void> {
    this.#take({ type: 'leave' });
    this.#streams.clear(); // frames that still arrive are dropped
    const going = this.legs.filter((leg) => !leg.isDone);
    await Promise.all(going.map((leg) => leg.audio.abandon()));
    await this.events.settled();
  }

  // --- taking up after a restart -----------------------------------------------------------------

  /** Restores the pause and the clock of an unfinished call from its row. Its legs are opened afterwards. */
  restore(rows: { pausedBy: number; pausedAt: number; zeroAgoMs: number | undefined }): void {
    this.#pauses.restore(rows.pausedBy, rows.pausedAt);
    if (rows.zeroAgoMs !== undefined) this.#clock.restore(rows.zeroAgoMs);
  }

  /** Continues from the restored state: waits for a stream, finishes the legs, or declares the end. */
  goOn(): void {
    const resumed: Partial<Record<CallState['at'], Effect>> = {
      waiting: 'await-stream',
      finishing: 'finish-legs',
      ending: 'end',
      ended: 'summarise',
    };
    const effect = resumed[this.#state.at];
    if (effect !== undefined) this.#carryOut(effect);
  }
}
