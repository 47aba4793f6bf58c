import { wait, type Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import type { ServerMessage } from '../../protocol/live-messages.ts';
import type { ExpectedAnswer, SessionHint } from '../../protocol/session-hints.ts';
import type { SpeechClient } from '../../speech-client/client.ts';
import type { InFlightState } from '../../speech-client/in-flight.ts';
import type { SessionOver, SpeechSession } from '../../speech-client/speech-session.ts';
import type { LegStore } from '../journal/leg-store.ts';
import type { LegGapCause, LegLedger } from '../records/ledger.ts';
import type { LegSession } from '../records/leg-record.ts';
import type { LegRequest } from '../session/leg-request.ts';
import { legTotals } from './metrics.ts';
import { pastOf, PastSessions, unknownPast } from './past-sessions.ts';
import { spokenBy } from './session-span.ts';
import {
  knownOf,
  saidBefore,
  snapshotOf,
  toldPositions,
  unsaidOf,
  type KnownSession,
} from './session-records.ts';
import {
  heedsAck,
  isAsking,
  isFinishing,
  mayAsk,
  nextOf,
  noSession,
  step,
  type SessionAnswer,
  type LegState,
  type MadeSession,
  type SessionsEffect,
  type SessionsInput,
  type SessionsState,
} from './session-state.ts';
import type { LegSnapshot } from '../records/leg-snapshot.ts';

/**
 * The speech interface ends a live session after 3 h. The leg changes to a new session before that, in a pause of the
 * speech if there is one.
 */
const changeAfterS = 10_200;
const changeAtLatestS = 10_500;
/** The service gets this long to finish a session that was replaced. */
const replacedMs = 180_000;

type LegSessionsOptions = {
  legId: string;
  callId: string;
  request: LegRequest;
  region?: 'us-west' | 'eu-west' | undefined;
  speech: SpeechClient;
  clock: Clock;
  log: Logger;
  bytesPerSecond: number;
  /**
   * True if the audio stays on disk after the call. The leg then need not wait for a service that refuses the request.
   */
  recording: boolean;
  /** The session waits this much longer before it ends an utterance inside a number, if the service supports that. */
  numberPauseS?: number | undefined;
  /** The ledger of the leg. This class only reads it; only the leg writes to it. */
  ledger: Pick<LegLedger, 'settled' | 'end' | 'isSettled'>;
  store: LegStore;
  left: LegSnapshot | undefined;
  told?: readonly (number | undefined)[] | undefined;
  onMessage(message: ServerMessage, sessionId: string, offsetS: number): void;
  onSession?(session: LegSession): void;
  /** Called when the service has everything before this leg position. */
  onAcknowledged(position: number): void;
  /** Called when the service, by its own count, has lost audio at these leg positions that it had acknowledged. */
  onTakenBack: (start: number, end: number) => void;
  onState: (state: LegState) => void;
  /**
   * Called when a session has started. The leg journals it at once, because a crash would lose a session that is not on
   * record.
   */
  onStarted(): void;
  /** Called when something has changed that the next process must know. It is journalled within a second. */
  onChanged: () => void;
  /** Called when nothing is in progress here any more, so the leg may be done. */
  onIdle: () => void;
  /**
   * Called when a session was lost after it had acknowledged these leg positions. Their words will never be returned.
   */
  onUnsaid: (start: number, end: number) => void;
  /** Called when the rest of the leg's audio can no longer be transcribed. */
  onHopeless: (cause: LegGapCause) => void;
};

/** The live sessions of one leg, one after the other. Carries out the decisions of `step` in session-state.ts. */
export class LegSessions {
  /** `late`: a deadline passed before the service had sent its last result. */
  finals: 'complete' | 'late' = 'complete';
  readonly #options: LegSessionsOptions;
  // Copied from the option because frames and acks use it, each fifty times a second.
  readonly #bytesPerSecond: number;
  readonly #ledger: LegSessionsOptions['ledger'];
  readonly #store: LegStore;
  readonly #known: KnownSession[];
  /** Leg positions, by channel, up to which an earlier process had stored words. */
  readonly #told: readonly number[];
  readonly #past: PastSessions;
  readonly #abort = new AbortController();
  /** The time at which the leg began. In the queue for sessions, the oldest leg comes first. */
  readonly #sinceMs: number;
  #state: SessionsState = noSession;
  #request: LegRequest;
  /** The session that currently hears the leg, with the leg position at which its audio ends. */
  #current: SpeechSession | undefined;
  #cutCurrent: (position: number) => void = () => undefined;
  /** Leg positions, by channel, up to which the current session has returned finals. */
  #said: number[] = [];
  /** Sessions that are not finished, including sessions that only deliver their last messages. */
  readonly #open = new Map<string, SpeechSession>();
  /** The kind of answer that each channel is expected to give next. */
  readonly #expects = new Map<number, ExpectedAnswer>();
  #stopRetry: (() => void) | undefined;
  #stopDeadline: (() => void) | undefined;
  #stopFinals: (() => void) | undefined;

  constructor(options: LegSessionsOptions) {
    const { left, clock } = options;
    this.#options = options;
    this.#bytesPerSecond = options.bytesPerSecond;
    this.#ledger = options.ledger;
    this.#store = options.store;
    this.#request = options.request;
    this.#sinceMs = clock.monotonicMs();
    this.#known = (left?.sessions ?? []).map(knownOf);
    this.#told = toldPositions(options.told ?? [], options.ledger.end, options.bytesPerSecond);
    this.#past = new PastSessions({
      speech: options.speech,
      clock,
      log: options.log,
      signal: this.#abort.signal,
      bytesPerSecond: options.bytesPerSecond,
      patienceMs: () => this.#finalsMs ?? replacedMs,
      replaced: (session) => this.#current !== undefined || session !== this.#known.at(-1),
      onMessage: (message, id, offsetS) => options.onMessage(message, id, offsetS),
      onHeard: (session, position) => {
        this.#acknowledged(position);
        session.end = this.#ledger.settled;
      },
      onLate: () => this.#take({ type: 'words-missing' }),
      onUnsaid: (session) => this.#unsaid(session),
      onChange: () => {
        options.onChanged();
        options.onIdle();
      },
    });
    // The previous process was killed while it asked for a session. If the service made a session for that request, it
    // must be cancelled.
    if (left?.asking === true) this.#cancelOrphans();
  }

  get currentId(): string | undefined {
    return this.#current?.id;
  }

  get lastId(): string | undefined {
    return this.#current?.id ?? this.#known.at(-1)?.id;
  }

  /** True if messages may still come from the current session or an earlier one. */
  get isBusy(): boolean {
    return this.#current !== undefined || this.#past.isBusy || this.#state.at === 'in-doubt';
  }

  /** True if a session is being created and is still wanted. */
  get isCreating(): boolean {
    return isAsking(this.#state);
  }

  all(): LegSession[] {
    return this.#known.map(({ id, base }) => ({ id, offsetS: this.#secondsAt(base) }));
  }

  /** Continues the session that an earlier process left, or asks for the first one. */
  begin(): void {
    const left = this.#options.left?.current;
    for (const session of this.#known)
      if (session.isUnfetched && session.id !== left?.id) {
        const sentS = this.#secondsAt(this.#ledger.end - session.base);
        void this.#past.read(unknownPast(session, sentS));
      }
    this.#take({ type: 'begun', left });
  }

  /** Takes a frame as soon as it is journalled. Normally the frame goes straight to the socket. */
  frame(position: number, bytes: Buffer): void {
    const session = this.#current;
    if (!session || this.#state.at === 'handing-over') return;
    session.frame(position, bytes);
    if (this.#secondsAt(position - session.inFlight.base) > changeAtLatestS)
      this.#take({ type: 'grown-old' });
  }

  /** Asks for a session if one is needed and available. It is called for every frame. */
  ensure(): void {
    if (mayAsk(this.#state)) this.#take({ type: 'needed' });
  }

  /** Changes the request. The current session is replaced by one with the new request. */
  changeRequest(request: LegRequest): void {
    this.#request = request;
    this.#take({ type: 'request-changed' });
  }

  /** Tells the sessions which kind of answer may come next on a channel. The next words may also be something else. */
  expect(channel: number, answer: ExpectedAnswer | undefined): void {
    if (this.#expects.get(channel) === answer) return;
    if (answer === undefined) this.#expects.delete(channel);
    else this.#expects.set(channel, answer);
    this.#current?.hint();
  }

  #hints(): SessionHint[] {
    const { request, numberPauseS = 0 } = this.#options;
    return Array.from({ length: request.channels }, (_, channel) => ({
      channel,
      expects: this.#expects.get(channel) ?? null,
      number_pause: numberPauseS,
    }));
  }

  snapshot(): Pick<LegSnapshot, 'current' | 'sessions' | 'asking'> {
    const session = this.#current;
    const current = session && {
      id: session.id,
      url: session.url,
      service: this.#knownBy(session.id)?.service,
      flight: session.inFlight.state(),
      said: this.#said.length === 0 ? undefined : [...this.#said],
    };
    // A session that is about to take over is recorded nowhere else.
    const asking = this.isCreating || nextOf(this.#state) !== undefined || undefined;
    return { current, sessions: this.#known.map(snapshotOf), asking };
  }

  /**
   * Called when no more audio comes. The session is told so. If audio still waits without a session, one is requested.
   */
  finish({ finalsMs, withinMs }: { finalsMs: number; withinMs: number }): void {
    this.#take({ type: 'finish', finalsMs, withinMs });
  }

  /** Ends the sessions, also at the service, because no time is left. */
  giveUp(): void {
    this.#take({ type: 'given-up' });
  }

  /** Ends the sessions for good, at the service too. */
  close(): void {
    this.#take({ type: 'closed' });
  }

  /** Stops all work here. The service keeps the session for its grace time. */
  release(): void {
    this.#take({ type: 'released' });
  }

  get #finalsMs(): number | undefined {
    const state = this.#state;
    return state.at === 'over' || state.end.at === 'open' ? undefined : state.end.finalsMs;
  }

  // --- carrying out the decisions of `step` --------------------------------------------------------

  #take(input: SessionsInput): void {
    const [state, effects] = step(this.#state, input, {
      settled: this.#ledger.settled,
      writtenTo: this.#store.writtenTo,
      isSettled: this.#ledger.isSettled,
      sessions: this.#known.length,
      maxSessions: this.#options.speech.config.maxSessionsPerLeg,
      recording: this.#options.recording,
    });
    this.#state = state;
    for (const effect of effects) this.#carryOut(effect);
  }

  #carryOut(effect: SessionsEffect): void {
    switch (effect.do) {
      case 'tell':
        return this.#options.onState(effect.state);
      case 'ask':
        return void this.#ask();
      case 'withdraw-request':
        return this.#abort.abort();
      case 'retry-after':
        this.#stopRetry = this.#after(effect.ms, { type: 'retry-due' });
        return;
      case 'stop-retry':
        return this.#stopRetry?.();
      case 'start':
        return this.#startNew(effect.made);
      case 'resume':
        return this.#resume(effect.left);
      case 'cut':
        this.#cutCurrent(effect.position);
        return this.#current?.more();
      case 'stop-session':
        return this.#current?.stop();
      case 'retire-session':
        return this.#leaveCurrent((session) => session.stop());
      case 'close-session':
        return this.#leaveCurrent((session) => session.close());
      case 'close-and-read':
        return this.#closeAndRead();
      case 'read-record':
        return this.#readRecord(effect.sessionId, effect.doubtMs);
      case 'await-deadline':
        this.#stopDeadline = this.#options.clock.after(effect.ms, () =>
          this.#options.onHopeless('deadline'),
        );
        return;
      case 'await-finals':
        this.#stopFinals = this.#after(effect.ms, { type: 'finals-due' });
        return;
      case 'stop-finals':
        return this.#stopFinals?.();
      case 'say-late':
        this.finals = 'late';
        return;
      case 'cancel-orphans':
        return this.#cancelOrphans();
      case 'changed':
        return this.#options.onChanged();
      case 'idle':
        return this.#options.onIdle();
      case 'hopeless':
        return this.#options.onHopeless(effect.cause);
      case 'release':
        return this.#release();
    }
  }

  #after(ms: number, input: SessionsInput): () => void {
    return this.#options.clock.after(ms, () => this.#take(input));
  }

  #release(): void {
    this.#stopRetry?.();
    this.#stopDeadline?.();
    this.#stopFinals?.();
    this.#abort.abort();
    this.#leaveCurrent((session) => session.drop());
  }

  #leaveCurrent(leave: (session: SpeechSession) => void): void {
    if (this.#current) leave(this.#current);
    this.#current = undefined;
  }

  #closeAndRead(): void {
    const session = this.#current;
    if (session === undefined) return;
    session.hasSwallowed = true;
    this.#leaveCurrent(() => session.close());
    const known = this.#knownBy(session.id);
    if (known) void this.#past.read(pastOf(session, known));
  }

  /**
   * Acks may have been lost with the socket. The session's record at the service says how much of the audio it heard.
   */
  #readRecord(sessionId: string, doubtMs?: number): void {
    const session = this.#open.get(sessionId);
    const known = this.#knownBy(sessionId);
    const reading = session && known ? this.#past.read(pastOf(session, known)) : Promise.resolve();
    if (doubtMs === undefined) return;
    void Promise.race([reading, wait(this.#options.clock, doubtMs)]).then(() =>
      this.#guarded(() => this.#take({ type: 'doubt-over', sessionId })),
    );
  }

  // --- asking for a session ----------------------------------------------------------------------

  async #ask(): Promise<void> {
    const { speech, region, log } = this.#options;
    try {
      const created = await speech.create({
        body: this.#request,
        region,
        sinceMs: this.#sinceMs,
        signal: this.#abort.signal,
        onWaiting: (cause) => this.#take({ type: 'waiting', cause }),
      });
      if (created.outcome === 'refused')
        log.error({ reason: created.reason }, 'the speech service refuses the session request');
      this.#take({ type: 'answered', answer: answerOf(created), orphans: created.orphans });
    } catch (error) {
      this.#notBegun(error);
    }
  }

  /** A bug of ours must not end the process. It counts as a refusal, and the leg asks for a session again. */
  #notBegun(error: unknown): void {
    this.#options.log.error({ err: error }, 'a live session could not be begun');
    // The state already says that a session hears the leg, although none could be opened.
    const { at } = this.#state;
    if (this.#current === undefined && (at === 'hearing' || at === 'handing-over'))
      this.#take({ type: 'not-begun' });
    else this.#take({ type: 'answered', answer: { outcome: 'refused' }, orphans: 0 });
  }

  #guarded(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#notBegun(error);
    }
  }

  /**
   * The service's answer to a request was lost, perhaps in an earlier process. A session that was made for that request
   * is cancelled at the service.
   */
  #cancelOrphans(): void {
    const { speech, callId, legId } = this.#options;
    speech.cancelOrphans({
      metadata: { call_id: callId, leg_id: legId },
      isKnown: (id) =>
        nextOf(this.#state)?.id === id || this.#known.some((session) => session.id === id),
    });
  }

  // --- the current session -----------------------------------------------------------------------

  /** Opens a session that was made for the unacknowledged audio. */
  #startNew(made: MadeSession): void {
    const { id, service } = made;
    const base = this.#ledger.settled;
    const from = saidBefore(this.#known, base, this.#told);
    this.#known.push({ id, service, base, isUnfetched: true, from });
    legTotals.sessions++;
    this.#start(made, base, []);
    this.#options.onSession?.({ id, offsetS: this.#secondsAt(base) });
  }

  #resume(session: MadeSession): void {
    const left = this.#options.left?.current;
    if (left) this.#start(session, left.flight, left.said ?? []);
  }

  /**
   * Opens a session. `from` is the leg position of its first byte, or the state in which an earlier process left it.
   */
  #start(
    { id, url, service }: MadeSession,
    from: InFlightState | number,
    said: readonly number[],
  ): void {
    const { speech, log, onTakenBack } = this.#options;
    let cut: number | undefined;
    const session: SpeechSession = speech.session({
      id,
      url,
      service,
      from,
      takenOver: typeof from !== 'number',
      source: {
        end: () => cut ?? this.#store.writtenTo,
        ended: () => cut !== undefined || isFinishing(this.#state),
        read: (position, maxBytes) => this.#store.read(position, maxBytes),
      },
      bytesPerSecond: this.#bytesPerSecond,
      hints: () => this.#hints(),
      log,
      onMessage: (message) => this.#message(session, message),
      onAcknowledged: (position) => this.#acknowledged(position),
      onTakenBack,
      onLink: (link) => this.#take({ type: 'link', sessionId: id, link }),
      onOver: (reason) => this.#sessionOver(session, reason),
    });
    this.#open.set(id, session);
    this.#current = session;
    this.#said = [...said];
    this.#cutCurrent = (position) => (cut = position);
    this.#options.onStarted();
  }

  #message(session: SpeechSession, message: ServerMessage): void {
    if (this.#state.at === 'over') return;
    const origin = session.originOf(message);
    const known = this.#knownBy(session.id);
    const bytesPerSecond = this.#bytesPerSecond;
    const spoken = known
      ? spokenBy(known, message, { origin, bytesPerSecond, isReplaced: false })
      : message;
    if (spoken) this.#options.onMessage(spoken, session.id, this.#secondsAt(origin));
    if (session !== this.#current) return;
    if (message.type === 'transcript' && message.data.is_final) {
      const { channel, end } = message.data.utterance;
      // The channel number comes from the service, so it must not decide the length of an array.
      if (channel < this.#options.request.channels)
        this.#said[channel] = origin + Math.round(end * bytesPerSecond);
    }
    const sentS = this.#secondsAt(this.#ledger.end - session.inFlight.base);
    if (message.type === 'speech_end' && sentS > changeAfterS) this.#take({ type: 'grown-old' });
  }

  #acknowledged(position: number): void {
    this.#options.onAcknowledged(position);
    if (heedsAck(this.#state, this.#ledger.settled)) this.#take({ type: 'acknowledged' });
  }

  #sessionOver(session: SpeechSession, reason: SessionOver): void {
    const { id, hasSwallowed } = session;
    const known = this.#knownBy(id);
    const isCurrent = session === this.#current;
    if (isCurrent) this.#current = undefined;
    if (known) {
      known.end ??= this.#ledger.settled;
      known.isUnfetched = hasSwallowed;
      if (isCurrent && reason !== 'finished') known.said = this.#said;
    }
    if (this.#state.at !== 'over' && reason !== 'dropped' && reason !== 'finished')
      this.#options.log.warn({ sessionId: id, reason }, 'live session ended before its leg');
    this.#take({
      type: 'session-over',
      sessionId: id,
      reason,
      wasUseful: known?.end === undefined || known.end > known.base,
      hasSwallowed,
      isInDoubt: session.inFlight.doubtful > 0,
    });
    this.#open.delete(id);
  }

  /**
   * Declares a gap for audio that a lost session had acknowledged without returning its words. The next session does
   * not hear that audio.
   */
  #unsaid(session: KnownSession): void {
    const { channels } = this.#options.request;
    const unsaid = unsaidOf(session, { channels, bytesPerSecond: this.#bytesPerSecond });
    if (session.said !== undefined && session.end !== undefined) session.isUnsaid = true;
    if (unsaid) this.#options.onUnsaid(unsaid.start, unsaid.end);
  }

  #knownBy(id: string): KnownSession | undefined {
    return this.#known.find((one) => one.id === id);
  }

  #secondsAt(position: number): number {
    return position / this.#bytesPerSecond;
  }
}

type Created = Awaited<ReturnType<SpeechClient['create']>>;

function answerOf(created: Created): SessionAnswer {
  if (created.outcome !== 'created') return { outcome: created.outcome };
  const { id, url, service } = created;
  return { outcome: 'created', made: { id, url, service } };
}
