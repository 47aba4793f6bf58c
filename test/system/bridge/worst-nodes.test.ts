import { randomBytes } from 'node:crypto';
import { createServer } from 'node:http';
import { connect, type AddressInfo, type Socket } from 'node:net';
import pg from 'pg';
import { WebSocket, WebSocketServer } from 'ws';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { callAt, endedCallAt, expectToldOnce, fleetOf, nodesSeenBy } from '../../support/bridge/fleet.ts'; // prettier-ignore
import type { AnyJson } from '../../support/bridge/test-bridge.ts';
import { twilioStop } from '../../support/carriers/carrier-client.ts';
import type { App } from '../../support/process/app.ts';
import { newestCall } from '../../support/process/newest-call.ts';
import { until } from '../../support/process/until.ts';
import { seededAudio } from '../../support/speech/audio.ts';
import { wordsOf } from '../../support/speech/fake-speech.ts';
import { postgresMissing, startPostgres, type TestPostgres } from '../../support/store/postgres.ts';

let postgres: TestPostgres | undefined;
beforeAll(async () => {
  if (postgresMissing === undefined) postgres = await startPostgres();
});
afterAll(() => postgres?.[Symbol.asyncDispose]());

const key = 'the-same-key-at-all-nodes';

/** Everything that the worst node would try at the port of another; answers the sockets that stay open. */
async function floodPort(address: string): Promise<Socket[]> {
  const { hostname, port } = new URL(address);
  const open = (head: string): Socket => {
    const socket = connect(Number(port), hostname);
    socket.on('error', () => undefined);
    socket.resume();
    socket.write(head);
    return socket;
  };
  const silent = [
    ...Array.from({ length: 100 }, () => open('')),
    ...Array.from({ length: 100 }, () => open('GET /api/calls HTTP/1.1\r\nhost: x\r\n')),
  ];
  // Strangers who send bodies that nobody reads.
  for (let at = 0; at < 20; at++)
    open(`POST /v2/live HTTP/1.1\r\nhost: x\r\ncontent-length: 99999999\r\n\r\n${'x'.repeat(65_536)}`); // prettier-ignore
  const headers = { authorization: `Bearer ${key}` };
  const paths = ['/node/streams', '/node/feed', '/node/sessions?token=x', '/v2/live?token=x'];
  const ended: Promise<unknown>[] = [];
  for (let at = 0; at < 60; at++) {
    const socket = new WebSocket(`ws://${hostname}:${port}${paths[at % paths.length] ?? ''}`, { headers }); // prettier-ignore
    socket.on('error', () => undefined);
    ended.push(new Promise((resolve) => socket.once('close', resolve)));
    socket.on('open', () => {
      const lies = ['{"type":"open"}', '[]', randomBytes(200), '{"type":"open","relay":"x","start":{"tracks":[{}]}}', Buffer.alloc(17_000_000)]; // prettier-ignore
      socket.send(lies[at % lies.length] ?? '');
    });
  }
  for (const body of ['{', `"${'x'.repeat(2_000_000)}"`, '{"encoding":{}}'])
    await fetch(`${address}/v2/live`, {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body,
    }).then((answer) => answer.arrayBuffer());
  await Promise.all(ended);
  return silent;
}

test.skipIf(postgresMissing !== undefined)(
  'floods, half-open sockets and garbage with the right key at the port of the nodes: a call beside them loses nothing',
  async () => {
    await using fleet = await fleetOf(1, postgres);
    const [app] = fleet.nodes as [App];
    const [{ address }] = (await nodesSeenBy(app)) as [{ address: string }];
    const { client, say } = await callAt(app);
    const [first, second] = [seededAudio(16_000, 1), seededAudio(16_000, 2)];
    say(first);
    const silent = await floodPort(address);
    say(second);
    await until(async () => (await newestCall(app))?.transcript.length === 4);
    client.send(twilioStop);
    const { call, events } = await endedCallAt(app);
    expectToldOnce(events);
    expect(call.transcript.map(({ text }: AnyJson) => text)).toEqual([first, second].flatMap((audio) => wordsOf(audio))); // prettier-ignore
    expect(call.legs[0].ledger).toMatchObject({ received: 32_000, acknowledged: 32_000, gaps: 0 });
    // Nobody waits for a client that has sent no whole head.
    await until(() => silent.slice(100).every(({ closed }) => closed));
    for (const socket of silent) socket.destroy();
  },
  60_000,
);

test.skipIf(postgresMissing !== undefined)(
  'a node that lies, as speech node and to whoever watches: calls go on at another speech node, the process lives',
  async () => {
    const databaseUrl = (await postgres?.newDatabase()) ?? '';
    const lies = ['{"kind":"event"}', '{"kind":"call"}', 'null', '{"kind":"reset"}', 'x'];
    let asked = 0;
    const liar = createServer((request, response) => {
      request.resume();
      asked++;
      const answers = ['{}', 'x'.repeat(2_000_000), '{"id":7}'];
      response.writeHead(asked % 3 === 0 ? 500 : 201, { 'content-type': 'application/json' });
      response.end(answers[asked % answers.length]);
    });
    const sockets = new WebSocketServer({ server: liar });
    sockets.on('connection', (socket) => {
      socket.on('error', () => undefined);
      for (const lie of lies) socket.send(lie);
    });
    await new Promise<void>((resolve) => liar.listen(0, '127.0.0.1', resolve));
    const address = `http://127.0.0.1:${(liar.address() as AddressInfo).port}`;
    await using fleet = await fleetOf(1, postgres, {
      DATABASE_URL: databaseUrl,
      TRUNKLINE_ROLES: 'bridge,speech,console',
      TRUNKLINE_SPEECH_URL: '',
      // Its own service is full at once: whoever comes must be asked for elsewhere.
      TRUNKLINE_SPEECH_SESSIONS: '1',
    });
    const [app] = fleet.nodes as [App];
    const database = new pg.Client({ connectionString: databaseUrl });
    await database.connect();
    await database.query(
      `insert into nodes (node, epoch, address, roles, version, capacity, legs, draining, started_at, seen_at, ahead_ms, speech_capacity, speech_used)
       values ('liar', 1, $1, 'bridge,speech', '9', 9, 0, 0, 0, (extract(epoch from now()) * 1000)::bigint + 3600000, 0, 100, 0)`,
      [address],
    );
    await database.end();
    await until(async () => (await nodesSeenBy(app)).length === 2);
    const stop = new AbortController();
    const watching = await app.get('/api/live', { signal: stop.signal });
    expect(watching.status).toBe(200);
    const taken = await app.get('/v2/live', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ encoding: 'wav/ulaw', bit_depth: 8, sample_rate: 8_000, channels: 1 }),
    });
    const place = new WebSocket(((await taken.json()) as AnyJson).url as string);
    await new Promise((resolve) => place.once('open', resolve));
    const { client, say } = await callAt(app);
    say(seededAudio(8_000, 1));
    await until(() => asked > 0);
    place.send('{"type":"stop_recording"}');
    await until(async () => (await newestCall(app))?.legs[0]?.ledger.acknowledged === 8_000);
    client.send(twilioStop);
    const { call, events } = await endedCallAt(app);
    expectToldOnce(events);
    for (const { ledger } of call.legs) expect(ledger.gaps).toBe(0);
    stop.abort();
    expect((await app.get('/health/ready')).status).toBe(200);
    liar.closeAllConnections();
    liar.close();
  },
  90_000,
);
