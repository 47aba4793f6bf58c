import { join } from 'node:path';
import { WebSocket } from 'ws';
import type { z } from 'zod';
import { HttpConfig } from '../../../src/port/config.ts';
import { listen } from '../../../src/port/http.ts';
import type { Logger } from '../../../src/lib/log.ts';
import { startLanguageRunner } from '../../../src/language/runner.ts';
import type {
  MessageOf,
  ServerMessage,
  ServerMessageType,
} from '../../../src/protocol/live-messages.ts';
import type { LiveJobRecord } from '../../../src/protocol/job.ts';
import type { AddonRunner } from '../../../src/speech-service/results/answer.ts';
import { SpeechServiceConfig } from '../../../src/speech-service/config.ts';
import type { Recogniser } from '../../../src/hearing/recogniser.ts';
import { startSpeechService, type SpeechService } from '../../../src/speech-service/service.ts';
import type { Objects } from '../../../src/objects/objects.ts';
import type { Store } from '../../../src/store/store.ts';
import { linearToMulaw } from '../../../src/audio/g711.ts';
import { fixtureModel, tones } from '../recognition/fixture-model.ts';
import { recogniserOf, silentLog } from '../recognition/recogniser.ts';
import type { Clock } from '../../../src/lib/clock.ts';
import { temporaryStore } from '../store/store.ts';
import { assertDescribed } from './described.ts';

export type Job = { id: string; url: string; created_at: string };

export type SpeechHttp = {
  post(body?: unknown, query?: string): Promise<Job>;
  /** Waits while the service is at its limit, as clients should. */
  postWhenFree(body?: unknown): Promise<Job>;
  http(path: string, init?: TestRequest): Promise<Response>;
  job(id: string): Promise<LiveJobRecord>;
  /** Waits until the job has ended, successfully or in error. */
  ended(id: string): Promise<LiveJobRecord>;
};

export type TestService = AsyncDisposable &
  SpeechHttp & {
    url: string;
    port: number;
    store: Store & { dataDir: string };
    service: SpeechService;
  };

export type TestRequest = Omit<RequestInit, 'headers'> & { headers?: Record<string, string> };

export type TestServiceOptions = {
  config?: z.input<typeof SpeechServiceConfig>;
  clock?: Clock;
  keys?: string[];
  recogniser?: Recogniser;
  language?: AddonRunner;
  store?: Store & { dataDir: string };
  port?: number;
  publicUrl?: string;
  log?: Logger;
  recording?: { kept: boolean; days: number };
  objects?: Objects;
};

/** One recogniser with the fixture model for a whole test file. */
export async function fixtureRecogniser(): Promise<Recogniser> {
  return recogniserOf(await fixtureModel());
}

/** The speech service alone, on its own port. */
export async function startTestService(options: TestServiceOptions = {}): Promise<TestService> {
  const stack = new AsyncDisposableStack();
  const store = options.store ?? stack.use(await temporaryStore());
  const recogniser = options.recogniser ?? stack.use(await fixtureRecogniser());
  const language = options.language ?? stack.use(startLanguageRunner());
  await language.warm?.();
  const http = stack.use(
    await listen({
      config: HttpConfig.parse({
        port: options.port ?? 0,
        apiKeys: options.keys ?? [],
        ...(options.publicUrl === undefined ? {} : { publicUrl: options.publicUrl }),
      }),
      // Without keys a public address would be refused.
      insecure: options.publicUrl !== undefined,
      internalKey: 'internal-key-of-this-test',
      log: silentLog,
    }),
  );
  const service = stack.use(
    await startSpeechService({
      config: SpeechServiceConfig.parse({
        ...options.config,
        // Models that are installed on this machine must not change a test.
        recogniser: { models: join(store.dataDir, 'models'), ...options.config?.recogniser },
      }),
      dataDir: store.dataDir,
      store,
      log: options.log ?? silentLog,
      recogniser,
      language,
      publicUrl: http.publicUrl,
      objects: options.objects,
      ...(options.clock ? { clock: options.clock } : {}),
      ...(options.recording ? { recording: options.recording } : {}),
    }),
  );
  http.mount(service);
  const url = http.ownUrl;
  return {
    ...speechApi(url, options.keys?.[0]),
    url,
    port: http.port,
    store,
    service,
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** The HTTP side of a client. */
export function speechApi(url: string, key?: string): SpeechHttp {
  const headers: Record<string, string> = key === undefined ? {} : { 'x-service-key': key };
  const http = async (path: string, init: TestRequest = {}): Promise<Response> => {
    const response = await fetch(url + path, { ...init, headers: { ...headers, ...init.headers } });
    assertDescribed(init.method ?? 'GET', path, response.status);
    return response;
  };
  const job = async (id: string): Promise<LiveJobRecord> =>
    (await (await http(`/v2/live/${id}`)).json()) as LiveJobRecord;
  const post = async (body: unknown = telephony, query = ''): Promise<Job> => {
    const response = await http(`/v2/live${query}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify(body),
    });
    if (response.status !== 201)
      throw new Error(`POST answered ${response.status}: ${await response.text()}`);
    return (await response.json()) as Job;
  };
  return {
    http,
    job,
    post,
    async postWhenFree(body) {
      for (let tries = 0; ; tries++) {
        try {
          return await post(body);
        } catch (error) {
          if (tries > 150 || !String(error).includes('answered 429')) throw error;
          await new Promise((resolve) => setTimeout(resolve, 200));
        }
      }
    },
    async ended(id) {
      for (let tries = 0; tries < 1_000; tries++) {
        const record = await job(id);
        if (record.status === 'done' || record.status === 'error') return record;
        await new Promise((resolve) => setTimeout(resolve, 20));
      }
      throw new Error('the job did not end');
    },
  };
}

export const telephony = {
  encoding: 'wav/ulaw',
  bit_depth: 8,
  sample_rate: 8000,
  channels: 1,
  language_config: { languages: ['en'] },
};

/** The sound that says these words to the fixture model, as a telephone sends it. */
export function mulawOf(words: string, options: Parameters<typeof tones>[1] = {}): Buffer {
  return Buffer.from(Uint8Array.from(tones(words, options), linearToMulaw));
}

export type TestClient = {
  socket: WebSocket;
  messages: ServerMessage[];
  texts: string[];
  send(audio: Buffer, chunkBytes?: number): void;
  stop(): void;
  /** Resolves with the first message of that type from the given index on. */
  until<T extends ServerMessageType>(
    type: T,
    fits?: (message: MessageOf<T>) => boolean,
  ): Promise<MessageOf<T>>;
  closed: Promise<{ code: number; reason: string }>;
  of<T extends ServerMessageType>(type: T): MessageOf<T>[];
  finals(): string;
};

export async function connect(url: string): Promise<TestClient> {
  const client = open(url);
  await new Promise<void>((resolve, reject) => {
    client.socket.once('open', resolve);
    client.socket.once('error', reject);
  });
  return client;
}

/** Opens a socket without waiting for the handshake. */
export function open(url: string): TestClient {
  const socket = new WebSocket(url, { perMessageDeflate: false });
  const messages: ServerMessage[] = [];
  const texts: string[] = [];
  const waiting = new Set<() => void>();
  let isClosed = false;
  const wake = (): void => {
    for (const look of [...waiting]) look();
  };
  socket.on('error', () => undefined);
  socket.on('message', (data: Buffer) => {
    texts.push(data.toString('utf8'));
    messages.push(JSON.parse(data.toString('utf8')) as ServerMessage);
    wake();
  });
  const closed = new Promise<{ code: number; reason: string }>((resolve) => {
    socket.once('close', (code: number, reason: Buffer) => {
      isClosed = true;
      resolve({ code, reason: reason.toString('utf8') });
      wake();
    });
  });
  const of = <T extends ServerMessageType>(type: T): MessageOf<T>[] =>
    messages.filter((message): message is MessageOf<T> => message.type === type);
  return {
    socket,
    messages,
    texts,
    closed,
    of,
    send(audio, chunkBytes = 800) {
      for (let at = 0; at < audio.length; at += chunkBytes)
        socket.send(audio.subarray(at, at + chunkBytes));
    },
    stop: () => socket.send(JSON.stringify({ type: 'stop_recording' })),
    until: (type, fits = () => true) =>
      new Promise((resolve, reject) => {
        const look = (): void => {
          const found = of(type).find(fits);
          if (found) resolve(found);
          else if (isClosed) reject(new Error(`closed before a fitting ${type}`));
          else return;
          waiting.delete(look);
        };
        waiting.add(look);
        look();
      }),
    finals: () =>
      of('transcript')
        .filter((message) => message.data.is_final)
        .map((message) => message.data.utterance.text)
        .join(''),
  };
}
