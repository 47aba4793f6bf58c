import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { linearToMulaw } from '../../src/audio/g711.ts';
import { twilioPlayer } from '../../src/carriers/twilio/player.ts';
import { play } from '../../src/player/play.ts';
import type { NewStream } from '../../src/protocol/api.ts';
import { startApp, type App } from '../support/process/app.ts';
import { startBrowser } from '../support/browser/browser.ts';
import { tones, type FixtureWord } from '../support/recognition/fixture-model.ts';
import { playedCall } from '../support/carriers/played-call.ts';

const waitMs = 60_000;

function spoken(words: FixtureWord[]): Buffer {
  return Buffer.from(Array.from(tones(words), linearToMulaw));
}

/** A call of one leg that says these words, through the carrier socket. */
async function call(app: App, words: FixtureWord[]): Promise<string> {
  const asked = await app.get('/api/streams', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ carrier: 'twilio' }),
  });
  const { url } = (await asked.json()) as NewStream;
  const ids = twilioPlayer.newIds();
  const result = await play({
    to: url,
    player: twilioPlayer,
    speed: 4,
    audio: [{ leg: 'customer', bytes: spoken(words) }],
    call: playedCall({
      ...ids,
      controlFormat: 'json',
    }),
  });
  expect(result.outcome).toBe('played');
  return ids.callId;
}

test('an open page goes on by itself when the process was restarted, with the calls before and after', async () => {
  const dataDir = await mkdtemp(join(tmpdir(), 'trunkline-page-'));
  await using browser = await startBrowser();
  const first = await startApp({ dataDir });
  const { port } = new URL(first.url);
  const { page } = await browser.open(first.url);
  await page.getByText('No calls yet.').waitFor();
  await call(first, ['my', 'card', 'lost']);
  // Its words first, and its summary as soon as that is there.
  await page.getByText(/card lost/i).waitFor({ timeout: waitMs });
  await first.end('SIGKILL');
  await page
    .locator('#away')
    .getByText('No connection to Trunkline since')
    .waitFor({ timeout: waitMs });
  await using second = await startApp({ dataDir, env: { PORT: port } });
  await page.locator('#connection[data-state=live]').waitFor({ timeout: waitMs });
  await call(second, ['refund', 'please']);
  await page.getByText(/refund please/i).waitFor({ timeout: waitMs });
  await page.getByText(/card lost/i).waitFor();
  await expect.poll(() => page.locator('.calls li').count(), { timeout: waitMs }).toBe(2);
  await page.context().close();
  await second.end('SIGTERM');
  await rm(dataDir, { recursive: true, force: true });
});
