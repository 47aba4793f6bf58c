import { createHash, randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { WebSocketServer, type WebSocket } from 'ws';

/**
 * A speech service whose words are a function of the bytes: each full second of a session's audio is one
 * final that says a digest of that second. So text that is equal proves audio that is equal. It keeps
 * sessions over lost sockets and dedupes resent audio by offset, as the interface asks of a server.
 */
export class ScriptedSession {
  readonly id: string;
  readonly request: Record<string, unknown>;
  readonly messages: string[] = [];
  sockets = 0;
  stopped = false;
  done = false;
  deleted = false;
  #held = Buffer.alloc(65_536);
  #length = 0;

  constructor(id: string, request: Record<string, unknown>) {
    this.id = id;
    this.request = request;
  }

  get bytes(): Buffer {
    return this.#held.subarray(0, this.#length);
  }

  append(data: Buffer): void {
    while (this.#length + data.length > this.#held.length)
      this.#held = Buffer.concat([this.#held, Buffer.alloc(this.#held.length)]);
    data.copy(this.#held, this.#length);
    this.#length += data.length;
  }
}

export type Behaviour = {
  /** Called for each POST; a status refuses it. */
  create?: (count: number) => { status: number; headers?: Record<string, string> } | undefined;
  /** Finals come this much later after the stop; Infinity for never. */
  finalsDelayMs?: number;
  /** Each message twice. */
  twice?: boolean;
  /** Add-ons answer with their error. */
  failAddons?: boolean;
  sentiment?: boolean;
  entities?: boolean;
  /** Messages that no socket brings and the record has. */
  swallow?: (type: string) => boolean;
  partials?: boolean;
};

export class ScriptedSpeech implements AsyncDisposable {
  readonly sessions = new Map<string, ScriptedSession>();
  readonly behaviour: Behaviour = {};
  created = 0;
  /** Milliseconds of the monotonic clock at which each POST came. */
  readonly createdAtMs: number[] = [];
  url = '';
  readonly #server = createServer((request, response) => this.#answer(request, response));
  readonly #sockets = new WebSocketServer({ noServer: true });
  readonly #open = new Map<WebSocket, ScriptedSession>();
  readonly #timers = new Set<NodeJS.Timeout>();
  /** Where in its session each socket's next byte belongs. */
  readonly #places = new WeakMap<WebSocket, number>();

  static async start(port = 0): Promise<ScriptedSpeech> {
    const speech = new ScriptedSpeech();
    speech.#server.on('upgrade', (request, socket, head) => {
      const token = new URL(request.url ?? '', 'http://local').searchParams.get('token') ?? '';
      speech.#sockets.handleUpgrade(request, socket, head, (ws) => speech.#connected(ws, token));
    });
    await new Promise<void>((resolve) => speech.#server.listen(port, '127.0.0.1', resolve));
    speech.url = `http://127.0.0.1:${(speech.#server.address() as AddressInfo).port}`;
    return speech;
  }

  /** What the words of this audio are: what an undisturbed run says. */
  static wordsOf(audio: Buffer, bytesPerSecond = 8_000): string[] {
    const words: string[] = [];
    for (let at = 0; at + bytesPerSecond <= audio.length; at += bytesPerSecond)
      words.push(wordOf(audio.subarray(at, at + bytesPerSecond)));
    return words;
  }

  get liveSessions(): ScriptedSession[] {
    return [...this.sessions.values()].filter((session) => !session.deleted);
  }

  cutAll(): void {
    for (const socket of this.#open.keys()) socket.terminate();
  }

  closeAll(code: number): void {
    for (const socket of this.#open.keys()) socket.close(code);
  }

  sendToAll(message: (session: ScriptedSession) => object): void {
    for (const [socket, session] of this.#open) socket.send(JSON.stringify(message(session)));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const timer of this.#timers) clearTimeout(timer);
    this.cutAll();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #answer(request: IncomingMessage, response: ServerResponse): void {
    const { pathname } = new URL(request.url ?? '', 'http://local');
    const id = pathname.replace('/v2/live', '').replace('/', '');
    const session = this.sessions.get(id);
    const json = (status: number, body?: unknown, headers: Record<string, string> = {}): void => {
      response.writeHead(status, { 'content-type': 'application/json', ...headers });
      response.end(body === undefined ? undefined : JSON.stringify(body));
    };
    if (request.method === 'POST') return this.#create(request, json);
    if (session === undefined || session.deleted)
      return json(404, { statusCode: 404, message: 'Not found' });
    if (request.method === 'DELETE') {
      if (!session.done) return json(403, { statusCode: 403, message: 'still processing' });
      session.deleted = true;
      return json(202);
    }
    return json(200, {
      id,
      request_id: `G-${id.slice(0, 8)}`,
      version: 2,
      kind: 'live',
      created_at: new Date().toISOString(),
      status: session.done ? 'done' : 'processing',
      post_session_metadata: {},
      custom_metadata: null,
      file: {
        id,
        filename: null,
        source: null,
        audio_duration: session.bytes.length / bytesPerSecond(session),
        number_of_channels: 1,
      },
      request_params: null,
      completed_at: session.done ? new Date().toISOString() : null,
      error_code: null,
      result: session.done
        ? {
            metadata: {
              audio_duration: session.bytes.length / bytesPerSecond(session),
              number_of_distinct_channels: 1,
              billing_time: 1,
              transcription_time: 1,
            },
            messages: session.messages,
          }
        : null,
    });
  }

  #create(
    request: IncomingMessage,
    json: (status: number, body?: unknown, headers?: Record<string, string>) => void,
  ): void {
    this.createdAtMs.push(performance.now());
    this.created++;
    const refusal = this.behaviour.create?.(this.created);
    if (refusal !== undefined)
      return json(
        refusal.status,
        { statusCode: refusal.status, message: 'scripted' },
        refusal.headers,
      );
    const parts: Buffer[] = [];
    request.on('data', (part: Buffer) => parts.push(part));
    request.on('end', () => {
      const id = randomUUID();
      const body = JSON.parse(Buffer.concat(parts).toString()) as Record<string, unknown>;
      this.sessions.set(id, new ScriptedSession(id, body));
      json(201, {
        id,
        created_at: new Date().toISOString(),
        url: `${this.url.replace('http', 'ws')}/v2/live?token=${id}`,
      });
    });
  }

  #connected(socket: WebSocket, token: string): void {
    const session = this.sessions.get(token);
    socket.on('error', () => socket.terminate());
    if (session === undefined) return socket.close(4401);
    if (session.done) return socket.close(4403);
    for (const [old, of] of this.#open) if (of === session) old.close(4409);
    session.sockets++;
    this.#open.set(socket, session);
    socket.on('close', (code) => {
      this.#open.delete(socket);
      // A client that closes in good order without a stop ends its session all the same.
      if (code === 1000) session.done = true;
    });
    let first = true;
    socket.on('message', (data: Buffer, isBinary) => {
      if (!isBinary) return this.#stop(socket, session);
      this.#take(socket, session, data, first && session.sockets > 1);
      first = false;
    });
    if (session.stopped) this.#finish(session);
  }

  /** After a resume the client begins again at some earlier byte: its first message says where by its bytes. */
  #take(socket: WebSocket, session: ScriptedSession, data: Buffer, resent: boolean): void {
    const before = session.bytes.length;
    if (resent) this.#places.set(socket, placeOf(session.bytes, data));
    const place = this.#places.get(socket) ?? before;
    const overlap = Math.min(data.length, before - place);
    session.append(data.subarray(overlap));
    this.#places.set(socket, place + data.length);
    const range = [place, place + data.length];
    socket.send(
      JSON.stringify({
        session_id: session.id,
        created_at: new Date().toISOString(),
        type: 'audio_chunk',
        acknowledged: true,
        error: null,
        data: { byte_range: range, time_range: [0, 0] },
      }),
    );
    const rate = bytesPerSecond(session);
    const last = Math.floor(session.bytes.length / rate);
    for (let second = Math.floor(before / rate); second < last; second++)
      this.#say(session, second, session.bytes.subarray(second * rate, (second + 1) * rate));
  }

  #say(session: ScriptedSession, second: number, bytes: Buffer): void {
    const text = ` ${wordOf(bytes)}`;
    const id = `00_${String(second).padStart(8, '0')}`;
    const times = { start: second, end: second + 0.8 };
    const utterance = {
      ...times,
      confidence: 0.9,
      channel: 0,
      language: 'en',
      text,
      words: [{ word: text, ...times, confidence: 0.9 }],
    };
    if (this.behaviour.partials)
      this.#send(session, 'transcript', { data: { id, is_final: false, utterance } }, false);
    this.#send(session, 'transcript', { data: { id, is_final: true, utterance } });
    if (this.behaviour.entities) {
      const results = [{ entity_type: 'NAME', text: text.trim(), ...times }];
      const data = { utterance_id: id, utterance, results };
      this.#send(session, 'named_entity_recognition', { error: null, data });
    }
    if (!this.behaviour.sentiment) return;
    if (this.behaviour.failAddons)
      return this.#send(session, 'sentiment_analysis', {
        error: { message: 'sentiment failed' },
        data: null,
      });
    const results = [
      { sentiment: 'neutral', emotion: 'neutral', text: text.trim(), ...times, channel: 0 },
    ];
    this.#send(session, 'sentiment_analysis', {
      error: null,
      data: { utterance_id: id, utterance, results },
    });
  }

  #send(session: ScriptedSession, type: string, body: object, kept = true): void {
    const text = JSON.stringify({
      session_id: session.id,
      created_at: new Date().toISOString(),
      type,
      ...body,
    });
    if (kept) session.messages.push(text);
    if (this.behaviour.swallow?.(type)) return;
    for (const [socket, of] of this.#open)
      if (of === session)
        for (let times = this.behaviour.twice ? 2 : 1; times > 0; times--) socket.send(text);
  }

  #stop(socket: WebSocket, session: ScriptedSession): void {
    session.stopped = true;
    socket.send(
      JSON.stringify({
        session_id: session.id,
        created_at: new Date().toISOString(),
        type: 'stop_recording',
        acknowledged: true,
        error: null,
        data: {
          recording_duration: session.bytes.length / bytesPerSecond(session),
          recording_left_to_process: 0,
        },
      }),
    );
    this.#finish(session);
  }

  #finish(session: ScriptedSession): void {
    const delayMs = this.behaviour.finalsDelayMs ?? 0;
    if (delayMs === Infinity) return;
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      session.done = true;
      this.#send(session, 'end_session', {});
      for (const [socket, of] of this.#open) if (of === session) socket.close(1000);
    }, delayMs);
    this.#timers.add(timer);
  }
}

/** The earliest place whose bytes the data repeats; the end when it repeats none. */
function placeOf(bytes: Buffer, data: Buffer): number {
  for (let place = 0; place < bytes.length; place++) {
    const size = Math.min(data.length, bytes.length - place);
    if (bytes.compare(data, 0, size, place, place + size) === 0) return place;
  }
  return bytes.length;
}

function wordOf(bytes: Buffer): string {
  return `w${createHash('sha256').update(bytes).digest('hex').slice(0, 10)}`;
}

function bytesPerSecond({ request }: ScriptedSession): number {
  return (
    (Number(request['sample_rate']) *
      Number(request['channels'] ?? 1) *
      Number(request['bit_depth'])) /
    8
  );
}

/** Audio in which no second is like another, from a seed. */
export function seededAudio(bytes: number, seed: number): Buffer {
  const audio = Buffer.alloc(bytes);
  let state = (seed * 2_654_435_761 + 1) >>> 0;
  for (let at = 0; at < bytes; at++) {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    audio[at] = state >>> 24;
  }
  return audio;
}
