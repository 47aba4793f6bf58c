import { expect, test } from 'vitest';
import { speak, testBridge, type AnyJson } from '../../support/bridge/test-bridge.ts';
import { seededAudio } from '../../support/speech/audio.ts';
import { FakeSpeech } from '../../support/speech/fake-speech.ts';
import { temporaryStore } from '../../support/store/store.ts';

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

test('what a gap or a pause hides is neither talk nor dead air', async () => {
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
