import { createHash, randomBytes } from 'node:crypto';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { twilioPlayer } from '../../../src/carriers/twilio/player.ts';
import { playCall } from '../../../src/player/play-call.ts';
import { CallEvent } from '../../../src/protocol/events.ts';
import {
  speak,
  testBridge,
  type AnyJson,
  type TestBridge,
} from '../../support/bridge/test-bridge.ts';
import { startCrm, type CrmEvent } from '../../support/crm/crm.ts';
import { startApp, type App } from '../../support/process/app.ts';
import { until } from '../../support/process/until.ts';
import { tones } from '../../support/recognition/fixture-model.ts';
import { seededAudio } from '../../support/speech/audio.ts';
import { spoken } from '../../support/speech/fake-jobs.ts';
import { FakeSpeech } from '../../support/speech/fake-speech.ts';
import { postgresMissing, startPostgres } from '../../support/store/postgres.ts';
import { temporaryFolder, temporaryStore } from '../../support/store/store.ts';

const secret = `whsec_${randomBytes(32).toString('base64')}`;
const bare = (text: string): string =>
  text
    .toLowerCase()
    .replace(/[^a-z ]/g, '')
    .trim();

const said = (event: AnyJson, role: string): string =>
  bare(
    event.data.transcript
      .filter((turn: AnyJson) => turn.role === role)
      .map((turn: AnyJson) => turn.text)
      .join(' '),
  );

async function play(app: App, callId: string): Promise<void> {
  await playCall({
    player: twilioPlayer,
    to: app.url.replace('http', 'ws'),
    api: { url: app.url },
    callId,
    legs: [
      { leg: 'customer', samples: tones('my card is lost'), rateHz: 8_000 },
      { leg: 'agent', samples: tones('thanks please', { leadS: 2.2 }), rateHz: 8_000 },
    ],
  });
}

const eventsOf = async (app: App | TestBridge, callId: string): Promise<AnyJson[]> =>
  ((await (await app.get(`/api/calls/${callId}/events?limit=1000`)).json()) as AnyJson).items ?? [];

/** The call's events once one of these types is there; the last three are then its end. */
function ending(app: App | TestBridge, callId: string, type: string): Promise<AnyJson[]> {
  return until(async () => {
    const events = await eventsOf(app, callId);
    return events.some((event) => event.type === type) && events;
  }, 60_000);
}

/** One short call of a customer, up to its summary. */
async function shortCall(app: TestBridge): Promise<string> {
  const { stream } = await app.open();
  await speak(stream, 'inbound', seededAudio(8_000, 1));
  stream.end('stop');
  return stream.callId;
}

const twoTurns = [spoken(0, 0.5, 'my card is lost'), spoken(1, 2.5, 'thanks please')];

test('the recording of an ended call is read again by our own service: the CRM has the words by role after the summary, and no copy stays', async () => {
  await using crm = await startCrm([secret]);
  await using app = await startApp({
    env: {
      TRUNKLINE_WEBHOOK_URL: crm.url,
      TRUNKLINE_WEBHOOK_SECRET: secret,
      TRUNKLINE_SECOND_PASS: 'on',
    },
  });
  await play(app, 'CA-again');
  const revised = await until(
    () =>
      crm.requests.map(({ event }) => event).find(({ type }) => type === 'call.transcript.revised'),
    60_000,
  );
  CallEvent.parse(revised);
  expect(said(revised, 'customer')).toBe('my card is lost');
  expect(said(revised, 'agent')).toBe('thanks please');
  expect((revised as AnyJson).data.summary.text).not.toBe('');
  const types = (await eventsOf(app, revised.call.id)).map((event) => event.type);
  expect(types.slice(-3)).toEqual(['call.summary', 'call.completed', 'call.transcript.revised']);
  const order = (type: string): number =>
    crm.requests.findIndex(({ event }: { event: CrmEvent }) => event.type === type);
  expect(order('call.transcript.revised')).toBeGreaterThan(order('call.summary'));
  // The recording of the call stays with the bridge; what the service had of it goes.
  await until(async () => {
    const { items } = (await (await app.get('/v2/pre-recorded')).json()) as AnyJson;
    return items.length === 0 && (await readdir(join(app.dataDir, 'speech/files'))).length === 0;
  });
  expect((await app.get(`/api/calls/${revised.call.id}/recording`)).status).toBe(200);
}, 120_000);

test('the upload is the recording itself, and the job is asked for its words in the language of the call', async () => {
  await using speech = await FakeSpeech.start();
  const { recordings } = speech;
  recordings.script.isSlow = true;
  await using store = await temporaryStore();
  await using app = await testBridge({
    store,
    speechUrl: speech.url,
    config: {
      secondPass: 'on',
      session: {
        language_config: { languages: ['fr'] },
        realtime_processing: {
          custom_vocabulary: true,
          custom_vocabulary_config: { vocabulary: ['Oriane'] },
        },
      },
    },
  });
  const callId = await shortCall(app);
  const job = await until(() => [...recordings.jobs.values()][0]);
  const [fileId, file] = [...recordings.uploads][0]!;
  const whole = await app.get(`/api/calls/${callId}/recording`);
  const wav = Buffer.from(await whole.arrayBuffer());
  expect(file.sha).toBe(createHash('sha256').update(wav).digest('hex'));
  expect(job.request).toEqual({
    audio_url: `${speech.url}/file/${fileId}`,
    language_config: { languages: ['fr'] },
    custom_vocabulary: true,
    custom_vocabulary_config: { vocabulary: ['Oriane'] },
    custom_metadata: { call_id: callId, second_pass: expect.stringMatching(/^pass_/) as string },
  });
  recordings.script.isSlow = false;
  recordings.script.utterances = twoTurns;
  const events = await ending(app, callId, 'call.transcript.revised');
  expect(said(events.at(-1), 'customer')).toBe('my card is lost');
  expect(events.at(-1).call.duration).toBe(
    events.find(({ type }) => type === 'call.ended').data.duration,
  );
  await until(
    async () => (await store.db.selectFrom('second_passes').selectAll().execute()).length === 0,
  );
  expect([recordings.jobs.size, recordings.uploads.size]).toEqual([0, 0]);
});

test('a revised transcript has its numbers in figures, and its entities their values', async () => {
  await using speech = await FakeSpeech.start();
  const { recordings } = speech;
  recordings.script.utterances = [
    spoken(0, 0.1, 'The order number is four seven two nine one six.'),
    spoken(0, 0.5, 'They charged me eighty nine dollars.'),
  ];
  await using store = await temporaryStore();
  await using app = await testBridge({
    store,
    speechUrl: speech.url,
    config: { secondPass: 'on' },
  });
  const callId = await shortCall(app);
  const told = (await ending(app, callId, 'call.transcript.revised')).at(-1);
  expect(told.data.transcript.map(({ text }: AnyJson) => text)).toEqual([
    'The order number is 472916.',
    'They charged me $89.',
  ]);
  const values = told.data.entities.map((one: AnyJson) => [one.entity_type, one.value]);
  expect(values).toEqual([
    ['NUMERICAL_PII', '472916'],
    ['MONEY', '89.00'],
  ]);
});

test('revised words that are too many for one event are delivered without them, with the address of all', async () => {
  await using speech = await FakeSpeech.start();
  const { recordings } = speech;
  const count = 15_000;
  recordings.script.utterancesOf = () =>
    Array.from({ length: count }, (_, at) =>
      spoken(0, at / 10_000, `revised ${at} of a call that goes on for a whole day and a night`),
    );
  await using crm = await startCrm([secret]);
  await using store = await temporaryStore();
  const endpoint = {
    name: 'crm',
    url: crm.url,
    secrets: [secret],
    events: ['call.transcript.revised'],
  };
  await using app = await testBridge({
    store,
    speechUrl: speech.url,
    config: { secondPass: 'on', summaryWaitMs: 1_000 },
    outbox: { pollMs: 100, endpoints: [endpoint] },
  });
  await shortCall(app);
  const event = await until(() => crm.requests[0]?.event, 60_000);
  const { data } = CallEvent.parse(event) as Extract<
    CallEvent,
    { type: 'call.transcript.revised' }
  >;
  expect(data.truncated).toBe(true);
  const answer = await fetch(data.transcript_url!);
  const { items } = (await answer.json()) as { items: { text: string }[] };
  expect(items).toHaveLength(count);
  expect(items.at(-1)?.text).toMatch(/^revised 14999 /);
}, 90_000);

test('the speakers of a mixed leg are told apart after the call, without being asked, and become its record', async () => {
  await using speech = await FakeSpeech.start();
  const { recordings } = speech;
  recordings.script.utterances = [
    { ...spoken(0, 0.2, 'thank you for calling'), speaker: 0 },
    { ...spoken(0, 0.6, 'my card is lost'), speaker: 1 },
  ];
  await using store = await temporaryStore();
  await using app = await testBridge({ store, speechUrl: speech.url });
  const plain = await shortCall(app);
  await ending(app, plain, 'call.completed');
  const { stream } = await app.open({
    carrierCallId: 'CA-mixed',
    streamId: 'MZ-mixed',
    tracks: [{ name: 'mixed', channels: 1 }],
  });
  await speak(stream, 'mixed', seededAudio(8_000, 1));
  stream.end('stop');
  const events = await ending(app, stream.callId, 'call.transcript.revised');
  expect(events[0].data.legs[0].role).toBe('mixed');
  const told = events.at(-1);
  CallEvent.parse(told);
  expect(told.data.transcript.map((turn: AnyJson) => [turn.role, turn.speaker])).toEqual([
    ['mixed', 0],
    ['mixed', 1],
  ]);
  expect(recordings.uploaded).toBe(1); // the other call's speakers are known
  const call = await app.json(`/api/calls/${stream.callId}`);
  expect(call.transcript.map((turn: AnyJson) => turn.speaker)).toEqual([0, 1]);
  expect([call.warnings, call.talk ?? null]).toEqual([[], null]);
  const text = await (await app.get(`/api/calls/${stream.callId}/transcript?format=txt`)).text();
  expect(text).toContain('Speaker 1: thank you for calling');
  expect(text).toContain('Speaker 2: my card is lost');
  const { items } = await app.json('/api/calls?role=mixed');
  expect(items.map(({ id }: AnyJson) => id)).toEqual([stream.callId]);
});

test('the speakers of a mixed leg are known during the call, as not yet sure, and at its end', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  await using app = await testBridge({
    store,
    speechUrl: speech.url,
    config: { secondPass: 'off' },
  });
  const { stream } = await app.open({ tracks: [{ name: 'mixed', channels: 1 }] });
  const turnsOf = async (): Promise<AnyJson[]> =>
    (await app.json(`/api/calls/${stream.callId}`)).transcript;
  const tell = (time: number, labels: Record<number, number>, is_final = false) =>
    speech.sendToAll(({ id: session_id }) => {
      const utterances = Object.entries(labels).map(([second, speaker]) => ({
        id: `00_${second.padStart(8, '0')}`,
        speaker,
      }));
      const created_at = new Date().toISOString();
      return { session_id, created_at, type: 'speakers', data: { time, is_final, utterances } };
    });
  await speak(stream, 'mixed', seededAudio(4 * 8_000, 1));
  await until(async () => (await turnsOf()).length === 4);
  expect(speech.open[0]?.request['custom_metadata']).toMatchObject({ role: 'mixed' });
  tell(3, { 0: 0, 1: 1, 2: 0 });
  const labelled = await until(async () => {
    const turns = await turnsOf();
    return turns[2]?.speaker === 0 && turns;
  });
  expect(
    labelled.map(({ speaker, speaker_provisional }) => [speaker, speaker_provisional]),
  ).toEqual(
    [[0, true], [1, true], [0, true], [undefined, undefined]], // prettier-ignore
  );
  // Older than what was told: a record that is read again says it once more.
  tell(2, { 2: 1 });
  // The label of an utterance may come before the utterance.
  tell(5, { 1: 0, 3: 1, 4: 7 }, true);
  await until(async () => (await turnsOf())[3]?.speaker === 1);
  await speak(stream, 'mixed', seededAudio(8_000, 2));
  stream.end('stop');
  const events = await ending(app, stream.callId, 'call.completed');
  const completed = events.at(-1);
  CallEvent.parse(completed);
  expect(completed.data.transcript.map((turn: AnyJson) => turn.speaker)).toEqual([0, 0, 0, 1, 7]);
  expect(completed.data.transcript[0].speaker_provisional).toBe(true);
  expect(events.map(({ type }) => type)).not.toContain('call.transcript.revised');
});

test('speakers that a service cannot tell apart are said to be missing, and the words heard live stay', async () => {
  await using speech = await FakeSpeech.start();
  speech.recordings.script.utterances = [spoken(0, 0.2, 'my card is lost')];
  await using store = await temporaryStore();
  await using app = await testBridge({ store, speechUrl: speech.url });
  const { stream } = await app.open({ tracks: [{ name: 'mixed', channels: 1 }] });
  await speak(stream, 'mixed', seededAudio(8_000, 1));
  stream.end('stop');
  await ending(app, stream.callId, 'call.transcript.revised');
  const call = await app.json(`/api/calls/${stream.callId}`);
  expect(call.warnings).toMatchObject([
    { code: 'NO_SPEAKERS', message: expect.stringContaining('named none') as string },
  ]);
});

test.each(['upload', 'begin', 'reading', 'delete'] as const)(
  'kill -9 while the service is at the %s: after the start the revised transcript is told once, and no copy stays',
  async (moment) => {
    await using speech = await FakeSpeech.start();
    const { recordings } = speech;
    await using folder = await temporaryFolder();
    const env = {
      TRUNKLINE_ROLES: 'bridge',
      TRUNKLINE_SPEECH_URL: speech.url,
      TRUNKLINE_SECOND_PASS: 'on',
    };
    const { promise: reached, resolve: reach } = Promise.withResolvers<boolean>();
    const { promise: released, resolve: release } = Promise.withResolvers<undefined>();
    recordings.script.utterances = twoTurns;
    recordings.script.isSlow = moment === 'reading';
    recordings.script.hold = (what) => {
      if (what !== moment) return undefined;
      reach(true);
      return released;
    };
    let callId = '';
    {
      await using app = await startApp({ dataDir: folder.path, env });
      await play(app, 'CA-kill');
      if (moment === 'reading')
        await until(() => recordings.asked.filter((ask) => ask === 'GET /jobs/{id}').length > 1);
      else await reached;
      const { items } = (await (await app.get('/api/calls')).json()) as AnyJson;
      callId = items[0].id;
      await app.end('SIGKILL');
    }
    release(undefined);
    recordings.script.hold = () => undefined;
    recordings.script.isSlow = false;
    // An upload whose answer nobody heard has no job and no name that anybody knows: the service lets go of it.
    if (moment === 'upload') recordings.uploads.clear();
    await using app = await startApp({ dataDir: folder.path, env });
    const events = await ending(app, callId, 'call.transcript.revised');
    expect(events.map(({ type }) => type).slice(-2)).toEqual([
      'call.completed',
      'call.transcript.revised',
    ]);
    await until(() => recordings.jobs.size === 0 && recordings.uploads.size === 0);
    const types = (await eventsOf(app, callId)).map(({ type }) => type);
    expect(types.filter((type) => type === 'call.transcript.revised')).toHaveLength(1);
    expect(recordings.begun).toBe(1);
  },
  120_000,
);

test.each(['upload', 'begin', 'refusal', 'reading'] as const)(
  'a call that is erased while the service is at the %s: nothing is told of it, and the service has nothing of it',
  async (moment) => {
    await using speech = await FakeSpeech.start();
    const { recordings } = speech;
    await using store = await temporaryStore();
    const config = { secondPass: 'on' };
    await using app = await testBridge({ store, speechUrl: speech.url, config });
    const { promise: reached, resolve: reach } = Promise.withResolvers<boolean>();
    const { promise: released, resolve: release } = Promise.withResolvers<undefined>();
    recordings.script.isSlow = true;
    recordings.script.hold = (what) => {
      if (what !== moment) return undefined;
      reach(true);
      return released;
    };
    if (moment === 'refusal') recordings.script.begin = () => ({ status: 429 });
    const callId = await shortCall(app);
    if (moment === 'refusal') await until(() => recordings.begun === 1);
    else if (moment === 'reading') await until(() => recordings.asked.includes('GET /jobs/{id}'));
    else await reached;
    const erased = app.get(`/api/calls/${callId}`, { method: 'DELETE' });
    release(undefined);
    expect((await erased).status).toBe(204);
    await until(
      async () => (await store.db.selectFrom('second_passes').selectAll().execute()).length === 0,
    );
    expect([recordings.jobs.size, recordings.uploads.size]).toEqual([0, 0]);
    expect(await store.db.selectFrom('events').select('type').execute()).toEqual([]);
  },
);

test('a service that is busy is asked again when it says, and then the revised transcript comes', async () => {
  await using speech = await FakeSpeech.start();
  const { recordings } = speech;
  const busy = { status: 429, headers: { 'retry-after': '1' } };
  recordings.script.upload = (count) => (count === 1 ? busy : undefined);
  recordings.script.begin = (count) => (count === 1 ? { status: 503 } : undefined);
  // A job that failed for the service's own reasons is begun anew, with an upload of its own.
  recordings.script.failWith = (count) => (count === 2 ? 500 : undefined);
  recordings.script.utterances = twoTurns;
  await using store = await temporaryStore();
  const config = { secondPass: 'on' };
  await using app = await testBridge({ store, speechUrl: speech.url, config });
  const events = await ending(app, await shortCall(app), 'call.transcript.revised');
  expect(said(events.at(-1), 'agent')).toBe('thanks please');
  expect([recordings.uploaded, recordings.begun]).toEqual([3, 3]);
  expect(events.some(({ type }) => type === 'call.warning')).toBe(false);
}, 60_000);

test.each([
  [
    'refuses the upload',
    { upload: () => ({ status: 413, body: { message: 'at most 9 MB' } }) },
    /413: at most 9 MB/,
  ],
  [
    'refuses the job',
    { begin: () => ({ status: 422, body: { message: 'no model covers sw' } }) },
    /422: no model covers sw/,
  ],
  ['fails the job for good', { failWith: () => 422 }, /the job failed \(422\)/],
  ['never ends the job', { isSlow: true }, /could be had in time/],
] as const)(
  'a service that %s: a warning says so and why, once, and the service has nothing of the call',
  async (_what, script, reason) => {
    await using speech = await FakeSpeech.start();
    const { recordings } = speech;
    Object.assign(recordings.script, script);
    await using store = await temporaryStore();
    await using app = await testBridge({
      store,
      speechUrl: speech.url,
      config: { secondPass: 'on', secondPassWithinMs: 3_000 },
    });
    const callId = await shortCall(app);
    const events = await ending(app, callId, 'call.warning');
    const warning = CallEvent.parse(events.at(-1));
    expect(events.at(-2).type).toBe('call.completed');
    expect(warning.data).toMatchObject({
      code: 'NO_SECOND_PASS',
      message: expect.stringMatching(reason) as string,
    });
    const { warnings } = await app.json(`/api/calls/${callId}`);
    expect(warnings).toMatchObject([warning.data]);
    await until(
      async () => (await store.db.selectFrom('second_passes').selectAll().execute()).length === 0,
    );
    expect([recordings.jobs.size, recordings.uploads.size]).toEqual([0, 0]);
    expect((await eventsOf(app, callId)).map(({ type }) => type)).toEqual(
      events.map(({ type }) => type),
    );
  },
  30_000,
);

test('words redacted in a call are redacted in its revised transcript and in all that is made of it', async () => {
  await using speech = await FakeSpeech.start();
  speech.recordings.script.utterances = [
    spoken(0, 0.5, 'My name is Oriane Vasquez and my card is 4111 1111'),
    spoken(1, 4, 'Go on please.'),
    spoken(0, 6, '1111 1111 and it was charged twice.'),
  ];
  await using store = await temporaryStore();
  await using app = await testBridge({
    store,
    speechUrl: speech.url,
    config: { secondPass: 'on', redactEntities: ['CREDIT_CARD', 'NAME'] },
  });
  const events = await ending(app, await shortCall(app), 'call.transcript.revised');
  const text = JSON.stringify(events.at(-1)?.data);
  expect(text).not.toMatch(/1111|Oriane|Vasquez/);
  expect(text).toContain('[CREDIT_CARD_1]');
  expect(said(events.at(-1), 'agent')).toBe('go on please');
  const stored = await store.db.selectFrom('second_passes').selectAll().execute();
  expect(JSON.stringify(stored)).not.toMatch(/1111|Oriane/);
});

test.skipIf(postgresMissing !== undefined)(
  'on Postgres too: told once after the summary, and an erasure takes what the service has',
  async () => {
    await using postgres = await startPostgres();
    await using speech = await FakeSpeech.start();
    const { recordings } = speech;
    recordings.script.utterances = twoTurns;
    await using store = await temporaryStore({ databaseUrl: await postgres.newDatabase() });
    const config = { secondPass: 'on' };
    await using app = await testBridge({ store, speechUrl: speech.url, config });
    const events = await ending(app, await shortCall(app), 'call.transcript.revised');
    expect(events.map(({ type }) => type).slice(-2)).toEqual([
      'call.completed',
      'call.transcript.revised',
    ]);
    recordings.script.isSlow = true;
    const { stream } = await app.open({ carrierCallId: 'CA2', streamId: 'MZ2' });
    await speak(stream, 'inbound', seededAudio(8_000, 1));
    stream.end('stop');
    await until(() => recordings.begun === 2);
    await app.get(`/api/calls/${stream.callId}`, { method: 'DELETE' });
    await until(
      async () => (await store.db.selectFrom('second_passes').selectAll().execute()).length === 0,
    );
    expect([recordings.jobs.size, recordings.uploads.size]).toEqual([0, 0]);
  },
  60_000,
);

test.each([
  { secondPass: 'on', recording: 'off' },
  { secondPass: 'off', recording: 'on' },
])(
  'with second pass $secondPass and recording $recording nothing is owed and nothing is sent',
  async (config) => {
    await using speech = await FakeSpeech.start();
    await using store = await temporaryStore();
    await using app = await testBridge({ store, speechUrl: speech.url, config });
    const callId = await shortCall(app);
    await app.ended(callId);
    // A pass is owed with the summary or never: the row would be there now.
    expect(await store.db.selectFrom('second_passes').selectAll().execute()).toEqual([]);
    expect(speech.recordings.asked).toEqual([]);
  },
);

test('no more recordings are with the service at once than the setting allows, and each is told of', async () => {
  await using speech = await FakeSpeech.start();
  const { recordings } = speech;
  recordings.script.isSlow = true;
  recordings.script.utterances = twoTurns;
  await using store = await temporaryStore();
  const config = { secondPass: 'on', secondPassesAtOnce: 1 };
  await using app = await testBridge({ store, speechUrl: speech.url, config });
  const callIds: string[] = [];
  for (const carrierCallId of ['CA1', 'CA2', 'CA3']) {
    const { stream } = await app.open({ carrierCallId, streamId: `MZ-${carrierCallId}` });
    await speak(stream, 'inbound', seededAudio(8_000, 1));
    stream.end('stop');
    await app.ended(stream.callId);
    callIds.push(stream.callId);
  }
  await until(() => recordings.asked.filter((ask) => ask === 'GET /jobs/{id}').length > 1);
  expect(recordings.uploaded).toBe(1);
  recordings.script.isSlow = false;
  for (const callId of callIds) await ending(app, callId, 'call.transcript.revised');
  expect(recordings.begun).toBe(3);
}, 60_000);
