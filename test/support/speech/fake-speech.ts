import { createHash, randomUUID } from 'node:crypto';
import {
  createServer,
  type IncomingHttpHeaders,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocketServer, type WebSocket } from 'ws';
import { frameBytes, numberedFrame } from './audio.ts';
import { FakeJobs } from './fake-jobs.ts';

const framesPerFinal = 25;

export type FakeSession = {
  readonly id: string;
  readonly request: Record<string, unknown>;
  /** The audio heard so far: a view of `room`, which grows with space to spare. */
  bytes: Buffer;
  room: Buffer;
  /** The number of bytes that have become words. */
  said: number;
  stopped: boolean;
  state: 'live' | 'done' | 'gone';
  sockets: number;
  /** Every audio message with the number of its socket. */
  pieces: { socket: number; bytes: number }[];
  /** The upgrade headers of the newest socket. */
  upgradeHeaders: IncomingHttpHeaders;
  /** Text messages that are no audio and no stop. */
  hints: Record<string, unknown>[];
  /** The end of each ack. A returning client may begin at any of them. */
  ackEnds: number[];
  /** Messages that found no socket. The next socket gets them. */
  queue: string[];
  /** The messages in the record that `GET` returns. */
  messages: string[];
  socket: WebSocket | undefined;
};

type SendJson = (status: number, body?: unknown, headers?: Record<string, string>) => void;

/** The faults of the service. A test may change them while it runs. */
export type SpeechScript = {
  /** For the n-th POST: a status instead of a session, or no answer at all. */
  create?: (
    count: number,
  ) => { status: number; headers?: Record<string, string>; body?: object } | 'hang' | undefined;
  /** An address that is returned instead of the session's own. */
  address?: (url: string, session: FakeSession) => string;
  /**
   * True if a second of silence gives no word, as with a recogniser. Otherwise it has a digest like any other second.
   */
  silenceHasNoWords?: boolean;
  /** True if no audio gives a word: the test sends the words itself. */
  hasNoWords?: boolean;
  /** The number of words in each final, all made from one digest. Default: one. */
  wordsPerFinal?: number;
  /** Rewrites the byte range of an ack, or withholds the ack by returning undefined. */
  ack?: (range: [number, number], session: FakeSession) => [number, number] | undefined;
  /** True to append resent audio without comparing it, as a careless service would. */
  naive?: boolean;
  /** The close code for a session that has received this audio. */
  closeAt?: (session: FakeSession) => number | undefined;
  /** Closes every socket with this code as soon as it is open. */
  closeAtOnce?: number;
  /** Refuses larger messages with 1009. */
  messageBytesAtMost?: number;
  /** The ending follows the stop after this delay. Infinity means never. */
  finalsDelayMs?: number;
  /** A session without a socket for this long is finished as if it was stopped. */
  graceMs?: number;
  /** The record of a finished session is ready only after this delay. */
  recordDelayMs?: number;
  /** Messages that no socket sends but the record has. */
  swallow?: (type: string) => boolean;
  maxSessions?: number;
  /** The service says that it takes hints, as ours does. */
  takesHints?: boolean;
  /** Sends each message twice. */
  twice?: boolean;
  partials?: boolean;
  /** `neutral` makes every sentiment neutral. */
  sentiment?: boolean | 'neutral';
  entities?: boolean;
  /** Makes add-ons answer with an error. */
  failAddons?: boolean;
};

/**
 * The only fake of a speech service, over real sockets. Its sessions outlive their sockets and acknowledge every
 * message. Their words depend only on the received bytes, so equal text proves equal audio. A word is a digest of a
 * full second, or the number of a numbered frame. `script` holds its faults.
 */
export class FakeSpeech implements AsyncDisposable {
  readonly sessions = new Map<string, FakeSession>();
  readonly script: SpeechScript = {};
  /** Its uploads and pre-recorded jobs. */
  readonly recordings = new FakeJobs();
  /** Every POST, including refused ones. */
  readonly posts: { atMs: number; key: string | undefined; query: string }[] = [];
  port = 0;
  /** The port in session addresses. Tests with a proxy set the proxy's port. */
  publicPort = 0;
  /** A suffix for every session address. */
  addressSuffix = '';
  /** Another name of this machine, for tests with a name server. */
  publicHost = '127.0.0.1';
  readonly #words: 'seconds' | 'frames';
  readonly #server = createServer((request, response) => this.#answer(request, response));
  readonly #sockets = new WebSocketServer({ noServer: true, maxPayload: 1_048_576 });
  readonly #timers = new Set<NodeJS.Timeout>();

  private constructor(words: 'seconds' | 'frames') {
    this.#words = words;
  }

  static async start(
    options: { port?: number; words?: 'seconds' | 'frames' } = {},
  ): Promise<FakeSpeech> {
    const speech = new FakeSpeech(options.words ?? 'seconds');
    speech.#server.on('upgrade', (request, socket, head) => {
      const id = new URL(request.url ?? '', 'http://local').searchParams.get('token') ?? '';
      socket.on('error', () => socket.destroy());
      if (speech.script.takesHints === true)
        speech.#sockets.once('headers', (headers) => headers.push('x-takes-hints: 1'));
      speech.#sockets.handleUpgrade(request, socket, head, (ws) =>
        speech.#connected(ws, id, request.headers),
      );
    });
    const { port = 0 } = options;
    await new Promise<void>((resolve) => speech.#server.listen(port, '127.0.0.1', resolve));
    speech.port = (speech.#server.address() as AddressInfo).port;
    speech.publicPort = speech.port;
    return speech;
  }

  get url(): string {
    return `http://${this.publicHost}:${this.publicPort}`;
  }

  get open(): FakeSession[] {
    return [...this.sessions.values()].filter((session) => session.state === 'live');
  }

  cutAll(): void {
    for (const { socket } of this.sessions.values()) socket?.terminate();
  }

  closeAll(code: number): void {
    for (const { socket } of this.sessions.values()) socket?.close(code);
  }

  /** Sends a message on the sockets only; the record does not have it. */
  sendToAll(message: (session: FakeSession) => object): void {
    for (const session of this.sessions.values())
      session.socket?.send(JSON.stringify(message(session)));
  }

  /** Ends every live session without a socket after its grace time, as if it was stopped. */
  expireAll(): void {
    for (const session of this.open) this.expire(session);
  }

  expire(session: FakeSession): void {
    this.#finish(session);
  }

  /** While on, the service does not read from its sockets. */
  deaf(on: boolean): void {
    for (const { socket } of this.sessions.values()) {
      if (on) socket?.pause();
      else socket?.resume();
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const timer of this.#timers) clearTimeout(timer);
    this.cutAll();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #later(delayMs: number, run: () => void): void {
    if (delayMs === Infinity) return;
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      run();
    }, delayMs);
    this.#timers.add(timer);
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    if (this.recordings.take(request, response, this.url)) return;
    const url = new URL(request.url ?? '', 'http://local');
    const json: SendJson = (status, body, headers = {}) => {
      response.writeHead(status, { 'content-type': 'application/json', ...headers });
      response.end(body === undefined ? undefined : JSON.stringify(body));
    };
    if (request.method === 'POST') return this.#create(request, url, json);
    if (request.method === 'GET' && url.pathname === '/v2/live')
      return json(200, { items: this.#withMetadata(url.searchParams.get('custom_metadata')) });
    const session = this.sessions.get(url.pathname.split('/').at(-1) ?? '');
    if (!session || session.state === 'gone')
      return json(404, { statusCode: 404, message: 'Not found' });
    if (request.method === 'DELETE') {
      if (session.state === 'live')
        return json(403, { statusCode: 403, message: 'still processing' });
      this.sessions.delete(session.id);
      return json(202, {});
    }
    return json(200, recordOf(session));
  }

  #withMetadata(text: string | null): { id: string }[] {
    const wanted = Object.entries(JSON.parse(text ?? '{}') as Record<string, unknown>);
    return [...this.sessions.values()]
      .filter(({ request }) => {
        const metadata = (request['custom_metadata'] ?? {}) as Record<string, unknown>;
        return wanted.every(([name, value]) => metadata[name] === value);
      })
      .map(({ id }) => ({ id }));
  }

  #create(request: IncomingMessage, url: URL, json: SendJson): void {
    const key = request.headers['x-service-key'];
    this.posts.push({
      atMs: performance.now(),
      key: typeof key === 'string' ? key : undefined,
      query: url.search,
    });
    const refusal = this.script.create?.(this.posts.length);
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      if (refusal === 'hang') return;
      if (refusal) {
        const { status, headers, body = { statusCode: status, message: 'scripted' } } = refusal;
        return json(status, body, headers);
      }
      if (this.open.length >= (this.script.maxSessions ?? Infinity))
        return json(429, { message: 'too many sessions' });
      const id = randomUUID();
      this.sessions.set(
        id,
        newSession(id, JSON.parse(Buffer.concat(parts).toString()) as Record<string, unknown>),
      );
      json(201, {
        id,
        created_at: new Date().toISOString(),
        url: `${this.url.replace('http', 'ws')}/v2/live?token=${id}${this.addressSuffix}`,
      });
    });
  }

  #connected(ws: WebSocket, id: string, headers: IncomingHttpHeaders): void {
    ws.on('error', () => ws.terminate());
    const session = this.sessions.get(id);
    if (!session || session.state === 'gone') return ws.close(4401, 'unknown token');
    if (session.state === 'done') return ws.close(4403, 'session ended');
    session.socket?.close(4409);
    session.socket = ws;
    session.sockets++;
    session.upgradeHeaders = headers;
    if (this.script.closeAtOnce !== undefined) return ws.close(this.script.closeAtOnce);
    /** The position of the next byte from this socket. Unknown until the first message of a resumed socket. */
    let place: number | undefined = session.sockets > 1 ? undefined : 0;
    for (const text of session.queue.splice(0)) ws.send(text);
    ws.on('close', (code) => {
      if (session.socket !== ws) return;
      session.socket = undefined;
      // A client that closes with 1000 without a stop ends its session too.
      if (code === 1000) this.#finish(session);
      if (this.script.graceMs !== undefined)
        this.#later(this.script.graceMs, () => {
          if (session.socket === undefined) this.#finish(session);
        });
    });
    ws.on('message', (data: Buffer, isBinary) => {
      // A newer socket has taken over the session. Its first message contains those that were still on their way here.
      if (session.socket !== ws) return;
      if (!isBinary) return this.#command(session, ws, data.toString());
      place ??= this.script.naive ? session.bytes.length : placeOf(session, data);
      this.#take(session, ws, data, Math.min(place, session.bytes.length));
      place += data.length;
      if (this.script.naive) place = session.bytes.length;
    });
    if (session.stopped) this.#ending(session);
  }

  #take(session: FakeSession, ws: WebSocket, data: Buffer, place: number): void {
    if (session.state !== 'live') return;
    session.pieces.push({ socket: session.sockets, bytes: data.length });
    if (data.length > (this.script.messageBytesAtMost ?? Infinity)) return ws.close(1009);
    append(session, data.subarray(Math.min(data.length, session.bytes.length - place)));
    const all: [number, number] = [place, place + data.length];
    const range = this.script.ack ? this.script.ack(all, session) : all;
    if (range) {
      session.ackEnds.push(place + data.length);
      this.#reply(session, ws, 'audio_chunk', { byte_range: range, time_range: [0, 0.1] });
    }
    if (this.#words === 'seconds') this.#saySeconds(session);
    else
      while (session.bytes.length - session.said >= framesPerFinal * frameBytes)
        this.#sayFrames(session, framesPerFinal);
    const code = this.script.closeAt?.(session);
    if (code !== undefined) ws.close(code);
  }

  /** Any command except the stop is answered like an empty chunk of audio. */
  #command(session: FakeSession, ws: WebSocket, text: string): void {
    const at = session.bytes.length;
    if (text.includes('"hint"')) {
      session.hints.push((JSON.parse(text) as { data: Record<string, unknown> }).data);
      return;
    }
    if (!text.includes('stop_recording'))
      return this.#reply(session, ws, 'audio_chunk', { byte_range: [at, at], time_range: [0, 0] });
    session.stopped = true;
    const recorded = session.bytes.length / bytesPerSecond(session);
    const data = { recording_duration: recorded, recording_left_to_process: 0 };
    this.#reply(session, ws, 'stop_recording', data);
    this.#ending(session);
  }

  #ending(session: FakeSession): void {
    this.#later(this.script.finalsDelayMs ?? 0, () => this.#finish(session));
  }

  #finish(session: FakeSession): void {
    if (session.state !== 'live') return;
    if (this.#words === 'frames')
      this.#sayFrames(session, Math.floor((session.bytes.length - session.said) / frameBytes));
    this.#send(session, 'end_session', {});
    const { socket } = session;
    const done = (): void => {
      if (session.state === 'live') session.state = 'done';
      socket?.close(1000);
    };
    if (this.script.recordDelayMs) this.#later(this.script.recordDelayMs, done);
    else done();
  }

  #saySeconds(session: FakeSession): void {
    const rate = bytesPerSecond(session);
    for (; session.bytes.length - session.said >= rate; session.said += rate) {
      const second = session.said / rate;
      const bytes = session.bytes.subarray(session.said, session.said + rate);
      if (this.script.hasNoWords || (this.script.silenceHasNoWords && isOneByte(bytes))) continue;
      const text = ` ${digestWord(bytes)}`;
      const times = { start: second, end: second + 0.8 };
      const count = this.script.wordsPerFinal ?? 1;
      const words = Array.from({ length: count }, (_, at) => ({
        word: text,
        start: second + (0.8 * at) / count,
        end: second + (0.8 * (at + 1)) / count,
        confidence: 0.9,
      }));
      this.#say(session, `00_${String(second).padStart(8, '0')}`, times, words);
    }
  }

  #sayFrames(session: FakeSession, frames: number): void {
    if (frames === 0) return;
    const from = session.said;
    const words = Array.from({ length: frames }, (_, index) => {
      const at = from + index * frameBytes;
      const start = at / 8_000;
      const word = ` ${frameWord(session.bytes.subarray(at, at + frameBytes))}`;
      return { word, start, end: start + 0.02, confidence: 1 };
    });
    const start = from / 8_000;
    session.said += frames * frameBytes;
    this.#say(session, `00_${start}`, { start, end: start + frames * 0.02 }, words);
  }

  #say(
    session: FakeSession,
    id: string,
    times: { start: number; end: number },
    words: { word: string; start: number; end: number; confidence: number }[],
  ): void {
    const { partials, entities, sentiment, failAddons } = this.script;
    const text = words.map(({ word }) => word).join('');
    const spoken = { confidence: words[0]?.confidence ?? 1, channel: 0, language: 'en' };
    const utterance = { ...times, ...spoken, text, words };
    if (partials)
      this.#send(session, 'transcript', { data: { id, is_final: false, utterance } }, false);
    this.#send(session, 'transcript', { data: { id, is_final: true, utterance } });
    if (entities) {
      const results = [{ entity_type: 'NAME', text: text.trim(), ...times }];
      const data = { utterance_id: id, utterance, results };
      this.#send(session, 'named_entity_recognition', { error: null, data });
    }
    if (!sentiment) return;
    if (failAddons) {
      const error = { message: 'sentiment failed' };
      return this.#send(session, 'sentiment_analysis', { error, data: null });
    }
    const felt =
      sentiment === 'neutral'
        ? { sentiment: 'neutral', emotion: 'neutral' }
        : { sentiment: 'negative', emotion: 'disappointment' };
    const results = [{ ...felt, text: text.trim(), ...times, channel: 0 }];
    const data = { utterance_id: id, utterance, results };
    this.#send(session, 'sentiment_analysis', { error: null, data });
  }

  #send(session: FakeSession, type: string, body: object, kept = true): void {
    const text = messageOf(session, type, body);
    if (kept) session.messages.push(text);
    if (this.script.swallow?.(type)) return;
    for (let times = this.script.twice ? 2 : 1; times > 0; times--)
      if (session.socket?.readyState === 1) session.socket.send(text);
      else session.queue.push(text);
  }

  /** Answers belong to their socket and are neither stored nor sent again. */
  #reply(session: FakeSession, ws: WebSocket, type: string, data: object): void {
    ws.send(messageOf(session, type, { acknowledged: true, error: null, data }));
  }
}

/** The words of this audio in an undisturbed run, where each second is a word. */
export function wordsOf(audio: Buffer, secondBytes = 8_000): string[] {
  const words: string[] = [];
  for (let at = 0; at + secondBytes <= audio.length; at += secondBytes)
    words.push(digestWord(audio.subarray(at, at + secondBytes)));
  return words;
}

/**
 * Compares the buffer with itself moved by one byte. Ten minutes of silence in a test must not block its own event
 * loop.
 */
function isOneByte(bytes: Buffer): boolean {
  return bytes.subarray(1).equals(bytes.subarray(0, -1));
}

function digestWord(bytes: Buffer): string {
  return `w${createHash('sha256').update(bytes).digest('hex').slice(0, 10)}`;
}

/** The word of one frame: its number, or its error. */
function frameWord(frame: Buffer): string {
  const number = frame.readUInt32LE(0);
  if (numberedFrame(number).equals(frame)) return `f${number}`;
  return frame.every((byte) => byte === frame[0]) ? `silence${frame[0] ?? ''}` : 'torn';
}

function newSession(id: string, request: Record<string, unknown>): FakeSession {
  return {
    id,
    request,
    bytes: Buffer.alloc(0),
    room: Buffer.alloc(0),
    said: 0,
    stopped: false,
    state: 'live',
    sockets: 0,
    pieces: [],
    upgradeHeaders: {},
    ackEnds: [],
    queue: [],
    hints: [],
    messages: [],
    socket: undefined,
  };
}

function messageOf(session: FakeSession, type: string, body: object): string {
  const created_at = new Date().toISOString();
  return JSON.stringify({ session_id: session.id, created_at, type, ...body });
}

function recordOf(session: FakeSession): object {
  const done = session.state === 'done';
  const duration = session.bytes.length / bytesPerSecond(session);
  return {
    id: session.id,
    request_id: `G-${session.id.slice(0, 8)}`,
    version: 2,
    kind: 'live',
    created_at: new Date().toISOString(),
    status: done ? 'done' : 'processing',
    post_session_metadata: {},
    custom_metadata: null,
    file: {
      id: session.id,
      filename: null,
      source: null,
      audio_duration: duration,
      number_of_channels: 1,
    },
    request_params: null,
    completed_at: done ? new Date().toISOString() : null,
    error_code: null,
    result: done
      ? {
          metadata: {
            audio_duration: duration,
            number_of_distinct_channels: 1,
            billing_time: 1,
            transcription_time: 1,
          },
          messages: session.messages,
        }
      : null,
  };
}

/**
 * The position at which the first message of a resumed socket begins: the earliest end of an ack from which it repeats
 * everything heard. A shorter message begins at the earliest end whose bytes it repeats.
 */
function placeOf({ bytes, ackEnds }: FakeSession, data: Buffer): number {
  const places = [0, ...ackEnds].filter((at) => at <= bytes.length).sort((a, b) => a - b);
  const repeats = (at: number): boolean => {
    const size = Math.min(data.length, bytes.length - at);
    return bytes.compare(data, 0, size, at, at + size) === 0;
  };
  return (
    places.find((at) => bytes.length - at <= data.length && repeats(at)) ??
    places.find(repeats) ??
    bytes.length
  );
}

function append(session: FakeSession, bytes: Buffer): void {
  const end = session.bytes.length + bytes.length;
  if (end > session.room.length) {
    const room = Buffer.alloc(Math.max(65_536, end * 2));
    session.bytes.copy(room);
    session.room = room;
  }
  bytes.copy(session.room, session.bytes.length);
  session.bytes = session.room.subarray(0, end);
}

function bytesPerSecond({ request }: FakeSession): number {
  const channels = Number(request['channels'] ?? 1);
  return (Number(request['sample_rate']) * channels * Number(request['bit_depth'])) / 8;
}
