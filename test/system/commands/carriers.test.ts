import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { carrierNamed } from '../../../src/carriers/all.ts';
import { loadConfig } from '../../../src/config.ts';
import { play } from '../../../src/player/play.ts';
import type { ApiCarrier, CarrierList } from '../../../src/protocol/api.ts';
import { playedCall } from '../../support/carriers/played-call.ts';
import { seededAudio } from '../../support/speech/audio.ts';
import { startApp, type App } from '../../support/process/app.ts';
import { trunkline } from '../../support/process/command.ts';

// Processes are started one after the other: on a busy machine that takes a while.
vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const pbxs = ['asterisk', 'freeswitch', 'jambonz'];
const key = 'a-key-of-the-tests-with-32-chars';
const nowhere = 'http://127.0.0.1:1';
const telnyx = { TRUNKLINE_TELNYX_TOKEN: 'telnyx-secret-of-the-tests' };

type Printed = { settings: Record<string, string>; parts: { where: string; text: string }[] };

async function printed(...args: string[]): Promise<string> {
  const { ended, lines } = trunkline(['carriers', ...args], { TRUNKLINE_API_KEYS: key });
  expect(await ended, lines.join('\n')).toBe(0);
  return lines.join('\n');
}

let app: App;
/** The process is started with the settings that the command prints for each PBX. */
const settings: Record<string, string> = { ...telnyx };
beforeAll(async () => {
  for (const pbx of pbxs)
    Object.assign(
      settings,
      (JSON.parse(await printed(pbx, '--json', '--url', nowhere)) as Printed).settings,
    );
  app = await startApp({ env: { ...settings, TRUNKLINE_API_KEYS: key } });
});
afterAll(() => app[Symbol.asyncDispose]());

async function known(name: string): Promise<ApiCarrier | undefined> {
  const answer = await app.get('/api/carriers', { headers: { 'x-service-key': key } });
  return ((await answer.json()) as CarrierList).items.find((item) => item.name === name);
}

/** A second of a call by this carrier's player, with the secrets of this environment. */
async function playedWith(name: string, env: Record<string, string>): Promise<string> {
  const carrier = carrierNamed(name)!;
  const { player } = carrier;
  const { outcome } = await play({
    to: `${app.url.replace('http', 'ws')}/carriers/${name}`,
    player,
    call: playedCall({ ...player.newIds(), encoding: player.encodings[0] ?? 'mulaw' }),
    audio: [{ leg: 'customer', bytes: seededAudio(8_000, 1) }],
    secrets: carrier.playerSecrets(loadConfig(env).config.carriers),
    speed: 40,
  });
  return outcome;
}

test.each([...pbxs, 'telnyx'])(
  'a stream of %s with the printed secret turns its light on, one without does not',
  async (name) => {
    expect(await known(name)).toMatchObject({ state: 'ready', last_stream_at: null });
    const wrong = Object.fromEntries(
      Object.entries(settings).map(([env, value]) => [env, `${value}-wrong`]),
    );
    expect(await playedWith(name, wrong)).toBe('refused');
    const refused = await known(name);
    expect(refused).toMatchObject({
      last_stream_at: null,
      last_refused: { at: expect.any(String), reason: expect.stringMatching(/./) },
    });
    const before = Date.now();
    expect(await playedWith(name, settings)).toBe('played');
    const at = (await known(name))?.last_stream_at ?? '';
    expect(Date.parse(at)).toBeGreaterThanOrEqual(before - 1_000);
    // The proof of the upgrade is followed by the call's own row, which may come between the two looks.
    const block = (await printed('--url', app.url))
      .split('\n\n')
      .find((text) => text.includes(`(${name})`));
    expect(block).toContain(`last ${refused?.last_refused?.at}: ${refused?.last_refused?.reason}`);
    const shown = /last proof (\S+)$/m.exec(block ?? '')?.[1] ?? '';
    expect(Date.parse(shown), block).toBeGreaterThanOrEqual(Date.parse(at));
  },
);

test('a refused webhook is named by the list and by the doctor, until a stream came since', async () => {
  const asked = await app.get('/carriers/twilio/voice', {
    method: 'POST',
    headers: { 'x-twilio-signature': 'AAAAAAAAAAAAAAAAAAAAAAAAAAA=' },
    body: new URLSearchParams({ CallSid: 'CA1' }),
  });
  expect(asked.status).toBe(403);
  const at = (await known('twilio'))?.last_refused?.at ?? 'never';
  const why = `${at}: TRUNKLINE_TWILIO_AUTH_TOKEN is not set`;
  expect(await printed('twilio', '--url', app.url)).toContain(`last ${why}`);
  const doctor = trunkline(['doctor', '--url', app.url], { TRUNKLINE_API_KEYS: key });
  await doctor.ended;
  expect(doctor.lines.join('\n')).toContain(`twilio: last refused ${why}`);
  // Refused, too, and then played.
  expect(doctor.lines.join('\n')).not.toContain('telnyx: last refused');
});

test('the list needs a key, names what is set and missing, and holds no secret', async () => {
  expect((await app.get('/api/carriers')).status).toBe(401);
  const text = await printed('--url', app.url);
  for (const secret of Object.values(settings).filter((value) => value !== 'trunkline'))
    expect(text).not.toContain(secret);
  expect(text).toContain(`as ${app.url} says`);
  expect(text).toContain(`  stream     ${app.url.replace('http', 'ws')}/carriers/telnyx`);
  expect(text).toMatch(/missing +TRUNKLINE_TWILIO_AUTH_TOKEN/);
  expect(text).toMatch(/for voice +TRUNKLINE_TWILIO_DIAL or TRUNKLINE_TWILIO_CONTINUE_URL/);
  expect(text).toMatch(/set +TRUNKLINE_TELNYX_TOKEN/);
});

test('without a running process the settings are told, and that nobody was asked', async () => {
  const { ended, lines } = trunkline(['carriers', '--url', nowhere], {
    ...telnyx,
    TRUNKLINE_API_KEYS: key,
    TRUNKLINE_PUBLIC_URL: 'https://calls.example.com/',
  });
  expect(await ended).toBe(0);
  const text = lines.join('\n');
  expect(text).toMatch(/^No running process: .*127\.0\.0\.1:1 does not answer/);
  expect(text).toContain(
    'Telnyx (telnyx): ready\n  stream     wss://calls.example.com/carriers/telnyx\n',
  );
  expect(text).not.toContain('last proof');
});

test('each configuration has a secret of its own, in our settings and in what is pasted', async () => {
  for (const pbx of pbxs) {
    const text = await printed(pbx, '--url', app.url);
    const secret = /\b[0-9a-f]{48}\b/.exec(text)?.[0] ?? '';
    expect(secret).toHaveLength(48);
    // Those that were printed before.
    expect(Object.values(settings)).not.toContain(secret);
    expect(text.split(secret).length).toBeGreaterThan(2);
    expect(text).toContain(`${app.url.replace('http', 'ws')}/carriers/${pbx}`);
  }
  const { ended, lines } = trunkline(['carriers', 'nobody']);
  expect(await ended).not.toBe(0);
  expect(lines.join('\n')).toContain('there is twilio, telnyx');
  const one = await printed('telnyx', '--url', app.url);
  expect(one).toMatch(/^as .*\n\nTelnyx \(telnyx\): ready\n/);
  expect(one).toMatch(/^ {2}1\. /m);
  expect(one).not.toContain('Twilio');
});
