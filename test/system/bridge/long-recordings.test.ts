import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { twilioPlayer } from '../../../src/carriers/twilio/player.ts';
import { playCall } from '../../../src/player/play-call.ts';
import {
  speak,
  testBridge,
  type AnyJson,
  type TestBridge,
} from '../../support/bridge/test-bridge.ts';
import { startApp, type App } from '../../support/process/app.ts';
import { until } from '../../support/process/until.ts';
import { tones } from '../../support/recognition/fixture-model.ts';
import { seededAudio } from '../../support/speech/audio.ts';
import { spoken, type FakeJob } from '../../support/speech/fake-jobs.ts';
import { FakeSpeech } from '../../support/speech/fake-speech.ts';
import { temporaryFolder, temporaryStore } from '../../support/store/store.ts';

const rateHz = 8_000;
const bare = (text: string): string => text.toLowerCase().replace(/[^a-z ]/g, '').trim(); // prettier-ignore

/** Sentences one after the other, each with a pause of a second behind it. */
function sentences(list: readonly string[], leadS = 0): Int16Array {
  const parts = list.map((words) => tones(words, { leadS: 0.1, tailS: 0.9 }));
  const samples = new Int16Array(
    Math.round(leadS * rateHz) + parts.reduce((sum, part) => sum + part.length, 0),
  );
  let at = Math.round(leadS * rateHz);
  for (const part of parts) {
    samples.set(part, at);
    at += part.length;
  }
  return samples;
}

const revised = (app: App | TestBridge, callId?: string): Promise<AnyJson> =>
  until(async () => {
    const id =
      callId ?? ((await (await app.get('/api/calls')).json()) as AnyJson).items?.[0]?.id ?? 'none';
    const { items } = (await (
      await app.get(`/api/calls/${id}/events?limit=1000`)
    ).json()) as AnyJson;
    const found = (items ?? []).find(
      ({ type, data }: AnyJson) =>
        type === 'call.transcript.revised' || data.code === 'NO_SECOND_PASS',
    );
    if (found?.data.code !== undefined) throw new Error(found.data.message);
    return found;
  }, 90_000);

test('a recording that is longer than our own service reads is read in pieces: no word is lost or said twice, and each has its second of the call', async () => {
  await using app = await startApp({
    env: { TRUNKLINE_SECOND_PASS: 'on', TRUNKLINE_JOBS_MAX_SECONDS: '12' },
  });
  const words = ['one two three', 'my card is lost', 'four five', 'the order please', 'hello', 'great refund']; // prettier-ignore
  const customer = [...words, ...words];
  const legs = [
    { leg: 'customer' as const, samples: sentences(customer), rateHz },
    { leg: 'agent' as const, samples: sentences(['thanks', 'monday'], 24), rateHz },
  ];
  await playCall({
    player: twilioPlayer,
    to: app.url.replace('http', 'ws'),
    api: { url: app.url },
    callId: 'CA-long',
    legs,
  });
  const { data } = await revised(app);
  const turns = data.transcript as AnyJson[];
  const saidBy = (role: string): string =>
    bare(turns.filter((turn) => turn.role === role).map(({ text }) => bare(text)).join(' ')); // prettier-ignore
  expect(saidBy('customer')).toBe(customer.join(' '));
  expect(saidBy('agent')).toBe('thanks monday');
  let atS = 0;
  for (const sentence of customer) {
    const turn = turns.find(
      ({ role, text, start }) =>
        role === 'customer' && bare(text).startsWith(sentence.split(' ')[0] ?? '') && Math.abs(start - atS - 0.1) < 0.6, // prettier-ignore
    );
    expect([sentence, atS, turn?.text]).toEqual([sentence, atS, expect.any(String)]);
    atS += tones(sentence, { leadS: 0.1, tailS: 0.9 }).length / rateHz;
  }
  // Not one of the pieces stays with the service.
  await until(async () => {
    const { items } = (await (await app.get('/v2/pre-recorded')).json()) as AnyJson;
    return items.length === 0 && (await readdir(join(app.dataDir, 'speech/files'))).length === 0;
  });
}, 180_000);

const pieceOf = ({ request }: FakeJob): number =>
  ((request['custom_metadata'] as AnyJson).piece as number | undefined) ?? 0;

/** A call of 25 s whose recording is read in three pieces, by a service that says the number of each. */
async function inPieces(speech: FakeSpeech): Promise<void> {
  speech.recordings.script.utterancesOf = (job) => [spoken(0, 1, `piece ${pieceOf(job)}`)];
  await Promise.resolve();
}

const longCall = async (app: TestBridge): Promise<string> => {
  const { stream } = await app.open();
  await speak(stream, 'inbound', seededAudio(rateHz * 25, 1));
  stream.end('stop');
  return stream.callId;
};

test.each([2, 3])(
  'kill -9 while piece %i is read: after the start the pieces before it are not read again, and no copy stays',
  async (moment) => {
    await using speech = await FakeSpeech.start();
    const { recordings } = speech;
    await inPieces(speech);
    await using folder = await temporaryFolder();
    const env = {
      TRUNKLINE_ROLES: 'bridge',
      TRUNKLINE_SPEECH_URL: speech.url,
      TRUNKLINE_SECOND_PASS: 'on',
      TRUNKLINE_SECOND_PASS_PIECE_S: '10',
    };
    const { promise: reached, resolve: reach } = Promise.withResolvers<boolean>();
    recordings.script.hold = (what) => {
      if (what !== 'begin' || recordings.begun !== moment) return undefined;
      reach(true);
      return new Promise(() => undefined);
    };
    {
      await using app = await startApp({ dataDir: folder.path, env });
      await playCall({
        player: twilioPlayer,
        to: app.url.replace('http', 'ws'),
        api: { url: app.url },
        callId: 'CA-pieces',
        legs: [{ leg: 'customer', samples: sentences(Array.from({ length: 15 }, () => 'one two')), rateHz }], // prettier-ignore
      });
      await reached;
      await app.end('SIGKILL');
    }
    recordings.script.hold = () => undefined;
    await using app = await startApp({ dataDir: folder.path, env });
    const { data } = await revised(app);
    expect(data.transcript.map(({ text }: AnyJson) => text)).toEqual(['piece 1', 'piece 2', 'piece 3']); // prettier-ignore
    const starts = data.transcript.map(({ start }: AnyJson) => start);
    expect(starts[0]).toBe(1);
    for (const [at, from] of [0, 7.5, 15].entries()) expect(starts[at]).toBeGreaterThan(from);
    expect(recordings.begun).toBe(3);
    await until(() => recordings.jobs.size === 0 && recordings.uploads.size === 0);
  },
  180_000,
);

test('an erasure between two pieces takes the jobs and the uploads of all of them', async () => {
  await using speech = await FakeSpeech.start();
  const { recordings } = speech;
  await inPieces(speech);
  await using store = await temporaryStore();
  const config = { secondPass: 'on', secondPassPieceS: 10 };
  await using app = await testBridge({ store, speechUrl: speech.url, config });
  recordings.script.upload = (count) => (count === 3 ? { status: 503 } : undefined);
  const callId = await longCall(app);
  await until(() => recordings.uploaded === 3);
  expect([recordings.jobs.size, recordings.uploads.size]).toEqual([2, 2]);
  const rows = await store.db.selectFrom('second_passes').selectAll().execute();
  // The words are not redacted yet: they are with the service, and not in our rows.
  expect(JSON.stringify(rows)).not.toContain('piece 1');
  expect((await app.get(`/api/calls/${callId}`, { method: 'DELETE' })).status).toBe(204);
  await until(
    async () => (await store.db.selectFrom('second_passes').selectAll().execute()).length === 0,
  );
  expect([recordings.jobs.size, recordings.uploads.size]).toEqual([0, 0]);
});

test('a piece whose words the service has lost is read once more, and the call has all of them', async () => {
  await using speech = await FakeSpeech.start();
  const { recordings } = speech;
  await inPieces(speech);
  await using store = await temporaryStore();
  const config = { secondPass: 'on', secondPassPieceS: 10 };
  await using app = await testBridge({ store, speechUrl: speech.url, config });
  let isLost = false;
  recordings.script.begin = (count) => {
    if (count !== 3 || isLost) return undefined;
    isLost = true;
    const first = [...recordings.jobs.values()].find((job) => pieceOf(job) === 2);
    recordings.jobs.delete(first?.id ?? '');
    return undefined;
  };
  const { data } = await revised(app, await longCall(app));
  expect(data.transcript.map(({ text }: AnyJson) => text)).toEqual(['piece 1', 'piece 2', 'piece 3']); // prettier-ignore
  expect(recordings.begun).toBe(5);
  await until(() => recordings.jobs.size === 0 && recordings.uploads.size === 0);
}, 60_000);

test('a foreign service that takes no long file gets shorter ones, and none for ever', async () => {
  await using speech = await FakeSpeech.start();
  const { recordings } = speech;
  await inPieces(speech);
  await using store = await temporaryStore();
  await using app = await testBridge({
    store,
    speechUrl: speech.url,
    config: { secondPass: 'on' },
  });
  recordings.script.upload = (count) => (count === 1 ? { status: 413 } : undefined);
  const { data } = await revised(app, await longCall(app));
  expect(data.transcript.length).toBeGreaterThan(1);
  recordings.script.upload = () => ({ status: 413 });
  const before = recordings.uploaded;
  const { stream } = await app.open({ carrierCallId: 'CA2', streamId: 'MZ2' });
  await speak(stream, 'inbound', seededAudio(rateHz * 25, 1));
  stream.end('stop');
  await expect(revised(app, stream.callId)).rejects.toThrow(/413/);
  expect(recordings.uploaded - before).toBe(3); // 25 s, 12.5 s, 6.25 s
}, 60_000);
