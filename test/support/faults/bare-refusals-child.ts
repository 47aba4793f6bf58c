import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The baseline for an upgrade flood: a server that refuses every upgrade and does nothing else. */
const server = createServer();
server.on('upgrade', (_request, socket) => {
  socket.on('error', () => socket.destroy());
  socket.end(
    'HTTP/1.1 401 Unauthorized\r\nConnection: close\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 3\r\n\r\nno\n',
    () => socket.destroy(),
  );
});
server.listen(0, '127.0.0.1', () =>
  process.stdout.write(`${(server.address() as AddressInfo).port}\n`),
);
