import { wait, type Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import type { ServerMessage } from '../../protocol/live-messages.ts';
import { backOffMs } from '../../speech-client/back-off.ts';
import type { SpeechClient } from '../../speech-client/client.ts';
import type { InFlightState } from '../../speech-client/in-flight.ts';
import type { SessionOver, SpeechSession } from '../../speech-client/session.ts';
import type { LegStore } from '../journal/leg-store.ts';
import type { LegGapCause, LegLedger } from '../records/ledger.ts';
import type { LegSession } from '../records/leg-record.ts';
import type { LegRequest } from '../session/leg-request.ts';
import { legTotals } from './metrics.ts';
import { pastOf, PastSessions, unknownPast } from './past-sessions.ts';
import { spokenBy } from './session-span.ts';
import type { LegSnapshot, SessionSnapshot } from '../records/leg-snapshot.ts';

/** The interface ends a live session after 3 h: we change over before, in a pause of the speech if one comes. */
const changeAfterS = 10_200;
const changeAtLatestS = 10_500;
/** While the service says how much a lost session had heard, so that nothing is heard twice. */
const doubtMs = 1_500;
/** A session that another one replaced has this long to be finished at the service. */
const replacedMs = 180_000;
/** Less than this after a final is the breath after a sentence. */
const leastUnsaidS = 0.3;
/** A request that the service refuses is asked again rarely: only the service itself can change its mind. */
const refusedRetryMs = 60_000;
/** Sessions that end at once are replaced at once so many times: one node of the service may be the reason. */
const barrenAtOnce = 3;
/** The pauses after them. With those the sessions of a leg last for minutes; an ended call waits shorter. */
const barrenMs = { first: 250, max: 10_000, finishing: 1_000 };

export type LegState =
  /** A session is being asked for; audio waits in the journal. */
  | { at: 'opening' }
  | { at: 'live'; sessionId: string }
  /** Socket lost; the same session is being resumed. */
  | { at: 'resuming'; sessionId: string }
  /** No session can be had for now; asked again by itself. */
  | { at: 'waiting'; cause: 'unreachable' | 'busy' | 'unauthorized' | 'refused' }
  /** The bound of sessions is passed: audio is kept, nothing more is sent. */
  | { at: 'journal-only' }
  | { at: 'finishing'; sessionId?: string }
  | { at: 'ended' };

type LegSessionsOptions = {
  legId: string;
  callId: string;
  request: LegRequest;
  region?: 'us-west' | 'eu-west';
  speech: SpeechClient;
  clock: Clock;
  log: Logger;
  bytesPerSecond: number;
  /** The audio stays on disk after the call: nothing has to wait for a service that refuses it. */
  recording: boolean;
  /** Read here, written by the leg. */
  ledger: Pick<LegLedger, 'settled' | 'end' | 'isSettled'>;
  store: LegStore;
  left: LegSnapshot | undefined;
  onMessage(message: ServerMessage, sessionId: string, offsetS: number): void;
  onSession?(session: LegSession): void;
  /** The service has everything before this leg position. */
  onAcknowledged(position: number): void;
  /** Leg positions that the service had acknowledged and, by its own count, does not have any more. */
  onTakenBack: (start: number, end: number) => void;
  onState: (state: LegState) => void;
  /** To be written down at once: a session that is not on record would be lost with a kill. */
  onStarted(): void;
  /** Something that the next process must know: to be written down within a second. */
  onChanged: () => void;
  /** The leg may be done: nothing is under way here that was before. */
  onIdle: () => void;
  /** Leg positions that a session had acknowledged before it was lost, and whose words nobody will say. */
  onUnsaid: (start: number, end: number) => void;
  /** The rest of the leg's audio can no longer be transcribed. */
  onHopeless: (cause: LegGapCause) => void;
};

/** `service`: the speech node that made it; undefined where an earlier version wrote it down. */
type MadeSession = { id: string; url: string; service?: string | undefined };

/**
 * The live sessions of one leg, one after the other: which one hears the audio, when the next takes over, and
 * what the ones before it still have to say.
 *
 *   ask ─▶ current ─┬─ lost ─▶ the unacknowledged audio goes to the next
 *                   └─ too old, or outdated ─▶ next is asked for ─▶ cut: the rest goes to it
 */
export class LegSessions {
  /** `late`: a deadline passed before the service had said its last word. */
  finals: 'complete' | 'late' = 'complete';
  readonly #options: LegSessionsOptions;
  // Beside the options: frames and acks come this way, fifty a second each.
  readonly #bytesPerSecond: number;
  readonly #ledger: LegSessionsOptions['ledger'];
  readonly #store: LegStore;
  readonly #history: SessionSnapshot[];
  readonly #past: PastSessions;
  readonly #abort = new AbortController();
  #current: SpeechSession | undefined;

  // --- asking for a session: one request at a time
  #request: LegRequest;
  /** When the leg began: the oldest leg goes first where there is a queue. */
  readonly #sinceMs: number;
  #isCreating = false;
  /** Set while a refused request waits until it is asked again. */
  #stopRetry: (() => void) | undefined;
  /** Sessions in a row that ended before anything of their audio was acknowledged. */
  #barren = 0;
  #stopPause: (() => void) | undefined;
  /** The request has changed since the current session was asked for. */
  #isOutdated = false;

  // --- changing over to the next session
  /** The current session takes nothing from this leg position on: the next one does. */
  #cut: number | undefined;
  #cutSession: (position: number) => void = () => undefined;
  #next: MadeSession | undefined;
  /** Leg positions, by channel, up to which finals of the current session have spoken. */
  #said: number[] = [];
  /** A session ended with bytes in doubt: the next one waits a moment for its record. */
  #isInDoubt = false;

  // --- the end
  /** Set when no more audio comes. */
  #finalsMs: number | undefined;
  #stopWithin: (() => void) | undefined;
  #stopFinals: (() => void) | undefined;
  #isOver = false;

  constructor(options: LegSessionsOptions) {
    const { left, clock } = options;
    this.#options = options;
    this.#bytesPerSecond = options.bytesPerSecond;
    this.#ledger = options.ledger;
    this.#store = options.store;
    this.#request = options.request;
    this.#sinceMs = clock.monotonicMs();
    this.#history = (left?.sessions ?? []).map((session) => ({ ...session }));
    this.#past = new PastSessions({
      speech: options.speech,
      clock,
      log: options.log,
      signal: this.#abort.signal,
      bytesPerSecond: options.bytesPerSecond,
      patienceMs: () => this.#finalsMs ?? replacedMs,
      replaced: (session) => this.#current !== undefined || session !== this.#history.at(-1),
      onMessage: (message, id, offsetS) => options.onMessage(message, id, offsetS),
      onHeard: (session, position) => {
        this.#acknowledged(position);
        session.end = this.#ledger.settled;
      },
      onLate: () => this.#finalsAreLate(),
      onUnsaid: (session) => this.#unsaid(session),
      onChange: () => {
        options.onChanged();
        options.onIdle();
      },
    });
    // The process before this one was killed while it asked: what its request made is not to stay at the service.
    if (left?.asking === true) this.#cancelOrphans();
  }

  get currentId(): string | undefined {
    return this.#current?.id;
  }

  get lastId(): string | undefined {
    return this.#current?.id ?? this.#history.at(-1)?.id;
  }

  /** Messages may still come, of the current session or of one that is over. */
  get isBusy(): boolean {
    return this.#current !== undefined || this.#past.isBusy || this.#isInDoubt;
  }

  /** A session is being created and is still wanted. */
  get isCreating(): boolean {
    return this.#isCreating && !this.#abort.signal.aborted;
  }

  all(): LegSession[] {
    return this.#history.map(({ id, base }) => ({ id, offsetS: this.#secondsAt(base) }));
  }

  /** Goes on with the session that an earlier process left, or asks for the first. */
  begin(): void {
    const left = this.#options.left?.current;
    for (const session of this.#history)
      if (session.unread && session.id !== left?.id) {
        const sentS = this.#secondsAt(this.#ledger.end - session.base);
        void this.#past.read(unknownPast(session, sentS));
      }
    if (left) this.#start(left, left.flight, left.said);
    else this.ensure();
  }

  /** A frame that is journalled just now. The usual way: straight on to the socket. */
  frame(position: number, bytes: Buffer): void {
    const session = this.#current;
    if (!session || this.#cut !== undefined) return;
    session.frame(position, bytes);
    if (this.#secondsAt(position - session.inFlight.base) > changeAtLatestS) this.#changeOver();
  }

  /** Asks for a session where one is needed and can be had. */
  ensure(): void {
    if (this.#current || this.#isCreating || this.#isOver || this.#isInDoubt) return;
    if (this.#stopRetry || this.#stopPause) return;
    if (this.#ledger.isSettled && (this.#isFinishing || this.#history.length > 0)) return;
    if (this.#history.length >= this.#options.speech.config.maxSessionsPerLeg) {
      this.#options.onState({ at: 'journal-only' });
      if (this.#isFinishing) this.#options.onHopeless('sessions');
      return;
    }
    this.#guard(this.#open());
  }

  /** Another request from here on: the current session is replaced by one of the new request. */
  changeRequest(request: LegRequest): void {
    this.#request = request;
    if (this.#isOver || this.#isFinishing) return;
    // One session is left for trouble: a carrier that changes its mind all the time must not use them up.
    if (this.#history.length + 2 > this.#options.speech.config.maxSessionsPerLeg) return;
    this.#isOutdated = true;
    if (this.#current) this.#changeOver();
  }

  snapshot(): Pick<LegSnapshot, 'current' | 'sessions' | 'asking'> {
    const session = this.#current;
    const service = session && this.#recordOf(session)?.service;
    return {
      ...(session
        ? {
            current: {
              id: session.id,
              url: session.url,
              ...(service === undefined ? {} : { service }),
              flight: session.inFlight.state(),
              ...(this.#said.length === 0 ? {} : { said: [...this.#said] }),
            },
          }
        : {}),
      // Read or not, their messages may not be durable yet when this process is killed: the next one asks again.
      sessions: this.#history.map((one) => ({ ...one, unread: true })),
      // A session that waits to take over is known to nobody else.
      ...(this.#isCreating || this.#next ? { asking: true } : {}),
    };
  }

  // --- the end -----------------------------------------------------------------------------------

  /** No more audio comes: the session is told, and one is asked for while audio waits. */
  finish({ finalsMs, withinMs }: { finalsMs: number; withinMs: number }): void {
    const { clock, onHopeless } = this.#options;
    this.#finalsMs = finalsMs;
    this.#stopWithin = clock.after(withinMs, () => onHopeless('deadline'));
    // Nothing was said and no session can be had: none is needed.
    if (this.#ledger.isSettled && this.#isCreating && !this.#current && this.#history.length === 0)
      this.#abort.abort();
    if (this.#stopRetry && this.#options.recording) {
      onHopeless('refused');
      return;
    }
    this.#stopPause?.();
    this.#stopPause = undefined;
    this.#current?.stop();
    this.ensure();
    this.#armFinals();
  }

  /** No time is left: the session ends at the service, too. */
  giveUp(): void {
    this.finals = 'late';
    this.close();
  }

  /** Ended for good at the service, too. */
  close(): void {
    this.#current?.close();
    this.#current = undefined;
  }

  /** Nothing happens here any more; the service keeps the session for its grace time. */
  release(): void {
    this.#isOver = true;
    this.#stopRetry?.();
    this.#stopRetry = undefined;
    this.#stopPause?.();
    this.#stopPause = undefined;
    this.#stopWithin?.();
    this.#disarmFinals();
    this.#abort.abort();
    this.#current?.drop();
    this.#current = undefined;
  }

  get #isFinishing(): boolean {
    return this.#finalsMs !== undefined;
  }

  /** The last finals have their time from when the service has every byte and answers. */
  #armFinals(): void {
    if (this.#finalsMs === undefined || !this.#current?.open || !this.#ledger.isSettled) return;
    this.#stopFinals ??= this.#options.clock.after(this.#finalsMs, () => {
      this.#stopFinals = undefined;
      this.#finalsDidNotCome();
    });
  }

  #disarmFinals(): void {
    this.#stopFinals?.();
    this.#stopFinals = undefined;
  }

  /** The service has every byte and answered, and its last words did not come on the socket: perhaps its record has them. */
  #finalsDidNotCome(): void {
    const session = this.#current;
    if (!session?.open || !this.#isFinishing) return;
    this.finals = 'late';
    session.hasSwallowed = true;
    session.close();
    this.#current = undefined;
    const record = this.#recordOf(session);
    if (record) void this.#past.read(pastOf(session, record));
    this.#options.onIdle();
  }

  #finalsAreLate(): void {
    if (this.#isFinishing) this.finals = 'late';
  }

  // --- asking for a session ----------------------------------------------------------------------

  async #open(): Promise<void> {
    this.#options.onState({ at: 'opening' });
    this.#options.onChanged();
    this.#isOutdated = false;
    const made = await this.#ask();
    if (made && !this.#isOver) this.#startNew(made);
    else if (made) this.#cancelOrphans();
    this.#options.onIdle();
    if (this.#isOutdated && this.#current) this.#changeOver();
  }

  async #ask(): Promise<MadeSession | undefined> {
    const { speech, region, onState } = this.#options;
    this.#isCreating = true;
    const created = await speech
      .create({
        body: this.#request,
        ...(region === undefined ? {} : { region }),
        sinceMs: this.#sinceMs,
        signal: this.#abort.signal,
        onWaiting: (cause) => {
          if (!this.#current) onState({ at: 'waiting', cause });
        },
      })
      .finally(() => {
        this.#isCreating = false;
      });
    if (created.orphans > 0) this.#cancelOrphans();
    if (created.outcome === 'created') {
      const { id, url, service } = created;
      return { id, url, service };
    }
    if (created.outcome === 'refused' && !this.#abort.signal.aborted) this.#refused(created.reason);
    return undefined;
  }

  /**
   * The service does not take the request. Where the audio is recorded the call may end without words, and be read again
   * later. Elsewhere the journal has the only copy: it is kept as long as for a service that is away.
   */
  #refused(reason: string): void {
    const { log, clock, onState, onHopeless } = this.#options;
    log.error({ reason }, 'the speech service refuses the session request');
    if (!this.#current) onState({ at: 'waiting', cause: 'refused' });
    if (this.#isFinishing && this.#options.recording) {
      onHopeless('refused');
      return;
    }
    this.#stopRetry = clock.after(refusedRetryMs, () => {
      this.#stopRetry = undefined;
      this.ensure();
    });
  }

  /** An answer was lost, perhaps with an earlier process: the session that it made is not to stay at the service. */
  #cancelOrphans(): void {
    const { speech, callId, legId } = this.#options;
    speech.cancelOrphans({
      metadata: { call_id: callId, leg_id: legId },
      isKnown: (id) => this.#next?.id === id || this.#history.some((session) => session.id === id),
    });
  }

  // --- the current session -----------------------------------------------------------------------

  /** A session that was made for the audio that nobody has acknowledged. */
  #startNew({ id, url, service }: MadeSession): void {
    const base = this.#ledger.settled;
    const said = this.#saidBefore(base);
    this.#history.push({
      id,
      ...(service === undefined ? {} : { service }),
      base,
      unread: true,
      ...(said ? { from: said } : {}),
    });
    legTotals.sessions++;
    this.#start({ id, url, service }, base);
    this.#options.onSession?.({ id, offsetS: this.#secondsAt(base) });
  }

  /** `from`: the leg position of its first byte, or the state in which an earlier process left it. */
  #start(
    { id, url, service }: MadeSession,
    from: InFlightState | number,
    said: readonly number[] = [],
  ): void {
    const { speech, log, onTakenBack } = this.#options;
    const source = {
      cut: undefined as number | undefined,
      end: () => source.cut ?? this.#store.writtenTo,
      ended: () => source.cut !== undefined || this.#isFinishing,
      read: (position: number, maxBytes: number) => this.#store.read(position, maxBytes),
    };
    const session: SpeechSession = speech.session({
      id,
      url,
      service,
      from,
      takenOver: typeof from !== 'number',
      source,
      bytesPerSecond: this.#bytesPerSecond,
      log,
      onMessage: (message) => this.#message(session, message),
      onAcknowledged: (position) => this.#acknowledged(position),
      onTakenBack,
      onLink: (link) => this.#linkChanged(session, link),
      onOver: (reason) => this.#sessionOver(session, reason),
    });
    this.#current = session;
    this.#said = [...said];
    this.#cutSession = (position) => (source.cut = position);
    this.#options.onStarted();
    if (this.#isFinishing) session.stop();
  }

  #message(session: SpeechSession, message: ServerMessage): void {
    if (this.#isOver) return;
    const origin = session.originOf(message);
    const record = this.#recordOf(session);
    const spoken = record
      ? spokenBy(record, message, {
          origin,
          bytesPerSecond: this.#bytesPerSecond,
          isReplaced: false,
        })
      : message;
    if (spoken) this.#options.onMessage(spoken, session.id, this.#secondsAt(origin));
    if (session !== this.#current) return;
    if (message.type === 'transcript' && message.data.is_final) {
      const { channel, end } = message.data.utterance;
      // A number that the service makes up must not become the length of a list.
      if (channel < this.#options.request.channels)
        this.#said[channel] = origin + Math.round(end * this.#bytesPerSecond);
    }
    const sentS = this.#secondsAt(this.#ledger.end - session.inFlight.base);
    if (message.type === 'speech_end' && sentS > changeAfterS) this.#changeOver();
  }

  /** Finals can overtake acks: words of audio that a new session hears again are not said twice. */
  #saidBefore(base: number): number[] | undefined {
    const from: number[] = [];
    for (const { said } of this.#history)
      for (const [channel, position] of (said ?? []).entries())
        from[channel] = Math.max(from[channel] ?? 0, position ?? 0);
    return from.some((position) => position > base) ? from : undefined;
  }

  /** What a lost session had acknowledged and never said: the next one does not hear it, and nobody else says so. */
  #unsaid(session: SessionSnapshot): void {
    const { base, end, said, isUnsaid } = session;
    // Only of one that was seen to be lost: what another process heard of a session is in that process's own rows.
    if (said === undefined || end === undefined || isUnsaid === true) return;
    session.isUnsaid = true;
    const { channels } = this.#options.request;
    const spoken = Array.from({ length: channels }, (_, channel) => said[channel] ?? base);
    const start = Math.max(base, Math.min(...spoken));
    if (this.#secondsAt(end - start) >= leastUnsaidS) this.#options.onUnsaid(start, end);
  }

  #acknowledged(position: number): void {
    this.#options.onAcknowledged(position);
    if (this.#cut !== undefined && this.#ledger.settled >= this.#cut) this.#change();
    else if (this.#isFinishing) this.#armFinals();
  }

  #linkChanged(session: SpeechSession, link: 'open' | 'lost'): void {
    if (session !== this.#current) return;
    if (!this.#isFinishing) {
      const at = link === 'open' ? 'live' : 'resuming';
      this.#options.onState({ at, sessionId: session.id });
    } else if (link === 'open') {
      this.#armFinals();
    } else {
      this.#disarmFinals();
    }
  }

  #sessionOver(session: SpeechSession, reason: SessionOver): void {
    const record = this.#recordOf(session);
    const isCurrent = session === this.#current;
    if (isCurrent) this.#current = undefined;
    if (record) {
      record.end ??= this.#ledger.settled;
      if (isCurrent) this.#barren = record.end > record.base ? 0 : this.#barren + 1;
      record.unread = session.hasSwallowed;
      if (isCurrent && reason !== 'finished') record.said = this.#said;
    }
    if (this.#isOver || reason === 'dropped') return;
    const { log, onChanged, onIdle } = this.#options;
    if (reason !== 'finished')
      log.warn({ sessionId: session.id, reason }, 'live session ended before its leg');
    const reading = record?.unread ? this.#past.read(pastOf(session, record)) : undefined;
    onChanged();
    if (isCurrent && reading && session.inFlight.doubtful > 0)
      this.#guard(this.#awaitDoubt(reading));
    else if (isCurrent) this.#afterSession();
    onIdle();
  }

  /** Acks may have been lost with the socket. Audio that the session did hear must not be heard twice. */
  async #awaitDoubt(reading: Promise<void>): Promise<void> {
    this.#isInDoubt = true;
    await Promise.race([reading, wait(this.#options.clock, this.#finalsMs ?? doubtMs)]);
    this.#isInDoubt = false;
    if (this.#isOver) return;
    this.#afterSession();
    this.#options.onIdle();
  }

  #afterSession(): void {
    const next = this.#next;
    this.#cut = undefined;
    this.#next = undefined;
    if (next) this.#startNew(next);
    else if (this.#barren > barrenAtOnce) this.#ensureLater();
    else this.ensure();
    if (this.#isOutdated) this.#changeOver();
  }

  /** A service whose sessions are all good for nothing is given time: a leg has so many of them, and no more. */
  #ensureLater(): void {
    const { clock } = this.#options;
    const maxMs = this.#isFinishing ? barrenMs.finishing : barrenMs.max;
    const delayMs = backOffMs(this.#barren - barrenAtOnce - 1, { firstMs: barrenMs.first, maxMs });
    this.#stopPause ??= clock.after(delayMs, () => {
      this.#stopPause = undefined;
      this.ensure();
    });
  }

  // --- changing over -----------------------------------------------------------------------------

  /** Before the 3 h limit, or when another language is wanted: a new session is asked for, then audio goes to it from one frame to the next. */
  #changeOver(): void {
    if (this.#isCreating || this.#cut !== undefined || this.#isFinishing) return;
    this.#isOutdated = false;
    this.#guard(this.#replace(this.#current));
  }

  async #replace(session: SpeechSession | undefined): Promise<void> {
    const made = await this.#ask();
    if (!made) return;
    if (this.#isOver || this.#current !== session || !session) {
      if (this.#isOver || this.#current) this.#cancelOrphans();
      else this.#startNew(made);
      return;
    }
    this.#next = made;
    this.#options.onChanged();
    this.#cut = this.#store.writtenTo;
    this.#cutSession(this.#cut);
    session.more();
    if (this.#ledger.settled >= this.#cut) this.#change();
  }

  #change(): void {
    const old = this.#current;
    this.#current = undefined;
    old?.stop(); // it is read on until it closes; `#sessionOver` sees to the rest
    this.#afterSession();
  }

  // --- little helpers ----------------------------------------------------------------------------

  #recordOf(session: SpeechSession): SessionSnapshot | undefined {
    return this.#history.find((one) => one.id === session.id);
  }

  #secondsAt(position: number): number {
    return position / this.#bytesPerSecond;
  }

  /** Nobody awaits this work: an error in it must not end the process, and the leg asks for a session again. */
  #guard(work: Promise<void>): void {
    work.catch((error: unknown) => {
      this.#options.log.error({ err: error }, 'a live session could not be begun');
      if (!this.#isOver) this.#refused('the session could not be begun');
    });
  }
}
