import type { WebSocket } from 'ws';
import type { Clock } from '../../lib/clock.ts';
import { reasonOf } from '../../lib/errors.ts';
import { every } from '../../lib/every.ts';
import type { Logger } from '../../lib/log.ts';
import { round3 } from '../../lib/round.ts';
import type { LiveRequest } from '../../protocol/live-request.ts';
import type { Addons } from './words/session-addons.ts';
import type { LiveListener } from '../../hearing/speakers/live-listener.ts';
import type { Recogniser } from '../../hearing/recogniser.ts';
import type { AudioFormat } from './incoming/audio-format.ts';
import { Inbound, type Ack } from './incoming/inbound.ts';
import type { FrameCutter } from './incoming/frame-cutter.ts';
import { message } from './words/server-messages.ts';
import type { Broadcast } from './outgoing/broadcast.ts';
import { SessionChannels } from './words/session-channels.ts';
import { add, type SessionResults } from './words/session-result.ts';
import { type EndingOptions, runEnding, type SessionEnd } from './session-ending.ts';
import type { Places } from './incoming/overlap.ts';
import type { SessionLog } from './outgoing/session-log.ts';
import { SpeakerLabels, wantsSpeakers } from './words/speaker-labels.ts';
import { TranscriptMessages } from './words/transcript-messages.ts';
import {
  firstState,
  step,
  type SessionEffect,
  type SessionEvent,
  type SessionState,
} from './live-state.ts';
import type { SessionAudio } from './disk/session-audio.ts';
import { SessionTimers, type SessionTimes } from './timers.ts';

type SessionParts = {
  id: string;
  request: LiveRequest;
  format: AudioFormat;
  createdAt: number;
  clock: Clock;
  log: Logger;
  recogniser: Recogniser;
  listener: Pick<LiveListener, 'open'>;
  addons: Addons;
  cutter: FrameCutter;
  audio: SessionAudio;
  sessionLog: SessionLog;
  record: SessionResults;
  broadcast: Broadcast;
  times: SessionTimes;
  backlogS: number;
  /** Called at the first audio. The row then says `processing`. */
  onRecording(): void;
  /** Stores the end and resolves once it is committed. */
  onEnd(end: SessionEnd): Promise<void>;
  /** Returns the messages for `result.messages`. */
  messages(): Promise<string[]>;
  /** Set if an earlier run of the process began this session. */
  resumed?: { state: SessionState; places: Places };
};

/** A client sends the audio it holds at once after it reconnects. Audio that comes later than this is new. */
const resentWithinMs = 1_000;
const lookAgainMs = 50;
/** The socket of a session with this many bytes held back or not yet on disk is read slowly. */
export const maxUnwrittenBytes = 8_388_608;

/** One live session, over any number of sockets. It carries out what state.ts decides. */
export class LiveSession {
  readonly id: string;
  readonly createdAt: number;
  readonly #parts: SessionParts;
  readonly #inbound: Inbound;
  readonly #channels: SessionChannels;
  readonly #transcript: TranscriptMessages;
  readonly #labels: SpeakerLabels | undefined;
  readonly #timers: SessionTimers;
  #state: SessionState;
  #socket: WebSocket | undefined;
  #closingWith: number | undefined;
  #isSuspended = false;
  #connectedMs = 0;
  #recordingSinceMs: number | undefined;
  #stored: Promise<void> | undefined;

  constructor(parts: SessionParts) {
    this.id = parts.id;
    this.createdAt = parts.createdAt;
    this.#parts = parts;
    this.#state = parts.resumed?.state ?? firstState;
    this.#timers = new SessionTimers(parts.times, parts.clock, (wait) =>
      this.#step({ type: 'waited', for: wait }),
    );
    this.#transcript = new TranscriptMessages({
      sessionId: parts.id,
      request: parts.request,
      addons: parts.addons,
      now: () => parts.clock.now(),
      emit: (each) => parts.broadcast.emit(each),
      record: (entry) => {
        add(parts.record, entry);
        parts.sessionLog.write({ line: 'record', entry });
      },
      onFailed: (error) => this.#failedInside(error),
    });
    this.#labels = wantsSpeakers(parts.request) ? this.#newLabels() : undefined;
    this.#channels = new SessionChannels({
      ...parts,
      neededFrame: this.#labels && (() => this.#labels?.neededFrame ?? Infinity),
      onHeard: (channel, event) => this.#transcript.heard(channel, event),
      onWordless: (channel, { from, to }) => {
        parts.log.info(
          // `from` and `to` are renamed, because the log hides fields of those names: elsewhere they are telephone
          // numbers.
          { sessionId: this.id, channel, startS: from, endS: to },
          'a voice was heard, but no words were recognised',
        );
        const entry = { add: 'unread', stretch: { channel, start: from, end: to } } as const;
        add(parts.record, entry);
        parts.sessionLog.write({ line: 'record', entry });
      },
      onFailed: (reason) => this.#broken(4500, `recognition failed: ${reason}`, 500),
    });
    this.#inbound = new Inbound(
      {
        ...parts,
        mayTake: () => this.#audioMayBeTaken(),
        onFrames: (frames) => {
          this.#channels.push(frames);
          this.#labels?.received();
        },
        onAck: (ack, messageId) => this.#sendAck(ack, messageId),
        onStop: (messageId) => this.#step({ type: 'stop' }, messageId),
        onHint: (hint) => this.#channels.hint(hint),
        onUnknown: (reason) => this.#unknown(reason),
        onContradiction: (reason) => this.#broken(4400, reason, 400),
        onDiskFailure: (error) => {
          parts.log.error(
            { sessionId: parts.id, err: error },
            'the audio of a session could not be kept',
          );
          this.#broken(4500, 'the audio could not be kept', 500);
        },
      },
      parts.resumed,
    );
    parts.broadcast.socket.onAckArrived = (endByte) => this.#inbound.confirmed(endByte);
    if (parts.resumed) this.#recordingSinceMs = parts.clock.monotonicMs();
  }

  get state(): SessionState {
    return this.#state;
  }

  get isOpen(): boolean {
    return this.#state.at !== 'ended';
  }

  get audioS(): number {
    return this.#parts.cutter.durationS;
  }

  /** Starts the timers, after the POST or after a restart. */
  start(): void {
    if (this.#state.at === 'finishing') this.#inBackground(this.#finish());
    this.#timers.follow(this.#state);
  }

  /** Takes a socket with a valid token. `standsAt` is the byte at which the client says it starts. */
  connect(socket: WebSocket, standsAt?: number): void {
    const old = this.#socket;
    if (old) {
      this.#parts.broadcast.socket.detach();
      this.#inbound.socketClosed();
    }
    this.#socket = socket;
    this.#closingWith = undefined;
    this.#connectedMs = this.#parts.clock.monotonicMs();
    this.#timers.heardAudio();
    socket.on('message', (data: Buffer, isBinary: boolean) =>
      this.#received(socket, data, isBinary),
    );
    socket.once('close', (code: number) => this.#closed(socket, code));
    this.#inbound.socketOpened(standsAt);
    this.#step({ type: 'connected' }, undefined, old);
  }

  /** Closes the socket because the process stops. The next process resumes the session, or finishes a stopped one. */
  async suspend(): Promise<void> {
    this.#isSuspended = true;
    this.#timers.stop();
    await this.#inbound.settled().catch(() => undefined);
    this.#socket?.close(1012, 'restarting');
    this.#channels.close();
    this.#labels?.close();
    this.#parts.broadcast.close();
    await this.#parts.audio.close();
    this.#parts.broadcast.socket.logClosed();
    await this.#parts.sessionLog.close();
  }

  /** Resolves when the end of the session is stored. */
  async ended(): Promise<void> {
    await this.#stored?.catch(() => undefined); // `#finish` has reported the failure and stored it as the end
  }

  #newLabels(): SpeakerLabels {
    const { format, clock, record, cutter, listener, broadcast } = this.#parts;
    return new SpeakerLabels({
      rateHz: format.sampleRate,
      clock,
      log: this.#parts.log.child({ sessionId: this.id }),
      record,
      open: (rateHz) => listener.open(rateHz),
      read: (frame, count) => this.#channels.read(0, frame, count),
      received: () => cutter.frames,
      emit: (data) => broadcast.emit(message(this.id, clock.now(), 'speakers', { data })),
    });
  }

  /** Runs work that nobody awaits. An error in it ends this session and not the process. */
  #inBackground(work: Promise<void>): void {
    work.catch((error: unknown) => this.#failedInside(error));
  }

  #failedInside(error: unknown): void {
    this.#parts.log.error({ sessionId: this.id, err: error }, 'a live session failed');
    try {
      this.#broken(4500, 'internal error', 500);
    } catch (again) {
      this.#parts.log.error({ sessionId: this.id, err: again }, 'a live session failed twice');
    }
  }

  #received(socket: WebSocket, data: Buffer, isBinary: boolean): void {
    // A stopping process takes no more audio. It acknowledges nothing either, so the client sends that audio again.
    if (socket !== this.#socket || this.#isSuspended) return;
    try {
      this.#inbound.message(data, isBinary);
      if (this.#isBehind()) this.#readSlowly(socket);
    } catch (error) {
      this.#failedInside(error);
    }
  }

  #isBehind(): boolean {
    const { backlogS, audio } = this.#parts;
    return (
      this.#channels.backlogS > backlogS ||
      audio.waitingBytes + this.#inbound.heldBytes > maxUnwrittenBytes
    );
  }

  /**
   * Pauses the socket until the session has caught up. The client's own buffers fill meanwhile, and nothing is lost.
   */
  #readSlowly(socket: WebSocket): void {
    if (socket.isPaused) return;
    socket.pause();
    every(this.#parts.clock, lookAgainMs, () => {
      this.#timers.heardAudio();
      if (socket === this.#socket && this.#isBehind()) return;
      socket.resume();
      return 'over';
    });
  }

  #closed(socket: WebSocket, code: number): void {
    if (socket !== this.#socket) return;
    this.#socket = undefined;
    // If the close frame was answered, everything before it has arrived.
    if (code === this.#closingWith) this.#parts.broadcast.socket.delivered();
    this.#parts.broadcast.socket.detach();
    this.#inbound.socketClosed();
    // Audio that came before the close is processed before the close.
    this.#inBackground(
      this.#inbound
        .settled()
        .catch(() => undefined)
        .then(() => {
          if (this.#socket === undefined) this.#step({ type: 'disconnected', code });
        }),
    );
  }

  #audioMayBeTaken(): boolean {
    const now = this.#parts.clock.monotonicMs();
    const resent = now - this.#connectedMs <= resentWithinMs && !this.#channels.isOver;
    let taken = false;
    this.#timers.heardAudio();
    this.#step({ type: 'audio', resent }, undefined, undefined, () => {
      taken = true;
    });
    return taken;
  }

  #sendAck(ack: Ack, messageId: string | undefined): void {
    const { id, clock, broadcast } = this.#parts;
    const error = ack.accepted ? null : { message: ack.reason };
    const data = ack.accepted
      ? { byte_range: ack.byteRange, time_range: ack.timeRange.map(round6) as [number, number] }
      : null;
    broadcast.emit({
      ...message(id, clock.now(), 'audio_chunk', { acknowledged: ack.accepted, error, data }),
      ...(messageId === undefined ? {} : { message_id: messageId }),
    });
    if (ack.accepted) broadcast.socket.probe(ack.byteRange[1]);
  }

  #ackStop(acknowledged: boolean, messageId: string | undefined): void {
    const { id, clock, broadcast, cutter } = this.#parts;
    const durationS = cutter.durationS;
    this.#inbound.inOrder(() => {
      const left = Math.max(0, durationS - this.#channels.decidedS);
      const data = {
        recording_duration: round3(durationS),
        recording_left_to_process: round3(left),
      };
      broadcast.emit({
        ...message(id, clock.now(), 'stop_recording', {
          acknowledged,
          error: acknowledged ? null : { message: 'the session is already stopped' },
          data: acknowledged ? data : null,
        }),
        ...(messageId === undefined ? {} : { message_id: messageId }),
      });
    });
  }

  #unknown(reason: string): void {
    const { id, clock, log, broadcast } = this.#parts;
    if (this.#inbound.unknownMessages === 1)
      log.info({ sessionId: id, reason }, 'a message of a live client was ignored');
    broadcast.emitError(
      message(id, clock.now(), 'error', {
        error: { status_code: 400, exception: 'InvalidMessage', message: reason },
        data: { code: 400, message: reason },
      }),
    );
  }

  /**
   * Ends the session after a failure. In a stopping process it does not: the next process has everything that was
   * acknowledged.
   */
  #broken(closeCode: number, reason: string, errorCode: number): void {
    if (this.#isSuspended) return;
    this.#step({ type: 'broken', closeCode, reason, errorCode });
  }

  #step(event: SessionEvent, messageId?: string, old?: WebSocket, onTake?: () => void): void {
    const [state, effects] = step(this.#state, event);
    this.#state = state;
    for (const effect of effects) this.#carryOut(effect, messageId, old, onTake);
    this.#timers.follow(this.#state);
  }

  #carryOut(effect: SessionEffect, messageId?: string, old?: WebSocket, onTake?: () => void): void {
    switch (effect.do) {
      case 'close-replaced':
        old?.close(4409, 'replaced by a newer connection');
        return;
      case 'send-waiting':
        if (this.#socket) this.#parts.broadcast.socket.attach(this.#socket);
        this.#parts.broadcast.socket.sendWaiting();
        return;
      case 'start-recording':
        this.#startRecording();
        return;
      case 'take-audio':
        onTake?.();
        return;
      case 'refuse-audio':
        return;
      case 'ack-stop':
        this.#ackStop(true, messageId);
        return;
      case 'refuse-stop':
        this.#ackStop(false, messageId);
        return;
      case 'finish':
        this.#parts.sessionLog.write({ line: 'stopped' });
        this.#inBackground(this.#finish());
        return;
      case 'fail':
        this.#fail(effect.errorCode, effect.reason);
        return;
      case 'close':
        this.#close(effect.code, effect.reason);
    }
  }

  #startRecording(): void {
    const { id, clock, broadcast } = this.#parts;
    this.#recordingSinceMs = clock.monotonicMs();
    this.#timers.startLongest();
    broadcast.emit(message(id, clock.now(), 'start_recording', {}));
    this.#parts.onRecording();
  }

  #close(code: number, reason: string): void {
    const socket = this.#socket;
    if (!socket) return;
    this.#closingWith = code;
    socket.close(code, reason.slice(0, 120));
  }

  async #finish(): Promise<void> {
    try {
      await this.#inbound.settled();
      this.#labels?.hearOut();
      await this.#channels.finish();
      await this.#transcript.settled();
      // The session has already failed and stored that, or it is suspended. The last words of a suspended session are
      // not decided yet, and storing a result now would lose them.
      if (!this.isOpen || this.#isSuspended) return;
      await this.#labels?.finish();
      if (!this.isOpen || this.#isSuspended) return;
      this.#stored = runEnding(this.#endingOptions());
      await this.#stored;
      this.#step({ type: 'finished' });
    } catch (error) {
      // The session is left to the next process, or another node has ended it while this one stood still.
      if (this.#isSuspended) return;
      this.#parts.log.error(
        { sessionId: this.id, err: error },
        'a live session could not be finished',
      );
      this.#broken(4500, 'internal error', 500);
    } finally {
      if (!this.#isSuspended) await this.#letGo();
    }
  }

  #endingOptions(): EndingOptions {
    const { clock } = this.#parts;
    const since = this.#recordingSinceMs ?? clock.monotonicMs();
    return { ...this.#parts, transcriptionS: (clock.monotonicMs() - since) / 1e3 };
  }

  #fail(errorCode: number, reason: string): void {
    const { id, log, clock, broadcast } = this.#parts;
    log.warn({ sessionId: id, errorCode, reason }, 'a live session ended in error');
    this.#channels.close();
    broadcast.emitOutside(message(id, clock.now(), 'end_session', {}));
    this.#stored = this.#parts
      .onEnd({ outcome: 'error', errorCode, reason, audioS: round3(this.audioS) })
      .catch((error: unknown) =>
        log.error(
          { sessionId: id, reason: reasonOf(error) },
          'the end of a session could not be stored',
        ),
      );
    this.#inBackground(this.#stored.then(() => this.#letGo()));
  }

  async #letGo(): Promise<void> {
    this.#channels.close();
    this.#labels?.close();
    await this.#parts.audio.end().catch((error: unknown) => {
      this.#parts.log.error(
        { sessionId: this.id, reason: reasonOf(error) },
        'the audio of a session could not be closed',
      );
    });
  }
}

const round6 = (value: number): number => Math.round(value * 1e6) / 1e6;
