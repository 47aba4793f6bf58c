import { spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import { twilioPlayer } from '../../../src/carriers/twilio/player.ts';
import { playCall } from '../../../src/player/play-call.ts';
import { startApp, startProcess } from '../../support/process/app.ts';
import { endsWithUs } from '../../support/process/ends-with-us.ts';
import { processesWith } from '../../support/process/processes-with.ts';
import { until } from '../../support/process/until.ts';
import { fixtureModel, tones } from '../../support/recognition/fixture-model.ts';
import { freePort } from '../../support/process/free-port.ts';

const root = resolve(import.meta.dirname, '../../..');

test.each([
  ['a public address', { TRUNKLINE_PUBLIC_URL: 'https://calls.example.net' }],
  ['proxies', { TRUNKLINE_TRUSTED_PROXIES: '127.0.0.1' }],
  ['the example for production', { TRUNKLINE_CONFIG: join(root, 'config/production.yaml') }],
])(
  '%s without keys stops the start, and the refusal names the setting to add',
  async (_what, env) => {
    const dataDir = await mkdtemp(join(tmpdir(), 'trunkline-open-'));
    const started = await startProcess({ PORT: '0', TRUNKLINE_DATA: dataDir, ...env });
    const outcome = await Promise.race([
      started.exited().then(({ code }) => `ended with ${code}`),
      started.ready().then(
        () => 'ready',
        () => started.exited().then(({ code }) => `ended with ${code}`),
      ),
    ]);
    console.log(outcome, started.lines.at(-1)?.slice(0, 160));
    await started.end('SIGKILL');
    await rm(dataDir, { recursive: true });
    expect(outcome).toBe('ended with 78');
    expect(started.lines.join('\n')).toMatch(/CONFIG_INVALID.*set TRUNKLINE_API_KEYS/);
  },
);

test('until every part is mounted the process is not ready, and what is not there yet is 503 with a time', async () => {
  const port = await freePort();
  const url = `http://127.0.0.1:${port}`;
  const starting = startApp({ env: { PORT: String(port) } });
  const seen: string[] = [];
  const isReady = async (): Promise<boolean> => {
    const ready = await fetch(`${url}/health/ready`).catch(() => undefined);
    if (ready === undefined) return false;
    const call = await fetch(`${url}/carriers/twilio/voice`, { method: 'POST' });
    const wait = call.headers.get('retry-after');
    const one = `${ready.status} ${call.status}${wait === null ? '' : ` in ${wait} s`}`;
    if (seen.at(-1) !== one) seen.push(one);
    return ready.status === 200;
  };
  await until(
    async () => (await isReady()) || new Promise<false>((go) => setTimeout(go, 1, false)),
  );
  await using _app = await starting;
  console.log(seen.join(', '));
  expect(seen.filter((one) => / 404/.test(one))).toEqual([]);
  expect(seen[0]).toBe('503 503 in 1 s');
});

test('SIGTERM to npm ends the process that npm started', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'trunkline-npm-'));
  const port = await freePort();
  const npm = endsWithUs(
    spawn('npm', ['start'], {
      cwd: root,
      env: {
        PATH: process.env['PATH'] ?? '',
        HOME: process.env['HOME'] ?? '',
        PORT: String(port),
        TRUNKLINE_DATA: dataDir,
        TRUNKLINE_MODEL: await fixtureModel(),
      },
      stdio: 'ignore',
    }),
  );
  const answers = () =>
    fetch(`http://127.0.0.1:${port}/health/ready`).then(
      (answer) => answer.ok,
      () => false,
    );
  // npm itself, and what it started: both have the folder among their settings.
  const running = () => processesWith('environ', dataDir);
  await until(answers, 60_000);
  expect(running().length).toBeGreaterThan(1);
  npm.kill('SIGTERM');
  await until(() => running().length === 0, 20_000);
  expect(await answers()).toBe(false);
  await rm(dataDir, { recursive: true, force: true });
}, 120_000);

test('a stop while nothing can be stored ends in time, and the next start has every byte', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'trunkline-stuck-'));
  const hangUp = new AbortController();
  let other: DatabaseSync | undefined;
  try {
    const app = await startApp({ dataDir });
    const playing = playCall({
      player: twilioPlayer,
      to: app.url.replace('http', 'ws'),
      api: { url: app.url },
      callId: 'CA-stuck',
      legs: [
        {
          leg: 'customer',
          samples: tones(Array.from({ length: 60 }, () => 'hello' as const)),
          rateHz: 8_000,
        },
      ],
      signal: hangUp.signal,
    }).catch(() => undefined);
    await until(async () => {
      const { items } = (await (await app.get('/api/calls')).json()) as { items: unknown[] };
      return items.length === 1;
    });
    // Another program holds the database, as a backup does: no commit gets through.
    other = new DatabaseSync(join(dataDir, 'trunkline.sqlite'), { timeout: 10_000 });
    other.exec('BEGIN IMMEDIATE');
    const stoppedMs = performance.now();
    const ended = await Promise.race([
      app.end('SIGTERM').then(() => performance.now() - stoppedMs),
      new Promise<undefined>((late) => setTimeout(late, 40_000, undefined)),
    ]);
    console.log(`ended after ${ended?.toFixed(0)} ms`);
    hangUp.abort();
    await playing;
    await app.end('SIGKILL');
    other.close();
    other = undefined;
    expect(ended).toBeLessThan(29_500);
    await using next = await startApp({ dataDir });
    const call = await until(async () => {
      const { items } = (await (await next.get('/api/calls')).json()) as {
        items: { state: string; legs: { ledger: Record<string, number> }[] }[];
      };
      return items[0]?.state === 'ended' && items[0];
    }, 60_000);
    const ledger = call.legs[0]?.ledger ?? {};
    expect(ledger['received']).toBeGreaterThan(0);
    expect(ledger['acknowledged']).toBe(ledger['received']);
  } finally {
    other?.close();
    await rm(dataDir, { recursive: true, force: true });
  }
}, 180_000);
