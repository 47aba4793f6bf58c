import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { twilio } from '../../src/carriers/twilio/twilio.ts';
import { playCall } from '../../src/player/play-call.ts';
import { startCrm, type Crm } from '../support/crm/crm.ts';
import { scrape, valueOf, type Sample } from '../support/metrics/scrape.ts';
import { startApp, type App } from '../support/process/app.ts';
import { recognisersOf } from '../support/process/recognisers.ts';
import { until } from '../support/process/until.ts';
import { tones } from '../support/recognition/fixture-model.ts';

/** The figures of a process that has carried one call to a slow CRM. */
const secret = `whsec_${Buffer.from('a secret of the metrics test').toString('base64')}`;
/** The CRM thinks this long about each transcript. */
const thinksS = 1;
/** The recogniser waits for so much silence after the last word, which comes no faster than it is spoken. */
const endpointingS = 1;
let crm: Crm;
let app: App;
let folder: string;
let startedMs = 0;
let during: Sample[];
let after: Sample[];

beforeAll(async () => {
  crm = await startCrm([secret], async ({ event }) => {
    if (event.type === 'call.transcript')
      await new Promise((resolve) => setTimeout(resolve, thinksS * 1_000));
    return 204;
  });
  folder = await mkdtemp(join(tmpdir(), 'trunkline-metrics-'));
  const config = join(folder, 'trunkline.yaml');
  await writeFile(config, `bridge:\n  session:\n    endpointing: ${endpointingS}\n`);
  app = await startApp({
    env: {
      TRUNKLINE_CONFIG: config,
      TRUNKLINE_REJOIN_WAIT_MS: '500',
      TRUNKLINE_WEBHOOK_URL: crm.url,
      TRUNKLINE_WEBHOOK_SECRET: secret,
    },
  });
  const playing = playCall({
    player: twilio.player,
    to: app.url,
    api: { url: app.url },
    legs: [
      { leg: 'customer', samples: tones('my card is lost', { tailS: 2.5 }), rateHz: 8000 },
      { leg: 'agent', samples: tones('hello please', { leadS: 1.5, tailS: 1.5 }), rateHz: 8000 },
    ],
    onStarted: () => (startedMs = Date.now()),
  });
  during = await until(async () => {
    const samples = await scrape(app);
    const live = (name: string) =>
      valueOf(samples, `trunkline_recogniser_${name}`, { pool: 'live' }) ?? 0;
    // A process tells of itself once a second, the streams are known at once.
    return live('streams') === 2 && live('memory_bytes') > 0 && samples;
  });
  await playing;
  await until(() => crm.requests.some(({ event }) => event.type === 'call.completed'));
  after = await until(async () => {
    const samples = await scrape(app);
    return valueOf(samples, 'trunkline_outbox_waiting_calls') === 0 && samples;
  });
});
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await crm[Symbol.asyncDispose]();
  await rm(folder, { recursive: true });
});

const got = (name: string, labels: Record<string, string> = {}): number =>
  valueOf(after, name, labels) ?? NaN;

describe('after a call', () => {
  test('the way of its words is measured from the end of the speech to the final and to the webhook', () => {
    const finals = crm.requests.filter(({ event }) => event.type === 'call.transcript');
    expect(finals.length).toBeGreaterThanOrEqual(2);
    expect(got('trunkline_speech_end_to_final_seconds_count')).toBe(finals.length);
    expect(got('trunkline_speech_end_to_webhook_seconds_count')).toBe(finals.length);
    const toFinalS = got('trunkline_speech_end_to_final_seconds_sum');
    const toWebhookS = got('trunkline_speech_end_to_webhook_seconds_sum', { endpoint: 'webhook' });
    // The recogniser waits for silence, and times of words are good to a few frames.
    expect(toFinalS).toBeGreaterThan(finals.length * endpointingS * 0.6);
    expect(toWebhookS - toFinalS).toBeGreaterThan(finals.length * thinksS * 0.95);
    // No speech ended before the call began.
    const told = finals.map(({ event }) => event as unknown as ToldFinal);
    const atMost = told.reduce(
      (sum, { occurred_at, data }) => sum + (Date.parse(occurred_at) - startedMs) / 1000 - data.end,
      0,
    );
    expect(toFinalS).toBeLessThanOrEqual(atMost);
  });

  test('the recogniser tells its load, its room and its restarts', async () => {
    const live = { pool: 'live' };
    const of = (samples: Sample[], name: string) =>
      valueOf(samples, `trunkline_recogniser_${name}`, live);
    expect(of(during, 'processes')).toBe(1);
    expect(of(during, 'capacity_streams')).toBeGreaterThan(1);
    expect(of(during, 'memory_bytes')).toBeGreaterThan(10_000_000);
    expect(of(during, 'lateness_seconds')).toBeGreaterThanOrEqual(0);
    expect(of(during, 'busy_ratio')).toBeGreaterThanOrEqual(0);
    expect(of(after, 'streams')).toBe(0);
    expect(of(after, 'restarts_total')).toBe(0);
    const children = (state: string) => valueOf(after, 'trunkline_children', { state });
    expect(children('running')).toBeGreaterThanOrEqual(1);
    expect(children('ended')).toBe(0);
    const ours = recognisersOf(app.process.pid!);
    expect(ours.length).toBe(1);
    for (const pid of ours) process.kill(pid, 'SIGKILL');
    await until(async () => of(await scrape(app), 'restarts_total') === 1);
    await until(async () => of(await scrape(app), 'processes') === 1);
  });

  test('the store tells how long reads and writes take', () => {
    for (const operation of ['read', 'write']) {
      expect(got('trunkline_store_seconds_count', { operation })).toBeGreaterThan(5);
      expect(got('trunkline_store_seconds_sum', { operation })).toBeGreaterThan(0);
    }
  });

  test('the process tells its memory, processor time, files and the lag of its event loop', () => {
    expect(got('process_resident_memory_bytes')).toBeGreaterThan(30_000_000);
    expect(got('process_cpu_seconds_total')).toBeGreaterThan(0.1);
    expect(got('process_open_fds')).toBeGreaterThan(5);
    expect(got('nodejs_eventloop_lag_p99_seconds')).toBeGreaterThan(0);
  });

  test('no label holds anything but a word of ours or the name of an endpoint', () => {
    const values = new Set(
      after
        .flatMap(({ labels }) => Object.entries(labels))
        .flatMap(([name, value]) => (name === 'le' || name === 'version' ? [] : [value])),
    );
    expect([...values].filter((value) => !/^[a-zA-Z][\w-]{0,40}$|^\d{1,4}$/.test(value))).toEqual(
      [],
    );
    expect([...values].filter((value) => /^(?:call|leg|evt|turn)_/.test(value))).toEqual([]);
    // One call's worth of series: what grows with calls would grow without an end.
    expect(after.length).toBeLessThan(1_000);
  });
});

test('an event that waits is seen by its age, and again as none when it is taken', async () => {
  const oldest = async (): Promise<number | undefined> =>
    valueOf(await scrape(app), 'trunkline_outbox_oldest_waiting_seconds', { endpoint: 'webhook' });
  expect(await oldest()).toBe(0);
  let isOpen = false;
  crm.behave = () => (isOpen ? 204 : 503);
  await playCall({
    player: twilio.player,
    to: app.url,
    api: { url: app.url },
    legs: [{ leg: 'customer', samples: tones('hello', { tailS: 0.2 }), rateHz: 8000 }],
  });
  const seen = await until(async () => (await oldest()) || undefined);
  await until(async () => ((await oldest()) ?? 0) > seen);
  isOpen = true;
  await until(async () => (await oldest()) === 0, 60_000);
});

type ToldFinal = { occurred_at: string; data: { end: number } };
