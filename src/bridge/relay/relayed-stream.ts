import type { RawData, WebSocket } from 'ws';
import { randomUUID } from 'node:crypto';
import { wait, type Clock } from '../../lib/clock.ts';
import { every, type Loop, type Next } from '../../lib/every.ts';
import type { Logger } from '../../lib/log.ts';
import { maxOpeningBytes, OpeningQueue } from '../opening-queue.ts';
import type {
  CallStream,
  OpenedStream,
  StreamControl,
  StreamEnd,
  StreamEvent,
  StreamStart,
} from '../streams.ts';
import { tellEvery } from './desk.ts';
import { FromCallNode, readMessage, type FromCarrierNode } from './relay-messages.ts';

/**
 * At most this many sent bytes may be unconfirmed; later bytes are held here. A stream that has waited for its call
 * brings several seconds more.
 */
export const maxUntakenBytes = 262_144;
/**
 * At most this many bytes are held here. A node that takes nothing for that long counts as lost, and the stream looks
 * for the call again.
 */
export const maxHeldBytes = maxOpeningBytes + maxUntakenBytes;
const openWithinMs = 10_000;
const endWithinMs = 5_000;
/** After a cut the stream tries to reconnect to the same node for this long, then it looks for the call. */
const mendWithinMs = 3_000;
const mendEveryMs = 200;
const pingEveryMs = 1_000;

export type RelayedStreamOptions = {
  start: StreamStart;
  control: StreamControl;
  /** Opens a new socket to the node that has the call. */
  connect: () => WebSocket;
  /**
   * Called when the call is no longer at that node. Opens the stream wherever the call is now, here or at another node.
   */
  reopen(): Promise<OpenedStream>;
  durationMsOf: (bytes: number) => number;
  clock: Clock;
  log: Logger;
};

type Item = { readonly bytes: Buffer | string; readonly event: StreamEvent; readonly atMs: number };

type Way =
  | { at: 'linked'; socket: WebSocket }
  /** The connection was cut and the next one is not open yet. Events wait. */
  | { at: 'cut'; queue: OpeningQueue }
  /** The call has left that node. The stream continues directly. */
  | { at: 'handed-over'; stream: CallStream }
  | { at: 'over' };

type OpenAnswer = Extract<FromCallNode, { type: 'opened' | 'duplicate' | 'refused' | 'elsewhere' }>;

/** A stream whose call is at another node. Each frame is sent there exactly once. */
export class RelayedStream implements CallStream {
  readonly callId: string;
  readonly #options: RelayedStreamOptions;
  readonly #relay: string;
  readonly #trackNumbers: ReadonlyMap<string, number>;
  #way: Way;
  /** Items that were sent and not confirmed. They may have to be sent again. The first one has the number `#taken`. */
  #untaken: Item[] = [];
  #untakenBytes = 0;
  #taken = 0;
  /** Events that were not sent yet. They follow the unconfirmed items. */
  #held: StreamEvent[] = [];
  #heldBytes = 0;
  #ended: { reason: StreamEnd; detail: string | undefined } | undefined;
  #pings: Loop | undefined;

  private constructor(options: RelayedStreamOptions, relay: string, callId: string) {
    this.#options = options;
    this.#relay = relay;
    this.callId = callId;
    this.#trackNumbers = new Map(options.start.tracks.map(({ name }, at) => [name, at]));
    this.#way = { at: 'over' };
  }

  /** Opens the stream. Returns undefined if that node cannot be reached or does not have the call. */
  static async open(options: RelayedStreamOptions): Promise<OpenedStream | undefined> {
    const relay = randomUUID();
    const asked = await ask(options, relay);
    if (asked === undefined) return undefined;
    const { socket, answer } = asked;
    switch (answer.type) {
      case 'opened': {
        const stream = new RelayedStream(options, relay, answer.callId);
        stream.#link(socket);
        return { outcome: 'opened', stream, startPaused: answer.startPaused };
      }
      case 'duplicate':
        return { outcome: 'duplicate', callId: answer.callId };
      case 'refused':
        return { outcome: 'refused', reason: answer.reason };
      case 'elsewhere':
        return undefined;
    }
  }

  take(event: StreamEvent): void {
    if (this.#ended === undefined) this.#pass(event);
  }

  /** A stream that has ended meanwhile is handled here too: its end follows all its events. */
  #pass(event: StreamEvent): void {
    const way = this.#way;
    if (way.at === 'handed-over') way.stream.take(event);
    else if (way.at === 'cut') way.queue.push(event);
    else if (way.at === 'linked') this.#send(way.socket, event);
  }

  /**
   * A closing socket is reported late. Events that arrive before the report are queued after the ones that were sent.
   */
  #isOpen(socket: WebSocket): boolean {
    if (socket.readyState === socket.OPEN) return true;
    this.#lost(socket);
    return false;
  }

  end(reason: StreamEnd, detail?: string): void {
    if (this.#ended !== undefined) return;
    this.#ended = { reason, detail };
    const way = this.#way;
    if (way.at === 'handed-over') way.stream.end(reason, detail);
    else if (way.at === 'linked' && this.#held.length === 0) this.#sendEnd(way.socket);
    // Cut, or waiting events are not sent yet: the reconnection sends the end after them.
  }

  #link(socket: WebSocket): void {
    this.#way = { at: 'linked', socket };
    socket.on('message', (data: RawData) => this.#heard(socket, data as Buffer));
    socket.on('close', () => this.#lost(socket));
    let isAlive = true;
    socket.on('pong', () => (isAlive = true));
    const ping = (): Next => {
      if (!isAlive) {
        socket.terminate();
        return 'over';
      }
      isAlive = false;
      socket.ping();
    };
    this.#pings = every(this.#options.clock, pingEveryMs * 3, ping, { firstMs: pingEveryMs });
  }

  #send(socket: WebSocket, event: StreamEvent): void {
    if (!this.#isOpen(socket)) return this.#pass(event);
    if (this.#held.length > 0 || this.#untakenBytes > maxUntakenBytes) {
      this.#held.push(event);
      this.#heldBytes += bytesOf(event);
      if (this.#heldBytes > maxHeldBytes) socket.terminate();
      return;
    }
    const item = this.#itemOf(event);
    if (item === undefined) return;
    this.#untaken.push(item);
    this.#untakenBytes += item.bytes.length;
    socket.send(item.bytes, () => undefined);
  }

  /** Sends waiting events after the other node has confirmed some items, and after them the end. */
  #sendHeld(socket: WebSocket): void {
    const held = this.#held;
    if (held.length === 0 || this.#untakenBytes > maxUntakenBytes) return;
    this.#held = [];
    this.#heldBytes = 0;
    for (const event of held) this.#send(socket, event);
    if (this.#held.length === 0 && this.#ended !== undefined && this.#isOpen(socket))
      this.#sendEnd(socket);
  }

  #itemOf(event: StreamEvent): Item | undefined {
    const atMs = this.#options.clock.monotonicMs();
    if (event.type !== 'audio') {
      const bytes = JSON.stringify({ type: 'event', event } satisfies FromCarrierNode);
      return { bytes, event, atMs };
    }
    const track = this.#trackNumbers.get(event.track);
    if (track === undefined) return undefined;
    const bytes = Buffer.allocUnsafe(event.payload.length + 1);
    bytes[0] = track;
    event.payload.copy(bytes, 1);
    return { bytes, event: { ...event, payload: bytes.subarray(1) }, atMs };
  }

  #sendEnd(socket: WebSocket): void {
    const { reason, detail } = this.#ended ?? { reason: 'close', detail: undefined };
    const end = { type: 'end', reason, detail };
    socket.send(JSON.stringify(end), () => undefined);
    this.#options.clock.after(endWithinMs, () => socket.terminate());
  }

  #heard(socket: WebSocket, data: Buffer): void {
    if (this.#way.at !== 'linked' || this.#way.socket !== socket) return;
    const message = readMessage(FromCallNode, data);
    const { control } = this.#options;
    switch (message?.type) {
      case 'taken':
        this.#forgetTo(message.taken);
        return this.#sendHeld(socket);
      case 'ended':
        this.#way = { at: 'over' };
        void this.#pings?.stop();
        return socket.close(1000);
      case 'pause':
        return control.pause();
      case 'resume':
        return control.resume();
      case 'disconnect':
        return control.disconnect(message.reason, message.how);
      case 'result':
        return control.result?.(message.final);
      default:
        return socket.terminate();
    }
  }

  #forgetTo(taken: number): void {
    const gone = this.#untaken.splice(0, Math.max(0, taken - this.#taken));
    this.#taken += gone.length;
    for (const { bytes } of gone) this.#untakenBytes -= bytes.length;
  }

  #lost(socket: WebSocket): void {
    if (this.#way.at !== 'linked' || this.#way.socket !== socket) return;
    void this.#pings?.stop();
    const queue = new OpeningQueue(this.#options.clock);
    this.#way = { at: 'cut', queue };
    for (const event of this.#held) queue.push(event);
    this.#held = [];
    this.#heldBytes = 0;
    this.#options.log.warn(
      { callId: this.callId },
      'the connection to the node that has the call was lost',
    );
    this.#mend(queue).catch((error: unknown) => {
      this.#options.log.error({ err: error }, 'a relayed stream could not go on');
      this.#giveUp('the call cannot be reached');
    });
  }

  async #mend(queue: OpeningQueue): Promise<void> {
    const { clock, durationMsOf } = this.#options;
    const untilMs = clock.monotonicMs() + mendWithinMs;
    while (clock.monotonicMs() < untilMs) {
      const asked = await ask(this.#options, this.#relay);
      if (asked?.answer.type === 'opened') {
        const { socket, answer } = asked;
        this.#forgetTo(answer.taken);
        this.#link(socket);
        for (const { bytes } of this.#untaken) socket.send(bytes, () => undefined);
        for (const event of queue.take(durationMsOf)) this.#send(socket, event);
        if (this.#ended !== undefined && this.#held.length === 0 && this.#isOpen(socket))
          this.#sendEnd(socket);
        return;
      }
      if (asked !== undefined) break; // the node answers, but no longer has the call
      await wait(clock, mendEveryMs);
    }
    await this.#handOver(queue);
  }

  /**
   * Hands the stream over after the call moved elsewhere. The former node may have taken items that it had not
   * confirmed. They are not sent again, so that nobody hears them twice; their time is in the gap that the call
   * declares.
   */
  async #handOver(queue: OpeningQueue): Promise<void> {
    const opened = await this.#options.reopen();
    if (opened.outcome !== 'opened') {
      this.#giveUp(opened.outcome === 'refused' ? opened.reason : 'the stream is open elsewhere');
      return;
    }
    const { stream } = opened;
    this.#way = { at: 'handed-over', stream };
    const again = this.#untaken.slice(tellEvery);
    const [first] = again;
    if (first !== undefined) {
      const durationMs = this.#options.clock.monotonicMs() - first.atMs;
      stream.take({ type: 'waited', durationMs });
      for (const { event } of again) stream.take(event);
      stream.take({ type: 'waited', durationMs: 0 });
    }
    this.#untaken = [];
    for (const event of queue.take(this.#options.durationMsOf)) stream.take(event);
    if (this.#ended !== undefined) stream.end(this.#ended.reason, this.#ended.detail);
  }

  #giveUp(reason: string): void {
    this.#way = { at: 'over' };
    this.#options.control.disconnect(reason);
  }
}

function bytesOf(event: StreamEvent): number {
  return event.type === 'audio' ? event.payload.length : 1;
}

/** Opens a socket and waits for the first answer. Returns undefined if none comes. */
function ask(
  { connect, start, clock }: RelayedStreamOptions,
  relay: string,
): Promise<{ socket: WebSocket; answer: OpenAnswer } | undefined> {
  const { promise, resolve } = Promise.withResolvers<
    { socket: WebSocket; answer: OpenAnswer } | undefined
  >();
  const socket = connect();
  const stopWaiting = clock.after(openWithinMs, () => socket.terminate());
  socket.once('open', () => {
    socket.send(JSON.stringify({ type: 'open', relay, start } satisfies FromCarrierNode));
  });
  socket.once('message', (data: RawData) => {
    stopWaiting();
    const answer = readMessage(FromCallNode, data as Buffer);
    const isAnswer =
      answer?.type === 'opened' ||
      answer?.type === 'duplicate' ||
      answer?.type === 'refused' ||
      answer?.type === 'elsewhere';
    if (!isAnswer) return socket.terminate();
    if (answer.type !== 'opened') socket.close(1000);
    resolve({ socket, answer });
  });
  socket.once('close', () => {
    stopWaiting();
    resolve(undefined);
  });
  return promise;
}
