import { connect, createServer, type AddressInfo } from 'node:net';
import { once } from 'node:events';
import { expect, test } from 'vitest';

test.each([
  ['an address', { host: '192.0.2.1', port: 9 }],
  ['an address of the sixth version', { host: '2001:db8::1', port: 9 }],
  [
    'a name that leads there',
    {
      host: 'crm.example',
      port: 9,
      lookup: (_name: string, options: { all?: boolean }, done: (...answer: unknown[]) => void) =>
        options.all
          ? done(null, [{ address: '192.0.2.1', family: 4 }])
          : done(null, '192.0.2.1', 4),
    },
  ],
])('no test dials another machine: %s', async (_what, target) => {
  const socket = connect(target as never);
  await expect(once(socket, 'connect')).rejects.toThrow('not this machine');
});

test('this machine is dialled as ever', async () => {
  const server = createServer((socket) => socket.end());
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  for (const host of ['127.0.0.1', 'localhost']) {
    const socket = connect({ port, host, autoSelectFamily: true }).resume();
    await once(socket, 'connect');
    expect(socket.remotePort).toBe(port);
    socket.destroy();
  }
  server.close();
});
