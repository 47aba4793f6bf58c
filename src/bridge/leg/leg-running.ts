import type { Logger } from '../../lib/log.ts';
import type { LegEntry } from '../journal/journal.ts';
import { LegBooks } from './leg-books.ts';
import { LegFinishing } from './leg-finishing.ts';
import { LegSessions } from './leg-sessions.ts';
import type { LegSnapshot } from './leg-snapshot.ts';
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
import type { LegStore } from '../journal/leg-store.ts';

/** One leg from its first byte to its outcome: its books, its journal, its pause and its end; sessions hear it. */
export class RunningLeg implements LegAudio {
  readonly legId: string;
  private readonly options: LegAudioOptions;
  private readonly log: Logger;
  private readonly silence: number;
  private readonly books: LegBooks;
  private readonly store: LegStore;
  private readonly entry: LegEntry;
  private readonly live: LegSessions;
  private now: LegState = { at: 'opening' };
  private pausedNow: boolean;
  private finishing: LegFinishing | undefined;
  private finished: Promise<LegOutcome> | undefined;
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
    this.pausedNow = options.paused ?? left?.paused ?? false;
    ({ store: this.store, entry: this.entry } = options.journal.openLeg({
      legId: options.legId,
      recording: options.recording,
      silence: this.silence,
      bytesPerSecond: this.books.bytesPerSecond,
      ledger: this.books.ledger,
      log: this.log,
      snapshot: () => this.snapshot(),
      onWritten: (position, bytes) => this.live.hear(position, bytes),
      onLost: (start, end, cause) => this.lost(start, end, cause),
    }));
    this.live = new LegSessions({
      ...options,
      log: this.log,
      books: this.books,
      store: this.store,
      entry: this.entry,
      left,
      onState: (state) => this.setState(state),
      onStarted: () => options.journal.snapshotNow(this.entry),
      onIdle: () => this.checkFinished(),
      onHopeless: (cause) => this.giveUp(cause),
    });
    for (const { start, end } of options.recovered?.gaps ?? [])
      this.books.tellGap(start, end, end - start, 'damaged');
    this.live.begin(left);
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
    if (!this.live.current && !this.live.asking.busy) this.live.ensure();
  }

  filler(bytes: number): void {
    if (this.finishing || this.over || bytes <= 0) return;
    this.books.filler(bytes);
    this.store.filler(bytes, false);
    if (!this.live.current && !this.live.asking.busy) this.live.ensure();
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
    return this.live.lastId;
  }

  sessions(): LegSession[] {
    return this.live.all();
  }

  finish(deadlines: FinishDeadlines): Promise<LegOutcome> {
    this.finished ??= new Promise((resolve) => this.startFinishing(deadlines, resolve));
    return this.finished;
  }

  changeRequest(request: LegRequest): void {
    this.live.changeRequest(request);
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
    this.live.close();
    this.release();
    await this.options.journal.erase(this.legId);
  }

  private startFinishing(deadlines: FinishDeadlines, resolve: (outcome: LegOutcome) => void): void {
    this.finishing = new LegFinishing({
      deadlines,
      resolve,
      clock: this.options.clock,
      onOutOfTime: () => this.giveUp('deadline'),
      onFinalsLate: () => this.live.finalsLate(),
    });
    this.live.finishing = this.finishing;
    this.options.journal.flush(); // the last frames go first, one for one
    const id = this.live.current?.id;
    this.setState({ at: 'finishing', ...(id === undefined ? {} : { sessionId: id }) });
    this.options.journal.snapshotNow(this.entry);
    if (this.books.isSettled) this.live.giveUpFirst();
    this.live.finish();
    this.checkFinished();
  }

  private checkFinished(): void {
    if (!this.finishing || this.over || this.live.busy) return;
    if (!this.books.isSettled) this.live.ensure();
    else if (!this.live.isAsking) this.end();
  }

  /** No time or no way left: what is not acknowledged is declared, in the ledger and to the call. */
  private giveUp(cause: GapCause): void {
    if (this.over) return;
    if (this.finishing) this.finishing.finals = 'late';
    this.lost(this.books.settled, this.books.end, cause);
    this.live.close();
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
    this.live.release();
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
      ...this.live.snapshot(),
      ...(waiting === undefined ? {} : { waiting }),
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
