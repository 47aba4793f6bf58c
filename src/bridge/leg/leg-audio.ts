import type { ExpectedAnswer } from '../../protocol/session-hints.ts';
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import { bytesPerSecond } from '../../protocol/live-request.ts';
import type { ServerMessage } from '../../protocol/live-messages.ts';
import type { SpeechClient } from '../../speech-client/client.ts';
import type { WaitingResults } from '../records/timeline.ts';
import type { Journal, JournalEntry } from '../journal/journal.ts';
import type { LegStore, LegTail } from '../journal/leg-store.ts';
import type { RecoveredLeg } from '../journal/journal-recovery.ts';
import { LegLedger, type LegGapCause, type LedgerCounts, type LegGap } from '../records/ledger.ts';
import { legClosed, legOpened, legTotals } from './metrics.ts';
import type { LegSession } from '../records/leg-record.ts';
import { silenceCode, type LegRequest } from '../session/leg-request.ts';
import { LegSessions } from './leg-sessions.ts';
import type { LegState } from './session-state.ts';
import type { SharedLegState } from './after-loss.ts';
import type { LegSnapshot } from '../records/leg-snapshot.ts';

export type LegOptions = {
  legId: string;
  callId: string;
  /** The whole body of `POST /v2/live`, with `custom_metadata`. Acknowledgements are always requested. */
  request: LegRequest;
  region?: 'us-west' | 'eu-west' | undefined;
  journal: Journal;
  speech: SpeechClient;
  /** The session waits this much longer before it ends an utterance inside a number. */
  numberPauseS?: number | undefined;
  /** True keeps the audio after it is acknowledged. `journal.recordingOf(legId)` reads it. */
  recording: boolean;
  /** True starts the leg paused: the call was paused before this leg opened or before the process was killed. */
  paused?: boolean;
  /**
   * The entry of `journal.recovered` for this leg after a restart. The leg continues with its session, position and
   * ledger.
   */
  recovered?: RecoveredLeg | undefined;
  /**
   * The leg's seconds, by channel, up to which words are stored. The journal on disk may be older than they are: after
   * a kill, on a full disk, at another node.
   */
  told?: readonly (number | undefined)[] | undefined;
  /** Returns the results that the call holds and has not sent as events yet. They are journalled with the leg. */
  waiting?(): WaitingResults | undefined;
  log: Logger;
  clock: Clock;
  /**
   * Called for every message except acks, in the service's order and once per identity in this process. Messages that
   * were lost with a socket come from GET at the end. After a restart an identity may come again: compare with
   * `messageIdentity(message)` of speech-client/messages.ts. Call time of a message = the leg's own offset in the
   * call + `offsetS` + its session time.
   */
  onMessage(message: ServerMessage, sessionId: string, offsetS: number): void;
  onState(state: LegState): void;
  /**
   * Is called once for each stretch of audio that will never be transcribed, in order of position. Audio that a
   * service gave up may come out of order.
   */
  onGap(gap: LegGap): void;
  /**
   * Is called when a session was created for this leg: the first one, or a new one after the old was lost or grew too
   * old.
   */
  onSession?(session: LegSession): void;
};

type FinishDeadlines = {
  /** The longest wait for the last finals, once the service has every byte. */
  finalsMs: number;
  /** The longest time that unacknowledged audio waits for an unreachable service. */
  withinMs: number;
  /**
   * Awaited after the last message and gap, before the journal forgets the unfinished leg. True: everything that was
   * handed over is durable. False: it is not durable and will not become so in this process, so the journal keeps the
   * leg. If the process is killed earlier, the next one finds the leg again.
   */
  settled?: () => Promise<boolean>;
};

export type LegOutcome = {
  ledger: LedgerCounts;
  sessions: LegSession[];
  /** `late`: a deadline passed before the service had sent its last result. */
  finals: 'complete' | 'late';
};

/**
 * One party's audio from its first byte to its end: the ledger, the place in the journal, the pause and the finish.
 * Before `begin` it calls no callback and asks for no session.
 *
 *   push ─▶ ledger ─▶ journal ─ written ─▶ session ─▶ speech service
 *                 ◀──────── acknowledged ────┘
 */
export class Leg {
  readonly legId: string;
  readonly #options: LegOptions;
  readonly #log: Logger;
  /** The byte that means silence in the leg's encoding. */
  readonly #silence: number;
  readonly #bytesPerSecond: number;
  /** The ledger of the leg. Only this class writes to it. */
  readonly #ledger: LegLedger;
  readonly #store: LegStore;
  readonly #entry: JournalEntry;
  readonly #sessions: LegSessions;
  #state: LegState = { at: 'opening' };
  #isPaused: boolean;
  #deadlines: FinishDeadlines | undefined;
  #outcome: Promise<LegOutcome> | undefined;
  #resolveOutcome: (outcome: LegOutcome) => void = () => undefined;
  #isOver = false;
  /** The snapshot of a leg that is left to the next process. Undefined until then. */
  #left: LegSnapshot | undefined;

  constructor(options: LegOptions) {
    const { recovered, journal, request } = options;
    const left = recovered?.snapshot;
    this.#options = options;
    this.legId = options.legId;
    this.#log = options.log.child({ legId: options.legId });
    this.#silence = left?.silence ?? silenceCode(request);
    this.#bytesPerSecond = bytesPerSecond({
      sample_rate: request.sample_rate,
      channels: request.channels,
      bit_depth: request.bit_depth,
    });
    this.#ledger = new LegLedger(left?.ledger);
    legOpened(this.#ledger);
    this.#isPaused = options.paused ?? left?.paused ?? false;
    ({ store: this.#store, entry: this.#entry } = journal.openLeg({
      legId: options.legId,
      recording: options.recording,
      silence: this.#silence,
      bytesPerSecond: this.#bytesPerSecond,
      position: { settled: this.#ledger.settled, end: this.#ledger.end },
      log: this.#log,
      snapshot: () => this.#snapshot(),
      onWritten: (position, bytes) => this.#sessions.frame(position, bytes),
      onLost: (start, end, cause) => this.#lost(start, end, cause),
    }));
    this.#sessions = new LegSessions({
      ...options,
      log: this.#log,
      bytesPerSecond: this.#bytesPerSecond,
      ledger: this.#ledger,
      store: this.#store,
      left,
      onAcknowledged: (position) => this.#acknowledged(position),
      onTakenBack: (start, end) => this.#takenBack(start, end),
      onUnsaid: (start, end) => this.#tellGap(start, end, 0, 'service'),
      onState: (state) => this.#setState(state),
      onStarted: () => this.#entry.changedNow(),
      onChanged: () => this.#entry.changed(),
      onIdle: () => this.#checkFinished(),
      onHopeless: (cause) => this.#giveUp(cause),
    });
  }

  /**
   * Starts the leg. Called once, as soon as the owner's callbacks may be called. It declares audio that the journal of
   * an earlier run had lost, and asks for the first session. A leg with `recovered` continues its old session.
   */
  begin(): void {
    for (const { start, end, cause } of this.#options.recovered?.gaps ?? [])
      this.#tellGap(start, end, end - start, cause);
    this.#sessions.begin();
    this.#entry.changedNow();
  }

  /** Takes the carrier's bytes unchanged. It never blocks and keeps no reference to the buffer. */
  push(bytes: Buffer): void {
    if (this.#deadlines || this.#isOver || bytes.length === 0) return;
    if (this.#isPaused) {
      this.#ledger.filler(bytes.length, true);
      this.#store.silence(bytes.length, true);
    } else {
      this.#ledger.audio(bytes.length);
      this.#store.audio(bytes);
    }
    this.#sessions.ensure();
  }

  /** Replaces audio that the carrier lost with silence of this many bytes. The ledger counts the silence separately. */
  filler(bytes: number): void {
    if (this.#deadlines || this.#isOver || bytes <= 0) return;
    this.#ledger.filler(bytes, false);
    this.#store.silence(bytes, false);
    this.#sessions.ensure();
  }

  /**
   * Pauses the leg. From now on pushed bytes go neither to the journal nor to the service; silence of equal length
   * replaces them.
   */
  pause(): void {
    this.#setPaused(true);
  }

  resume(): void {
    this.#setPaused(false);
  }

  ledger(): LedgerCounts {
    return this.#ledger.counts();
  }

  /** The leg time of the next byte, in seconds. */
  positionS(): number {
    return this.#ledger.end / this.#bytesPerSecond;
  }

  /** Number of bytes of the leg's audio that are in memory. Its other waiting audio is on disk. */
  get heldBytes(): number {
    return this.#store.heldBytes;
  }

  state(): LegState {
    return this.#state;
  }

  sessionId(): string | undefined {
    return this.#sessions.lastId;
  }

  sessions(): LegSession[] {
    return this.#sessions.all();
  }

  /** Received bytes that are neither acknowledged nor declared lost yet. */
  get underWay(): number {
    return this.#isOver ? 0 : this.#ledger.underWay();
  }

  /** The state that another node continues from if this node is lost. Undefined once the leg is over. */
  sharedState(): SharedLegState | undefined {
    if (this.#isOver) return undefined;
    const { waiting: _words, ...state } = this.#snapshot();
    return state;
  }

  /** The growing audio, for the copy to the object store. Undefined once the leg is over. */
  tail(): LegTail | undefined {
    return this.#isOver ? undefined : this.#store.tail();
  }

  /**
   * Finishes the leg: no more audio comes. Resolves once, when all audio is acknowledged and the finals have arrived,
   * or when a deadline passes.
   */
  finish(deadlines: FinishDeadlines): Promise<LegOutcome> {
    this.#outcome ??= new Promise((resolve) => {
      this.#resolveOutcome = resolve;
      this.#startFinishing(deadlines);
    });
    return this.#outcome;
  }

  /** Changes the request, for example its language. A new session takes over from one frame to the next. */
  changeRequest(request: LegRequest): void {
    this.#sessions.changeRequest(request);
  }

  /** Tells the sessions which kind of answer may come next on a channel. The next words may also be something else. */
  expect(channel: number, answer: ExpectedAnswer | undefined): void {
    this.#sessions.expect(channel, answer);
  }

  /** Called when the result of `waiting` has changed. The change must survive a crash. */
  keepState(): void {
    if (!this.#isOver) this.#entry.changedNow();
  }

  /** Reports a change that may be written up to a second later. */
  stateChanged(): void {
    if (!this.#isOver) this.#entry.changed();
  }

  /** Closes the sockets because the process stops. Journal and session stay for the next start. */
  leave(): void {
    // The snapshot is taken while the session is still known. The next process resumes that session.
    if (!this.#isOver) this.#left = this.#snapshot();
    this.#release();
    this.#entry.changedNow();
    this.#options.journal.flush();
  }

  /** Erasure: removes session, journal and recording now. `speech.erase(sessionId)` erases the data at the service. */
  async abandon(): Promise<void> {
    this.#sessions.close();
    this.#release();
    await this.#options.journal.erase(this.legId);
  }

  #startFinishing(deadlines: FinishDeadlines): void {
    const { journal } = this.#options;
    this.#deadlines = deadlines;
    journal.flush(); // the last frames are flushed first
    this.#setState({ at: 'finishing', sessionId: this.#sessions.currentId });
    this.#entry.changedNow();
    this.#sessions.finish(deadlines);
    this.#checkFinished();
  }

  #checkFinished(): void {
    if (!this.#deadlines || this.#isOver || this.#sessions.isBusy) return;
    if (!this.#ledger.isSettled) this.#sessions.ensure();
    else if (!this.#sessions.isCreating) this.#end(this.#deadlines);
  }

  /**
   * Ends the leg because no time is left or its audio can no longer be transcribed. Audio that is not acknowledged is
   * declared lost, in the ledger and to the call.
   */
  #giveUp(cause: LegGapCause): void {
    if (this.#isOver) return;
    this.#lost(this.#ledger.settled, this.#ledger.end, cause);
    this.#sessions.giveUp();
    if (this.#deadlines) this.#end(this.#deadlines);
  }

  #end(deadlines: FinishDeadlines): void {
    if (this.#isOver) return;
    this.#release();
    this.#checkEven();
    this.#setState({ at: 'ended' });
    void this.#putAway(deadlines)
      .catch((error: unknown) =>
        this.#log.error({ err: error }, 'audio of an ended leg could not be stored or removed'),
      )
      .then(() => {
        const { finals } = this.#sessions;
        this.#resolveOutcome({ ledger: this.ledger(), sessions: this.sessions(), finals });
      });
  }

  /**
   * Removes the leg from the journal once everything that was handed over is durable. Until then the process after a
   * crash must find the leg again.
   */
  async #putAway({ settled }: FinishDeadlines): Promise<void> {
    if (settled && !(await settled())) return;
    await this.#options.journal.finish(this.#entry);
  }

  /** Releases everything that the leg uses. After this it does nothing. */
  #release(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    legClosed(this.#ledger);
    this.#sessions.release();
  }

  #setPaused(paused: boolean): void {
    if (this.#isPaused === paused || this.#isOver) return;
    this.#isPaused = paused;
    this.#entry.changedNow();
  }

  // --- the ledger --------------------------------------------------------------------------------

  #acknowledged(position: number): void {
    this.#ledger.acknowledge(position);
    this.#settle();
  }

  #lost(start: number, end: number, cause: LegGapCause): void {
    const bytes = this.#ledger.gap(start, end);
    this.#settle();
    if (bytes > 0) this.#tellGap(start, end, bytes, cause);
  }

  /** The service had acknowledged these bytes and no longer has them. */
  #takenBack(start: number, end: number): void {
    const bytes = this.#ledger.takenBack(end - start);
    this.#entry.changed();
    if (bytes > 0) this.#tellGap(start, end, bytes, 'service');
  }

  #settle(): void {
    this.#store.settled(this.#ledger.settled);
    this.#entry.changed();
  }

  #tellGap(start: number, end: number, bytes: number, cause: LegGapCause): void {
    this.#log.warn({ bytes, cause }, 'audio of a leg will not be transcribed');
    const rate = this.#bytesPerSecond;
    this.#options.onGap({ startS: start / rate, durationS: (end - start) / rate, bytes, cause });
  }

  /** Raises an alarm if bytes are still in progress at the end. */
  #checkEven(): void {
    if (this.#ledger.balanced() && this.#ledger.underWay() === 0) return;
    legTotals.unbalanced++;
    this.#log.error({ ledger: this.#ledger.counts() }, 'the ledger of a leg does not balance');
  }

  // --- the state as others see it -----------------------------------------------------------------

  #setState(state: LegState): void {
    if (JSON.stringify(state) === JSON.stringify(this.#state)) return;
    this.#state = state;
    this.#options.onState(state);
  }

  #snapshot(): LegSnapshot {
    if (this.#left) return this.#left;
    const waiting = this.#options.waiting?.();
    return {
      legId: this.legId,
      callId: this.#options.callId,
      recording: this.#options.recording,
      paused: this.#isPaused,
      finishing: this.#deadlines !== undefined,
      silence: this.#silence,
      spilled: this.#store.spilled,
      ledger: this.#ledger.snapshot(),
      ...this.#sessions.snapshot(),
      waiting,
    };
  }
}
