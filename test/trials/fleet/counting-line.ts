import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** Passes bytes on and counts them, in both directions. */
export async function countingLine(to: { host: string; port: number }) {
  let bytes = 0;
  const sockets = new Set<Socket>();
  const server = createServer((client) => {
    const far = connect(to.port, to.host);
    for (const [one, other] of [
      [client, far],
      [far, client],
    ] as const) {
      sockets.add(one);
      one.setNoDelay(true);
      one.on('data', (data) => {
        bytes += data.length;
        other.write(data);
      });
      one.on('error', () => one.destroy());
      one.on('end', () => other.end());
      one.on('close', () => {
        sockets.delete(one);
        other.destroy();
      });
    }
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    bytes: () => bytes,
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
