import { describe, expect, test } from 'vitest';
import { CallEvent } from '../../../src/protocol/events.ts';
import { twilioStop } from '../../support/carriers/carrier-client.ts';
import { callAt, endedCallAt, expectToldOnce, fleetOf } from '../../support/bridge/fleet.ts';
import { testBridge, type AnyJson } from '../../support/bridge/test-bridge.ts';
import { startApp } from '../../support/process/app.ts';
import { newestCall } from '../../support/process/newest-call.ts';
import { until } from '../../support/process/until.ts';
import { FakeSpeech } from '../../support/speech/fake-speech.ts';
import { postgresMissing, startPostgres } from '../../support/store/postgres.ts';
import { temporaryFolder, temporaryStore } from '../../support/store/store.ts';

const agents = [{ id: 'a17', name: 'Omar', extension: '204', numbers: ['+15550100200'] }];
const omar = { id: 'a17', name: 'Omar', extension: '204' };
const ruth = { id: 'a18', name: 'Ruth' };

const bind = (method: 'PUT' | 'DELETE', body?: unknown): RequestInit => ({
  method,
  headers: { 'content-type': 'application/json' },
  ...(body === undefined ? {} : { body: JSON.stringify(body) }),
});

test('a call has the agent of its parameter or number from its first event on; a program gives it to another; lists find it by its present agent alone', async () => {
  await using store = await temporaryStore();
  await using speech = await FakeSpeech.start();
  await using app = await testBridge({ store, speechUrl: speech.url, config: { agents } });
  const { stream } = await app.open();
  const call = await until(() => app.callOf());
  expect(call.agent).toMatchObject({ ...omar, by: 'number' });
  const [started] = await app.events(call.id);
  expect(started.call.agent).toEqual(omar);
  expect(CallEvent.parse(started)).toEqual(started);
  const idsOf = async (agent: string) =>
    (await app.json(`/api/calls?agent=${agent}`)).items.map(({ id }: AnyJson) => id);
  expect(await idsOf('A17')).toEqual([call.id]);

  const path = `/api/calls/${call.id}/agent`;
  const bound = await (await app.get(path, bind('PUT', ruth))).json() as AnyJson; // prettier-ignore
  expect(bound.agent).toMatchObject({ ...ruth, by: 'api' });
  // The same order again changes and tells nothing.
  await app.get(path, bind('PUT', ruth));
  expect(await idsOf('a17')).toEqual([]);
  expect(await idsOf('a18')).toEqual([call.id]);
  await app.get(path, bind('DELETE'));
  expect((await app.callOf()).agent).toBeNull();
  stream.end('stop');
  await app.ended(call.id);
  // A call that is over can be given to an agent too.
  expect((await app.get(path, bind('PUT', ruth))).status).toBe(200);
  const told = (await app.events(call.id)).filter(({ type }) => type === 'call.agent');
  expect(told.map(({ data: { agent, previous, by } }) => ({ agent, previous, by }))).toEqual([
    { agent: ruth, previous: omar, by: 'api' },
    { agent: null, previous: ruth, by: 'api' },
    { agent: ruth, previous: null, by: 'api' },
  ]);
  expect(told.map(({ call: { agent } }) => agent)).toEqual([ruth, undefined, ruth]);
  for (const event of told) expect(CallEvent.parse(event)).toEqual(event);

  const refused = await app.get(path, bind('PUT', { id: '', nme: 'x' }));
  expect(refused.status).toBe(400);
  expect(JSON.stringify(await refused.json())).toMatch(/nme/);
  expect((await app.get('/api/calls/call_none/agent', bind('PUT', ruth))).status).toBe(404);
}, 30_000);

test('a call without an agent has events and rows as before', async () => {
  await using store = await temporaryStore();
  await using speech = await FakeSpeech.start();
  await using app = await testBridge({ store, speechUrl: speech.url });
  const { stream } = await app.open();
  stream.end('stop');
  const call = await until(() => app.callOf());
  await app.ended(call.id);
  for (const event of await app.events(call.id)) expect(event.call).not.toHaveProperty('agent');
  expect(call.agent).toBeNull();
}, 30_000);

test('a kill -9 does not forget the agent of a call', async () => {
  await using speech = await FakeSpeech.start();
  await using folder = await temporaryFolder();
  const env = {
    TRUNKLINE_ROLES: 'bridge',
    TRUNKLINE_SPEECH_URL: speech.url,
    TRUNKLINE_QUIET_FILL_MS: '0',
    TRUNKLINE_REJOIN_WAIT_MS: '30000',
  };
  {
    await using app = await startApp({ dataDir: folder.path, env });
    await callAt(app);
    const { id } = await until(() => newestCall(app));
    expect((await app.get(`/api/calls/${id}/agent`, bind('PUT', ruth))).status).toBe(200);
    await app.end('SIGKILL');
  }
  await using app = await startApp({ dataDir: folder.path, env });
  const { client } = await callAt(app);
  client.send(twilioStop);
  const { call, events } = await endedCallAt(app);
  expectToldOnce(events);
  expect(call.agent).toMatchObject({ ...ruth, by: 'api' });
  expect(events.find(({ type }) => type === 'call.ended')?.call.agent).toEqual(ruth);
}, 60_000);

describe.skipIf(postgresMissing !== undefined)('on several nodes', () => {
  test('a program binds a call at any node', async () => {
    await using postgres = await startPostgres();
    await using fleet = await fleetOf(2, postgres);
    const [first, second] = fleet.nodes;
    if (first === undefined || second === undefined) throw new Error('two nodes were started');
    await callAt(first);
    const { id } = await until(() => newestCall(second));
    const answer = await second.get(`/api/calls/${id}/agent`, bind('PUT', ruth));
    expect(((await answer.json()) as AnyJson).agent).toMatchObject(ruth);
    // The node that runs the call knows its agent, so that later events carry it.
    await first.get(`/api/calls/${id}/pause`, { method: 'POST' });
    const paused = await until(async () =>
      ((await (await first.get(`/api/calls/${id}/events`)).json()) as AnyJson).items.find(
        ({ type }: AnyJson) => type === 'call.paused',
      ),
    );
    expect(paused.call.agent).toEqual(ruth);
  }, 90_000);
});
