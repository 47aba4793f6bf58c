import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { maxSilenceAheadS } from '../../../src/bridge/call/call-clock.ts';
import type { AnyJson } from '../../support/bridge/test-bridge.ts';
import {
  CarrierClient,
  twilioConnected,
  twilioMedia,
  twilioStart,
  twilioStop,
} from '../../support/carriers/carrier-client.ts';
import { id, media, organizationId } from '../../support/carriers/audiohook-client.ts';
import { startApp, type App } from '../../support/process/app.ts';
import { until } from '../../support/process/until.ts';
import { FakeSpeech } from '../../support/speech/fake-speech.ts';

/* The whole program at a carrier's own socket, whose peer is genuine and says that it lost far more than it had. */

const frame = Buffer.alloc(160, 0x55);

async function streamUrl(app: App, carrier: string): Promise<string> {
  const headers = { 'content-type': 'application/json' };
  const body = JSON.stringify({ carrier });
  const answer = await app.get('/api/streams', { method: 'POST', headers, body });
  const { url } = (await answer.json()) as { url: string };
  return url.replace(/^wss?:\/\/[^/]+/, app.url.replace('http', 'ws'));
}

/** The longest jump that is a loss and no new numbering, and as many frames as end the wait for what is missing. */
const [jumps, jumpFrames, framesOfJump] = [50, 2_900, 12];

async function jumpingTwilio(app: App): Promise<void> {
  const client = await CarrierClient.open(await streamUrl(app, 'twilio'));
  client.send(twilioConnected, twilioStart({ tracks: ['inbound'] }));
  for (let jump = 0; jump < jumps; jump++)
    for (let at = 0; at < framesOfJump; at++)
      client.send(twilioMedia(2 + jump * jumpFrames + at, frame));
  await client.ping();
  client.send(twilioStop);
  await client.ping();
  await client.close(1000);
}

async function discardingAudiohook(app: App): Promise<void> {
  const client = await CarrierClient.open(await streamUrl(app, 'audiohook'));
  let seq = 0;
  const serverseq = (): number => Math.max(0, ...client.received.map((text) => Number(JSON.parse(text).seq))); // prettier-ignore
  const say = (type: string, parameters: object, position = 'PT0S'): void =>
    client.send({ version: '2', type, id, seq: ++seq, serverseq: serverseq(), position, parameters }); // prettier-ignore
  const participant = { id: 'p', ani: '+15550100123', aniName: '', dnis: '' };
  say('open', { organizationId, conversationId: randomUUID(), participant, media });
  await until(() => client.received.some((text) => text.includes('"opened"')));
  client.send(Buffer.alloc(3_200, 0x55));
  say('discarded', { start: 'PT0.2S', discarded: 'PT1000000S' }, 'PT1000000.2S');
  client.send(Buffer.alloc(3_200, 0x55));
  await client.ping();
  say('close', { reason: 'end' }, 'PT1000000.4S');
  await until(() => client.received.some((text) => text.includes('"closed"')), 60_000);
  await client.close(1000);
}

async function rssMib({ process: { pid } }: App): Promise<number> {
  const status = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/^VmRSS:\s+(\d+)/m.exec(status)?.[1]) / 1_024;
}

/** Asks for a small answer all the while: the longest wait for it, and the most memory. */
async function watch(
  app: App,
  work: Promise<unknown>,
): Promise<{ longestMs: number; mostMib: number }> {
  // prettier-ignore
  let isDone = false;
  const done = (): void => void (isDone = true);
  work.then(done, done);
  let [longestMs, mostMib] = [0, 0];
  while (!isDone) {
    const askedMs = performance.now();
    await (await app.get('/health/live')).arrayBuffer();
    longestMs = Math.max(longestMs, performance.now() - askedMs);
    mostMib = Math.max(mostMib, await rssMib(app));
    await sleep(5);
  }
  return { longestMs, mostMib };
}

test.each([
  [
    'Twilio frames whose numbers jump fifty times',
    'twilio',
    jumpingTwilio,
    jumps * framesOfJump * 160,
  ],
  ['AudioHook that discarded eleven days', 'audiohook', discardingAudiohook, 3_200],
] as const)(
  '%s: silence up to the cap and a declared gap, and nobody beside it waits',
  async (_what, carrier, play, heardBytes) => {
    await using speech = await FakeSpeech.start();
    speech.script.silenceHasNoWords = true;
    await using app = await startApp({
      env: {
        TRUNKLINE_ROLES: 'bridge,console',
        TRUNKLINE_SPEECH_URL: speech.url,
        TRUNKLINE_REJOIN_WAIT_MS: '300',
      },
    });
    const before = await rssMib(app);
    const ended = play(app).then(() =>
      until(async () => {
        const { items } = (await (await app.get('/api/calls')).json()) as AnyJson;
        return items[0]?.state === 'ended' && items[0];
      }, 90_000),
    );
    const { longestMs, mostMib } = await watch(app, ended);
    const call: AnyJson = await ended;
    const page = await app.get(`/api/calls/${call.id}/events?limit=1000`);
    const gaps = ((await page.json()) as AnyJson).items.filter((event: AnyJson) => event.type === 'call.gap'); // prettier-ignore
    const grownMib = mostMib - before;
    console.log(
      `${carrier}: longest wait ${longestMs.toFixed(0)} ms, ${grownMib.toFixed(0)} MiB more, ${gaps.length} gaps`,
    );
    // Before the cap the event loop stood still for 57 s and 8.7 GB were taken; a busy machine of tests takes some of both.
    expect(longestMs).toBeLessThan(5_000);
    expect(grownMib).toBeLessThan(250);
    for (const leg of call.legs) {
      expect(leg.ledger.received).toBe(heardBytes);
      expect(leg.ledger.filler).toBeLessThanOrEqual((maxSilenceAheadS + 90) * 8_000);
      const { acknowledged, gaps: lost, received } = leg.ledger;
      expect(Number(acknowledged) + Number(lost)).toBe(received);
    }
    const declaredS = gaps.reduce(
      (sum: number, { data }: AnyJson) => sum + Number(data.duration),
      0,
    );
    expect(declaredS).toBeGreaterThan(2_000);
  },
  150_000,
);
