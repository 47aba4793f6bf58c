import twilioPackage from 'twilio';
import { expect, test } from 'vitest';
import { twilioPlayer } from '../../../src/carriers/twilio/player.ts';
import { play } from '../../../src/player/play.ts';
import { startApp, type App } from '../../support/process/app.ts';
import { playedCall } from '../../support/carriers/played-call.ts';
import { seededAudio } from '../../support/speech/audio.ts';
import { FakeSpeech } from '../../support/speech/fake-speech.ts';
import { temporaryFolder } from '../../support/store/store.ts';
import { until } from '../../support/process/until.ts';

const authToken = 'twilio-secret-of-the-tests';
const publicUrl = 'https://bridge.example.net';
const key = 'a-key-of-the-tests';

test('a replayed voice webhook opens nothing once its token was used, after kill -9 and restart either', async () => {
  await using folder = await temporaryFolder();
  await using speech = await FakeSpeech.start();
  const env = {
    TRUNKLINE_ROLES: 'bridge',
    TRUNKLINE_SPEECH_URL: speech.url,
    TRUNKLINE_TWILIO_AUTH_TOKEN: authToken,
    TRUNKLINE_PUBLIC_URL: publicUrl,
    TRUNKLINE_API_KEYS: key,
    TRUNKLINE_REJOIN_WAIT_MS: '200',
  };
  const ids = twilioPlayer.newIds();
  const fields = { CallSid: ids.callId, From: '+15550100123', CallStatus: 'ringing' };
  const captured = {
    method: 'POST',
    headers: {
      'content-type': 'application/x-www-form-urlencoded',
      'x-twilio-signature': twilioPackage.getExpectedTwilioSignature(
        authToken,
        `${publicUrl}/carriers/twilio/voice`,
        fields,
      ),
    },
    body: new URLSearchParams(fields).toString(),
  };
  const answer = async (app: App): Promise<string> => {
    const response = await app.get('/carriers/twilio/voice', captured);
    expect(response.status).toBe(200);
    return response.text();
  };
  // A refused stream is cut off long before its minute is over.
  const stream = (app: App, twiml: string, seconds = 60): ReturnType<typeof play> =>
    play({
      to: `${app.url.replace('http', 'ws')}/carriers/twilio`,
      player: twilioPlayer,
      call: playedCall({
        ...ids,
        streamId: twilioPlayer.newIds().streamId,
        parameters: { token: /name="token" value="([^"]+)"/.exec(twiml)?.[1] ?? '' },
      }),
      audio: [{ leg: 'customer', bytes: seededAudio(8_000 * seconds, 3) }],
      speed: 1,
    });
  const refused = { outcome: 'closed-by-bridge', detail: '1008 stream token used' };
  let first = '';
  {
    await using app = await startApp({ env, dataDir: folder.path });
    // The carrier's own retry: the answer it uses is as good as the one that it did not get.
    const lost = await answer(app);
    first = await answer(app);
    expect(first).toBe(lost);
    expect((await stream(app, first, 1)).outcome).toBe('played');
    await until(async () => {
      const { items } = (await (
        await app.get('/api/calls', { headers: { 'x-service-key': key } })
      ).json()) as {
        items: { state: string }[];
      };
      return items[0]?.state === 'ended';
    });
    expect(speech.sessions.size).toBe(1);
    const replays = await Promise.all(Array.from({ length: 50 }, () => answer(app)));
    expect(new Set(replays)).toEqual(new Set([first]));
    expect(await stream(app, replays[0]!)).toMatchObject(refused);
    await app.end('SIGKILL');
  }
  await using app = await startApp({ env, dataDir: folder.path });
  expect(await answer(app)).toBe(first);
  expect(await stream(app, first)).toMatchObject(refused);
  const { items } = (await (
    await app.get('/api/calls', { headers: { 'x-service-key': key } })
  ).json()) as { items: unknown[] };
  expect(items).toHaveLength(1);
  expect(speech.sessions.size).toBe(1);
});
