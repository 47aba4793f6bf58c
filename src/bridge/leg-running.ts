import type { Logger } from '../lib/log.ts';
import type { ServerMessage } from '../protocol/live-messages.ts';
import type { LiveSession, SessionOver } from '../speech-client/session.ts';
import type { InFlightState } from '../speech-client/in-flight.ts';
import type { LegEntry } from './journal.ts';
import { LegBooks } from './leg-books.ts';
import { LegAsking, type MadeSession } from './leg-asking.ts';
import { LegFinishing } from './leg-finishing.ts';
import type { LegSnapshot, SessionSnapshot } from './leg-snapshot.ts';
import type { LedgerCounts } from './ledger.ts';
import type {
  FinishDeadlines,
  GapCause,
  LegAudio,
  LegAudioOptions,
  LegOutcome,
  LegRequest,
  LegSession,
  LegState,
} from './leg-types.ts';
import { legTotals } from './leg-metrics.ts';
import type { LegStore } from './leg-store.ts';
import { pastOf, PastSessions, unknownPast } from './past-sessions.ts';

/** The interface ends a live session after 3 h: we change over before, in a pause of the speech if one comes. */
const changeAfterS = 10_200;
const changeAtLatestS = 10_500;
/** While the service says how much a lost session had heard, so that nothing is heard twice. */
const doubtMs = 1_500;
/** A session that another one replaced has this long to be finished at the service. */
const replacedMs = 180_000;

export class RunningLeg implements LegAudio {
  readonly legId: string;
  private readonly options: LegAudioOptions;
  private readonly log: Logger;
  private readonly silence: number;
  private readonly books: LegBooks;
  private readonly store: LegStore;
  private readonly entry: LegEntry;
  private readonly history: SessionSnapshot[];
  private readonly abort = new AbortController();
  private session: LiveSession | undefined;
  private now: LegState = { at: 'opening' };
  private readonly asking: LegAsking;
  private pausedNow: boolean;
  /** The session takes nothing from this position on: the next one does. */
  private cut: number | undefined;
  private next: MadeSession | undefined;
  /** The session was asked for before the request changed. */
  private outdated = false;
  private readonly past: PastSessions;
  private finishing: LegFinishing | undefined;
  private finished: Promise<LegOutcome> | undefined;
  /** A session ended with bytes in doubt: the next one waits a moment for its record. */
  private doubting = false;
  private over = false;
  /** What the journal keeps of a leg that is left to the next process. */
  private left: LegSnapshot | undefined;

  constructor(options: LegAudioOptions) {
    const left = options.recovered?.snapshot;
    this.options = options;
    this.legId = options.legId;
    this.log = options.log.child({ legId: options.legId });
    this.silence = left?.silence ?? silenceCode(options.request);
    this.books = new LegBooks({ ...options, left: left?.ledger, log: this.log });
    this.history = (left?.sessions ?? []).map((session) => ({ ...session }));
    this.pausedNow = options.paused ?? left?.paused ?? false;
    ({ store: this.store, entry: this.entry } = options.journal.openLeg({
      legId: options.legId,
      recording: options.recording,
      silence: this.silence,
      bytesPerSecond: this.books.bytesPerSecond,
      ledger: this.books.ledger,
      log: this.log,
      snapshot: () => this.snapshot(),
      onWritten: (position, bytes) => this.written(position, bytes),
      onLost: (start, end, cause) => this.lost(start, end, cause),
    }));
    this.past = new PastSessions({
      speech: options.speech,
      clock: options.clock,
      log: this.log,
      signal: this.abort.signal,
      bytesPerSecond: this.books.bytesPerSecond,
      patienceMs: () => this.finishing?.deadlines.finalsMs ?? replacedMs,
      replaced: (entry) => this.session !== undefined || entry !== this.history.at(-1),
      onMessage: (message, id, offsetS) => options.onMessage(message, id, offsetS),
      onHeard: (entry, position) => {
        this.acknowledged(position);
        entry.end = this.books.settled;
      },
      onLate: () => {
        if (this.finishing) this.finishing.finals = 'late';
      },
      onChange: () => {
        this.entry.dirty = true;
        this.checkFinished();
      },
    });
    this.asking = new LegAsking({
      ...options,
      log: this.log,
      signal: this.abort.signal,
      isKnown: (id) => this.next?.id === id || this.history.some((session) => session.id === id),
      onWaiting: (cause) => {
        if (!this.session) this.setState({ at: 'waiting', cause });
      },
      onRefused: () => {
        if (!this.finishing) return 'ask-again';
        this.giveUp('refused');
        return 'give-up';
      },
      onAskAgain: () => this.ensureSession(),
    });
    if (left?.asking === true) this.asking.cancelOrphans();
    this.begin(left, options.recovered?.gaps ?? []);
    options.journal.snapshotNow(this.entry);
  }

  push(bytes: Buffer): void {
    if (this.finishing || this.over || bytes.length === 0) return;
    this.books.received(bytes.length, this.pausedNow);
    if (this.pausedNow) {
      this.store.filler(bytes.length, true);
    } else {
      this.store.audio(bytes);
    }
    if (!this.session && !this.asking.busy) this.ensureSession();
  }

  filler(bytes: number): void {
    if (this.finishing || this.over || bytes <= 0) return;
    this.books.filler(bytes);
    this.store.filler(bytes, false);
    if (!this.session && !this.asking.busy) this.ensureSession();
  }

  pause(): void {
    this.setPaused(true);
  }

  resume(): void {
    this.setPaused(false);
  }

  ledger(): LedgerCounts {
    return this.books.ledger.counts();
  }

  positionS(): number {
    return this.books.secondsAt(this.books.end);
  }

  state(): LegState {
    return this.now;
  }

  sessionId(): string | undefined {
    return this.session?.id ?? this.history.at(-1)?.id;
  }

  sessions(): LegSession[] {
    return this.history.map(({ id, base }) => ({ id, offsetS: this.books.secondsAt(base) }));
  }

  finish(deadlines: FinishDeadlines): Promise<LegOutcome> {
    this.finished ??= new Promise((resolve) => this.startFinishing(deadlines, resolve));
    return this.finished;
  }

  changeRequest(request: LegRequest): void {
    this.asking.change(request);
    if (this.over || this.finishing) return;
    // One session is left for trouble: a carrier that changes its mind all the time must not use them up.
    if (this.history.length + 2 > this.options.speech.config.maxSessionsPerLeg) return;
    this.outdated = true;
    if (this.session) this.changeOver();
  }

  keepState(): void {
    if (!this.over) this.options.journal.snapshotNow(this.entry);
  }

  async leave(): Promise<void> {
    // Taken while the session is still known, and kept: the next process resumes it.
    if (!this.over) this.left = this.snapshot();
    this.release();
    this.options.journal.snapshotNow(this.entry);
    this.options.journal.flush();
    await Promise.resolve();
  }

  async abandon(): Promise<void> {
    this.session?.close();
    this.release();
    await this.options.journal.erase(this.legId);
  }

  private begin(
    left: LegSnapshot | undefined,
    gaps: readonly { start: number; end: number }[],
  ): void {
    for (const { start, end } of gaps) this.books.tellGap(start, end, end - start, 'damaged');
    for (const record of this.history)
      if (record.unread && record.id !== left?.current?.id)
        void this.past.read(unknownPast(record));
    if (left?.current) this.start(left.current.id, left.current.url, left.current.flight, true);
    else this.ensureSession();
  }

  /** Journalled just now. The usual way of a frame: straight on to the socket. */
  private written(position: number, bytes: Buffer): void {
    const session = this.session;
    if (!session || this.cut !== undefined) return;
    session.frame(position, bytes);
    if (this.books.secondsAt(position - session.inFlight.base) > changeAtLatestS) this.changeOver();
  }

  private ensureSession(): void {
    if (this.session || this.asking.busy || this.over || this.asking.refused || this.doubting)
      return;
    if (this.books.isSettled && (this.finishing || this.history.length > 0)) return;
    if (this.history.length >= this.options.speech.config.maxSessionsPerLeg) {
      this.setState({ at: 'journal-only' });
      if (this.finishing) this.giveUp('sessions');
      return;
    }
    void this.open();
  }

  private async open(): Promise<void> {
    this.setState({ at: 'opening' });
    this.entry.dirty = true;
    this.outdated = false;
    const made = await this.asking.ask();
    if (made && !this.over) this.start(made.id, made.url, this.books.settled, false);
    else if (made) this.asking.cancelOrphans();
    this.checkFinished();
    if (this.outdated && this.session) this.changeOver();
  }

  private start(id: string, url: string, from: InFlightState | number, known: boolean): void {
    const base = typeof from === 'number' ? from : from.base;
    if (!known) {
      this.history.push({ id, base, unread: true });
      legTotals.sessions++;
    }
    const source = {
      cut: undefined as number | undefined,
      end: () => source.cut ?? this.store.writtenTo,
      ended: () => source.cut !== undefined || this.finishing !== undefined,
      read: (position: number, maxBytes: number) => this.store.read(position, maxBytes),
    };
    const session: LiveSession = this.options.speech.session({
      id,
      url,
      from,
      takenOver: known,
      source,
      bytesPerSecond: this.books.bytesPerSecond,
      log: this.log,
      onMessage: (message) => this.message(session, message),
      onAcknowledged: (position) => this.acknowledged(position),
      onLink: (link) => this.linkChanged(session, link),
      onOver: (reason) => this.sessionOver(session, reason),
    });
    this.session = session;
    this.cutSession = (position) => (source.cut = position);
    this.entry.dirty = true;
    this.options.journal.snapshotNow(this.entry);
    if (!known) this.options.onSession?.({ id, offsetS: this.books.secondsAt(base) });
    if (this.finishing) session.stop();
  }

  private cutSession: (position: number) => void = () => undefined;

  private message(session: LiveSession, message: ServerMessage): void {
    if (this.over) return;
    this.options.onMessage(message, session.id, this.books.secondsAt(session.originOf(message)));
    const sentS = this.books.secondsAt(this.books.end - session.inFlight.base);
    if (message.type === 'speech_end' && sentS > changeAfterS && session === this.session)
      this.changeOver();
  }

  private acknowledged(position: number): void {
    this.books.acknowledge(position);
    this.store.settled();
    this.entry.dirty = true;
    if (this.cut !== undefined && this.books.settled >= this.cut) this.change();
    else if (this.finishing && this.books.isSettled) this.armFinals();
  }

  private linkChanged(session: LiveSession, link: 'open' | 'lost'): void {
    if (session !== this.session) return;
    if (this.finishing) {
      if (link === 'open') this.armFinals();
      else this.finishing.disarmFinals();
    } else {
      this.setState({ at: link === 'open' ? 'live' : 'resuming', sessionId: session.id });
    }
  }

  private sessionOver(session: LiveSession, reason: SessionOver): void {
    const record = this.history.find((one) => one.id === session.id);
    const isCurrent = session === this.session;
    if (isCurrent) this.session = undefined;
    if (record) {
      record.end ??= this.books.settled;
      record.unread = session.swallowed;
    }
    if (this.over || reason === 'dropped') return;
    if (reason !== 'finished')
      this.log.warn({ sessionId: session.id, reason }, 'live session ended before its leg');
    const reading = record?.unread ? this.past.read(pastOf(session, record)) : undefined;
    this.entry.dirty = true;
    if (isCurrent && reading && session.inFlight.doubtful > 0) this.awaitDoubt(reading);
    else if (isCurrent) this.afterSession();
    this.checkFinished();
  }

  /** Acks may have been lost with the socket. What the session did hear must not be said twice. */
  private awaitDoubt(reading: Promise<void>): void {
    this.doubting = true;
    const waitMs = this.finishing?.deadlines.finalsMs ?? doubtMs;
    const timer = new Promise<void>((resolve) => this.options.clock.after(waitMs, resolve));
    void Promise.race([reading, timer]).then(() => {
      this.doubting = false;
      if (this.over) return;
      this.afterSession();
      this.checkFinished();
    });
  }

  private afterSession(): void {
    const next = this.next;
    this.cut = undefined;
    this.next = undefined;
    if (next) this.start(next.id, next.url, this.books.settled, false);
    else this.ensureSession();
    if (this.outdated) this.changeOver();
  }

  /** Before the 3 h limit, or when another language is wanted: a new session is asked for, then audio goes to it from one frame to the next. */
  private changeOver(): void {
    if (this.asking.busy || this.cut !== undefined || this.finishing) return;
    const session = this.session;
    this.outdated = false;
    void this.asking.ask().then((made) => {
      if (!made) return;
      if (this.over || this.session !== session || !session) {
        if (this.over || this.session) this.asking.cancelOrphans();
        else this.start(made.id, made.url, this.books.settled, false);
        return;
      }
      this.next = made;
      this.cut = this.store.writtenTo;
      this.cutSession(this.cut);
      session.more();
      if (this.books.settled >= this.cut) this.change();
    });
  }

  private change(): void {
    const old = this.session;
    this.session = undefined;
    old?.stop(); // it is read on until it closes; `sessionOver` sees to the rest
    this.afterSession();
  }

  private startFinishing(deadlines: FinishDeadlines, resolve: (outcome: LegOutcome) => void): void {
    this.finishing = new LegFinishing({
      deadlines,
      resolve,
      clock: this.options.clock,
      onOutOfTime: () => this.giveUp('deadline'),
      onFinalsLate: () => this.finalsLate(),
    });
    this.options.journal.flush(); // the last frames go first, one for one
    const id = this.session?.id;
    this.setState({ at: 'finishing', ...(id === undefined ? {} : { sessionId: id }) });
    this.options.journal.snapshotNow(this.entry);
    // Nothing was said and no session can be had: none is needed.
    const settled = this.books.isSettled;
    if (settled && !this.session && this.asking.busy && this.history.length === 0)
      this.abort.abort();
    if (this.asking.refused) {
      this.giveUp('refused');
      return;
    }
    this.session?.stop();
    this.ensureSession();
    if (settled) this.armFinals();
    this.checkFinished();
  }

  /** Once the service has every byte and answers. */
  private armFinals(): void {
    if (this.session?.open && this.books.isSettled) this.finishing?.armFinals();
  }

  private finalsLate(): void {
    const session = this.session;
    if (!session?.open || !this.finishing) return;
    this.finishing.finals = 'late';
    session.swallowed = true;
    session.close();
    this.session = undefined;
    const record = this.history.find((one) => one.id === session.id);
    if (record) void this.past.read(pastOf(session, record));
    this.checkFinished();
  }

  private checkFinished(): void {
    if (!this.finishing || this.over) return;
    if (this.session || this.past.busy || this.doubting) return;
    if (!this.books.isSettled) {
      this.ensureSession();
      return;
    }
    if (this.asking.busy && !this.abort.signal.aborted) return;
    this.end();
  }

  /** No time or no way left: what is not acknowledged is declared, in the ledger and to the call. */
  private giveUp(cause: GapCause): void {
    if (this.over) return;
    if (this.finishing) this.finishing.finals = 'late';
    this.lost(this.books.settled, this.books.end, cause);
    this.session?.close();
    this.session = undefined;
    this.end();
  }

  private end(): void {
    const finishing = this.finishing;
    if (this.over || !finishing) return;
    this.release();
    this.books.checkEven();
    this.setState({ at: 'ended' });
    void this.putAway(finishing.deadlines)
      .catch((error: unknown) =>
        this.log.error({ err: error }, 'audio of an ended leg could not be put away'),
      )
      .then(() => {
        finishing.resolve({ ledger: this.books.ledger.counts(), sessions: this.sessions() });
      });
  }

  /** Only when what was handed over is durable: until then a killed process must find the leg again (F46). */
  private async putAway({ settled }: FinishDeadlines): Promise<void> {
    if (settled && !(await settled())) return;
    await this.options.journal.finish(this.entry);
  }

  /** Nothing happens here any more. */
  private release(): void {
    if (this.over) return;
    this.over = true;
    this.books.close();
    this.finishing?.stop();
    this.asking.stop();
    this.abort.abort();
    this.session?.drop();
    this.session = undefined;
  }

  private setPaused(paused: boolean): void {
    if (this.pausedNow === paused || this.over) return;
    this.pausedNow = paused;
    this.options.journal.snapshotNow(this.entry);
  }

  private lost(start: number, end: number, cause: GapCause): void {
    this.books.lost(start, end, cause);
    this.store.settled();
    this.entry.dirty = true;
  }

  private setState(state: LegState): void {
    if (JSON.stringify(state) === JSON.stringify(this.now)) return;
    this.now = state;
    this.options.onState(state);
  }

  private snapshot(): LegSnapshot {
    if (this.left) return this.left;
    const session = this.session;
    const waiting = this.options.waiting?.();
    return {
      legId: this.legId,
      callId: this.options.callId,
      recording: this.options.recording,
      paused: this.pausedNow,
      finishing: this.finishing !== undefined,
      silence: this.silence,
      spilled: this.store.spilled,
      ledger: this.books.ledger.snapshot(),
      ...(session
        ? { current: { id: session.id, url: session.url, flight: session.inFlight.state() } }
        : {}),
      // Read or not, what they said may not be durable yet when this process is killed: the next one asks again.
      sessions: this.history.map((one) => ({ ...one, unread: true })),
      ...(waiting === undefined ? {} : { waiting }),
      ...(this.asking.busy ? { asking: true } : {}),
    };
  }
}

function silenceCode(request: LegAudioOptions['request']): number {
  switch (request.encoding) {
    case 'wav/ulaw':
      return 0xff;
    case 'wav/alaw':
      return 0xd5;
    case 'wav/pcm':
      return request.bit_depth === 8 ? 0x80 : 0;
  }
}
