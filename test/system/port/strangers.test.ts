import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { twilioPlayer } from '../../../src/carriers/twilio/player.ts';
import { playCall } from '../../../src/player/play-call.ts';
import { newestCall } from '../../support/process/newest-call.ts';
import { startApp, type App } from '../../support/process/app.ts';
import { until } from '../../support/process/until.ts';
import { tones } from '../../support/recognition/fixture-model.ts';

const key = 'a-key-of-the-tests';
const headers = { 'x-service-key': key };
const docs = 'GET /docs HTTP/1.1\r\nHost: localhost\r\n\r\n';

/** A peer that sends this at once and never reads a byte: its own system does not tell it that the connection is over. */
function neverReads(app: App, text: string): void {
  const socket = connect(Number(new URL(app.url).port), '127.0.0.1');
  socket.pause().on('error', () => undefined);
  socket.write(text);
}

async function endedConnections(app: App): Promise<number> {
  const text = await (await app.get('/metrics', { headers })).text();
  const lines = text.matchAll(/^trunkline_connections_ended_total\{[^}]*\} (\d+)$/gm);
  return [...lines].reduce((sum, [, count]) => sum + Number(count), 0);
}

async function rssMib(app: App): Promise<number> {
  const status = await readFile(`/proc/${app.process.pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]) / 1_024;
}

/** The longest that anybody waits for a small answer, until the work is done. */
async function longestWaitMs(app: App, work: Promise<unknown>): Promise<number> {
  let isDone = false;
  let longest = 0;
  const done = (): void => void (isDone = true);
  work.then(done, done);
  while (!isDone) {
    const askedMs = performance.now();
    await (await app.get('/health/live')).arrayBuffer();
    longest = Math.max(longest, performance.now() - askedMs);
    await sleep(5);
  }
  return longest;
}

test('a stranger who asks for a thousand pages at once and reads none is ended, and a call beside it loses nothing', async () => {
  await using app = await startApp({ env: { TRUNKLINE_API_KEYS: key } });
  const before = await rssMib(app);
  const call = playCall({
    player: twilioPlayer,
    to: app.url.replace('http', 'ws'),
    api: { url: app.url, key },
    callId: 'CA-beside',
    // Words before and after the flood, which comes in the long pause between them.
    legs: [{ leg: 'customer', samples: tones(['hello', 'refund'], { gapS: 15 }), rateHz: 8_000 }],
  });
  let isPlayed = false;
  call.finally(() => (isPlayed = true)).catch(() => undefined);
  await until(async () => {
    const found = await newestCall(app, headers);
    return found?.state === 'live' && found.transcript.length === 1;
  }, 30_000);
  const flood = async (): Promise<void> => {
    for (let peer = 0; peer < 20; peer++) neverReads(app, docs.repeat(1_000));
    await until(async () => (await endedConnections(app)) >= 20, 60_000);
  };
  const longest = await longestWaitMs(app, flood());
  expect(isPlayed).toBe(false);
  await call;
  const grownMib = (await rssMib(app)) - before;
  console.log(
    `20 times 1,000 pages: longest wait ${longest.toFixed(0)} ms, ${grownMib.toFixed(0)} MiB more`,
  );
  // The machine of the tests is busy itself; on one that is not, some tens of milliseconds.
  expect(longest).toBeLessThan(8_000);
  expect(grownMib).toBeLessThan(200);
  const ended = await until(async () => {
    const found = (await newestCall(app, headers)) as {
      state: string;
      transcript: { text: string }[];
      legs: { ledger: { gaps: number } }[];
    };
    return found.state === 'ended' && found;
  }, 60_000);
  expect(ended.transcript.map((turn) => turn.text).join(' ')).toBe('hello refund');
  expect(ended.legs.map((leg) => leg.ledger.gaps)).toEqual([0]);
}, 120_000);
