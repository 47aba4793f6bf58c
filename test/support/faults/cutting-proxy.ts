import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

type Pair = { client: Socket; server: Socket; frozen: boolean };

/** A TCP connection between a client and a live session. Tests cut, freeze or slow it while it carries data. */
export type CuttingProxy = AsyncDisposable & {
  port: number;
  /** Rewrites a session's URL so that it leads through this proxy. */
  through(url: string): string;
  /** Ends the connection for both sides without a close frame. */
  cut(): void;
  /** Makes the connection half-open: the server is cut off, and the client is not told. */
  freeze(): void;
  /** Drops the server's bytes from now on, in order, so acks are lost first. */
  muteServer(): void;
  /** The number of dropped server bytes since the start. */
  mutedBytes(): number;
  /** Cuts after that many bytes from client to server, in the middle of a frame. */
  cutAfterBytes(bytes: number): Promise<void>;
  /** Limits bytes per second from client to server. 0 means no limit. */
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
        // Nothing may follow the cut: a connection loses the end of a frame, never its middle.
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
