import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { sql } from 'kysely';
import { enqueueEvent } from '../../src/outbox/enqueue.ts';
import { commitSeconds } from '../../src/store/metrics.ts';
import { openStore, type Store } from '../../src/store/store.ts';
import { eventOf, outboxOn } from '../support/crm/outbox.ts';
import { postgresMissing, startPostgres } from '../support/store/postgres.ts';
import { temporaryFolder, temporaryStore } from '../support/store/store.ts';

/*
 * The outbox's figures, all in one process on loopback, each part bounded.
 *
 * Presets: the rate of the webhook where the ends of the same calls go to a CRM, too, each in turn.
 *
 * Delay: legs say a final every two seconds each for ten seconds, each stored in a transaction of its own; the
 * time is from before the transaction to the receiver's having read the request. Throughput: a receiver that
 * takes 5 ms per request; 3,000 events of 200 calls are stored first, then the outbox starts. Backlog: 100,000
 * events (EVENTS) of 50 a call wait; the time from opening the store to the first arrival, the rate of 20 s, the
 * memory.
 */
type Receiver = { url: string; count: () => number; server: Server; seen: Map<string, number> };

async function receiver(delayMs: number): Promise<Receiver> {
  const seen = new Map<string, number>();
  let count = 0;
  const server = createServer((request, response) => {
    request.resume().on('end', () => {
      count++;
      seen.set(String(request.headers['webhook-id']), performance.now());
      if (delayMs === 0) response.writeHead(204).end();
      else setTimeout(() => response.writeHead(204).end(), delayMs);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`,
    count: () => count,
    server,
    seen,
  };
}

function medianOf(values: readonly number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)] ?? 0;
}

function percentiles(values: number[]): string {
  const sorted = values.sort((a, b) => a - b);
  const at = (share: number) =>
    (sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0).toFixed(1);
  return `p50 ${at(0.5)} ms, p95 ${at(0.95)} ms, p99 ${at(0.99)} ms (${sorted.length} events)`;
}

async function delay(store: Store, legs: number): Promise<string> {
  const crm = await receiver(0);
  const outbox = await outboxOn(store, crm.url);
  const sent = new Map<string, number>();
  const endMs = performance.now() + 10_000;
  const leg = async (index: number) => {
    await sleep((index * 2_000) / legs);
    while (performance.now() < endMs) {
      const startedMs = performance.now();
      const event = await store.transaction((tx) =>
        enqueueEvent(tx, eventOf(`call_${legs}_${index}`)),
      );
      sent.set(event.id, startedMs);
      outbox.wake();
      await sleep(legs === 1 ? 50 : 2_000);
    }
  };
  await Promise.all(Array.from({ length: legs }, (_, index) => leg(index)));
  while (crm.count() < sent.size) await sleep(20);
  await outbox[Symbol.asyncDispose]();
  crm.server.close();
  return percentiles([...sent].map(([id, startedMs]) => (crm.seen.get(id) ?? 0) - startedMs));
}

async function fill(store: Store, events: number, calls: number): Promise<void> {
  for (let from = 0; from < events; from += 500)
    await store.transaction(async (tx) => {
      for (let index = from; index < Math.min(events, from + 500); index++)
        await enqueueEvent(tx, eventOf(`call_${index % calls}`));
    });
}

async function throughput(store: Store): Promise<string> {
  const crm = await receiver(5);
  const events = 3_000;
  // The table of endpoints is what makes an event wait for one.
  await (await outboxOn(store, crm.url))[Symbol.asyncDispose]();
  await fill(store, events, 200);
  const startedMs = performance.now();
  const outbox = await outboxOn(store, crm.url);
  const before = crm.count();
  while (crm.count() - before < events && performance.now() - startedMs < 60_000) await sleep(10);
  const rate = ((crm.count() - before) / (performance.now() - startedMs)) * 1_000;
  await outbox[Symbol.asyncDispose]();
  crm.server.close();
  return `${Math.round(rate)} events/s with a receiver of 5 ms`;
}

/** The webhook's events a second where a CRM by its preset takes the ends of the same calls, or nobody does. */
async function besidePreset(hasPreset: boolean): Promise<number> {
  await using store = await temporaryStore();
  const crm = await receiver(5);
  const api = createServer((request, response) => {
    request.resume().on('end', () => {
      setTimeout(() => {
        response.writeHead(200, { 'content-type': 'application/json' }).end('{"items":[]}');
      }, 5);
    });
  });
  await new Promise<void>((resolve) => api.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(api.address() as AddressInfo).port}/`;
  const endpoint = { name: 'own', preset: 'generic', url, token: 'token-0123456789abcdef' };
  const config = hasPreset ? { endpoints: [endpoint] } : {};
  await (await outboxOn(store, crm.url, { config }))[Symbol.asyncDispose]();
  const calls = 60;
  await fill(store, 3_000, calls);
  for (let call = 0; call < calls; call++)
    for (const type of ['call.completed', 'call.wrapped'] as const)
      await store.transaction((tx) => enqueueEvent(tx, eventOf(`call_${call}`, type)));
  const startedMs = performance.now();
  const outbox = await outboxOn(store, crm.url, { config });
  const events = 3_000 + 2 * calls;
  while (crm.count() < events && performance.now() - startedMs < 60_000) await sleep(10);
  const rate = (crm.count() / (performance.now() - startedMs)) * 1_000;
  await outbox[Symbol.asyncDispose]();
  crm.server.close();
  api.close();
  return rate;
}

/** Straight into the tables: a backlog of days is there in seconds. */
async function fillAtOnce(store: Store, events: number, calls: number): Promise<void> {
  const { body } = await store.transaction((tx) => enqueueEvent(tx, eventOf('call_first')));
  const numbers = sql`with recursive n(i) as (select 0 union all select i + 1 from n where i + 1 < ${events})`;
  const call = sql`'call_' || (i % ${calls})`;
  const id = sql`printf('evt_%010d', i)`;
  const place = sql`i / ${calls} + 1`;
  await sql`insert into events (id, call_id, sequence, type, occurred_at, body)
    ${numbers} select ${id}, ${call}, ${place}, 'call.transcript', ${Date.now()}, ${body} from n`.execute(
    store.db,
  );
  await sql`insert into deliveries (endpoint, event_id, call_id, sequence, type, state, attempts)
    ${numbers} select 'webhook', ${id}, ${call}, ${place}, 'call.transcript', 'waiting', 0 from n`.execute(
    store.db,
  );
  await sql`insert into lanes (endpoint, call_id, next_attempt_at, wakes, held_by_endpoint)
    select distinct 'webhook', call_id, ${Date.now()}, 1, 0 from deliveries where event_id like 'evt_0%'
      and call_id <> 'call_first'`.execute(store.db);
}

async function backlog(): Promise<string> {
  const events = Number(process.env['EVENTS'] ?? 100_000);
  await using folder = await temporaryFolder();
  const settings = { dataDir: folder.path, ballastBytes: 0, lowWaterBytes: 0 };
  const crm = await receiver(0);
  {
    await using store = await openStore(settings);
    await (await outboxOn(store, crm.url))[Symbol.asyncDispose]();
    await fillAtOnce(store, events, events / 50);
  }
  const startedMs = performance.now();
  await using store = await openStore(settings);
  await using outbox = await outboxOn(store, crm.url);
  const readyMs = performance.now() - startedMs;
  const rssBefore = process.memoryUsage.rss();
  while (crm.count() === 0) await sleep(1);
  const firstMs = performance.now() - startedMs;
  const from = { ms: performance.now(), count: crm.count() };
  await sleep(20_000);
  const rate = (crm.count() - from.count) / ((performance.now() - from.ms) / 1_000);
  await outbox.drain?.(1_000);
  crm.server.close();
  const megabytes = (bytes: number): number => Math.round(bytes / 1_048_576);
  return `${events} waiting: ready in ${Math.round(readyMs)} ms, first arrival after ${Math.round(firstMs)} ms, ${Math.round(rate)} events/s, RSS ${megabytes(rssBefore)} MB at the start and ${megabytes(process.memoryUsage.rss())} MB after 20 s, with the receiver`;
}

const parts: Record<string, () => Promise<void>> = {
  delay: async () => {
    await using store = await temporaryStore();
    console.log(`SQLite, stored to received, 1 leg: ${await delay(store, 1)}`);
    console.log(`SQLite, stored to received, 200 legs: ${await delay(store, 200)}`);
    const { values } = await commitSeconds.get();
    const total = (name: string) =>
      values.find(({ metricName }) => metricName?.endsWith(name))?.value ?? 0;
    // The disk's share: an event waits for the commit that stores it and the one that claims its call.
    const meanMs = (total('_sum') / total('_count')) * 1_000;
    console.log(`SQLite, a synced commit took ${meanMs.toFixed(1)} ms on average`);
  },
  throughput: async () => {
    await using store = await temporaryStore();
    console.log(`SQLite: ${await throughput(store)}`);
  },
  presets: async () => {
    const rounds = Number(process.env['ROUNDS'] ?? 8);
    const rates = { without: [] as number[], with: [] as number[] };
    for (let round = 0; round < rounds; round++)
      // The order changes from round to round, so that a machine that gets busier favours neither.
      for (const hasPreset of round % 2 === 0 ? [false, true] : [true, false])
        rates[hasPreset ? 'with' : 'without'].push(await besidePreset(hasPreset));
    const shown = (all: number[]) => all.map((rate) => Math.round(rate)).join(', ');
    const ratios = rates.with.map((rate, round) => rate / (rates.without[round] ?? rate));
    console.log(`SQLite, events/s of the webhook: ${shown(rates.without)} alone, ${shown(rates.with)} with a preset on`); // prettier-ignore
    console.log(`  medians ${Math.round(medianOf(rates.without))} and ${Math.round(medianOf(rates.with))}, median of the rounds' ratios ${medianOf(ratios).toFixed(2)}`); // prettier-ignore
  },
  postgres: async () => {
    if (postgresMissing !== undefined) return;
    await using postgres = await startPostgres();
    await using store = await temporaryStore({ databaseUrl: await postgres.newDatabase() });
    console.log(`Postgres, stored to received, 200 legs: ${await delay(store, 200)}`);
    await using second = await temporaryStore({ databaseUrl: await postgres.newDatabase() });
    console.log(`Postgres (fsync off): ${await throughput(second)}`);
  },
  backlog: async () => {
    console.log(`SQLite, ${await backlog()}`);
  },
};

/** PARTS=delay,throughput takes some of them. */
export async function run(): Promise<void> {
  const wanted = process.env['PARTS']?.split(',') ?? Object.keys(parts);
  for (const [name, part] of Object.entries(parts)) if (wanted.includes(name)) await part();
}
