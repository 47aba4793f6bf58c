import type { RawData, WebSocket } from 'ws';
import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import { bridgeMetrics } from '../metrics.ts';
import type { CallStream, OpenedStream, StreamControl, StreamStart } from '../streams.ts';
import { FromCarrierNode, readMessage, type FromCallNode } from './relay-messages.ts';

/** A node that lost its connection to us may reconnect within this time without any effect on the call. */
const graceMs = 5_000;
const firstMessageMs = 5_000;
/** The largest frame. The other node never sends more than this without a confirmation. */
const maxFrameBytes = 262_144;
/** After this many frames the other node is told how much it may forget: half a second of one track. */
export const tellEvery = 25;
/** After this many bytes the other node is told earlier, for large frames. */
const tellEveryBytes = 65_536;

type RelayIn = {
  readonly id: string;
  readonly tracks: readonly string[];
  /** Undefined before the stream is open, and after its end. */
  stream: CallStream | undefined;
  callId: string | undefined;
  socket: WebSocket | undefined;
  taken: number;
  untoldBytes: number;
  stopGrace: () => void;
};

type RelayDeskOptions = {
  /** Opens the stream in a call of this node. Returns undefined if the call is not here. */
  open(start: StreamStart, control: StreamControl): Promise<OpenedStream | undefined>;
  clock: Clock;
  log: Logger;
};

/** Takes streams that arrived at other nodes and belong to calls of this one. */
export class RelayDesk {
  readonly #options: RelayDeskOptions;
  readonly #relays = new Map<string, RelayIn>();

  constructor(options: RelayDeskOptions) {
    this.#options = options;
  }

  accept(socket: WebSocket): void {
    let relay: RelayIn | undefined;
    let isOpening = false;
    const stopWaiting = this.#options.clock.after(firstMessageMs, () => socket.terminate());
    socket.on('message', (data: RawData, isBinary) => {
      const bytes = data as Buffer;
      if (relay !== undefined) return this.#take(relay, socket, bytes, isBinary);
      const message = isBinary ? undefined : readMessage(FromCarrierNode, bytes);
      if (message?.type !== 'open' || isOpening) return socket.terminate();
      isOpening = true;
      stopWaiting();
      this.#open(message.relay, message.start, socket)
        .then((opened) => {
          relay = opened;
          if (opened === undefined) socket.close(1000);
        })
        .catch((error: unknown) => {
          this.#options.log.error({ err: error }, 'a relayed stream could not be opened');
          socket.terminate();
        });
    });
    socket.on('close', () => {
      stopWaiting();
      if (relay?.socket === socket) this.#cut(relay);
    });
  }

  async #open(id: string, start: StreamStart, socket: WebSocket): Promise<RelayIn | undefined> {
    const going = this.#relays.get(id);
    if (going?.callId !== undefined) {
      if (going.stream !== undefined) going.stopGrace();
      going.socket?.terminate();
      going.socket = socket;
      const { callId, taken } = going;
      say(socket, { type: 'opened', callId, startPaused: false, taken });
      return going;
    }
    const tracks = start.tracks.map(({ name }) => name);
    const relay: RelayIn = {
      id,
      tracks,
      stream: undefined,
      callId: undefined,
      socket,
      taken: 0,
      untoldBytes: 0,
      stopGrace: () => undefined,
    };
    const opened = await this.#options.open(start, controlOf(relay));
    if (opened?.outcome !== 'opened') {
      say(socket, opened ?? { type: 'elsewhere' });
      return undefined;
    }
    const { callId } = opened.stream;
    relay.stream = opened.stream;
    relay.callId = callId;
    this.#relays.set(id, relay);
    bridgeMetrics.relayed.inc({ way: 'in' });
    say(socket, { type: 'opened', callId, startPaused: opened.startPaused, taken: 0 });
    if (socket.readyState !== socket.OPEN) this.#cut(relay);
    return relay;
  }

  #take(relay: RelayIn, socket: WebSocket, bytes: Buffer, isBinary: boolean): void {
    if (relay.socket !== socket) return;
    if (relay.stream === undefined) {
      // The end was taken over a connection that was cut before it was confirmed. It is said again and confirmed now.
      if (!isBinary && readMessage(FromCarrierNode, bytes)?.type === 'end')
        say(socket, { type: 'ended' });
      return;
    }
    if (isBinary) {
      const track = relay.tracks[bytes[0] ?? -1];
      // None of our nodes sends this much at once. Its connection would already have counted as cut.
      if (track === undefined || bytes.length > maxFrameBytes) return socket.terminate();
      relay.stream.take({ type: 'audio', track, payload: bytes.subarray(1) });
    } else {
      const message = readMessage(FromCarrierNode, bytes);
      if (message === undefined || message.type === 'open') return socket.terminate();
      if (message.type === 'end') {
        // The node with the carrier's socket is shutting down. The carrier reconnects elsewhere, and we wait for that.
        const reason = message.reason === 'drain' ? 'close' : message.reason;
        say(socket, { type: 'ended' });
        this.#end(relay, reason, message.detail);
        return;
      }
      relay.stream.take(message.event);
    }
    relay.taken++;
    relay.untoldBytes += bytes.length;
    if (relay.taken % tellEvery !== 0 && relay.untoldBytes < tellEveryBytes) return;
    relay.untoldBytes = 0;
    say(socket, { type: 'taken', taken: relay.taken });
  }

  #cut(relay: RelayIn): void {
    relay.socket = undefined;
    if (relay.stream === undefined) return;
    relay.stopGrace = this.#options.clock.after(graceMs, () =>
      this.#end(relay, 'close', 'the node with the carrier’s socket did not come back'),
    );
  }

  #end(relay: RelayIn, reason: 'stop' | 'close' | 'error' | 'idle' | 'refused', detail?: string) {
    relay.stopGrace();
    const { stream } = relay;
    relay.stream = undefined;
    // The other node may not have heard of it, and would begin the stream anew with what was not confirmed.
    relay.stopGrace = this.#options.clock.after(graceMs, () => this.#relays.delete(relay.id));
    stream?.end(reason, detail);
  }
}

function controlOf(relay: RelayIn): StreamControl {
  const ask = (message: FromCallNode): void => {
    // Before the stream is open, the answer to its opening says whether it begins paused.
    if (relay.socket !== undefined && relay.stream !== undefined) say(relay.socket, message);
  };
  return {
    pause: () => ask({ type: 'pause' }),
    resume: () => ask({ type: 'resume' }),
    disconnect: (reason, how) => ask({ type: 'disconnect', reason, ...(how && { how }) }),
    result: (final) => ask({ type: 'result', final }),
  };
}

function say(socket: WebSocket, message: FromCallNode | OpenedStream): void {
  if (socket.readyState !== socket.OPEN) return;
  const said = 'outcome' in message ? { ...message, type: message.outcome } : message;
  socket.send(JSON.stringify(said), () => undefined);
}
