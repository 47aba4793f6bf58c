import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { createLog } from '../../../src/lib/log.ts';
import { NodesConfig } from '../../../src/nodes/config.ts';
import { maxStrangersAtLink, NodeLink } from '../../../src/nodes/link.ts';
import { freePort } from '../../support/process/free-port.ts';
import { until } from '../../support/process/until.ts';

const key = 'a-key-of-24-characters-or-more';

test('strangers at the port of the nodes hold a bounded number of handles, and keep no node out', async () => {
  const port = await freePort();
  const config = { ...NodesConfig.parse({}), url: `http://127.0.0.1:${port}`, key };
  const log = createLog({ level: 'silent' });
  await using link = await NodeLink.open({ config, clock: systemClock, log });
  link.serve({ api: (_request, response) => void response.end('a node'), sockets: {} });
  const strangers: Socket[] = [];
  let ended = 0;
  for (let at = 0; at < 2 * maxStrangersAtLink; at++) {
    const localAddress = `127.0.${1 + (at % 8)}.1`;
    const socket = connect({ port, host: '127.0.0.1', localAddress });
    socket.on('error', () => undefined).once('close', () => ended++);
    await once(socket, 'connect');
    strangers.push(socket);
  }
  await until(() => ended === maxStrangersAtLink);
  expect(link.connections).toBe(maxStrangersAtLink);
  const authorization = `Bearer ${key}`;
  const answer = await fetch(`${link.url}/api/calls`, { headers: { authorization } });
  expect(await answer.text()).toBe('a node');
  // One address has a share of that room.
  const before = ended;
  for (let at = 0; at < 100; at++)
    strangers.push(connect({ port, host: '127.0.0.1', localAddress: '127.0.9.9' }).on('error', () => undefined)); // prettier-ignore
  await until(() => link.connections - (maxStrangersAtLink - (ended - before)) <= 65);
  for (const socket of strangers) socket.destroy();
  await until(() => link.connections <= 1);
});

test.each(['', 'Bearer another-key-of-24-characters', `Basic ${key}`, `Bearer ${key}x`])(
  'the port of the nodes answers nobody who does not show the key: "%s"',
  async (authorization) => {
    const port = await freePort();
    const config = { ...NodesConfig.parse({}), url: `http://127.0.0.1:${port}`, key };
    await using link = await NodeLink.open({ config, clock: systemClock, log: createLog({ level: 'silent' }) }); // prettier-ignore
    let served = 0;
    link.serve({ api: (_request, response) => void response.end(`${++served}`), sockets: {} });
    for (const path of ['/api/calls', '/v2/live', '/', '/nothing']) {
      const answer = await fetch(`${link.url}${path}`, { headers: { authorization } });
      expect(answer.status).toBe(401);
      expect(await answer.text()).toBe('');
    }
    expect(served).toBe(0);
  },
);

test('the port of the nodes is closed unless its address is set', () => {
  expect(NodesConfig.parse({}).url).toBeUndefined();
  expect(() => NodesConfig.parse({ key: 'short' })).toThrow(/16|24/);
});
