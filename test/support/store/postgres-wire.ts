import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

type WireState = {
  cutAt?: string;
  /** True to let the statement reach the server and drop the answer. */
  pass: boolean;
  silent: boolean;
  cuts: number;
  swallowed: number;
  /** Called when the server has answered the statement at which the line was cut. */
  onAnswered?: () => void;
};

/** A connection to Postgres that can be cut at a statement, before or after it is passed on, or go silent. */
export async function postgresWire(target: string) {
  const url = new URL(target);
  const port = Number(url.port);
  const state: WireState = { pass: false, silent: false, cuts: 0, swallowed: 0 };
  const sockets = new Set<Socket>();
  let isGone = false;
  const server = createServer((client) => {
    if (isGone) return void client.destroy();
    const upstream = connect(port, url.hostname);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => undefined).on('close', () => sockets.delete(socket));
    }
    client.on('data', (bytes) => {
      if (state.silent) {
        state.swallowed++;
        return;
      }
      if (state.cutAt !== undefined && bytes.includes(state.cutAt)) {
        delete state.cutAt;
        if (!state.pass) {
          state.cuts++;
          upstream.destroy();
        } else {
          upstream.write(bytes);
          upstream.once('data', () => {
            state.cuts++;
            state.onAnswered?.();
          });
        }
        // The answer never comes back.
        client.destroy();
        setTimeout(() => upstream.destroy(), 300);
        return;
      }
      upstream.write(bytes);
    });
    upstream.on('data', (bytes) => {
      if (!state.silent) client.write(bytes);
    });
    upstream.on('close', () => client.destroy());
    client.on('close', () => setTimeout(() => upstream.destroy(), 500));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  url.port = String((server.address() as AddressInfo).port);
  return {
    url: url.href,
    state,
    /** Nothing passes from now on. A server that is told to end still answers for a moment. */
    goAway: () => {
      isGone = true;
      for (const socket of sockets) socket.destroy();
    },
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
