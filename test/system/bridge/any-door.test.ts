import { connect } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { callAt, endedCallAt, expectToldOnce, fleetOf } from '../../support/bridge/fleet.ts';
import type { AnyJson } from '../../support/bridge/test-bridge.ts';
import { twilioStop } from '../../support/carriers/carrier-client.ts';
import type { App } from '../../support/process/app.ts';
import { newestCall } from '../../support/process/newest-call.ts';
import { until } from '../../support/process/until.ts';
import { seededAudio } from '../../support/speech/audio.ts';
import { postgresMissing, startPostgres, type TestPostgres } from '../../support/store/postgres.ts';

let postgres: TestPostgres | undefined;
beforeAll(async () => {
  if (postgresMissing === undefined) postgres = await startPostgres();
});
afterAll(() => postgres?.[Symbol.asyncDispose]());

test.skipIf(postgresMissing !== undefined)(
  'a stream that comes back at another node goes on in its call, byte for byte, and any node answers for it',
  async () => {
    await using fleet = await fleetOf(2, postgres, { TRUNKLINE_REJOIN_WAIT_MS: '20000' });
    const [owner, door] = fleet.nodes as [App, App];
    const [first, second, third] = [1, 2, 3].map((seed) => seededAudio(16_000, seed)) as [Buffer, Buffer, Buffer]; // prettier-ignore
    const before = await callAt(owner);
    before.say(first);
    const { id } = await until(async () => {
      const call = await newestCall(owner);
      return call?.transcript.length === 2 && call;
    });
    // A watcher at one node sees the words of the other node's call.
    const watching = await watch(door, '/api/live');
    await before.client.close();
    const after = await callAt(door, 'MZ2');
    after.say(second);
    // The hole between both streams is silence, as long as it took: where words begin behind it is not known here.
    const { transcript } = await until(async () => {
      const call = await newestCall(door);
      return call?.transcript.length >= 3 && call;
    });
    await until(() => watching.text().includes(transcript[2].text));
    watching.stop();
    const paused = await door.get(`/api/calls/${id}/pause`, { method: 'POST' });
    expect(paused.status).toBe(200);
    after.say(seededAudio(8_000, 9));
    // The ledger of a call that goes on is in the memory of its node.
    await until(async () => (await newestCall(door)).legs[0].ledger.paused === 8_000);
    expect((await door.get(`/api/calls/${id}/resume`, { method: 'POST' })).status).toBe(200);
    after.say(third);
    await until(async () => (await newestCall(door)).legs[0].ledger.received === 56_000);
    after.client.send(twilioStop);
    const { call, events } = await endedCallAt(door);
    expectToldOnce(events);
    expect(call.id).toBe(id);
    expect(call.legs).toHaveLength(1);
    expect(call.legs[0].ledger).toMatchObject({
      received: 56_000,
      acknowledged: 48_000,
      gaps: 0,
      paused: 8_000,
    });
    const heard = Buffer.concat([...fleet.speech.sessions.values()].map(({ bytes }) => bytes));
    for (const audio of [first, second, third]) expect(heard.includes(audio)).toBe(true);
    // Its recording lies on the disk of the one and is read, and erased, through the other.
    const recording = await door.get(`/api/calls/${id}/recording`, {
      headers: { range: 'bytes=0-99' },
    });
    expect([recording.status, (await recording.arrayBuffer()).byteLength]).toEqual([206, 100]);
    expect((await door.get(`/api/calls/${id}`, { method: 'DELETE' })).status).toBe(204);
    expect((await owner.get(`/api/calls/${id}/recording`)).status).toBe(404);
    expect((await owner.get(`/api/calls/${id}`)).status).toBe(404);
  },
  120_000,
);

test.skipIf(postgresMissing !== undefined)(
  'two streams of one call that come to two nodes within the same moment are one call, each from its first byte on',
  async () => {
    await using fleet = await fleetOf(2, postgres, { TRUNKLINE_REJOIN_WAIT_MS: '20000' });
    const nodes = fleet.nodes as [App, App];
    for (let round = 1; round <= 8; round++) {
      const callSid = `CA${round}`;
      const audio = [seededAudio(8_000, 2 * round), seededAudio(8_000, 2 * round + 1)] as const;
      const open = async (at: 0 | 1, track: string) => {
        const stream = await callAt(nodes[at], `MZ${round}-${at}`, { callSid, tracks: [track] });
        stream.say(audio[at]);
        return stream;
      };
      const streams = await Promise.all([open(0, 'inbound'), open(1, 'outbound')]);
      const isHeard = async () => {
        const call = await newestCall(nodes[0]);
        return call?.carrier_call_id === callSid && call.transcript.length === 2;
      };
      await until(isHeard, 30_000);
      for (const { client } of streams) client.send(twilioStop);
      const { call, events } = await endedCallAt(nodes[0]);
      expectToldOnce(events);
      const { items } = (await (await nodes[0].get('/api/calls')).json()) as AnyJson;
      expect(items.filter((one: AnyJson) => one.carrier_call_id === callSid)).toHaveLength(1);
      expect(call.legs.map(({ track }: AnyJson) => track).toSorted()).toEqual([
        'inbound',
        'outbound',
      ]);
      for (const { ledger } of call.legs)
        expect(ledger).toMatchObject({ received: 8_000, acknowledged: 8_000, gaps: 0 });
      const heard = Buffer.concat([...fleet.speech.sessions.values()].map(({ bytes }) => bytes));
      for (const bytes of audio) expect(heard.includes(bytes)).toBe(true);
    }
  },
  120_000,
);

test.skipIf(postgresMissing !== undefined)(
  'the node of a relayed call is killed: the node with the socket takes the call over, and the stream goes on',
  async () => {
    await using fleet = await fleetOf(2, postgres, { TRUNKLINE_REJOIN_WAIT_MS: '20000' });
    const [owner, door] = fleet.nodes as [App, App];
    const [first, second, third] = [1, 2, 3].map((seed) => seededAudio(8_000, seed)) as [Buffer, Buffer, Buffer]; // prettier-ignore
    const before = await callAt(owner);
    before.say(first);
    await until(async () => (await newestCall(owner))?.transcript.length === 1);
    await before.client.close();
    const after = await callAt(door, 'MZ2');
    after.say(second);
    await until(async () => (await newestCall(door))?.transcript.length >= 2);
    await owner.end('SIGKILL');
    after.say(third);
    await until(async () => (await newestCall(door))?.legs[0].ledger.received >= 24_000);
    after.client.send(twilioStop);
    const { call, events } = await endedCallAt(door);
    expectToldOnce(events);
    expect(call.legs[0].ledger).toMatchObject({ received: 24_000, acknowledged: 24_000, gaps: 0 });
    const heard = Buffer.concat([...fleet.speech.sessions.values()].map(({ bytes }) => bytes));
    for (const audio of [first, second, third]) expect(heard.includes(audio)).toBe(true);
  },
  120_000,
);

test.skipIf(postgresMissing !== undefined)(
  'the port of the nodes is closed to whoever does not know the key',
  async () => {
    await using fleet = await fleetOf(1, postgres);
    const [app] = fleet.nodes as [App];
    const { items } = (await (await app.get('/api/nodes')).json()) as AnyJson;
    const address: string = items[0].address;
    for (const authorization of ['', 'Bearer another-key-of-24-characters', 'Basic eDp5'])
      for (const path of ['/api/calls', '/node/streams', '/']) {
        const answer = await fetch(address + path, { headers: { authorization } });
        expect([path, answer.status, await answer.text()]).toEqual([path, 401, '']);
      }
    // A client that hangs up while it is being refused harms nobody.
    const { hostname, port } = new URL(address);
    for (let stranger = 0; stranger < 50; stranger++)
      await new Promise<void>((resolve) => {
        const socket = connect(Number(port), hostname, () => {
          socket.write('GET /node/streams HTTP/1.1\r\nhost: x\r\nupgrade: websocket\r\nconnection: upgrade\r\n\r\n'); // prettier-ignore
          setImmediate(() => socket.resetAndDestroy());
        });
        socket.on('error', () => undefined);
        socket.on('close', () => resolve());
      });
    const known = await fetch(`${address}/api/calls`, {
      headers: { authorization: 'Bearer the-same-key-at-all-nodes' },
    });
    expect(known.status).toBe(200);
  },
  60_000,
);

/** Server-sent events of a node, as text. */
async function watch(app: App, path: string): Promise<{ text(): string; stop(): void }> {
  const stop = new AbortController();
  const answer = await app.get(path, { signal: stop.signal });
  let text = '';
  const reading = async (): Promise<void> => {
    for await (const chunk of answer.body ?? []) text += Buffer.from(chunk).toString();
  };
  reading().catch(() => undefined);
  return { text: () => text, stop: () => stop.abort() };
}
