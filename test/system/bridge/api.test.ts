import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { ApiCall, CallEventPage, CallPage } from '../../../src/protocol/api.ts';
import { CallEvent } from '../../../src/protocol/events.ts';
import { speak, testBridge, type AnyJson } from '../../support/bridge/test-bridge.ts';
import { EventStreamReader } from '../../support/browser/event-stream.ts';
import { journalHolds } from '../../support/bridge/journal-bytes.ts';
import { seededAudio } from '../../support/speech/audio.ts';
import { FakeSpeech, wordsOf } from '../../support/speech/fake-speech.ts';
import { temporaryStore } from '../../support/store/store.ts';
import { until } from '../../support/process/until.ts';
import { TestClock } from '../../support/clock/test-clock.ts';

test('lists are newest first, in pages without holes, and every answer is of the documented shape', async () => {
  await using speech = await FakeSpeech.start();
  speech.script.sentiment = true;
  await using store = await temporaryStore();
  await using app = await testBridge({ store, speechUrl: speech.url });
  const ids: string[] = [];
  for (let at = 0; at < 5; at++) {
    const { stream } = await app.open({ carrierCallId: `CA${at}` });
    await speak(stream, 'inbound', seededAudio(8_000, at));
    stream.end('stop');
    ids.unshift(stream.callId);
    await app.ended(stream.callId);
  }
  const seen: string[] = [];
  let cursor: string | null = null;
  do {
    const page: AnyJson = await app.json(
      `/api/calls?limit=2${cursor === null ? '' : `&cursor=${cursor}`}`,
    );
    CallPage.parse(page);
    seen.push(...page.items.map((call: AnyJson) => call.id));
    cursor = page.next_cursor;
  } while (cursor !== null);
  expect(seen).toEqual(ids);
  const one = await app.json(`/api/calls/${ids[0]}`);
  ApiCall.parse(one);
  // Names that others rely on: none may go.
  expect(Object.keys(one)).toEqual(
    expect.arrayContaining([
      ...['id', 'carrier', 'carrier_call_id', 'state', 'direction', 'from', 'to', 'started_at'],
      ...['ended_at', 'custom_metadata', 'legs', 'transcript'],
    ]),
  );
  expect(Object.keys(one.legs[0])).toEqual(
    expect.arrayContaining([
      ...['id', 'role', 'track', 'encoding', 'sample_rate', 'channels', 'session_id', 'ledger'],
    ]),
  );
  expect(one.legs[0].ledger).toMatchObject({
    received: 8_000,
    acknowledged: 8_000,
    gaps: 0,
    paused: 0,
  });
  expect(one.transcript).toEqual([
    {
      utterance_id: expect.stringMatching(/^utt_[0-9a-f]{16}$/) as string,
      role: 'customer',
      text: wordsOf(seededAudio(8_000, 4))[0],
      start: 0,
      end: 0.8,
    },
  ]);
  expect(one.custom_metadata).toEqual({
    call_id: one.id,
    carrier: 'twilio',
    carrier_call_id: 'CA4',
    direction: 'inbound',
    from: '+15550100123',
    to: '+15550100200',
    started_at: one.started_at,
    carrier_ids: { account_sid: 'AC1' },
    crmCase: 'C-20417',
  });
  expect(one).toMatchObject({
    from: '+15550100123',
    to: '+15550100200',
    direction: 'inbound',
    state: 'ended',
  });
  CallEventPage.parse(await app.json(`/api/calls/${ids[0]}/events`));
  for (const event of await app.events(ids[0]!)) CallEvent.parse(event);
  const pages: AnyJson[] = [await app.json(`/api/calls/${ids[0]}/events?limit=2`)];
  while (pages.at(-1).next_cursor !== null)
    pages.push(
      await app.json(`/api/calls/${ids[0]}/events?limit=2&cursor=${pages.at(-1).next_cursor}`),
    );
  expect(pages.flatMap((page) => page.items)).toEqual(await app.events(ids[0]!));
  expect((await app.get('/api/calls/call_none')).status).toBe(404);
  expect((await app.get('/api/calls?limit=0')).status).toBe(400);
});

test('a live stream tells of calls, partials and events, and goes on after its last event', async () => {
  await using speech = await FakeSpeech.start();
  speech.script.partials = true;
  await using store = await temporaryStore();
  await using app = await testBridge({ store, speechUrl: speech.url });
  const reader = await EventStreamReader.open(`${app.url}/api/live`);
  const { stream } = await app.open();
  await speak(stream, 'inbound', seededAudio(16_000, 1));
  await reader.waitFor('call.transcript', 2);
  await reader.waitFor('partial', 2);
  await reader.waitFor('levels');
  expect((await reader.waitFor('call'))[0]!.data.call.id).toBe(stream.callId);
  expect(reader.of('levels')[0]!.data.levels[0]).toMatchObject({ call_id: stream.callId });
  const lastId = reader.lastId!;
  await reader[Symbol.asyncDispose]();

  await speak(stream, 'inbound', seededAudio(16_000, 2));
  await until(async () => (await app.callOf()).transcript.length === 4);
  await using again = await EventStreamReader.open(`${app.url}/api/live`, {
    'last-event-id': lastId,
  });
  stream.end('stop');
  await again.waitFor('call.completed');
  const sequences = again.messages
    .filter((message) => message.id !== undefined)
    .map((message) => message.data.sequence);
  expect(sequences).toEqual([4, 5, 6, 7, 8]);
  expect(await app.events(stream.callId)).toHaveLength(8);
});

test('a live stream goes on over a restart, from the rows', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  let lastId = '';
  let callId = '';
  {
    await using app = await testBridge({ store, speechUrl: speech.url });
    await using reader = await EventStreamReader.open(`${app.url}/api/live`);
    const { stream } = await app.open();
    callId = stream.callId;
    await speak(stream, 'inbound', seededAudio(16_000, 1));
    await reader.waitFor('call.transcript', 2);
    lastId = reader.lastId!;
  }
  await using app = await testBridge({
    store,
    speechUrl: speech.url,
    config: { rejoinWaitMs: 100 },
  });
  await app.ended(callId);
  await using all = await EventStreamReader.open(`${app.url}/api/live?last_event_id=${lastId}`);
  await all.waitFor('call.completed');
  const ids = all.messages.flatMap((message) => message.id ?? []);
  const known = (await app.events(callId)).map((event) => event.id);
  // A little before the asked place may come again, by the same ids; nothing after it is missing.
  expect(known.slice(known.indexOf(lastId) + 1).every((id) => ids.includes(id))).toBe(true);
  expect(new Set(ids).size).toBe(ids.length);
});

test('the live stream of one call begins with what was said before, and resumes exactly', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  await using app = await testBridge({ store, speechUrl: speech.url });
  const other = await app.open({ carrierCallId: 'CA-other', streamId: 'MZ-other' });
  const { stream } = await app.open();
  await speak(stream, 'inbound', seededAudio(24_000, 1));
  await until(async () => (await app.callOf()).transcript.length === 3);
  await using reader = await EventStreamReader.open(`${app.url}/api/calls/${stream.callId}/live`);
  await speak(other.stream, 'inbound', seededAudio(8_000, 2));
  stream.end('stop');
  await reader.waitFor('call.completed');
  const events = await app.events(stream.callId);
  expect(
    reader.messages.filter((message) => message.id !== undefined).map((message) => message.data),
  ).toEqual(events);
  await using rest = await EventStreamReader.open(`${app.url}/api/calls/${stream.callId}/live`, {
    'last-event-id': events[3].id,
  });
  await rest.waitFor('call.completed');
  expect(
    rest.messages
      .filter((message) => message.id !== undefined)
      .map((message) => message.data.sequence),
  ).toEqual([5, 6, 7]);
  await using lost = await EventStreamReader.open(`${app.url}/api/calls/${stream.callId}/live`, {
    'last-event-id': 'evt_unknown',
  });
  await lost.waitFor('call.completed');
  expect(lost.messages[0]!.event).toBe('reset');
  expect((await app.get('/api/calls/call_none/live')).status).toBe(404);
});

test('the recording is a stereo WAV of both legs, and any range of it is the same bytes', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  await using app = await testBridge({ store, speechUrl: speech.url });
  const { stream } = await app.open({
    tracks: [
      { name: 'inbound', channels: 1 },
      { name: 'outbound', channels: 1 },
    ],
  });
  const silence = Buffer.alloc(16_000, 0xff);
  const loud = Buffer.alloc(16_000, 0x00);
  for (let at = 0; at < silence.length; at += 160) {
    stream.take({ type: 'audio', track: 'inbound', payload: loud.subarray(at, at + 160) });
    stream.take({ type: 'audio', track: 'outbound', payload: silence.subarray(at, at + 160) });
  }
  stream.end('stop');
  await app.ended(stream.callId);
  const path = `/api/calls/${stream.callId}/recording`;
  const whole = await app.get(path);
  expect(whole.status).toBe(200);
  expect(whole.headers.get('content-type')).toBe('audio/wav');
  const bytes = Buffer.from(await whole.arrayBuffer());
  expect(bytes.length).toBe(44 + 16_000 * 4);
  expect(bytes.toString('latin1', 0, 4)).toBe('RIFF');
  expect([bytes.readUInt16LE(22), bytes.readUInt32LE(24), bytes.readUInt16LE(34)]).toEqual([
    2, 8_000, 16,
  ]);
  expect([bytes.readInt16LE(44 + 4_000), bytes.readInt16LE(44 + 4_002)]).toEqual([-32_124, 0]);
  for (const [from, to] of [
    [0, 9],
    [10, 1_234],
    [43, 47],
    [63_000, 64_043],
    [12_345, 12_345],
  ] as const) {
    const part = await app.get(path, { headers: { range: `bytes=${from}-${to}` } });
    expect(part.status).toBe(206);
    expect(part.headers.get('content-range')).toBe(`bytes ${from}-${to}/64044`);
    expect(Buffer.from(await part.arrayBuffer()).equals(bytes.subarray(from, to + 1))).toBe(true);
  }
  const tail = await app.get(path, { headers: { range: 'bytes=-100' } });
  expect(Buffer.from(await tail.arrayBuffer()).equals(bytes.subarray(-100))).toBe(true);
  expect((await app.get(path, { headers: { range: 'bytes=64044-' } })).status).toBe(416);
  const head = await app.get(path, { method: 'HEAD' });
  expect(head.headers.get('content-length')).toBe('64044');
});

test.each([
  { recording: 'off', loopback: true, kept: false },
  { recording: 'auto', loopback: false, kept: false },
  { recording: 'auto', loopback: true, kept: true },
  { recording: 'on', loopback: false, kept: true },
])(
  'recording $recording, on loopback $loopback: audio is kept $kept',
  async ({ recording, loopback, kept }) => {
    await using speech = await FakeSpeech.start();
    await using store = await temporaryStore();
    const config = { recording };
    await using app = await testBridge({ store, speechUrl: speech.url, config, loopback });
    const { stream } = await app.open();
    await speak(stream, 'inbound', seededAudio(8_000, 1));
    stream.end('stop');
    await app.ended(stream.callId);
    expect((await app.callOf()).recording).toBe(kept);
    const answer = await app.get(`/api/calls/${stream.callId}/recording`);
    expect(answer.status).toBe(kept ? 200 : 404);
    await answer.arrayBuffer();
    const left = await readdir(join(store.dataDir, 'journal', 'legs'));
    expect(left).toHaveLength(kept ? 1 : 0);
  },
);

test('an erased call leaves nothing: rows, events, recording, its session at the service', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  await using app = await testBridge({ store, speechUrl: speech.url });
  const { stream } = await app.open({ from: '+15550177777' });
  await using reader = await EventStreamReader.open(`${app.url}/api/live`);
  const audio = seededAudio(16_000, 1);
  await speak(stream, 'inbound', audio);
  await app.bridge.carrierStatus('twilio', 'CA1', {
    CallStatus: 'in-progress',
    From: '+15550177777',
  });
  const path = `/api/calls/${stream.callId}`;
  expect((await app.get(path, { method: 'DELETE' })).status).toBe(409);
  stream.end('stop');
  await app.ended(stream.callId);
  expect((await app.get(path, { method: 'DELETE' })).status).toBe(204);
  for (const gone of [path, `${path}/events`, `${path}/recording`, `${path}/live`])
    expect((await app.get(gone)).status).toBe(404);
  expect((await app.get(path, { method: 'DELETE' })).status).toBe(404);
  await until(() => speech.sessions.size === 0);
  // The shared segments follow within seconds.
  await until(async () => !(await journalHolds(store.dataDir, audio.subarray(0, 160))), 60_000);
  expect(await journalHolds(store.dataDir, stream.callId)).toBe(false);
  expect((await reader.waitFor('call-deleted'))[0]!.data.call_id).toBe(stream.callId);
  for (const table of [
    'calls',
    'legs',
    'streams',
    'leg_sessions',
    'leg_results',
    'events',
    'deliveries',
    'lanes',
    'call_statuses',
    'erasures',
  ] as const)
    await until(async () => (await store.db.selectFrom(table).selectAll().execute()).length === 0);
});

test('a call can be erased while it is still finishing', async () => {
  const gone = await FakeSpeech.start();
  await gone[Symbol.asyncDispose]();
  await using store = await temporaryStore();
  await using app = await testBridge({ store, speechUrl: gone.url });
  const { stream } = await app.open();
  await speak(stream, 'inbound', seededAudio(16_000, 1));
  stream.end('stop');
  await until(async () => (await app.callOf()).state === 'finishing');
  expect((await app.get(`/api/calls/${stream.callId}`, { method: 'DELETE' })).status).toBe(204);
  expect(app.bridge.calls.all).toEqual([]);
  expect((await app.json('/api/calls')).items).toEqual([]);
});

test('erasing reaches sessions at the service that a kill kept out of the rows, and those of a call that still waits for its finals', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  const forgetSessions = () =>
    store.transaction(async (tx) => {
      await tx.deleteFrom('leg_sessions').execute();
    });
  let callId = '';
  {
    await using app = await testBridge({ store, speechUrl: speech.url });
    const { stream } = await app.open();
    callId = stream.callId;
    await speak(stream, 'inbound', seededAudio(8_000, 1));
    await until(async () => (await app.callOf()).transcript.length === 1);
  }
  // As a kill leaves it between the session's answer and the commit of its row.
  await forgetSessions();
  await using app = await testBridge({ store, speechUrl: speech.url });
  await app.ended(callId);
  expect((await app.get(`/api/calls/${callId}`, { method: 'DELETE' })).status).toBe(204);
  await until(() => speech.sessions.size === 0);

  speech.script.finalsDelayMs = Infinity;
  const { stream } = await app.open();
  await speak(stream, 'inbound', seededAudio(8_000, 2));
  await until(() => speech.open[0]?.bytes.length === 8_000);
  stream.end('stop');
  await until(async () => (await app.callOf()).state === 'finishing');
  await forgetSessions();
  expect((await app.get(`/api/calls/${stream.callId}`, { method: 'DELETE' })).status).toBe(204);
  await until(() => speech.posts.length === 2 && speech.sessions.size === 0);
});

test('a session that cannot be erased now is asked for again, after a restart too, and keeps nobody from stopping', async () => {
  const gone = await FakeSpeech.start();
  const port = Number(new URL(gone.url).port);
  await using store = await temporaryStore();
  const owed = () => store.db.selectFrom('erasures').select('session_id').execute();
  const app = await testBridge({ store, speechUrl: gone.url });
  const { stream } = await app.open();
  await speak(stream, 'inbound', seededAudio(8_000, 1));
  stream.end('stop');
  await app.ended(stream.callId);
  await gone[Symbol.asyncDispose]();
  expect((await app.get(`/api/calls/${stream.callId}`, { method: 'DELETE' })).status).toBe(204);
  expect(await owed()).toHaveLength(1);
  let isStopped = false;
  void app[Symbol.asyncDispose]().then(() => (isStopped = true));
  await until(() => isStopped);
  expect(await owed()).toHaveLength(1);

  await using speech = await FakeSpeech.start({ port: port });
  // Half a minute and more passes between one look at the list and the next.
  await using again = await testBridge({ store, speechUrl: speech.url, clock: new TestClock(100) });
  await until(async () => (await owed()).length === 0);
  expect((await again.json('/api/calls')).items).toEqual([]);
});

test('status callbacks are kept once each, before, during and after the call', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  await using app = await testBridge({ store, speechUrl: speech.url });
  const keep = (SequenceNumber: string) =>
    app.bridge.carrierStatus('twilio', 'CA1', { StreamEvent: 'stream-started', SequenceNumber });
  await keep('0');
  const { stream } = await app.open();
  await keep('1');
  await keep('0');
  stream.end('stop');
  await app.ended(stream.callId);
  await keep('2');
  await keep('1');
  const { items } = await app.json(`/api/calls/${stream.callId}/statuses`);
  expect(items.map((item: AnyJson) => item.status.SequenceNumber)).toEqual(['0', '1', '2']);
});
