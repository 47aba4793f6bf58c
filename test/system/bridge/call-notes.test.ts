import { afterAll, beforeAll, expect, test } from 'vitest';
import { ApiCall, CallPage, CallTranscript } from '../../../src/protocol/api.ts';
import { speak, testBridge } from '../../support/bridge/test-bridge.ts';
import { seededAudio } from '../../support/speech/audio.ts';
import { FakeSpeech } from '../../support/speech/fake-speech.ts';
import { temporaryStore } from '../../support/store/store.ts';

const opened = new AsyncDisposableStack();
let app: Awaited<ReturnType<typeof testBridge>>;
let id = '';

beforeAll(async () => {
  const speech = opened.use(await FakeSpeech.start());
  const store = opened.use(await temporaryStore());
  app = opened.use(await testBridge({ store, speechUrl: speech.url }));
  const { stream } = await app.open({ carrierCallId: 'CA1' });
  id = stream.callId;
  await speak(stream, 'inbound', seededAudio(8_000, 1));
  await speak(stream, 'outbound', seededAudio(8_000, 2));
  stream.end('stop');
  await app.ended(id);
});
afterAll(() => opened.disposeAsync());

const patch = (body: unknown, call = id): Promise<Response> =>
  app.get(`/api/calls/${call}`, {
    method: 'PATCH',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
const found = async (query: string): Promise<string[]> =>
  CallPage.parse(await app.json(`/api/calls?${query}`)).items.map((call) => call.id);

test('notes and tags are kept beside the call, found by tag, and taken away again', async () => {
  const answer = await patch({
    notes: 'back by Friday\u0000',
    tags: ['Refund', 'refund', ' VIP '],
  });
  expect(answer.status).toBe(200);
  const call = ApiCall.parse(await answer.json());
  expect(call).toMatchObject({ notes: 'back by Friday\uFFFD', tags: ['refund', 'VIP'] });
  expect(await found('tag=REFUND')).toEqual([id]);
  // Fields that the request does not name stay.
  expect(await (await patch({ tags: ['vip'] })).json()).toMatchObject({
    notes: 'back by Friday\uFFFD',
    tags: ['vip'],
  });
  expect(await found('tag=refund')).toEqual([]);
  expect(await (await patch({ notes: '', tags: [] })).json()).toMatchObject({
    notes: null,
    tags: [],
  });
  expect(await found('tag=vip')).toEqual([]);
});

test.each([
  ['nothing', {}, /notes or tags/],
  ['a name that is not there', { note: 'x' }, /note/],
  ['notes that are too long', { notes: 'x'.repeat(20_001) }, /notes/],
  ['an empty tag', { tags: [' '] }, /tags/],
  ['too many tags', { tags: Array.from({ length: 51 }, (_, at) => `t${at}`) }, /tags/],
])('%s is refused and changes nothing', async (_what, body, named) => {
  const before = await app.json(`/api/calls/${id}`);
  const answer = await patch(body);
  expect(answer.status).toBe(400);
  expect(await answer.text()).toMatch(named);
  expect(await app.json(`/api/calls/${id}`)).toEqual(before);
});

test('a call that is not there has neither notes nor a transcript', async () => {
  expect((await patch({ notes: 'x' }, 'no-such-call')).status).toBe(404);
  expect((await app.get('/api/calls/no-such-call/transcript')).status).toBe(404);
});

test.each([
  ['txt', 'text/plain', /^\[0:0\d\] \w+: \S/],
  ['srt', 'application/x-subrip', /^1\n00:00:0\d,\d{3} --> 00:00:0\d,\d{3}\n\w+: /],
  ['vtt', 'text/vtt', /^WEBVTT\n\n00:00:0\d\.\d{3} --> /],
  ['csv', 'text/csv', /^"start","end","role","text"\r\n"\d+\.\d{3}","\d+\.\d{3}","\w+","/],
])('the words come as %s', async (format, type, shape) => {
  const answer = await app.get(`/api/calls/${id}/transcript?format=${format}`);
  expect(answer.headers.get('content-type')).toContain(type);
  expect(answer.headers.get('content-disposition')).toBe(`attachment; filename="${id}.${format}"`);
  const text = await answer.text();
  expect(text).toMatch(shape);
  const { items } = CallTranscript.parse(await app.json(`/api/calls/${id}/transcript`));
  expect(items.length).toBeGreaterThan(0);
  const flat = text.replaceAll(/\s+/g, ' ');
  for (const word of items.flatMap((turn) => turn.text.trim().split(/\s+/)))
    expect(flat).toContain(word);
});

test('another format is refused with those that there are', async () => {
  const answer = await app.get(`/api/calls/${id}/transcript?format=pdf`);
  expect(answer.status).toBe(400);
  expect(await answer.text()).toMatch(/srt/);
});
