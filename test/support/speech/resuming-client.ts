import { WebSocket } from 'ws';
import type { ServerMessage } from '../../../src/protocol/live-messages.ts';

export type ResumingClient = {
  /** Sends audio while there is a socket, and keeps it until it is acknowledged. */
  send(audio: Buffer): void;
  /** Resolves when everything is acknowledged. */
  acknowledged(): Promise<void>;
  /** Sends the stop, repeated after each lost socket, until the service closes for good. */
  stop(): Promise<number>;
  /** Opens another socket while the old one is still open. */
  doubleUp(): void;
  finals(): string;
  finalIds(): string[];
  counter(): number;
  reconnects(): number;
};

const final = (code: number): boolean =>
  code === 1000 || (code >= 4400 && code <= 4499 && code !== 4409);

/**
 * A client that keeps every rule of the API: absolute positions, all unacknowledged audio sent again in pieces, a
 * socket without acks abandoned after a while, the stop repeated.
 */
export function resumingClient(
  url: string,
  options: { ackDeadlineMs?: number; pieceBytes?: number } = {},
): ResumingClient {
  const { ackDeadlineMs = 1_000, pieceBytes = 524_288 } = options;
  let socket: WebSocket | undefined;
  let held = Buffer.alloc(0);
  let counter = 0;
  let lastAckMs = Date.now();
  let stopping = false;
  let reconnects = -1;
  const finals = new Map<string, string>();
  const waiting = new Set<() => void>();
  let over: number | undefined;
  const ends: ((code: number) => void)[] = [];

  const open = (): void => {
    reconnects++;
    const own = new WebSocket(url, { perMessageDeflate: false });
    socket = own;
    own.on('error', () => undefined);
    own.on('open', () => {
      lastAckMs = Date.now();
      for (let at = 0; at < held.length; at += pieceBytes)
        own.send(held.subarray(at, at + pieceBytes));
      if (stopping) own.send('{"type":"stop_recording"}');
    });
    own.on('message', (data: Buffer) => {
      const message = JSON.parse(data.toString('utf8')) as ServerMessage;
      if (message.type === 'transcript' && message.data.is_final)
        finals.set(message.data.id, message.data.utterance.text);
      if (
        message.type !== 'audio_chunk' ||
        !message.acknowledged ||
        !message.data ||
        own !== socket
      )
        return;
      lastAckMs = Date.now();
      const end = message.data.byte_range[1];
      if (end < counter) throw new Error(`an ack went back from ${counter} to ${end}`);
      held = held.subarray(Math.min(held.length, end - counter));
      counter = end;
      for (const look of [...waiting]) look();
    });
    own.on('close', (code: number) => {
      if (own !== socket) return;
      if (final(code)) {
        over = code;
        for (const end of ends) end(code);
      } else setTimeout(open, 20);
    });
  };
  open();
  const watchdog = setInterval(() => {
    if (over !== undefined) clearInterval(watchdog);
    else if ((held.length > 0 || stopping) && Date.now() - lastAckMs > ackDeadlineMs) {
      lastAckMs = Date.now();
      socket?.terminate();
    }
  }, 50);

  return {
    send(audio) {
      held = Buffer.concat([held, audio]);
      if (socket?.readyState === WebSocket.OPEN) socket.send(audio);
    },
    acknowledged: () =>
      new Promise((resolve) => {
        const look = (): void => {
          if (held.length > 0) return;
          waiting.delete(look);
          resolve();
        };
        waiting.add(look);
        look();
      }),
    stop() {
      stopping = true;
      lastAckMs = Date.now();
      if (socket?.readyState === WebSocket.OPEN) socket.send('{"type":"stop_recording"}');
      return new Promise((resolve) => {
        if (over === undefined) ends.push(resolve);
        else resolve(over);
      });
    },
    doubleUp: open,
    finals: () =>
      [...finals.entries()]
        .sort(([a], [b]) => a.localeCompare(b))
        .map(([, text]) => text)
        .join(''),
    finalIds: () => [...finals.keys()].sort(),
    counter: () => counter,
    reconnects: () => reconnects,
  };
}
