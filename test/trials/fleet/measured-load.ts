import { readFileSync } from 'node:fs';
import { mkdtemp, rm, stat } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { freePort } from '../../support/process/free-port.ts';
import {
  CarrierClient,
  twilioConnected,
  twilioMedia,
  twilioStart,
  twilioStop,
} from '../../support/carriers/carrier-client.ts';
import { startCrm } from '../../support/crm/crm.ts';
import { startApp } from '../../support/process/app.ts';
import { childrenOf } from '../../support/process/proc.ts';
import { until } from '../../support/process/until.ts';
import { seededAudio } from '../../support/speech/audio.ts';
import { FakeSpeech } from '../../support/speech/fake-speech.ts';
import type { TestPostgres } from '../../support/store/postgres.ts';
import { countingLine } from './counting-line.ts';
import type { Costs, CallLoad } from '../../support/sizing/fleet-model.ts';
import { filesBelow } from '../../support/process/files-below.ts';

const secret = `whsec_${Buffer.from('a secret of the sizing trial').toString('base64')}`;
const tickMs = 100;
const framesPerTick = 5;
const frameBytes = 160;

export type LoadPlan = {
  nodes: number;
  calls: number;
  callS: number;
  /** In every such many seconds of a leg, one is speech; undefined: nobody speaks. */
  speechEveryS?: number;
  /** Seconds without a call, for what nodes cost that have nothing to do. */
  idleS?: number;
};

/**
 * Calls of two legs on nodes of one database, in real time, until the CRM has heard of each that it is complete. What
 * was counted is everything that the load cost, less what the same nodes cost in as long a time without calls.
 */
export async function measureLoad(
  postgres: TestPostgres,
  plan: LoadPlan,
  idle?: Costs,
): Promise<{
  load: CallLoad;
  costs: Costs;
  seconds: number;
  most: { query: string; calls: number; ms: number }[];
}> {
  await using stack = new AsyncDisposableStack();
  const speech = stack.use(await FakeSpeech.start());
  Object.assign(speech.script, { silenceHasNoWords: true, wordsPerFinal: 9, sentiment: 'neutral' });
  const speechLine = stack.use(await countingLine({ host: '127.0.0.1', port: speech.port }));
  speech.publicPort = speechLine.port;
  const crm = stack.use(await startCrm([secret]));
  const crmLine = stack.use(await countingLine({ host: '127.0.0.1', port: Number(new URL(crm.url).port) })); // prettier-ignore
  const database = new URL(await postgres.newDatabase());
  const databaseLine = stack.use(await countingLine({ host: '127.0.0.1', port: Number(database.port) })); // prettier-ignore
  const throughLine = new URL(database);
  throughLine.port = String(databaseLine.port);
  const folders = await Promise.all(
    Array.from({ length: plan.nodes }, () => mkdtemp(join(tmpdir(), 'trunkline-size-'))),
  );
  stack.defer(async () => {
    for (const folder of folders) await rm(folder, { recursive: true, force: true });
  });
  const nodes = await Promise.all(
    folders.map(async (dataDir) =>
      stack.use(
        await startApp({
          dataDir,
          env: {
            TRUNKLINE_ROLES: 'bridge,console',
            TRUNKLINE_INSECURE: '1',
            TRUNKLINE_RECORDING: 'on',
            TRUNKLINE_SECOND_PASS: 'off',
            TRUNKLINE_SPEECH_URL: `http://127.0.0.1:${speechLine.port}`,
            DATABASE_URL: throughLine.href,
            TRUNKLINE_NODE_URL: `http://127.0.0.1:${await freePort()}`,
            TRUNKLINE_NODE_KEY: 'the-same-key-at-all-nodes',
            TRUNKLINE_WEBHOOK_URL: crm.url.replace(/:\d+/, `:${crmLine.port}`),
            TRUNKLINE_WEBHOOK_SECRET: secret,
          },
        }),
      ),
    ),
  );
  const client = new pg.Client({ connectionString: database.href });
  await client.connect();
  stack.defer(() => client.end());
  await client.query('create extension if not exists pg_stat_statements');
  const [row] = (await client.query<{ pid: number }>('select pg_backend_pid() as pid')).rows;
  const postmaster = parentOf(row?.pid ?? 0);

  let carrierBytes = 0;
  const look = async (): Promise<Omit<Costs, 'storedBytes'>> => ({
    ...(await databaseCounts(client, database.pathname.slice(1))),
    databaseCpuMs: cpuMsOf([postmaster, ...childrenOf(postmaster)], true),
    databaseNetworkBytes: databaseLine.bytes(),
    nodeCpuMs: cpuMsOf(nodes.map((node) => node.process.pid ?? 0)),
    carrierNetworkBytes: carrierBytes,
    speechNetworkBytes: speechLine.bytes(),
    crmNetworkBytes: crmLine.bytes(),
    events: crm.arrivals.length,
    diskBytes: await sizeOf(folders),
  });

  // The first second of a process costs more than any later one.
  await sleep(2_000);
  const storedBefore = await liveBytes(client);
  const before = { ...(await look()), storedBytes: storedBefore };
  const startedMs = performance.now();
  if (plan.idleS !== undefined) await sleep(plan.idleS * 1_000);
  else {
    const urls = nodes.map(({ url }) => `${url.replace('http', 'ws')}/carriers/twilio`);
    const calls = Array.from({ length: plan.calls }, (_, index) =>
      playOne(urls[index % urls.length] ?? '', index, plan),
    );
    for (const bytes of await Promise.all(calls)) carrierBytes += bytes;
    const completed = (): number =>
      crm.requests.filter(({ event }) => event.type === 'call.completed').length;
    await until(() => completed() === plan.calls, 240_000).catch((cause: unknown) => {
      const ends = nodes.flatMap(({ lines }) => lines.filter((line) => !line.includes('"info"')));
      throw new Error(
        `${completed()} of ${plan.calls} calls are complete:\n${ends.slice(-10).join('\n')}`,
        { cause },
      );
    });
  }
  const seconds = (performance.now() - startedMs) / 1_000;
  const most = await mostAsked(client, database.pathname.slice(1));
  const afterCounts = await look();
  const after = { ...afterCounts, storedBytes: await liveBytes(client) };
  const finals = crm.requests.filter(({ event }) => event.type === 'call.transcript').length;
  const costs = Object.fromEntries(
    Object.entries(after).map(([name, value]) => {
      const key = name as keyof Costs;
      return [key, value - before[key] - (idle?.[key] ?? 0) * seconds * plan.nodes];
    }),
  ) as Costs;
  return { load: { calls: plan.calls, callS: plan.callS, finals }, costs, seconds, most };
}

/** One phone call by its carrier's clock; answers the bytes of its connection, both ways. */
async function playOne(url: string, index: number, plan: LoadPlan): Promise<number> {
  // Spread over the first two seconds, as callers come.
  await sleep((index * 2_000) / plan.calls);
  const carrier = await CarrierClient.open(url);
  carrier.send(twilioConnected, twilioStart({ callSid: `CA${index}`, streamSid: `MZ${index}` }));
  const startedMs = performance.now();
  const speech = seededAudio(8_000, index + 1);
  const silence = Buffer.alloc(frameBytes, 0xff);
  const every = plan.speechEveryS;
  let chunk = 1;
  for (let frame = 0; frame < plan.callS * 50;) {
    for (let count = 0; count < framesPerTick; count++, frame++)
      for (const [leg, track] of ['inbound', 'outbound'].entries()) {
        const second = Math.floor(frame / 50);
        const speaks =
          every !== undefined && (second + leg * Math.ceil(every / 2) + index) % every === 0;
        const at = (frame % 50) * frameBytes;
        const audio = speaks ? speech.subarray(at, at + frameBytes) : silence;
        carrier.send(twilioMedia(++chunk, audio, track));
      }
    await sleep(Math.max(0, startedMs + (frame / framesPerTick) * tickMs - performance.now()));
  }
  carrier.send(twilioStop);
  const { wire } = carrier;
  await carrier.close(1000);
  return wire.bytesRead + wire.bytesWritten;
}

type DatabaseCounts = Pick<Costs, 'statements' | 'transactions' | 'rowsWritten' | 'walBytes'>;

async function databaseCounts(client: pg.Client, name: string): Promise<DatabaseCounts> {
  // A backend shows its counts a second later at most.
  await sleep(1_100);
  const { rows } = await client.query<Record<keyof DatabaseCounts, string>>(
    `select
       (select sum(calls) from pg_stat_statements s join pg_database d on d.oid = s.dbid
         where d.datname = $1 and query !~* '^(begin|commit|rollback|start|set)') as statements,
       (select xact_commit from pg_stat_database where datname = $1) as transactions,
       (select sum(n_tup_ins + n_tup_upd + n_tup_del) from pg_stat_user_tables) as "rowsWritten",
       (select wal_bytes from pg_stat_wal) as "walBytes"`,
    [name],
  );
  const [found] = rows;
  if (found === undefined) throw new Error('the database did not answer');
  return Object.fromEntries(
    Object.entries(found).map(([key, value]) => [key, Number(value)]),
  ) as DatabaseCounts;
}

/** The statements that were asked most, of all time of this database. */
async function mostAsked(client: pg.Client, name: string) {
  const { rows } = await client.query<{ query: string; calls: number; ms: number }>(
    `select query, calls::int, total_exec_time as ms from pg_stat_statements s join pg_database d on d.oid = s.dbid
      where d.datname = $1 and query !~* '^(begin|commit|rollback|start|set)' order by calls desc limit 12`,
    [name],
  );
  return rows;
}

/** The bytes of the rows and their indexes once everything that was overwritten is gone. */
async function liveBytes(client: pg.Client): Promise<number> {
  await client.query('vacuum full');
  const { rows } = await client.query<{ bytes: string }>(
    `select sum(pg_total_relation_size(c.oid)) as bytes from pg_class c
       join pg_namespace n on n.oid = c.relnamespace where n.nspname = 'public' and c.relkind = 'r'`,
  );
  return Number(rows[0]?.bytes);
}

/** Milliseconds of processor time; with those of children that have ended, for the server of a database. */
function cpuMsOf(pids: readonly number[], withEnded = false): number {
  return pids.reduce((sum, pid, index) => {
    try {
      const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
        .replace(/^.*\) /, '')
        .split(' ');
      const ticks = [11, 12, ...(withEnded && index === 0 ? [13, 14] : [])];
      return sum + ticks.reduce((all, at) => all + Number(fields[at]), 0) * 10;
    } catch {
      return sum; // it has ended, and its parent counts it
    }
  }, 0);
}

function parentOf(pid: number): number {
  return Number(/^PPid:\s*(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]);
}

/** The bytes that stay of calls: their audio. */
async function sizeOf(folders: readonly string[]): Promise<number> {
  let bytes = 0;
  for (const folder of folders)
    for (const path of await filesBelow(folder))
      if (path.endsWith('.audio')) bytes += (await stat(path).catch(() => ({ size: 0 }))).size;
  return bytes;
}

function sleep(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
