import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

type Pair = { client: Socket; server: Socket; frozen: boolean };

/** A TCP wire between a client and a live session, to be cut, frozen or slowed while bytes are under way. */
export type CuttingProxy = AsyncDisposable & {
  port: number;
  /** Rewrites a session URL so that it leads through the wire. */
  through(url: string): string;
  /** Both ends see the connection go, without a close frame. */
  cut(): void;
  /** Silent half-open: the server is cut off, the client is told nothing. */
  freeze(): void;
  /** Drops what the server says from now on, in the order in which it says it: acks are lost first. */
  muteServer(): void;
  /** The bytes of the server that were dropped since the start. */
  mutedBytes(): number;
  /** Cuts when that many bytes have gone from the client to the server, in the middle of a frame. */
  cutAfterBytes(bytes: number): Promise<void>;
  /** Bytes a second from client to server; 0: as fast as they come. */
  slow(bytesPerSecond: number): void;
  connections(): number;
};

export async function cuttingProxy(target: number): Promise<CuttingProxy> {
  const pairs = new Set<Pair>();
  let muted = false;
  let rate = 0;
  let seen = 0;
  let mutedBytes = 0;
  let connections = 0;
  let cutAt: { bytes: number; done: () => void } | undefined;
  const cut = (): void => {
    for (const pair of pairs) {
      pair.client.resetAndDestroy();
      pair.server.resetAndDestroy();
    }
    pairs.clear();
  };
  const server = createServer((client) => {
    connections++;
    muted = false;
    const pair: Pair = { client, server: connect(target, '127.0.0.1'), frozen: false };
    pairs.add(pair);
    client.on('error', () => undefined);
    pair.server.on('error', () => undefined);
    client.on('data', (data: Buffer) => {
      if (pair.frozen) return;
      const left = cutAt ? cutAt.bytes - seen : Infinity;
      seen += data.length;
      if (data.length >= left) {
        pair.server.write(data.subarray(0, left), () => setImmediate(cut));
        const done = cutAt?.done;
        cutAt = undefined;
        // Nothing may follow the cut: a wire loses the end of a frame, never its middle.
        pair.frozen = true;
        done?.();
        return;
      }
      pair.server.write(data);
      if (rate > 0) {
        client.pause();
        setTimeout(() => client.resume(), (data.length / rate) * 1e3);
      }
    });
    pair.server.on('data', (data: Buffer) => {
      if (muted) mutedBytes += data.length;
      else if (!pair.frozen) client.write(data);
    });
    client.on('close', () => {
      pairs.delete(pair);
      if (!pair.frozen) pair.server.destroy();
    });
    pair.server.on('close', () => {
      if (!pair.frozen) client.destroy();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    port,
    through: (url) => url.replace(/:\d+\//, `:${port}/`),
    cut,
    freeze() {
      for (const pair of pairs) {
        pair.frozen = true;
        pair.server.resetAndDestroy();
      }
    },
    muteServer() {
      muted = true;
    },
    mutedBytes: () => mutedBytes,
    cutAfterBytes: (bytes) =>
      new Promise((done) => {
        seen = 0;
        cutAt = { bytes, done };
      }),
    slow(bytesPerSecond) {
      rate = bytesPerSecond;
    },
    connections: () => connections,
    async [Symbol.asyncDispose]() {
      cut();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
