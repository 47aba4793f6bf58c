import type { Duplex } from 'node:stream';
import type { RawData, WebSocket } from 'ws';
import type {
  Bridge,
  CallStream,
  StreamControl,
  StreamEnd,
  StreamEvent,
  StreamStart,
} from '../bridge/streams.ts';
import { OpeningQueue } from '../bridge/opening-queue.ts';
import type { Clock } from '../lib/clock.ts';
import { reasonOf } from '../lib/errors.ts';
import { loggedId, type Logger } from '../lib/log.ts';
import { closeStranger } from '../port/upgrades.ts';
import type { AnyCarrier } from './all.ts';
import type {
  CarrierCommand,
  CarrierEvent,
  CarrierStart,
  Codec,
  StreamClaim,
  UpgradeRequest,
} from './carrier.ts';
import { RateCodec } from './rate-codec.ts';
import type { CarriersConfig } from './config.ts';
import { durationMsOf, isForwardableRate } from './encodings.ts';
import { framesTotal, streamsNotTaken, streamsTotal } from './metrics.ts';
import type { RefusalLog } from './refusal-log.ts';

/** At most this many bytes of our replies wait for a peer that does not read. Beyond it the socket is ended. */
export const maxUnreadBytes = 262_144;

export const socketLimits = {
  firstMessageMs: 5_000,
  startMs: 5_000,
  pingEveryMs: 10_000,
  deadAfterMs: 15_000,
  /** A carrier that sent stop closes the socket itself. If it does not, we close the socket after this time. */
  closeAfterEndMs: 10_000,
  /**
   * A carrier that takes finals may still get them after its `close`. We answer once none came for `resultsQuietMs`,
   * and after `resultsAtMostMs` at the latest.
   */
  resultsQuietMs: 3_000,
  resultsAtMostMs: 8_000,
  messagesBeforeStart: 64,
  /**
   * A stream with more undecodable frames than this, and than good frames, is given up: no audio can be made of it.
   */
  malformedAtMost: 100,
} as const;

/** The proof that a stream has shown, or still has to show. */
export type Proof =
  | { state: 'proven'; metadata: Record<string, unknown>; boundCallId?: string | undefined }
  /** Only a stream token among the parameters of its first message can still prove this stream. */
  | { state: 'at-start' };

export type SocketContext = {
  config: CarriersConfig;
  bridge: Bridge;
  log: Logger;
  clock: Clock;
  refusals: RefusalLog;
};

type SocketState =
  | { at: 'waiting' }
  | {
      at: 'opening';
      start: CarrierStart;
      queue: OpeningQueue<Extract<CarrierEvent, { type: 'stop' }>>;
      ended?: { reason: StreamEnd; detail?: string | undefined };
    }
  | { at: 'live'; start: CarrierStart; stream: CallStream }
  /**
   * The stream is of no more use, but closing its socket could end the phone call. The socket stays open and its
   * frames are dropped.
   */
  | { at: 'discarding'; why: string }
  | { at: 'ended'; stream?: CallStream; sinceMs: number };

/**
 * Holds one carrier's WebSocket from its upgrade to its end. It does all input and output, and knows nothing of the
 * protocol.
 */
export class StreamSocket {
  readonly #context: SocketContext;
  readonly #socket: WebSocket;
  readonly #raw: Duplex & { bytesRead?: number };
  readonly #carrier: AnyCarrier;
  #codec: Codec;
  #ownLog: Logger | undefined;
  #proof: Proof;
  readonly #onProven: (metadata: Record<string, unknown>) => void;
  #state: SocketState = { at: 'waiting' };
  #messages = 0;
  #malformed = 0;
  /** Set while the answer to the carrier's end waits for the last results. */
  #endAnswer: { dueMs: number; latestMs: number } | undefined;
  readonly #openedMs: number;
  #lastTick: {
    messages: number;
    messageMs: number;
    bytes: number;
    bytesMs: number;
    pingMs: number;
  };

  constructor(
    context: SocketContext,
    parts: {
      socket: WebSocket;
      raw: Duplex;
      carrier: AnyCarrier;
      request: UpgradeRequest;
      proof: Proof;
      onProven: (metadata: Record<string, unknown>) => void;
    },
  ) {
    this.#context = context;
    this.#socket = parts.socket;
    this.#raw = parts.raw;
    this.#carrier = parts.carrier;
    this.#proof = parts.proof;
    this.#onProven = parts.onProven;
    this.#codec = parts.carrier.newCodec(context.config, parts.request);
    const now = context.clock.monotonicMs();
    this.#openedMs = now;
    this.#lastTick = {
      messages: 0,
      messageMs: now,
      bytes: this.#raw.bytesRead ?? 0,
      bytesMs: now,
      pingMs: now,
    };
    this.#socket.on('message', (data, isBinary) => this.message(data, isBinary));
    this.#socket.on('close', (code) => this.#end('close', `code ${code}`));
    this.#socket.on('error', (error) => {
      this.#count({ type: 'count', what: 'malformed' });
      this.#end('error', reasonOf(error));
    });
  }

  /**
   * The child logger is made for the first line: a stranger has none, because a child logger costs more than the
   * refusal.
   */
  get #log(): Logger {
    return (this.#ownLog ??= this.#context.log.child({ carrier: this.#carrier.name }));
  }

  get #takesResults(): boolean {
    return this.#carrier.takesResults?.(this.#context.config) ?? false;
  }

  get isLive(): boolean {
    return this.#state.at === 'live' || this.#state.at === 'opening';
  }

  message(data: RawData, isBinary: boolean): void {
    this.#messages++;
    // A peer that has not started may send few messages: every carrier starts with its first or second.
    if (this.#state.at === 'waiting' && this.#messages > socketLimits.messagesBeforeStart)
      return this.#refuse('no start among the first messages');
    try {
      for (const event of this.#decode(asBuffer(data), isBinary)) this.#apply(event);
    } catch (error) {
      this.#fail(error);
    }
  }

  /** A stream that starts at a rate which the speech interface does not take is resampled from then on. */
  #decode(data: Buffer, isBinary: boolean): CarrierEvent[] {
    const events = this.#codec.decode(data, isBinary);
    if (this.#state.at !== 'waiting' || !events.some(needsResampling)) return events;
    const resampling = new RateCodec(this.#codec);
    this.#codec = resampling;
    return resampling.converted(events);
  }

  /** Reports that the socket closed before anybody listened. */
  gone(): void {
    this.#end('close');
  }

  /** Runs once a second for deadlines, pings and idle streams. One timer serves all sockets. */
  tick(nowMs: number): void {
    const last = this.#lastTick;
    const bytes = this.#raw.bytesRead ?? 0;
    if (bytes !== last.bytes) [last.bytes, last.bytesMs] = [bytes, nowMs];
    if (this.#messages !== last.messages) [last.messages, last.messageMs] = [this.#messages, nowMs];
    if (this.#endAnswer && nowMs >= this.#endAnswer.dueMs) {
      this.#endAnswer = undefined;
      this.#say({ type: 'closed' });
    }
    switch (this.#state.at) {
      case 'waiting':
        if (this.#messages === 0 && nowMs - this.#openedMs >= socketLimits.firstMessageMs)
          this.#refuse('no first message');
        else if (nowMs - this.#openedMs >= socketLimits.startMs) this.#refuse('no start message');
        return;
      case 'opening':
      case 'live':
      case 'discarding':
        return this.#checkLife(nowMs);
      case 'ended':
        if (nowMs - this.#state.sinceMs >= socketLimits.closeAfterEndMs) this.#socket.close(1000);
        if (nowMs - this.#state.sinceMs >= 2 * socketLimits.closeAfterEndMs)
          this.#socket.terminate();
    }
  }

  /** Ends the stream because the process stops: the call's record is told first, then the carrier. */
  drain(): void {
    this.#end('drain');
    this.#say({ type: 'disconnect', reason: 'completed', info: 'restarting' });
    this.#socket.close(1001, 'restarting');
  }

  #checkLife(nowMs: number): void {
    const last = this.#lastTick;
    if (this.#carrier.pings(this.#context.config)) {
      if (nowMs - last.bytesMs >= socketLimits.deadAfterMs) {
        this.#end('error', 'no answer to pings');
        this.#socket.terminate();
        return;
      }
      if (nowMs - last.pingMs >= socketLimits.pingEveryMs) {
        last.pingMs = nowMs;
        this.#socket.ping();
      }
    }
    if (nowMs - last.messageMs >= this.#context.config.idleTimeoutMs) this.#idle();
  }

  /** Ends a stream that was quiet too long. The carrier decides whether its socket may close. */
  #idle(): void {
    const { at } = this.#state;
    const closingEndsCall =
      (at === 'live' || at === 'opening') && this.#state.start.closingEndsCall;
    if (at === 'discarding' || closingEndsCall) {
      this.#end('idle');
      this.#state = { at: 'discarding', why: 'idle' };
      this.#lastTick.messageMs = Infinity;
      return;
    }
    this.#end('idle');
    this.#leave('completed', 'idle');
  }

  #apply(event: CarrierEvent): void {
    switch (event.type) {
      case 'reply':
        return this.#send(event.text);
      case 'start':
        void this.#open(event.start);
        return;
      case 'probe':
        if (this.#state.at === 'waiting') this.#state = { at: 'discarding', why: 'probe' };
        return;
      case 'refused':
        void this.#cannotTake(event);
        return;
      case 'broken':
        this.#log.warn({ reason: event.reason }, 'carrier broke its protocol');
        return this.#end('error', event.reason);
      case 'stop':
        if (this.#state.at === 'opening') this.#state.queue.push(event);
        else this.#end('stop', event.detail);
        return this.#answerEnd();
      case 'count':
        this.#count(event);
        return this.#pass(event);
      case 'audio':
      case 'lost':
      case 'quiet':
      case 'waited':
      case 'dtmf':
      case 'paused':
      case 'resumed':
      case 'language':
        return this.#pass(event);
    }
  }

  /** Passes an event to the call, or into the queue until there is a call. After the end only counts are passed on. */
  #pass(event: StreamEvent): void {
    const state = this.#state;
    if (state.at === 'live') state.stream.take(event);
    else if (state.at === 'opening') state.queue.push(event);
    else if (state.at === 'ended' && event.type === 'count') state.stream?.take(event);
  }

  /**
   * Opens the call; nothing else does. A peer without proof gets no further than `#prove`: no call, no row, no
   * session.
   */
  async #open(start: CarrierStart): Promise<void> {
    if (this.#state.at !== 'waiting') return;
    const opening: SocketState = {
      at: 'opening',
      start,
      queue: new OpeningQueue(this.#context.clock),
    };
    this.#state = opening;
    try {
      const refusal = await this.#prove(start);
      if (refusal !== undefined) {
        this.#refuse(refusal);
        return;
      }
      opening.queue.proven();
      const opened = await this.#context.bridge.openStream(
        this.#streamStart(start),
        this.#control(),
      );
      switch (opened.outcome) {
        case 'opened': {
          this.#opened(opening, opened.stream, opened.startPaused);
          return;
        }
        case 'duplicate':
          this.#log.info(
            { callId: opened.callId },
            'a duplicate stream came; its audio is ignored',
          );
          this.#state = { at: 'discarding', why: 'duplicate' };
          return;
        case 'refused': {
          this.#refuseStream(opened.reason, start.closingEndsCall);
          return;
        }
      }
    } catch (error) {
      this.#fail(error);
    }
  }

  #opened(
    opening: Extract<SocketState, { at: 'opening' }>,
    stream: CallStream,
    startPaused: boolean,
  ): void {
    const { start, queue, ended } = opening;
    this.#state = { at: 'live', start, stream };
    // From here on every line of the log names the call, by our id and by the carrier's.
    this.#ownLog = this.#log.child({
      callId: stream.callId,
      carrierCallId: loggedId(start.carrierCallId),
    });
    this.#log.info({ encoding: start.encoding, rateHz: start.sampleRate }, 'stream opened');
    if (startPaused) this.#say({ type: 'pause' });
    const waited = queue.take((bytes) => durationMsOf(bytes, start.encoding, start.sampleRate));
    for (const event of waited)
      if (event.type === 'stop') this.#end('stop', event.detail);
      else stream.take(event);
    if (ended) this.#end(ended.reason, ended.detail);
  }

  /** A stranger is refused. An authenticated stream is told what to change, and its phone call continues. */
  async #cannotTake(event: Extract<CarrierEvent, { type: 'refused' }>): Promise<void> {
    if (this.#state.at !== 'waiting') return;
    this.#state = { at: 'discarding', why: event.reason };
    try {
      const refusal = await this.#prove(event);
      if (refusal !== undefined) this.#refuse(refusal);
      else this.#refuseStream(event.reason, event.closingEndsCall);
    } catch (error) {
      this.#fail(error);
    }
  }

  /** Returns the reason why the stream is refused, or undefined if it may continue. */
  async #prove(start: StreamClaim): Promise<string | undefined> {
    if (start.token !== undefined) {
      const claim = await this.#context.bridge.claimToken(
        start.token,
        this.#carrier.name,
        start.carrierCallId,
      );
      if (claim.outcome === 'accepted') {
        this.#onProven(claim.metadata);
        const bound = claim.carrierCallId;
        this.#proof = {
          state: 'proven',
          metadata: claim.metadata,
          boundCallId: bound,
        };
      } else if (this.#proof.state === 'at-start' || claim.reason !== 'unknown') {
        return `stream token ${claim.reason}`;
      }
      // A stream with another proof may bring a token that is not ours, as a parameter of the operator.
    }
    if (this.#proof.state === 'at-start') return 'no stream token';
    const bound = this.#proof.boundCallId;
    return bound !== undefined && bound !== start.carrierCallId
      ? 'stream token other-call'
      : undefined;
  }

  #streamStart(start: CarrierStart): StreamStart {
    const metadata = this.#proof.state === 'proven' ? this.#proof.metadata : {};
    const { token: _token, tracks, ...rest } = start;
    return {
      ...rest,
      carrier: this.#carrier.name,
      tracks: tracks.map((track) => ({ ...track, channels: 1 })),
      // The token's metadata comes last and wins: it is proven, and a stranger may have written the parameters.
      parameters: { ...start.parameters, ...metadata },
      pings: this.#carrier.pings(this.#context.config),
    };
  }

  #control(): StreamControl {
    return {
      pause: () => this.#say({ type: 'pause' }),
      resume: () => this.#say({ type: 'resume' }),
      disconnect: (reason, how) => this.#disconnect(reason, how),
      ...(this.#takesResults ? { result: (final) => this.#result(final) } : {}),
    };
  }

  #result(final: Extract<CarrierCommand, { type: 'result' }>['final']): void {
    this.#say({ type: 'result', final });
    const waiting = this.#endAnswer;
    if (waiting)
      waiting.dueMs = Math.min(waiting.latestMs, this.#now() + socketLimits.resultsQuietMs);
  }

  /** Answers the carrier's end at once, or after the last results if the carrier takes results. */
  #answerEnd(): void {
    if (!this.#takesResults) return this.#say({ type: 'closed' });
    const now = this.#now();
    this.#endAnswer ??= {
      dueMs: now + socketLimits.resultsQuietMs,
      latestMs: now + socketLimits.resultsAtMostMs,
    };
  }

  #disconnect(reason: string, how: 'drain' | 'stop' = 'drain'): void {
    if (this.#state.at !== 'live') return;
    const { closingEndsCall } = this.#state.start;
    this.#end(how, reason);
    if (closingEndsCall) this.#state = { at: 'discarding', why: reason };
    else this.#leave('completed', reason);
  }

  /** Handles an internal failure of ours: the phone call must not notice it. */
  #fail(error: unknown): void {
    this.#log.error({ err: error }, 'carrier stream failed');
    this.#end('error', 'internal');
    this.#state = { at: 'discarding', why: 'internal' };
  }

  /**
   * Refuses a peer that is not allowed in or does not speak the protocol. Its socket may be closed, because no call of
   * ours depends on it.
   */
  #refuse(reason: string): void {
    this.#context.refusals.note('carrier stream refused', { carrier: this.#carrier.name, reason });
    streamsTotal.inc({ carrier: this.#carrier.name, end: 'refused' });
    this.#say({ type: 'disconnect', reason: 'unauthorized', info: reason });
    this.#state = { at: 'ended', sinceMs: this.#now() };
    closeStranger(this.#socket, this.#raw, 1008, short(reason));
  }

  /** Refuses a stream that was allowed in, but whose audio we cannot take. */
  #refuseStream(reason: string, closingEndsCall: boolean): void {
    this.#log.warn({ reason }, 'carrier stream cannot be taken');
    streamsTotal.inc({ carrier: this.#carrier.name, end: 'refused' });
    streamsNotTaken.inc();
    this.#state = { at: 'discarding', why: reason };
    if (!closingEndsCall) this.#leave('error', reason);
  }

  #leave(reason: 'completed' | 'error', info: string): void {
    this.#state = { at: 'ended', sinceMs: this.#now() };
    this.#say({ type: 'disconnect', reason, info });
    if (!this.#carrier.closesItself)
      this.#socket.close(reason === 'error' ? 1003 : 1000, short(info));
  }

  #end(reason: StreamEnd, detail?: string): void {
    const state = this.#state;
    switch (state.at) {
      case 'opening':
        // The bridge has not answered yet: the audio until now is delivered first.
        state.ended ??= { reason, detail };
        return;
      case 'live':
        this.#state = { at: 'ended', stream: state.stream, sinceMs: this.#now() };
        streamsTotal.inc({ carrier: this.#carrier.name, end: reason });
        this.#guarded(() => {
          for (const event of this.#codec.flush?.() ?? []) state.stream.take(event);
        });
        this.#guarded(() => state.stream.end(reason, detail));
        return;
      case 'waiting':
      case 'discarding':
        this.#state = { at: 'ended', sinceMs: this.#now() };
        return;
      case 'ended':
    }
  }

  /**
   * Runs one step of ending a stream. A stream often ends because of a failure, and a second failure must not skip the
   * remaining steps.
   */
  #guarded(work: () => void): void {
    try {
      work();
    } catch (error) {
      this.#log.error({ err: error }, 'carrier stream failed at its end');
    }
  }

  #count(event: Extract<CarrierEvent, { type: 'count' }>): void {
    framesTotal.inc({ carrier: this.#carrier.name, what: event.what });
    if (event.what !== 'malformed') return;
    this.#malformed++;
    if (
      this.#malformed > socketLimits.malformedAtMost &&
      this.#malformed * 2 > this.#messages &&
      this.#state.at === 'live'
    ) {
      const { closingEndsCall } = this.#state.start;
      this.#end('error', 'most frames are undecodable');
      if (closingEndsCall) this.#state = { at: 'discarding', why: 'malformed' };
      else this.#leave('error', 'most frames are undecodable');
    }
  }

  #say(command: CarrierCommand): void {
    for (const text of this.#codec.encode?.(command) ?? []) this.#send(text);
  }

  #send(text: string): void {
    if (this.#socket.readyState !== this.#socket.OPEN) return;
    if (this.#socket.bufferedAmount > maxUnreadBytes) return this.#socket.terminate();
    this.#socket.send(text);
  }

  #now(): number {
    return this.#context.clock.monotonicMs();
  }
}

function needsResampling(event: CarrierEvent): boolean {
  return event.type === 'start' && !isForwardableRate(event.start.sampleRate);
}

/** The text of a close frame holds at most 123 bytes. */
export function short(text: string): string {
  return Buffer.from(text)
    .subarray(0, 123)
    .toString('utf8')
    .replace(/\uFFFD$/, '');
}

function asBuffer(data: RawData): Buffer {
  if (Buffer.isBuffer(data)) return data;
  return Array.isArray(data) ? Buffer.concat(data) : Buffer.from(data);
}
