import express, { type Express } from 'express';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll } from 'vitest';
import { ruleSetOf } from '../../../src/assist/rule-set.ts';
import type { BridgeOptions } from '../../../src/bridge/bridge-parts.ts';
import { startBridge, type BridgePart } from '../../../src/bridge/bridge.ts';
import type {
  CallStream,
  ReadFacts,
  StreamControl,
  StreamStart,
} from '../../../src/bridge/streams.ts';
import { BridgeConfig } from '../../../src/bridge/config.ts';
import { startLanguageRunner, type LanguageRunner } from '../../../src/language/runner.ts';
import { createLog } from '../../../src/lib/log.ts';
import type { Clock } from '../../../src/lib/clock.ts';
import { problemHandler } from '../../../src/port/problem.ts';
import type { Membership } from '../../../src/nodes/membership.ts';
import type { Objects } from '../../../src/objects/objects.ts';
import { OutboxConfig } from '../../../src/outbox/config.ts';
import { startOutbox } from '../../../src/outbox/outbox.ts';
import { SpeechConfig } from '../../../src/speech-client/config.ts';
import type { Store } from '../../../src/store/store.ts';
import { until } from '../process/until.ts';

export const quietLog = createLog({ level: process.env['TEST_LOG'] ?? 'silent' });

// eslint-disable-next-line @typescript-eslint/no-explicit-any -- answers are looked at field by field
export type AnyJson = any;

export type TestBridge = AsyncDisposable & {
  bridge: BridgePart;
  url: string;
  get(path: string, init?: RequestInit): Promise<Response>;
  json(path: string): Promise<AnyJson>;
  open(start?: StartOverrides): Promise<{ stream: CallStream; control: TestControl }>;
  callOf(carrierCallId?: string): Promise<AnyJson>;
  events(callId: string): Promise<AnyJson[]>;
  ended(callId: string): Promise<AnyJson>;
};

export type TestBridgeOptions = {
  store: Store & { dataDir: string };
  speechUrl: string;
  config?: Record<string, unknown>;
  /** The outbox's settings. Without them nothing is delivered. */
  outbox?: Record<string, unknown>;
  clock?: Clock;
  loopback?: boolean;
  factsOf?: ReadFacts;
  objects?: Objects;
  nodes?: Membership;
  /** A language runner of its own instead of the shared one. */
  language?: LanguageRunner;
  playbooks?: BridgeOptions['playbooks'];
  meaning?: BridgeOptions['meaning'];
};

/** No model is installed. */
const noMeaning = {
  isThere: () => Promise.resolve(false),
  direction: () => Promise.resolve(undefined),
};

const noPlaybooks = {
  current: ruleSetOf([]),
  problems: [],
  load: () => Promise.resolve(false),
};

/** One runner for all tests of a file, because its threads take longer to start than most tests. */
let language: LanguageRunner | undefined;
afterAll(() => language?.[Symbol.asyncDispose]());

/** The real bridge with a real store and speech socket. Only the carrier's socket is missing. */
export async function testBridge(options: TestBridgeOptions): Promise<TestBridge> {
  language ??= startLanguageRunner();
  const outbox = await startOutbox({
    config: OutboxConfig.parse(options.outbox ?? {}),
    store: options.store,
    log: quietLog,
  });
  const app: Express = express();
  const server = createServer(app);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const bridge = await startBridge({
    config: BridgeConfig.parse({
      rejoinWaitMs: 300,
      finalsWaitMs: 2_000,
      quietFillMs: 0,
      ...options.config,
    }),
    dataDir: options.store.dataDir,
    store: options.store,
    log: quietLog,
    language: options.language ?? language,
    outbox,
    speech: SpeechConfig.parse({}),
    speechNodes: () => [
      {
        name: options.speechUrl,
        target: { url: options.speechUrl, keyHeader: 'x-service-key' },
        isOfFleet: false,
      },
    ],
    playbooks: options.playbooks ?? noPlaybooks,
    meaning: options.meaning ?? noMeaning,
    publicUrl: () => url,
    loopback: options.loopback ?? true,
    objects: options.objects,
    ...(options.nodes === undefined ? {} : { nodes: options.nodes }),
    carriers: ['twilio', 'telnyx'],
    ...(options.factsOf === undefined ? {} : { factsOf: options.factsOf }),
    ...(options.clock === undefined ? {} : { clock: options.clock }),
  });
  app.use(express.json());
  for (const { router } of [...(outbox.routers ?? []), ...(bridge.routers ?? [])]) app.use(router);
  app.use(problemHandler((error) => quietLog.error({ err: error }, 'request failed')));

  const get = (path: string, init?: RequestInit): Promise<Response> => fetch(`${url}${path}`, init);
  const json = async (path: string): Promise<AnyJson> => (await get(path)).json();
  const events = async (callId: string): Promise<AnyJson[]> =>
    (await json(`/api/calls/${callId}/events?limit=1000`)).items;
  return {
    bridge,
    url,
    get,
    json,
    events,
    async open(start) {
      const control = new TestControl();
      const opened = await bridge.openStream(streamStart(start), control);
      if (opened.outcome !== 'opened')
        throw new Error(`stream was not opened: ${JSON.stringify(opened)}`);
      return { stream: opened.stream, control };
    },
    async callOf(carrierCallId = 'CA1') {
      const list = await json(`/api/calls?carrier_call_id=${carrierCallId}`);
      const [call] = list.items;
      return call && (await json(`/api/calls/${call.id}`));
    },
    ended: (callId) =>
      until(async () => {
        const list = await events(callId);
        // The record of a call may follow at once.
        return list.findLast(({ type }) => type !== 'call.wrapped')?.type === 'call.completed'
          ? list.find((event) => event.type === 'call.ended')
          : undefined;
      }),
    async [Symbol.asyncDispose]() {
      await bridge[Symbol.asyncDispose]();
      await outbox[Symbol.asyncDispose]();
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

export class TestControl implements StreamControl {
  readonly asked: string[] = [];
  pause(): void {
    this.asked.push('pause');
  }
  resume(): void {
    this.asked.push('resume');
  }
  disconnect(): void {
    this.asked.push('disconnect');
  }
}

export type StartOverrides = Partial<StreamStart>;

export function streamStart(overrides: StartOverrides = {}): StreamStart {
  return {
    carrier: 'twilio',
    carrierCallId: 'CA1',
    streamId: 'MZ1',
    encoding: 'mulaw',
    sampleRate: 8_000,
    tracks: [{ name: 'inbound', channels: 1 }],
    direction: 'inbound',
    from: '+15550100123',
    to: '+15550100200',
    carrierIds: { account_sid: 'AC1' },
    parameters: { crmCase: 'C-20417' },
    closingEndsCall: false,
    pings: true,
    ...overrides,
  };
}

/** Pushes audio in carrier frames of 20 ms, as fast as possible, with pauses for the event loop. */
export async function speak(
  stream: CallStream,
  track: string,
  audio: Buffer,
  frame = 160,
): Promise<void> {
  for (let at = 0; at < audio.length; at += frame) {
    stream.take({ type: 'audio', track, payload: audio.subarray(at, at + frame) });
    if ((at / frame) % 50 === 49) await new Promise((resolve) => setImmediate(resolve));
  }
}
