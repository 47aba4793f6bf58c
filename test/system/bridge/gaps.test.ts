import { expect, test } from 'vitest';
import type { CallStream } from '../../../src/bridge/streams.ts';
import { twilioPlayer } from '../../../src/carriers/twilio/player.ts';
import { play } from '../../../src/player/play.ts';
import { speak, testBridge, type AnyJson } from '../../support/bridge/test-bridge.ts';
import { playedCall } from '../../support/carriers/played-call.ts';
import { startApp, type App } from '../../support/process/app.ts';
import { until } from '../../support/process/until.ts';
import { seededAudio } from '../../support/speech/audio.ts';
import { FakeSpeech } from '../../support/speech/fake-speech.ts';
import { temporaryFolder, temporaryStore } from '../../support/store/store.ts';

const frameMs = 20;
const frameBytes = 160;

/** The carrier counted on without this many frames: each loss is declared by itself. */
function lose(stream: CallStream, frames: number): void {
  for (let frame = 0; frame < frames; frame++)
    stream.take({ type: 'lost', track: 'inbound', durationMs: frameMs, cause: 'left out' });
}

test('a line that loses every fifth frame, and kill -9: what was lost is told to the frame', async () => {
  await using speech = await FakeSpeech.start();
  await using folder = await temporaryFolder();
  const env = {
    TRUNKLINE_INSECURE: '1',
    TRUNKLINE_ROLES: 'bridge',
    TRUNKLINE_SPEECH_URL: speech.url,
    TRUNKLINE_REJOIN_WAIT_MS: '100',
    TRUNKLINE_QUIET_FILL_MS: '0',
  };
  const callIn = async (app: App): Promise<AnyJson> =>
    ((await (await app.get('/api/calls')).json()) as AnyJson).items[0];
  {
    await using app = await startApp({ dataDir: folder.path, env });
    const playing = play({
      to: `${app.url.replace('http', 'ws')}/carriers/twilio`,
      player: twilioPlayer,
      call: playedCall(twilioPlayer.newIds()),
      audio: [{ leg: 'customer', bytes: seededAudio(8_000 * 60, 1) }],
      faults: { drop: 0.2, seed: 7 },
    });
    await until(async () => (await callIn(app))?.legs[0].ledger.filler >= 25 * frameBytes);
    await app.end('SIGKILL');
    await playing;
  }
  await using app = await startApp({ dataDir: folder.path, env });
  const call = await until(async () => {
    const one = await callIn(app);
    return one.state === 'ended' && one;
  });
  const { items } = (await (await app.get(`/api/calls/${call.id}/events`)).json()) as AnyJson;
  const ledger = call.legs[0].ledger as Record<
    'received' | 'acknowledged' | 'gaps' | 'filler',
    number
  >;
  expect(ledger.received).toBe(ledger.acknowledged + ledger.gaps);
  const ofGaps = gapsIn(items).reduce((sum: number, { data }) => sum + Number(data.bytes), 0);
  const told = Number(call.statistics.short_gaps.bytes) + ofGaps;
  expect(told).toBeGreaterThanOrEqual(24 * frameBytes);
  // The last loss may be in the journal without the figure that was written after it.
  expect(Math.abs(ledger.filler - told)).toBeLessThanOrEqual(frameBytes);
}, 60_000);

const gapsIn = (events: AnyJson[]): AnyJson[] => events.filter(({ type }) => type === 'call.gap');

test('every tenth frame lost is one figure and no event; what is lost in one piece is one gap; every byte is accounted for', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  await using app = await testBridge({ store, speechUrl: speech.url });
  const { stream } = await app.open();
  const audio = seededAudio(9 * frameBytes * 100, 1);
  for (let lost = 0; lost < 100; lost++) {
    await speak(stream, 'inbound', audio.subarray(lost * 9 * frameBytes, (lost + 1) * 9 * frameBytes)); // prettier-ignore
    lose(stream, 1);
  }
  await speak(stream, 'inbound', seededAudio(frameBytes, 2));
  lose(stream, 30);
  await speak(stream, 'inbound', seededAudio(frameBytes, 3));
  stream.end('stop');
  const ended = await app.ended(stream.callId);
  const events = await app.events(stream.callId);
  const received = audio.length + 2 * frameBytes;
  expect(gapsIn(events).map(({ data }) => data)).toMatchObject([
    { cause: 'carrier', start: 20.02, end: 20.62, duration: 0.6, bytes: 30 * frameBytes },
  ]);
  const short_gaps = { count: 100, seconds: 2, bytes: 100 * frameBytes };
  expect(ended.data).toMatchObject({ gap_count: 1, short_gaps });
  expect(events.at(-1).data).toMatchObject({ gap_count: 1, short_gaps });
  expect(ended.data.legs[0].ledger).toEqual({
    received,
    acknowledged: received,
    gaps: 0,
    paused: 0,
    filler: 130 * frameBytes,
  });
});

test('gaps that are not told yet when the process stops are told by the next one, once', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  let callId = '';
  {
    await using app = await testBridge({ store, speechUrl: speech.url });
    const { stream } = await app.open();
    callId = stream.callId;
    for (let lost = 0; lost < 3; lost++) {
      await speak(stream, 'inbound', seededAudio(8_000, lost));
      lose(stream, 1);
    }
    await speak(stream, 'inbound', seededAudio(8_000, 4));
    lose(stream, 40);
  }
  const config = { rejoinWaitMs: 100 };
  for (let start = 0; start < 2; start++) {
    await using app = await testBridge({ store, speechUrl: speech.url, config });
    const ended = await app.ended(callId);
    expect(ended.data).toMatchObject({
      gap_count: 1,
      short_gaps: { count: 3, seconds: 0.06, bytes: 3 * frameBytes },
    });
    expect(gapsIn(await app.events(callId))).toMatchObject([{ data: { duration: 0.8 } }]);
  }
});
