import { randomUUID } from 'node:crypto';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocketServer, type WebSocket } from 'ws';

export const frameBytes = 160;
const framesPerFinal = 25;

/** A frame that says its own number, so that what the service heard can be read back as text. */
export function numberedFrame(number: number): Buffer {
  const frame = Buffer.alloc(frameBytes, number & 0x7f);
  frame.writeUInt32LE(number, 0);
  frame.writeUInt32LE((number * 2_654_435_761) >>> 0, 4);
  return frame;
}

/** The word of one frame: its number, or what is wrong with it. */
function wordOf(frame: Buffer): string {
  const number = frame.readUInt32LE(0);
  if (numberedFrame(number).equals(frame)) return `f${number}`;
  return frame.every((byte) => byte === frame[0]) ? `silence${frame[0] ?? ''}` : 'torn';
}

export type LinkSession = {
  id: string;
  request: Record<string, unknown>;
  /** A view of what it holds; grows with room to spare, since a long outage brings many pieces. */
  audio: Buffer;
  room: Buffer;
  said: number;
  stopped: boolean;
  state: 'live' | 'done' | 'gone';
  sockets: number;
  /** Every audio message, by the number of its socket. */
  pieces: { socket: number; bytes: number }[];
  /** Of its newest socket. */
  upgradeHeaders: IncomingHttpHeaders;
  /** Ack ends of the sockets so far: where a client that comes back may stand. */
  ackEnds: number[];
  queue: string[];
  messages: string[];
  socket: WebSocket | undefined;
  lastAudioMs: number;
};

export type LinkFaults = {
  /** A status for the n-th POST instead of a session, or `hang`. */
  create?: (
    count: number,
  ) => { status: number; headers?: Record<string, string>; body?: object } | 'hang' | undefined;
  /** Rewrites, adds or withholds (undefined) the byte range of an ack. */
  ack?: (range: [number, number], session: LinkSession) => [number, number] | undefined;
  /** Resent audio is simply appended, as a careless service would. */
  naive?: boolean;
  /** Close codes by the number of audio bytes that a session has taken. */
  closeAt?: (session: LinkSession) => number | undefined;
  /** Every socket is closed with this code as soon as it is open. */
  closeAtOnce?: number;
  /** Larger messages are refused with 1009. */
  messageBytesAtMost?: number;
  finalsDelayMs?: number;
  /** A session without a socket for this long is finished as if stopped. */
  graceMs?: number;
  /** The record of a finished session is not ready at once. */
  recordDelayMs?: number;
  /** A message is left out on the socket and stays in the record. */
  swallow?: (type: string) => boolean;
  maxSessions?: number;
};

/**
 * The speech service as the link sees it: sessions that outlive sockets, acks, overlap found by bytes on
 * resume (the service may have heard audio whose ack was lost), a stop that is remembered, close codes; its words are the numbers of the frames that it
 * heard. Everything that can go wrong is a setting.
 */
export class LinkSpeech implements AsyncDisposable {
  readonly sessions = new Map<string, LinkSession>();
  readonly faults: LinkFaults = {};
  readonly posts: { atMs: number; key: string | undefined; query: string }[] = [];
  port = 0;
  /** Where session addresses lead: the proxy's port in tests with a proxy. */
  publicPort = 0;
  private readonly server = createServer((request, response) => this.answer(request, response));
  private readonly sockets = new WebSocketServer({ noServer: true, maxPayload: 1_048_576 });
  private readonly timers = new Set<NodeJS.Timeout>();

  static async start(): Promise<LinkSpeech> {
    const speech = new LinkSpeech();
    speech.server.on('upgrade', (request, socket, head) => {
      const id = new URL(request.url ?? '', 'http://x').searchParams.get('token') ?? '';
      socket.on('error', () => socket.destroy());
      speech.sockets.handleUpgrade(request, socket, head, (ws) =>
        speech.connected(ws, id, request.headers),
      );
    });
    await new Promise<void>((resolve) => speech.server.listen(0, '127.0.0.1', resolve));
    speech.port = (speech.server.address() as AddressInfo).port;
    speech.publicPort = speech.port;
    return speech;
  }

  get url(): string {
    return `http://127.0.0.1:${this.publicPort}`;
  }

  get open(): LinkSession[] {
    return [...this.sessions.values()].filter((session) => session.state === 'live');
  }

  closeAll(code: number): void {
    for (const session of this.sessions.values()) session.socket?.close(code);
  }

  /** As after a restart without memory: the next attempt to resume finds nothing. */
  forgetAll(): void {
    for (const session of this.sessions.values()) session.state = 'gone';
  }

  /** What a live session without a socket comes to after its grace time: finished as if stopped. */
  expireAll(): void {
    for (const session of this.open) this.expire(session);
  }

  expire(session: LinkSession): void {
    this.finish(session);
  }

  /** The service does not read from its sockets for a while. */
  deaf(on: boolean): void {
    for (const { socket } of this.sessions.values()) {
      if (on) socket?.pause();
      else socket?.resume();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const timer of this.timers) clearTimeout(timer);
    for (const { socket } of this.sessions.values()) socket?.terminate();
    this.server.closeAllConnections();
    await new Promise((resolve) => this.server.close(resolve));
  }

  private later(delayMs: number, run: () => void): void {
    const timer = setTimeout(() => {
      this.timers.delete(timer);
      run();
    }, delayMs);
    this.timers.add(timer);
  }

  private answer(request: IncomingMessage, response: ServerResponse): void {
    const url = new URL(request.url ?? '', 'http://x');
    const json = (status: number, body: unknown, headers: Record<string, string> = {}): void => {
      response.writeHead(status, { 'content-type': 'application/json', ...headers });
      response.end(JSON.stringify(body));
    };
    if (request.method === 'POST') {
      this.create(request, url, json);
      return;
    }
    if (request.method === 'GET' && url.pathname === '/v2/live') {
      json(200, { items: this.withMetadata(url.searchParams.get('custom_metadata') ?? '{}') });
      return;
    }
    const session = this.sessions.get(url.pathname.split('/').at(-1) ?? '');
    if (!session || session.state === 'gone') {
      json(404, { message: 'Not found' });
      return;
    }
    if (request.method === 'DELETE') {
      if (session.state === 'live') json(403, { message: 'Forbidden' });
      else {
        this.sessions.delete(session.id);
        json(202, {});
      }
      return;
    }
    const done = session.state === 'done';
    json(200, {
      id: session.id,
      status: done ? 'done' : 'processing',
      result: done
        ? { messages: session.messages, metadata: { audio_duration: session.audio.length / 8_000 } }
        : null,
    });
  }

  private withMetadata(text: string): { id: string }[] {
    const wanted = Object.entries(JSON.parse(text) as Record<string, unknown>);
    return [...this.sessions.values()]
      .filter(({ request }) => {
        const metadata = (request['custom_metadata'] ?? {}) as Record<string, unknown>;
        return wanted.every(([name, value]) => metadata[name] === value);
      })
      .map(({ id }) => ({ id }));
  }

  private create(
    request: IncomingMessage,
    url: URL,
    json: (status: number, body: unknown, headers?: Record<string, string>) => void,
  ): void {
    const header = request.headers['x-service-key'];
    this.posts.push({
      atMs: performance.now(),
      key: typeof header === 'string' ? header : undefined,
      query: url.search,
    });
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const refusal = this.faults.create?.(this.posts.length);
      if (refusal === 'hang') return;
      if (refusal) {
        json(refusal.status, refusal.body ?? { message: 'scripted' }, refusal.headers);
        return;
      }
      if (this.open.length >= (this.faults.maxSessions ?? Infinity)) {
        json(429, { message: 'too many sessions' });
        return;
      }
      const id = randomUUID();
      this.sessions.set(id, {
        id,
        request: JSON.parse(Buffer.concat(parts).toString()) as Record<string, unknown>,
        audio: Buffer.alloc(0),
        room: Buffer.alloc(0),
        said: 0,
        stopped: false,
        state: 'live',
        sockets: 0,
        pieces: [],
        upgradeHeaders: {},
        ackEnds: [],
        queue: [],
        messages: [],
        socket: undefined,
        lastAudioMs: 0,
      });
      // Clients need no more of the answer than this.
      json(201, {
        id,
        url: `ws://127.0.0.1:${this.publicPort}/v2/live?token=${id}`,
      });
    });
  }

  private connected(ws: WebSocket, id: string, headers: IncomingHttpHeaders): void {
    ws.on('error', () => ws.terminate());
    const session = this.sessions.get(id);
    if (!session || session.state === 'gone') return ws.close(4401, 'unknown token');
    if (session.state === 'done') return ws.close(4403, 'session ended');
    session.socket?.close(4409);
    session.socket = ws;
    session.sockets++;
    session.upgradeHeaders = headers;
    if (this.faults.closeAtOnce !== undefined) return ws.close(this.faults.closeAtOnce);
    const candidates = [0, ...session.ackEnds, session.audio.length];
    let resumed = session.sockets > 1;
    for (const text of session.queue.splice(0)) ws.send(text);
    ws.on('close', (code) => {
      if (session.socket !== ws) return;
      session.socket = undefined;
      if (code === 1000) this.finish(session);
      if (this.faults.graceMs !== undefined)
        this.later(this.faults.graceMs, () => {
          if (session.socket === undefined) this.finish(session);
        });
    });
    ws.on('message', (data: Buffer, isBinary) => {
      // What was still on its way when a newer socket took the session over is in that one's first message.
      if (session.socket !== ws) return;
      if (!isBinary) {
        this.command(session, ws, data.toString());
        return;
      }
      this.take(session, ws, data, resumed ? candidates : undefined);
      resumed = false;
    });
    if (session.stopped) this.ending(session);
  }

  private take(
    session: LinkSession,
    ws: WebSocket,
    data: Buffer,
    candidates: number[] | undefined,
  ): void {
    if (session.state !== 'live') return;
    session.pieces.push({ socket: session.sockets, bytes: data.length });
    if (data.length > (this.faults.messageBytesAtMost ?? Infinity)) return ws.close(1009);
    const total = session.audio.length;
    let from = total;
    if (candidates && !this.faults.naive) {
      from =
        candidates
          .filter((at) => total - at <= data.length)
          .sort((one, other) => one - other)
          .find((at) => session.audio.subarray(at).equals(data.subarray(0, total - at))) ?? total;
    }
    append(session, data.subarray(total - from));
    session.lastAudioMs = performance.now();
    const range = this.faults.ack
      ? this.faults.ack([from, session.audio.length], session)
      : [from, session.audio.length];
    if (range) {
      session.ackEnds.push(session.audio.length);
      this.reply(session, ws, {
        type: 'audio_chunk',
        acknowledged: true,
        error: null,
        data: { byte_range: range, time_range: [0, 0.1] },
      });
    }
    while (session.audio.length - session.said >= framesPerFinal * frameBytes)
      this.say(session, framesPerFinal);
    const code = this.faults.closeAt?.(session);
    if (code !== undefined) ws.close(code);
  }

  private command(session: LinkSession, ws: WebSocket, text: string): void {
    if (!text.includes('stop_recording')) {
      const at = session.audio.length;
      this.reply(session, ws, {
        type: 'audio_chunk',
        acknowledged: true,
        error: null,
        data: { byte_range: [at, at], time_range: [0, 0] },
      });
      return;
    }
    session.stopped = true;
    this.reply(session, ws, {
      type: 'stop_recording',
      acknowledged: true,
      error: null,
      data: { recording_duration: session.audio.length / 8_000, recording_left_to_process: 0 },
    });
    this.ending(session);
  }

  private ending(session: LinkSession): void {
    this.later(this.faults.finalsDelayMs ?? 0, () => this.finish(session));
  }

  private finish(session: LinkSession): void {
    if (session.state !== 'live') return;
    this.say(session, Math.floor((session.audio.length - session.said) / frameBytes));
    this.send(session, 'end_session', {});
    const socket = session.socket;
    const done = (): void => {
      if (session.state === 'live') session.state = 'done';
      socket?.close(1000);
    };
    if (this.faults.recordDelayMs) this.later(this.faults.recordDelayMs, done);
    else done();
  }

  private say(session: LinkSession, frames: number): void {
    if (frames === 0) return;
    const words = Array.from({ length: frames }, (_, index) => {
      const at = session.said + index * frameBytes;
      const start = at / 8_000;
      return {
        word: ` ${wordOf(session.audio.subarray(at, at + frameBytes))}`,
        start,
        end: start + 0.02,
        confidence: 1,
      };
    });
    const start = session.said / 8_000;
    const utterance = {
      start,
      end: start + frames * 0.02,
      confidence: 1,
      channel: 0,
      words,
      text: words.map(({ word }) => word).join(''),
      language: 'en',
    };
    session.said += frames * frameBytes;
    this.send(session, 'transcript', { data: { id: `00_${start}`, is_final: true, utterance } });
  }

  private send(session: LinkSession, type: string, body: object): void {
    const text = JSON.stringify({
      session_id: session.id,
      created_at: new Date().toISOString(),
      type,
      ...body,
    });
    session.messages.push(text);
    if (this.faults.swallow?.(type)) return;
    if (session.socket?.readyState === 1) session.socket.send(text);
    else session.queue.push(text);
  }

  private reply(session: LinkSession, ws: WebSocket, message: object): void {
    ws.send(
      JSON.stringify({ session_id: session.id, created_at: new Date().toISOString(), ...message }),
    );
  }
}

function append(session: LinkSession, bytes: Buffer): void {
  const end = session.audio.length + bytes.length;
  if (end > session.room.length) {
    const room = Buffer.alloc(Math.max(65_536, end * 2));
    session.audio.copy(room);
    session.room = room;
  }
  bytes.copy(session.room, session.audio.length);
  session.audio = session.room.subarray(0, end);
}
