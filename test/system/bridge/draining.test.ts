import { afterAll, beforeAll, expect, test } from 'vitest';
import {
  callAt,
  endedCallAt,
  eventsAt,
  expectToldOnce,
  fleetOf,
  nodesSeenBy,
} from '../../support/bridge/fleet.ts';
import type { AnyJson } from '../../support/bridge/test-bridge.ts';
import { twilioStop } from '../../support/carriers/carrier-client.ts';
import type { App } from '../../support/process/app.ts';
import { newestCall } from '../../support/process/newest-call.ts';
import { until } from '../../support/process/until.ts';
import { startCrm } from '../../support/crm/crm.ts';
import { secret } from '../../support/crm/outbox.ts';
import { gate } from '../../support/process/gate.ts';
import { jobWeb } from '../../support/speech/job-web.ts';
import { jobsApi, wavOf } from '../../support/speech/jobs.ts';
import { speechApi } from '../../support/speech/speech-service.ts';
import { temporaryStore } from '../../support/store/store.ts';
import { nodeIdOf } from '../../../src/lib/node-id.ts';
import { seededAudio } from '../../support/speech/audio.ts';
import { wordsOf } from '../../support/speech/fake-speech.ts';
import { postgresMissing, startPostgres, type TestPostgres } from '../../support/store/postgres.ts';

let postgres: TestPostgres | undefined;
beforeAll(async () => {
  if (postgresMissing === undefined) postgres = await startPostgres();
});
afterAll(() => postgres?.[Symbol.asyncDispose]());

const stateSeenBy = async (app: App): Promise<string | undefined> =>
  (await nodesSeenBy(app)).find(({ self }) => !self)?.state;

test.skipIf(postgresMissing !== undefined)(
  'a node that stops keeps its call to its end, takes no other, and is gone when it is over',
  async () => {
    await using fleet = await fleetOf(2, postgres, {
      TRUNKLINE_DRAIN_S: '3600',
      // Longer than the test: nothing here waits for a silence.
      TRUNKLINE_NODE_SILENT_MS: '60000',
    });
    const [stopping, left] = fleet.nodes as [App, App];
    const [first, second] = [seededAudio(8_000, 1), seededAudio(16_000, 2)];
    const { client, say } = await callAt(stopping);
    say(first);
    const { id } = await until(async () => {
      const call = await newestCall(left);
      return call?.transcript.length === 1 && call;
    });
    stopping.process.kill('SIGTERM');
    await until(async () => (await stateSeenBy(left)) === 'draining');
    expect((await stopping.get('/health/ready')).status).toBe(503);
    expect((await stopping.get('/health/live')).status).toBe(200);
    await expect(callAt(stopping, 'MZ9')).rejects.toThrow('503');
    const other = await callAt(left, 'MZ8', { callSid: 'CA-other' });
    other.say(seededAudio(8_000, 3));
    await until(async () => (await newestCall(left)).id !== id);
    other.client.send(twilioStop);
    // The first goes on where it is, however long.
    say(second);
    client.send(twilioStop);
    await until(async () =>
      (await eventsAt(left, id)).some(({ type }) => type === 'call.completed'),
    );
    const events = await eventsAt(left, id);
    expectToldOnce(events);
    const { ledger } = ((await (await left.get(`/api/calls/${id}`)).json()) as AnyJson).legs[0];
    expect(ledger).toMatchObject({ received: 24_000, acknowledged: 24_000, gaps: 0 });
    expect(await stopping.exited()).toEqual({ code: 0, signal: null });
    expect(await stateSeenBy(left)).toBe('left');
  },
  120_000,
);

test.skipIf(postgresMissing !== undefined)(
  'a call that is left at the drain’s limit goes on at the other node at once, without a silence and without a gap',
  async () => {
    await using fleet = await fleetOf(2, postgres, {
      TRUNKLINE_DRAIN_S: '1',
      TRUNKLINE_NODE_SILENT_MS: '10000',
      TRUNKLINE_REJOIN_WAIT_MS: '30000',
    });
    const [stopping, left] = fleet.nodes as [App, App];
    const [first, second] = [seededAudio(16_000, 1), seededAudio(16_000, 2)];
    const before = await callAt(stopping);
    before.say(first);
    await until(async () => (await newestCall(left))?.transcript.length === 2);
    stopping.process.kill('SIGTERM');
    // The carrier is told, and comes back at the other door.
    await before.client.untilClosed();
    const stoppedMs = performance.now();
    const after = await callAt(left, 'MZ2');
    after.say(second);
    const call = await until(async () => {
      const found = await newestCall(left);
      return found?.transcript.length >= 4 && found;
    }, 60_000);
    const goneOnS = (performance.now() - stoppedMs) / 1_000;
    console.log(`the call went on after ${goneOnS.toFixed(1)} s; a silence would be 10 s`);
    expect(goneOnS).toBeLessThan(10);
    after.client.send(twilioStop);
    const ended = await endedCallAt(left);
    expect(ended.call.id).toBe(call.id);
    expectToldOnce(ended.events);
    expect(ended.call.legs[0].ledger).toMatchObject({
      received: 32_000,
      acknowledged: 32_000,
      gaps: 0,
    });
    const said = ended.call.transcript.map(({ text }: AnyJson) => text);
    expect(said.slice(0, 2)).toEqual(wordsOf(first));
    const warnings = ended.events.filter(({ type }) => type === 'call.warning');
    expect(warnings.map(({ data }) => data.code)).toEqual(['NODE_LEFT', 'RECORDING_LACKS']);
    expect(await stopping.exited()).toEqual({ code: 0, signal: null });
  },
  120_000,
);

test.skipIf(postgresMissing !== undefined)(
  'an event on the wire and a job at work leave a node that stops: another has them at once, without a wait for leases',
  async () => {
    await using crm = await startCrm([secret]);
    await using web = await jobWeb({ '/a.wav': wavOf('my card is lost') });
    const [fetching, delivery] = [gate(), gate()];
    web.hold = () => fetching.hold();
    await using fleet = await fleetOf(2, postgres, (at) => ({
      TRUNKLINE_ROLES: 'bridge,speech,console',
      TRUNKLINE_DRAIN_S: '1',
      TRUNKLINE_NODE_SILENT_MS: '60000',
      TRUNKLINE_JOBS_AUDIO_HOSTS: web.host,
      TRUNKLINE_WEBHOOK_URL: `${crm.url}/${at}`,
      TRUNKLINE_WEBHOOK_SECRET: secret,
      // Longer than the test.
      TRUNKLINE_WEBHOOK_LEASE_MS: '600000',
    }));
    await using store = await temporaryStore({ databaseUrl: fleet.databaseUrl });
    const [door] = fleet.nodes as [App, App];
    const id = await jobsApi(speechApi(door.url)).begin({ audio_url: `${web.url}/a.wav` });
    await fetching.reached();
    const job = () => store.db.selectFrom('speech_jobs').selectAll().executeTakeFirstOrThrow();
    const numbers = await Promise.all(fleet.nodes.map((app) => nodeIdOf(app.dataDir)));
    const at = numbers.indexOf((await job()).node);
    const [stopping, left] = [fleet.nodes[at], fleet.nodes[1 - at]];
    if (stopping === undefined || left === undefined)
      throw new Error('no node of the fleet has it');
    const endsSentBy: number[] = [];
    crm.behave = async ({ path, event }) => {
      if (event.type !== 'call.ended') return 200;
      endsSentBy.push(Number(path.split('/').at(-1)));
      if (endsSentBy.at(-1) === at) await delivery.hold();
      return 200;
    };
    // Either node may send an event. Another call comes until the node that stops has one on the wire.
    for (let count = 0; count < 20 && !endsSentBy.includes(at); count++) {
      const { client, say } = await callAt(stopping, `MZ${count}`, { callSid: `CA${count}` });
      say(seededAudio(8_000, 1));
      client.send(twilioStop);
      await until(() => endsSentBy.length > count);
    }
    await delivery.reached();
    await until(async () => (await nodesSeenBy(stopping)).length === 2);
    stopping.process.kill('SIGTERM');
    expect(await stopping.exited()).toEqual({ code: 0, signal: null });
    expect((await jobsApi(speechApi(left.url)).ended(id, 60_000)).status).toBe('done');
    // Given back, and not run out: that would have been a second attempt.
    expect(await job()).toMatchObject({ node: numbers[1 - at], attempts: 1 });
    await until(() => crm.requests.at(-1)?.event.type === 'call.completed');
    const call = await newestCall(left);
    const events = await eventsAt(left, call.id);
    const sent = crm.requests.filter(({ event }) => event.call.id === call.id);
    const order = sent.map(({ event }) => event.sequence);
    const held = events.find(({ type }) => type === 'call.ended').sequence;
    // The one that was on the wire comes twice, right behind itself.
    expect(order).toEqual(events.flatMap(({ sequence }) => (sequence === held ? [held, held] : [sequence]))); // prettier-ignore
    fetching.open();
    delivery.open();
  },
  120_000,
);
