import { wait } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import type { ServerMessage } from '../../protocol/live-messages.ts';
import type { InFlightState } from '../../speech-client/in-flight.ts';
import type { LiveSession, SessionOver } from '../../speech-client/session.ts';
import type { LegEntry } from '../journal/journal.ts';
import { LegAsking, type MadeSession } from './leg-asking.ts';
import type { LegBooks } from './leg-books.ts';
import type { LegFinishing } from './leg-finishing.ts';
import { legTotals } from './leg-metrics.ts';
import type { LegSnapshot, SessionSnapshot } from './leg-snapshot.ts';
import type { LegStore } from '../journal/leg-store.ts';
import type { GapCause, LegAudioOptions, LegRequest, LegSession, LegState } from './leg-types.ts';
import { pastOf, PastSessions, toldBy, unknownPast } from './past-sessions.ts';

/** The interface ends a live session after 3 h: we change over before, in a pause of the speech if one comes. */
const changeAfterS = 10_200;
const changeAtLatestS = 10_500;
/** While the service says how much a lost session had heard, so that nothing is heard twice. */
const doubtMs = 1_500;
/** A session that another one replaced has this long to be finished at the service. */
const replacedMs = 180_000;

export type LegSessionsOptions = Pick<
  LegAudioOptions,
  'legId' | 'callId' | 'request' | 'region' | 'speech' | 'clock' | 'onMessage' | 'onSession'
> & {
  log: Logger;
  books: LegBooks;
  store: LegStore;
  /** `dirty`: something that the next process must know, written down within a second. */
  entry: LegEntry;
  left: LegSnapshot | undefined;
  onState(state: LegState): void;
  /** To be written down at once: a session that is not on record would be lost with a kill. */
  onStarted(): void;
  /** The leg may be done: nothing is under way here that was before. */
  onIdle(): void;
  /** No session can be had for what is still unacknowledged. */
  onHopeless(cause: GapCause): void;
};

/**
 * The live sessions of one leg, one after the other: which one hears the audio, when the next takes over, and
 * what the ones before it still have to say.
 *
 *   ask ─▶ current ─┬─ lost ─▶ what is unacknowledged goes to the next
 *                   └─ too old, or outdated ─▶ next is asked for ─▶ cut: the rest goes to it
 */
export class LegSessions {
  current: LiveSession | undefined;
  /** Set when no more audio comes. */
  finishing: LegFinishing | undefined;
  readonly asking: LegAsking;
  private readonly options: LegSessionsOptions;
  // Beside the options: frames and acks come this way, fifty a second each.
  private readonly books: LegBooks;
  private readonly store: LegStore;
  private readonly entry: LegEntry;
  private readonly history: SessionSnapshot[];
  private readonly past: PastSessions;
  private readonly abort = new AbortController();
  /** The session takes nothing from this position on: the next one does. */
  private cut: number | undefined;
  private cutSession: (position: number) => void = () => undefined;
  private next: MadeSession | undefined;
  /** Leg positions, by channel, up to which finals of the current session have spoken. */
  private said: number[] = [];
  /** The session was asked for before the request changed. */
  private outdated = false;
  /** A session ended with bytes in doubt: the next one waits a moment for its record. */
  private doubting = false;
  private over = false;

  constructor(options: LegSessionsOptions) {
    const { left, books, log } = options;
    this.options = options;
    this.books = books;
    this.store = options.store;
    this.entry = options.entry;
    this.history = (left?.sessions ?? []).map((session) => ({ ...session }));
    this.past = new PastSessions({
      speech: options.speech,
      clock: options.clock,
      log,
      signal: this.abort.signal,
      bytesPerSecond: books.bytesPerSecond,
      patienceMs: () => this.finishing?.deadlines.finalsMs ?? replacedMs,
      replaced: (entry) => this.current !== undefined || entry !== this.history.at(-1),
      onMessage: (message, id, offsetS) => options.onMessage(message, id, offsetS),
      onHeard: (entry, position) => {
        this.acknowledged(position);
        entry.end = books.settled;
      },
      onLate: () => {
        if (this.finishing) this.finishing.finals = 'late';
      },
      onChange: () => {
        this.entry.dirty = true;
        options.onIdle();
      },
    });
    this.asking = new LegAsking({
      ...options,
      signal: this.abort.signal,
      isKnown: (id) => this.next?.id === id || this.history.some((session) => session.id === id),
      onWaiting: (cause) => {
        if (!this.current) options.onState({ at: 'waiting', cause });
      },
      onRefused: () => {
        if (!this.finishing) return 'ask-again';
        options.onHopeless('refused');
        return 'give-up';
      },
      onAskAgain: () => this.ensure(),
    });
    if (left?.asking === true) this.asking.cancelOrphans();
  }

  get lastId(): string | undefined {
    return this.current?.id ?? this.history.at(-1)?.id;
  }

  /** Something may still come of a session that is over. */
  get busy(): boolean {
    return this.current !== undefined || this.past.busy || this.doubting;
  }

  /** One is being asked for and is still wanted. */
  get isAsking(): boolean {
    return this.asking.busy && !this.abort.signal.aborted;
  }

  all(): LegSession[] {
    return this.history.map(({ id, base }) => ({ id, offsetS: this.books.secondsAt(base) }));
  }

  /** Goes on with the session that an earlier process left, or asks for the first. */
  begin(left: LegSnapshot | undefined): void {
    for (const record of this.history)
      if (record.unread && record.id !== left?.current?.id)
        void this.past.read(unknownPast(record));
    if (left?.current) this.start(left.current.id, left.current.url, left.current.flight, true);
    else this.ensure();
  }

  /** Journalled just now. The usual way of a frame: straight on to the socket. */
  hear(position: number, bytes: Buffer): void {
    const session = this.current;
    if (!session || this.cut !== undefined) return;
    session.frame(position, bytes);
    if (this.books.secondsAt(position - session.inFlight.base) > changeAtLatestS) this.changeOver();
  }

  /** Asks for a session where one is needed and can be had. */
  ensure(): void {
    if (this.current || this.asking.busy || this.over || this.asking.refused || this.doubting)
      return;
    if (this.books.isSettled && (this.finishing || this.history.length > 0)) return;
    if (this.history.length >= this.options.speech.config.maxSessionsPerLeg) {
      this.options.onState({ at: 'journal-only' });
      if (this.finishing) this.options.onHopeless('sessions');
      return;
    }
    void this.open();
  }

  changeRequest(request: LegRequest): void {
    this.asking.change(request);
    if (this.over || this.finishing) return;
    // One session is left for trouble: a carrier that changes its mind all the time must not use them up.
    if (this.history.length + 2 > this.options.speech.config.maxSessionsPerLeg) return;
    this.outdated = true;
    if (this.current) this.changeOver();
  }

  /** No more audio comes: the session is told, and one is asked for while audio waits. */
  finish(): void {
    if (this.asking.refused) {
      this.options.onHopeless('refused');
      return;
    }
    this.current?.stop();
    this.ensure();
    this.armFinals();
  }

  /** Nothing was said and no session can be had: none is needed. */
  giveUpFirst(): void {
    if (this.asking.busy && !this.current && this.history.length === 0) this.abort.abort();
  }

  /** The service has every byte and answered, and its last words did not come. */
  finalsLate(): void {
    const session = this.current;
    if (!session?.open || !this.finishing) return;
    this.finishing.finals = 'late';
    session.swallowed = true;
    session.close();
    this.current = undefined;
    const record = this.history.find((one) => one.id === session.id);
    if (record) void this.past.read(pastOf(session, record));
    this.options.onIdle();
  }

  /** Ended for good at the service, too. */
  close(): void {
    this.current?.close();
    this.current = undefined;
  }

  /** Nothing happens here any more; the service keeps the session for its grace time. */
  release(): void {
    this.over = true;
    this.asking.stop();
    this.abort.abort();
    this.current?.drop();
    this.current = undefined;
  }

  snapshot(): Pick<LegSnapshot, 'current' | 'sessions' | 'asking'> {
    const session = this.current;
    return {
      ...(session
        ? { current: { id: session.id, url: session.url, flight: session.inFlight.state() } }
        : {}),
      // Read or not, what they said may not be durable yet when this process is killed: the next one asks again.
      sessions: this.history.map((one) => ({ ...one, unread: true })),
      // One that waits to take over is known to nobody else.
      ...(this.asking.busy || this.next ? { asking: true } : {}),
    };
  }

  private async open(): Promise<void> {
    this.options.onState({ at: 'opening' });
    this.entry.dirty = true;
    this.outdated = false;
    const made = await this.asking.ask();
    if (made && !this.over) this.start(made.id, made.url, this.books.settled, false);
    else if (made) this.asking.cancelOrphans();
    this.options.onIdle();
    if (this.outdated && this.current) this.changeOver();
  }

  private start(id: string, url: string, from: InFlightState | number, known: boolean): void {
    const { speech, log, onSession } = this.options;
    const base = typeof from === 'number' ? from : from.base;
    if (!known) {
      const said = this.saidBefore(base);
      this.history.push({ id, base, unread: true, ...(said ? { from: said } : {}) });
      legTotals.sessions++;
    }
    const source = {
      cut: undefined as number | undefined,
      end: () => source.cut ?? this.store.writtenTo,
      ended: () => source.cut !== undefined || this.finishing !== undefined,
      read: (position: number, maxBytes: number) => this.store.read(position, maxBytes),
    };
    const session: LiveSession = speech.session({
      id,
      url,
      from,
      takenOver: known,
      source,
      bytesPerSecond: this.books.bytesPerSecond,
      log,
      onMessage: (message) => this.message(session, message),
      onAcknowledged: (position) => this.acknowledged(position),
      onTakenBack: (start, end) => {
        this.books.takenBack(start, end);
        this.entry.dirty = true;
      },
      onLink: (link) => this.linkChanged(session, link),
      onOver: (reason) => this.sessionOver(session, reason),
    });
    this.current = session;
    this.said = [];
    this.cutSession = (position) => (source.cut = position);
    this.options.onStarted();
    if (!known) onSession?.({ id, offsetS: this.books.secondsAt(base) });
    if (this.finishing) session.stop();
  }

  private message(session: LiveSession, message: ServerMessage): void {
    if (this.over) return;
    const origin = session.originOf(message);
    const told = this.told(session, message, origin);
    if (told) this.options.onMessage(told, session.id, this.books.secondsAt(origin));
    if (message.type === 'transcript' && message.data.is_final && session === this.current) {
      const { channel, end } = message.data.utterance;
      // A number that the service makes up must not become the length of a list.
      if (channel < this.options.request.channels)
        this.said[channel] = origin + Math.round(end * this.books.bytesPerSecond);
    }
    const sentS = this.books.secondsAt(this.books.end - session.inFlight.base);
    if (message.type === 'speech_end' && sentS > changeAfterS && session === this.current)
      this.changeOver();
  }

  private told(
    session: LiveSession,
    message: ServerMessage,
    origin: number,
  ): ServerMessage | undefined {
    const record = this.history.find((one) => one.id === session.id);
    if (!record) return message;
    const { bytesPerSecond } = this.books;
    return toldBy(record, message, { origin, bytesPerSecond, isReplaced: false });
  }

  /** Finals can overtake acks: what was said of audio that a new session hears again is not said twice. */
  private saidBefore(base: number): number[] | undefined {
    const from: number[] = [];
    for (const { said } of this.history)
      for (const [channel, position] of (said ?? []).entries())
        from[channel] = Math.max(from[channel] ?? 0, position ?? 0);
    return from.some((position) => position > base) ? from : undefined;
  }

  private acknowledged(position: number): void {
    this.books.acknowledge(position);
    this.store.settled();
    this.entry.dirty = true;
    if (this.cut !== undefined && this.books.settled >= this.cut) this.change();
    else if (this.finishing && this.books.isSettled) this.armFinals();
  }

  /** Once the service has every byte and answers. */
  private armFinals(): void {
    if (this.current?.open && this.books.isSettled) this.finishing?.armFinals();
  }

  private linkChanged(session: LiveSession, link: 'open' | 'lost'): void {
    if (session !== this.current) return;
    if (!this.finishing) {
      this.options.onState({ at: link === 'open' ? 'live' : 'resuming', sessionId: session.id });
    } else if (link === 'open') {
      this.armFinals();
    } else {
      this.finishing.disarmFinals();
    }
  }

  private sessionOver(session: LiveSession, reason: SessionOver): void {
    const record = this.history.find((one) => one.id === session.id);
    const isCurrent = session === this.current;
    if (isCurrent) this.current = undefined;
    if (record) {
      record.end ??= this.books.settled;
      record.unread = session.swallowed;
      if (isCurrent && reason !== 'finished') record.said = this.said;
    }
    if (this.over || reason === 'dropped') return;
    if (reason !== 'finished')
      this.options.log.warn({ sessionId: session.id, reason }, 'live session ended before its leg');
    const reading = record?.unread ? this.past.read(pastOf(session, record)) : undefined;
    this.entry.dirty = true;
    if (isCurrent && reading && session.inFlight.doubtful > 0) this.awaitDoubt(reading);
    else if (isCurrent) this.afterSession();
    this.options.onIdle();
  }

  /** Acks may have been lost with the socket. What the session did hear must not be said twice. */
  private awaitDoubt(reading: Promise<void>): void {
    this.doubting = true;
    const waitMs = this.finishing?.deadlines.finalsMs ?? doubtMs;
    void Promise.race([reading, wait(this.options.clock, waitMs)]).then(() => {
      this.doubting = false;
      if (this.over) return;
      this.afterSession();
      this.options.onIdle();
    });
  }

  private afterSession(): void {
    const next = this.next;
    this.cut = undefined;
    this.next = undefined;
    if (next) this.start(next.id, next.url, this.books.settled, false);
    else this.ensure();
    if (this.outdated) this.changeOver();
  }

  /** Before the 3 h limit, or when another language is wanted: a new session is asked for, then audio goes to it from one frame to the next. */
  private changeOver(): void {
    if (this.asking.busy || this.cut !== undefined || this.finishing) return;
    const session = this.current;
    this.outdated = false;
    void this.asking.ask().then((made) => {
      if (!made) return;
      if (this.over || this.current !== session || !session) {
        if (this.over || this.current) this.asking.cancelOrphans();
        else this.start(made.id, made.url, this.books.settled, false);
        return;
      }
      this.next = made;
      this.entry.dirty = true;
      this.cut = this.store.writtenTo;
      this.cutSession(this.cut);
      session.more();
      if (this.books.settled >= this.cut) this.change();
    });
  }

  private change(): void {
    const old = this.current;
    this.current = undefined;
    old?.stop(); // it is read on until it closes; `sessionOver` sees to the rest
    this.afterSession();
  }
}
