import { newId } from '../../../src/lib/ids.ts';
import { maxOrderedAtOnce } from '../../../src/bridge/second-pass/second-passes.ts';
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import {
  speak,
  testBridge,
  type AnyJson,
  type TestBridge,
} from '../../support/bridge/test-bridge.ts';
import { TestClock } from '../../support/clock/test-clock.ts';
import { until } from '../../support/process/until.ts';
import { seededAudio } from '../../support/speech/audio.ts';
import { spoken } from '../../support/speech/fake-jobs.ts';
import { FakeSpeech, wordsOf } from '../../support/speech/fake-speech.ts';
import { temporaryStore } from '../../support/store/store.ts';

const refusal = { status: 400, body: { validation_errors: ['endpointing must be at most 10'] } };
const post = { method: 'POST' };

/** A call of the service's own seconds, which hangs up. */
async function shortCall(app: TestBridge, carrierCallId: string, seconds = 3): Promise<string> {
  const { stream } = await app.open({ carrierCallId });
  await speak(stream, 'inbound', seededAudio(8_000 * seconds, 1));
  stream.end('stop');
  return stream.callId;
}

const revised = (app: TestBridge, callId: string): Promise<AnyJson> =>
  until(async () =>
    (await app.events(callId)).find(({ type }) => type === 'call.transcript.revised'),
  );

test('a call that nobody heard says so, with the seconds and why, and has no false figures', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  await using app = await testBridge({ store, speechUrl: speech.url });
  const whole = await app.open({ carrierCallId: 'CA0' });
  await speak(whole.stream, 'inbound', seededAudio(8_000 * 2, 1));
  whole.stream.end('stop');
  expect((await app.ended(whole.stream.callId)).data).toMatchObject({
    incomplete: null,
    talk: { customer: 1.6 },
  });

  speech.script.create = () => ({ status: 400, body: { message: 'endpointing is required' } });
  const { stream } = await app.open();
  await speak(stream, 'inbound', seededAudio(8_000 * 5, 1));
  stream.end('stop');
  const ended = await app.ended(stream.callId);
  const incomplete = { seconds: 5, causes: [{ cause: 'refused', seconds: 5 }] };
  expect(ended.data).toMatchObject({
    incomplete,
    talk: null,
    talk_ratio: null,
    interruptions: null,
    longest_monologue: null,
    dead_air: null,
  });
  expect((await app.events(stream.callId)).at(-1).data.incomplete).toEqual(incomplete);
  expect((await app.callOf()).incomplete).toEqual(incomplete);
  const ids = async (query: string): Promise<string[]> =>
    (await app.json(`/api/calls?${query}`)).items.map((call: AnyJson) => call.id);
  expect(await ids('incomplete=true')).toEqual([stream.callId]);
  expect(await ids('incomplete=false')).toEqual([whole.stream.callId]);
  expect((await app.get('/api/calls?incomplete=maybe')).status).toBe(400);
});

test('the time of a gap or a pause is neither talk nor dead air', async () => {
  await using speech = await FakeSpeech.start();
  speech.script.silenceHasNoWords = true;
  await using store = await temporaryStore();
  await using app = await testBridge({ store, speechUrl: speech.url });
  const { stream } = await app.open();
  await speak(stream, 'inbound', seededAudio(8_000 * 50, 1));
  stream.take({ type: 'lost', track: 'inbound', durationMs: 5_000, cause: 'numbering' });
  await speak(stream, 'inbound', seededAudio(8_000 * 10, 2));
  stream.end('stop');
  const { data } = await app.ended(stream.callId);
  expect(data.incomplete).toEqual({ seconds: 5, causes: [{ cause: 'carrier', seconds: 5 }] });
  expect(data.dead_air).toEqual({ total: 0, longest: 0, count: 0 });
  expect(data.talk.customer).toBeCloseTo(48, 1);
});

test('a recorded call that was refused is read again when somebody asks, and its record is whole then', async () => {
  await using speech = await FakeSpeech.start();
  speech.script.create = () => refusal;
  speech.recordings.script.utterances = [spoken(0, 0.5, 'my card is lost')];
  await using store = await temporaryStore();
  await using app = await testBridge({ store, speechUrl: speech.url });
  const [first, second] = [await shortCall(app, 'CA1'), await shortCall(app, 'CA2')];
  await Promise.all([app.ended(first), app.ended(second)]);
  expect((await app.bridge.health?.())?.['speech']).toMatchObject({
    state: 'degraded',
    detail: expect.stringContaining('status 400: endpointing must be at most 10') as string,
  });

  const answer = await app.get(`/api/calls/${first}/transcribe`, post);
  expect([answer.status, await answer.json()]).toEqual([202, { status: 'ordered' }]);
  const { data } = await revised(app, first);
  expect(data).toMatchObject({ incomplete: null, transcript: [{ text: 'my card is lost' }] });
  expect(await app.callOf('CA1')).toMatchObject({
    incomplete: null,
    transcript: [{ role: 'customer', text: 'my card is lost', start: 0.5 }],
    statistics: { incomplete: null, gap_count: 0, talk: { customer: 1, agent: 0 }, duration: 3 },
  });

  // The other one by the command line, with all that lack words: also behind a thousand of which nothing is left.
  const row = await store.db
    .selectFrom('calls')
    .selectAll()
    .where('id', '=', second)
    .executeTakeFirstOrThrow();
  const lost = Array.from({ length: maxOrderedAtOnce }, (_, at) => ({
    ...row,
    id: newId('call', Date.now() + 60_000),
    carrier_call_id: `lost-${at}`,
    has_recording: 0,
  }));
  while (lost.length > 0) await store.db.insertInto('calls').values(lost.splice(0, 250)).execute();
  const command = ['--disable-warning=ExperimentalWarning', 'src/cli.ts', 'transcribe-again'];
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [...command, '--incomplete', '--json', '--url', app.url],
    { env: { PATH: process.env['PATH'] ?? '' } },
  );
  expect(JSON.parse(stdout)).toEqual({
    ordered: 1,
    already: 0,
    without_recording: maxOrderedAtOnce,
    waiting: 0,
  });
  expect((await app.get('/api/calls/transcribe?befor=call_1', post)).status).toBe(400);
  await store.db.deleteFrom('calls').where('carrier_call_id', 'like', 'lost-%').execute();
  await revised(app, second);
  expect((await app.json('/api/calls?incomplete=true')).items).toEqual([]);
  const unknown = await app.get('/api/calls/call_unknown/transcribe', post);
  expect(unknown.status).toBe(404);
});

test('a key that is refused (403) costs no word: the call waits, its audio is kept, and words come with the key', async () => {
  await using speech = await FakeSpeech.start();
  speech.script.create = () => ({
    status: 403,
    body: { message: 'this key has no live sessions' },
  });
  await using store = await temporaryStore();
  // A refused key is asked about again after some seconds: they pass quickly here.
  await using app = await testBridge({ store, speechUrl: speech.url, clock: new TestClock(5) });
  const { stream } = await app.open();
  await speak(stream, 'inbound', seededAudio(8_000 * 3, 1));
  await until(async () =>
    (await app.bridge.health?.())?.['speech']?.detail?.includes(
      'the service does not accept the key: status 403: this key has no live sessions',
    ),
  );
  delete speech.script.create;
  stream.end('stop');
  expect((await app.ended(stream.callId)).data.incomplete).toBeNull();
  expect((await app.events(stream.callId)).some(({ type }) => type === 'call.transcript')).toBe(
    true,
  );
  expect((await app.bridge.health?.())?.['speech']).toMatchObject({ state: 'ok' });
});

test('a request that cannot be served (422) stops nothing, and the page has the words of the service', async () => {
  await using speech = await FakeSpeech.start();
  const words = 'the language xx is not among those of this model';
  speech.script.create = () => ({ status: 422, body: { message: words } });
  speech.recordings.script.utterances = [spoken(0, 0.5, 'my card is lost')];
  await using store = await temporaryStore();
  await using app = await testBridge({ store, speechUrl: speech.url });
  const id = await shortCall(app, 'CA1');
  const { data } = await app.ended(id);
  expect(data.incomplete).toEqual({ seconds: 3, causes: [{ cause: 'refused', seconds: 3 }] });
  const refused = `the service refuses our sessions: status 422: ${words}`;
  expect((await app.bridge.health?.())?.['speech']).toMatchObject({ detail: refused });
  // Once it takes them again, the next call is heard, the trouble is over, and this one can be read again.
  delete speech.script.create;
  const next = await shortCall(app, 'CA2');
  expect((await app.ended(next)).data.incomplete).toBeNull();
  expect((await app.bridge.health?.())?.['speech']).toMatchObject({ state: 'ok' });
  await app.get(`/api/calls/${id}/transcribe`, post);
  expect((await revised(app, id)).data).toMatchObject({ incomplete: null });
});

test('audio that the carrier lost stays missing when the recording is read again', async () => {
  await using speech = await FakeSpeech.start();
  speech.script.create = () => refusal;
  speech.recordings.script.utterances = [spoken(0, 0.5, 'my card is lost')];
  await using store = await temporaryStore();
  await using app = await testBridge({ store, speechUrl: speech.url });
  const { stream } = await app.open();
  await speak(stream, 'inbound', seededAudio(8_000 * 3, 1));
  stream.take({ type: 'lost', track: 'inbound', durationMs: 2_000, cause: 'numbering' });
  stream.end('stop');
  await app.ended(stream.callId);
  await app.get(`/api/calls/${stream.callId}/transcribe`, post);
  const incomplete = { seconds: 2, causes: [{ cause: 'carrier', seconds: 2 }] };
  expect((await revised(app, stream.callId)).data.incomplete).toEqual(incomplete);
  expect(await app.callOf()).toMatchObject({ incomplete, statistics: { incomplete, talk: null } });
});

test('a refused call without a recording waits with its audio until the settings are mended, and loses no word', async () => {
  await using speech = await FakeSpeech.start();
  speech.script.create = () => refusal;
  await using store = await temporaryStore();
  const config = { recording: 'off' };
  let callId = '';
  {
    await using app = await testBridge({ store, speechUrl: speech.url, config });
    callId = await shortCall(app, 'CA1');
    await until(async () => (await app.callOf()).state === 'finishing');
    const asked = await app.get(`/api/calls/${callId}/transcribe`, post);
    expect([asked.status, await asked.json()]).toEqual([202, { status: 'waiting' }]);
  }
  delete speech.script.create;
  await using app = await testBridge({ store, speechUrl: speech.url, config });
  const ended = await app.ended(callId);
  expect(ended.data).toMatchObject({ incomplete: null, duration: 3 });
  const { transcript } = await app.callOf();
  expect(transcript.map(({ text }: AnyJson) => text)).toEqual(wordsOf(seededAudio(8_000 * 3, 1)));
  const again = await app.get(`/api/calls/${callId}/transcribe`, post);
  expect([again.status, await again.json()]).toEqual([
    409,
    expect.objectContaining({
      message: expect.stringContaining('TRUNKLINE_RECORDING') as string,
    }) as object,
  ]);
});
