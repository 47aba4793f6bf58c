import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { AnyJson } from './test-bridge.ts';
import {
  CarrierClient,
  twilioConnected,
  twilioMedia,
  twilioStart,
} from '../carriers/carrier-client.ts';
import { startApp, type App } from '../process/app.ts';
import { freePort } from '../process/free-port.ts';
import { newestCall } from '../process/newest-call.ts';
import { until } from '../process/until.ts';
import { FakeSpeech } from '../speech/fake-speech.ts';
import type { TestPostgres } from '../store/postgres.ts';

export type Fleet = AsyncDisposable & {
  readonly speech: FakeSpeech;
  readonly nodes: App[];
  readonly databaseUrl: string;
  /** Starts an ended node again on its own disk. */
  restart(at: number): Promise<App>;
  /** Adds a node, on a new disk or on that of a node that has ended. */
  add(options?: { program?: string; dataDir?: string }): Promise<App>;
};

/** Nodes of one database and one speech service. Each has a disk and a port for the other nodes. */
export async function fleetOf(
  count: number,
  postgres: TestPostgres | undefined,
  more: Record<string, string> | ((at: number) => Record<string, string>) = {},
): Promise<Fleet> {
  const stack = new AsyncDisposableStack();
  const speech = stack.use(await FakeSpeech.start());
  // On a busy machine a line is silent for longer than a test means it to be.
  speech.script.silenceHasNoWords = true;
  const databaseUrl = (await postgres?.newDatabase()) ?? '';
  const start = async (
    at: number,
    options: { program?: string; dataDir?: string } = {},
  ): Promise<App> => {
    const dataDir = options.dataDir ?? (await mkdtemp(join(tmpdir(), 'trunkline-node-')));
    if (options.dataDir === undefined)
      stack.defer(() => rm(dataDir, { recursive: true, force: true }));
    const env = {
      TRUNKLINE_ROLES: 'bridge,console',
      TRUNKLINE_SPEECH_URL: speech.url,
      DATABASE_URL: databaseUrl,
      // Short for a test, but long enough for a machine that is busy with other tests: a node that is late would
      // rightly be given up.
      TRUNKLINE_NODE_SILENT_MS: '3000',
      TRUNKLINE_NODE_URL: `http://127.0.0.1:${await freePort()}`,
      TRUNKLINE_NODE_KEY: 'the-same-key-at-all-nodes',
      TRUNKLINE_REJOIN_WAIT_MS: '1500',
      TRUNKLINE_QUIET_FILL_MS: '0',
      ...(typeof more === 'function' ? more(at) : more),
    };
    return stack.use(await startApp({ ...options, dataDir, env }));
  };
  const nodes = await Promise.all(Array.from({ length: count }, (_, at) => start(at)));
  return {
    speech,
    nodes,
    databaseUrl,
    restart: (at) => start(at, { dataDir: nodes[at]?.dataDir ?? '' }),
    add: async (options) => {
      const node = await start(nodes.length, options);
      nodes.push(node);
      return node;
    },
    [Symbol.asyncDispose]: () => stack.disposeAsync(),
  };
}

/** Opens the only call of a test at a node and reports at once what the call receives. */
export async function callAt(
  app: Pick<App, 'get' | 'url'>,
  streamSid = 'MZ1',
  more: { callSid?: string; tracks?: string[] } = {},
) {
  const headers = { 'content-type': 'application/json' };
  const answer = await app.get('/api/streams', { method: 'POST', headers, body: '{"carrier":"twilio"}' }); // prettier-ignore
  const { url } = (await answer.json()) as { url: string };
  const client = await CarrierClient.open(
    url.replace(/^wss?:\/\/[^/]+/, app.url.replace('http', 'ws')),
  );
  client.send(twilioConnected, twilioStart({ tracks: ['inbound'], streamSid, ...more }));
  let chunk = 2;
  return {
    client,
    say: (audio: Buffer): void => {
      for (let at = 0; at < audio.length; at += 160)
        client.send(twilioMedia(chunk++, audio.subarray(at, at + 160), more.tracks?.[0]));
    },
  };
}

export const eventsAt = async (app: App, id: string): Promise<AnyJson[]> =>
  ((await (await app.get(`/api/calls/${id}/events?limit=1000`)).json()) as AnyJson).items;

export const nodesSeenBy = async (app: App): Promise<AnyJson[]> =>
  ((await (await app.get('/api/nodes')).json()) as AnyJson).items;

export const endedCallAt = (app: App): Promise<{ call: AnyJson; events: AnyJson[] }> =>
  until(async () => {
    const call = await newestCall(app);
    const events = call === undefined ? [] : await eventsAt(app, call.id);
    return (
      events.some(({ type }) => type === 'call.completed') && {
        call: await newestCall(app),
        events,
      }
    );
  }, 60_000);

/** Expects each number once and in order, and each once-only event once. */
export function expectToldOnce(events: readonly AnyJson[]): void {
  expect(events.map(({ sequence }) => sequence)).toEqual(events.map((_, at) => at + 1));
  for (const type of ['call.started', 'call.ended', 'call.summary', 'call.completed'])
    expect(events.filter((event) => event.type === type)).toHaveLength(1);
}
