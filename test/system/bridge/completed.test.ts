import { expect, test } from 'vitest';
import { twilioPlayer } from '../../../src/carriers/twilio/player.ts';
import { play } from '../../../src/player/play.ts';
import { CallEvent } from '../../../src/protocol/events.ts';
import {
  speak,
  testBridge,
  type AnyJson,
  type TestBridge,
} from '../../support/bridge/test-bridge.ts';
import { playedCall } from '../../support/carriers/played-call.ts';
import { startCrm, type Crm } from '../../support/crm/crm.ts';
import { secret } from '../../support/crm/outbox.ts';
import { startApp } from '../../support/process/app.ts';
import { until } from '../../support/process/until.ts';
import { seededAudio } from '../../support/speech/audio.ts';
import { FakeSpeech } from '../../support/speech/fake-speech.ts';
import { temporaryFolder, temporaryStore } from '../../support/store/store.ts';

const bothTracks = [
  { name: 'inbound', channels: 1 as const },
  { name: 'outbound', channels: 1 as const },
];

const endpointOf = (crm: Crm, events: unknown) => ({
  pollMs: 100,
  endpoints: [{ name: 'crm', url: crm.url, secrets: [secret], events }],
});

const typesAt = (crm: Crm): string[] => crm.requests.map(({ event }) => event.type);

/** Two parties who say two seconds each: the sessions of both begin their utterances with the same id. */
async function wholeCall(app: TestBridge): Promise<string> {
  const { stream } = await app.open({ tracks: bothTracks });
  await speak(stream, 'inbound', seededAudio(16_000, 1));
  await speak(stream, 'outbound', seededAudio(16_000, 2));
  stream.end('stop');
  await app.ended(stream.callId);
  await until(() => app.bridge.calls.get(stream.callId) === undefined);
  return stream.callId;
}

test('a CRM that wants one event gets the whole call in it, with links that open without a key', async () => {
  await using speech = await FakeSpeech.start();
  Object.assign(speech.script, { sentiment: true, entities: true });
  await using store = await temporaryStore();
  await using crm = await startCrm([secret]);
  const outbox = endpointOf(crm, 'completed');
  await using app = await testBridge({ store, speechUrl: speech.url, outbox });
  const callId = await wholeCall(app);
  await until(() => crm.arrivals.length === 1);
  expect(typesAt(crm)).toEqual(['call.completed']);
  const event = CallEvent.parse(crm.requests[0]!.event);
  if (event.type !== 'call.completed') throw new Error(event.type);
  const events = await app.events(callId);
  const [ended, summary, completed] = events.slice(-3);
  expect(completed).toEqual(crm.requests[0]!.event);
  const { data } = event;
  const call = await app.json(`/api/calls/${callId}`);
  expect(data).toMatchObject({
    reason: 'stop',
    summary: summary.data.summary,
    talk: ended.data.talk,
    dead_air: ended.data.dead_air,
    gaps: [],
    gap_count: 0,
    sentiment: 'negative',
    sentiment_by_role: { customer: 'negative', agent: 'negative' },
  });
  expect(event.call).toMatchObject({
    direction: 'inbound',
    from: '+15550100123',
    to: '+15550100200',
    started_at: call.started_at,
    duration: ended.data.duration,
  });
  expect(Date.parse(event.call.hung_up_at!)).toBeLessThanOrEqual(Date.parse(data.ended_at));
  expect(data).not.toHaveProperty('truncated');
  // The list of calls tells the mood of the whole call too.
  expect(call.mood).toBe(data.sentiment);
  expect(call.summary).toEqual(summary.data.summary);
  expect(data.transcript).toEqual(call.transcript);

  const page = await fetch(data.page_url!);
  expect(page.status).toBe(200);
  expect(await page.text()).toContain(data.transcript[0]!.text);
  const recording = await fetch(data.recording_url!);
  expect([recording.status, recording.headers.get('content-type')]).toEqual([200, 'audio/wav']);
  await recording.body?.cancel();
  const forged = new URL(data.recording_url!);
  forged.pathname = forged.pathname.replace(callId, 'call_other');
  expect((await fetch(forged)).status).toBe(403);
  // A link for the page opens the page alone, and its time cannot be moved.
  expect((await fetch(data.page_url!.replace('?', '/recording?'))).status).toBe(403);
  expect((await fetch(data.page_url!.replace(/expires=\d/, 'expires=9'))).status).toBe(403);
  expect((await app.get(`/shared/calls/${callId}`)).status).toBe(400);
  // A person who clicks a link that opens nothing reads why, and finds the way that is left.
  const closed = await fetch(data.page_url!.replace(/expires=\d/, 'expires=9'));
  expect(closed.headers.get('content-type')).toContain('text/html');
  const told = await closed.text();
  expect(told).toContain('Sign in to see this call');
  expect(told).toContain(`href="/#/calls/${callId}"`);
  forged.pathname = forged.pathname.replace('call_other', callId);
  forged.searchParams.set('signature', 'made-up');
  const unheard = await fetch(forged, { headers: { accept: 'text/html' } });
  expect(unheard.status).toBe(403);
  expect(await unheard.text()).toContain(
    'The reason: the link is not signed by this installation.',
  );
  // Signing in would help nobody to see a call that is gone.
  expect((await app.get(`/api/calls/${callId}`, { method: 'DELETE' })).status).toBeLessThan(300);
  const gone = await fetch(data.page_url!);
  expect(gone.status).toBe(404);
  const toldGone = await gone.text();
  expect(toldGone).toContain('This call is gone');
  expect(toldGone).not.toContain('Sign in');
});

test('the links of one call are closed without erasing it, for good and in every form', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  await using crm = await startCrm([secret]);
  const outbox = endpointOf(crm, ['call.completed']);
  await using app = await testBridge({ store, speechUrl: speech.url, outbox });
  const ids = ['CA1', 'CA2'];
  for (const carrierCallId of ids) {
    const { stream } = await app.open({ carrierCallId, streamId: `MZ-${carrierCallId}` });
    await speak(stream, 'inbound', seededAudio(16_000, 1));
    stream.end('stop');
    await app.ended(stream.callId);
  }
  await until(() => crm.arrivals.length === 2);
  const [closed, other] = crm.requests.map(({ event }) => event as AnyJson);
  const path = `/api/calls/${closed.call.id}`;
  expect((await app.get(`${path}/links`, { method: 'DELETE' })).status).toBe(204);
  expect((await app.get('/api/calls/call_none/links', { method: 'DELETE' })).status).toBe(404);
  const page = await fetch(closed.data.page_url);
  expect(page.status).toBe(410);
  expect(await page.text()).toContain('The links to this call were closed');
  expect((await fetch(closed.data.recording_url)).status).toBe(410);
  // A guess at another link is not told that the call is there.
  const forged = closed.data.page_url.replace(/expires=\d/, 'expires=9');
  expect((await fetch(forged)).status).toBe(403);
  expect((await app.get(path)).status).toBe(200);
  for (const url of [other.data.page_url, other.data.recording_url])
    expect((await fetch(url)).status).toBe(200);
});

test('a turn has one name in its call, in every event about it, and only the final has its words', async () => {
  await using speech = await FakeSpeech.start();
  Object.assign(speech.script, { sentiment: true, entities: true });
  await using store = await temporaryStore();
  await using app = await testBridge({ store, speechUrl: speech.url });
  const callId = await wholeCall(app);
  const events = await app.events(callId);
  const finals = events.filter(({ type }) => type === 'call.transcript');
  const names = new Set(finals.map(({ data }) => data.utterance_id));
  expect([finals.length, names.size]).toEqual([4, 4]);
  for (const type of ['call.sentiment', 'call.entities']) {
    const told = events.filter((event) => event.type === type);
    expect(new Set(told.map(({ data }) => data.utterance_id))).toEqual(names);
    for (const { data } of told) expect(data.utterance).not.toHaveProperty('words');
  }
  const { transcript } = await app.json(`/api/calls/${callId}`);
  expect(new Set(transcript.map((turn: AnyJson) => turn.utterance_id))).toEqual(names);
});

test('neutral sentiment is no event unless it is asked for, and the course of the call counts it', async () => {
  await using speech = await FakeSpeech.start();
  speech.script.sentiment = 'neutral';
  await using store = await temporaryStore();
  const sentimentsIn = async (config: Record<string, unknown>) => {
    await using app = await testBridge({ store, speechUrl: speech.url, config });
    const callId = await wholeCall(app);
    const events = await app.events(callId);
    const [summary, completed] = events.slice(-2);
    // The page of the call shows them all the same, also while it goes on.
    const { judged_turns: judged, transcript } = await app.json(`/api/calls/${callId}`);
    expect(judged.toSorted()).toEqual(
      transcript.map((turn: AnyJson) => turn.utterance_id).toSorted(),
    );
    expect(summary.data.sentiment_course.customer).toHaveLength(2);
    expect(completed.data.sentiment).toBe('neutral');
    return events.filter(({ type }) => type === 'call.sentiment').length;
  };
  expect(await sentimentsIn({})).toBe(0);
  expect(await sentimentsIn({ neutralSentiment: true })).toBe(4);
});

test('the feelings of agents can be left out apart from those of customers: no request, row, event, summary or answer has them', async () => {
  const rolesFelt = async (
    config: object,
    only?: { channels: 1 | 2; role?: 'mixed' },
  ): Promise<unknown> => {
    // prettier-ignore
    await using speech = await FakeSpeech.start();
    Object.assign(speech.script, { sentiment: true });
    await using store = await temporaryStore();
    await using app = await testBridge({ store, speechUrl: speech.url, config: { neutralSentiment: true, ...config } }); // prettier-ignore
    const inbound = { name: 'inbound', ...(only ?? { channels: 1 as const }) };
    const outbound = { name: 'outbound', channels: 1 as const };
    const tracks = only === undefined ? [inbound, outbound] : [inbound];
    const { stream } = await app.open({ tracks });
    for (const { name } of tracks) await speak(stream, name, seededAudio(16_000, 3));
    stream.end('stop');
    await app.ended(stream.callId);
    await until(() => app.bridge.calls.get(stream.callId) === undefined);
    const events: AnyJson[] = await app.events(stream.callId);
    const rows = await store.db.selectFrom('leg_results').select('role').where('kind', '=', 'call.sentiment').execute(); // prettier-ignore
    const { sentiment_course: course } = events.find(({ type }) => type === 'call.summary')?.data; // prettier-ignore
    const { sentiment_by_role: by } = events.find(({ type }) => type === 'call.completed')?.data; // prettier-ignore
    return {
      asked: [...speech.sessions.values()].map(({ request }) => (request['realtime_processing'] as AnyJson).sentiment_analysis), // prettier-ignore
      events: [...new Set(events.filter(({ type }) => type === 'call.sentiment').map(({ leg }) => leg.role))].toSorted(), // prettier-ignore
      rows: [...new Set(rows.map(({ role }) => role))].toSorted(),
      course: Object.keys(course).filter((role) => course[role].length > 0).toSorted(), // prettier-ignore
      agent: by.agent,
    };
  };
  const both = ['agent', 'customer'];
  expect(await rolesFelt({})).toMatchObject({ asked: [true, true], events: both, rows: both, course: both }); // prettier-ignore
  const customer = { events: ['customer'], rows: ['customer'], course: ['customer'], agent: 'unknown' }; // prettier-ignore
  const isOff = { agentSentiment: false };
  expect(await rolesFelt(isOff)).toEqual({ asked: [true, false], ...customer });
  // In two channels of one leg the customer is asked for; on a leg of both nobody can tell.
  expect(await rolesFelt(isOff, { channels: 2 })).toMatchObject({ asked: [true], rows: ['customer'], agent: 'unknown' }); // prettier-ignore
  expect(await rolesFelt(isOff, { channels: 1, role: 'mixed' })).toMatchObject({ asked: [false], rows: [], events: [] }); // prettier-ignore
});

test('no event of a redacted call links to the recording; links can be off, and end', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  const completedWith = async (config: Record<string, unknown>) => {
    await using app = await testBridge({ store, speechUrl: speech.url, config });
    const { data } = (await app.events(await wholeCall(app))).at(-1);
    // A life of a moment ends with a whole second.
    if (config['linkLifeHours'] === 0.000_01)
      await until(() => Date.now() > Date.parse(data.links_expire_at));
    return { data, page: data.page_url && (await fetch(data.page_url)) };
  };
  const redacted = await completedWith({ redactEntities: ['CREDIT_CARD'] });
  expect(redacted.data.recording_url).toBeNull();
  expect(redacted.page.status).toBe(200);
  expect(await redacted.page.text()).not.toContain('<audio');
  const off = await completedWith({ linkLifeHours: 0 });
  expect(off.data).toMatchObject({ page_url: null, recording_url: null, links_expire_at: null });
  const over = await completedWith({ linkLifeHours: 0.000_01 });
  expect(over.page.status).toBe(410);
});

test('an erasure is told to those who knew the call, after all else and without a word of it', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  await using crm = await startCrm([secret]);
  const outbox = endpointOf(crm, ['completed']);
  await using app = await testBridge({ store, speechUrl: speech.url, outbox });
  const callId = await wholeCall(app);
  await until(() => crm.arrivals.length === 1);
  expect((await app.get(`/api/calls/${callId}`, { method: 'DELETE' })).status).toBe(204);
  await until(() => crm.arrivals.length === 2);
  expect(typesAt(crm)).toEqual(['call.completed', 'call.erased']);
  const [completed, erased] = crm.requests.map(({ event }) => event);
  expect(CallEvent.parse(erased).data).toMatchObject({ reason: 'request' });
  expect(erased!.sequence).toBe(completed!.sequence + 1);
  expect(erased!.call).toMatchObject({ id: callId, carrier_call_id: '', from: null, to: null });
  expect(JSON.stringify(erased)).not.toMatch(/\+1555|CA1|C-20417/);
  expect((await fetch((completed as AnyJson).data.page_url)).status).toBe(404);
});

test('a process killed between the summary and the whole call tells both once each, in order', async () => {
  await using speech = await FakeSpeech.start();
  await using folder = await temporaryFolder();
  const killed = Promise.withResolvers<number>();
  // The summary is under way and has no answer when the process dies.
  await using crm = await startCrm([secret], ({ event }) =>
    event.type === 'call.summary' ? killed.promise : 200,
  );
  const env = {
    TRUNKLINE_INSECURE: '1',
    TRUNKLINE_ROLES: 'bridge',
    TRUNKLINE_SPEECH_URL: speech.url,
    TRUNKLINE_WEBHOOK_URL: crm.url,
    TRUNKLINE_WEBHOOK_SECRET: secret,
    TRUNKLINE_WEBHOOK_EVENTS: 'call.summary,completed',
    TRUNKLINE_WEBHOOK_POLL_MS: '100',
    TRUNKLINE_WEBHOOK_LEASE_MS: '3000',
  };
  {
    await using app = await startApp({ dataDir: folder.path, env });
    await play({
      to: `${app.url.replace('http', 'ws')}/carriers/twilio`,
      player: twilioPlayer,
      call: playedCall(twilioPlayer.newIds()),
      audio: [{ leg: 'customer', bytes: seededAudio(8_000, 1) }],
      speed: 10,
    });
    await until(() => typesAt(crm).includes('call.summary'));
    await app.end('SIGKILL');
    killed.resolve(200);
  }
  await using app = await startApp({ dataDir: folder.path, env });
  const { items } = (await (await app.get('/api/calls')).json()) as AnyJson;
  await until(() => typesAt(crm).includes('call.completed'));
  const { items: events } = (await (
    await app.get(`/api/calls/${items[0].id}/events`)
  ).json()) as AnyJson;
  expect(events.map(({ type }: AnyJson) => type).slice(-3)).toEqual([
    'call.ended',
    'call.summary',
    'call.completed',
  ]);
  const numbers = new Map(crm.requests.map(({ event }) => [event.type, event.sequence]));
  expect(numbers.get('call.completed')).toBe(numbers.get('call.summary')! + 1);
  expect(new Set(crm.requests.map(({ event }) => event.id)).size).toBe(2);
}, 60_000);

test('a call of 24 hours is delivered whole: without its words, and with the address of all of them', async () => {
  await using speech = await FakeSpeech.start();
  await using store = await temporaryStore();
  await using crm = await startCrm([secret]);
  const outbox = endpointOf(crm, ['call.summary', 'call.completed']);
  const config = { summaryWaitMs: 1_000 };
  await using app = await testBridge({ store, speechUrl: speech.url, outbox, config });
  const { stream } = await app.open({ tracks: bothTracks });
  const { callId } = stream;
  await speak(stream, 'inbound', seededAudio(16_000, 1));
  const said = await until(() =>
    store.db
      .selectFrom('leg_results')
      .selectAll()
      .where('call_id', '=', callId)
      .where('kind', '=', 'call.transcript')
      .executeTakeFirst(),
  );
  // One utterance in four seconds, for a day.
  const utterances = 21_600;
  for (let at = 0; at < utterances; at += 900)
    await store.db
      .insertInto('leg_results')
      .values(
        Array.from({ length: 900 }, (_, step) => ({
          ...said,
          key: `long_${at + step}`,
          start_s: (at + step) * 4,
          end_s: (at + step) * 4 + 3,
          text: `utterance ${at + step} of a call that goes on for a whole day and a night`,
        })),
      )
      .execute();
  stream.end('stop');
  await app.ended(callId);
  await until(() => crm.arrivals.length === 2, 60_000);
  expect(typesAt(crm)).toEqual(['call.summary', 'call.completed']);
  for (const { event } of crm.requests) {
    const { data } = CallEvent.parse(event) as Extract<CallEvent, { type: 'call.completed' }>;
    expect(data).toMatchObject({ truncated: true, transcript: [] });
    const answer = await fetch(data.transcript_url!);
    const { items } = (await answer.json()) as { items: { text: string }[] };
    expect(items.length).toBeGreaterThan(utterances);
    expect(items.at(-1)!.text).toMatch(/^utterance 21599 /);
    const forged = data.transcript_url!.replace('/transcript', '/recording');
    expect((await fetch(forged)).status).toBe(403);
  }
  const parked = await app.json('/api/deliveries?state=parked');
  expect(parked.items).toEqual([]);
}, 120_000);
