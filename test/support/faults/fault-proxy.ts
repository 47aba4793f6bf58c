import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** The faults of the wire in both directions. Each can be changed while connections are open. */
export type Wire = {
  /** Each chunk is delayed by this, plus up to `jitterMs`. The order is kept. */
  latencyMs: number;
  jitterMs: number;
  /** Bytes per second in each direction. Infinity means no limit. */
  bytesPerSecond: number;
  /** Chunks have at most this size, and each is written separately. */
  sliceBytes: number;
  /** The connection ends after this many bytes from the client. */
  limitBytes: number;
  /** Nothing passes in either direction and neither side is told: a half-open connection. */
  frozen: boolean;
  /** Bytes of this direction vanish while the other continues. */
  lose: 'none' | 'up' | 'down';
};

const clean: Wire = {
  latencyMs: 0,
  jitterMs: 0,
  bytesPerSecond: Infinity,
  sliceBytes: Infinity,
  limitBytes: Infinity,
  frozen: false,
  lose: 'none',
};

type ProxiedPair = { client: Socket; service: Socket };

/** A TCP proxy for tests with the faults of real networks. Loopback only. */
export class FaultProxy implements AsyncDisposable {
  readonly wire: Wire = { ...clean };
  /** The total number of connections. */
  connections = 0;
  /** The number of connections ended and of chunks lost, delayed or divided. 0 until a fault has met something. */
  struck = 0;
  port = 0;
  private readonly links = new Set<ProxiedPair>();
  private readonly timers = new Set<NodeJS.Timeout>();
  private readonly targetPort: number;
  private server: Server | undefined;

  private constructor(targetPort: number) {
    this.targetPort = targetPort;
  }

  static async start(targetPort: number): Promise<FaultProxy> {
    const proxy = new FaultProxy(targetPort);
    await proxy.listen(0);
    return proxy;
  }

  get url(): string {
    return `http://127.0.0.1:${this.port}`;
  }

  /** Ends the connections for both sides. */
  cut(): void {
    this.struck += this.links.size;
    for (const link of this.links) drop(link);
  }

  /** Sends a TCP reset to both sides. */
  reset(): void {
    this.struck += this.links.size;
    for (const { client, service } of this.links) {
      client.resetAndDestroy();
      service.resetAndDestroy();
    }
  }

  /** Open and new connections stay silent until `mend`. */
  freeze(): void {
    this.wire.frozen = true;
  }

  /** Removes all faults. Bytes that a frozen connection held back are lost. */
  mend(): void {
    const wasFrozen = this.wire.frozen;
    Object.assign(this.wire, clean);
    if (wasFrozen) this.cut();
  }

  /** Stops listening: connecting is refused and open connections end. */
  async refuse(): Promise<void> {
    const server = this.server;
    this.server = undefined;
    this.cut();
    if (server) await new Promise((resolve) => server.close(resolve));
  }

  /** Listens again on the same port after `refuse`. */
  async accept(): Promise<void> {
    if (!this.server) await this.listen(this.port);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const timer of this.timers) clearTimeout(timer);
    await this.refuse();
  }

  private async listen(port: number): Promise<void> {
    const server = createServer((client) => this.connected(client));
    await new Promise<void>((resolve, reject) => {
      server.once('error', reject);
      server.listen(port, '127.0.0.1', resolve);
    });
    this.server = server;
    this.port = (server.address() as AddressInfo).port;
  }

  private connected(client: Socket): void {
    this.connections++;
    const service = connect(this.targetPort, '127.0.0.1');
    const link = { client, service };
    this.links.add(link);
    let up = 0;
    this.pass(client, service, 'up', (bytes) => {
      up += bytes;
      if (up <= this.wire.limitBytes) return;
      this.struck++;
      drop(link);
    });
    this.pass(service, client, 'down', () => undefined);
    for (const socket of [client, service]) {
      socket.setNoDelay(true);
      socket.on('error', () => drop(link));
      socket.on('close', () => {
        this.links.delete(link);
        if (!this.wire.frozen) drop(link);
      });
    }
  }

  private pass(
    from: Socket,
    to: Socket,
    direction: 'up' | 'down',
    count: (bytes: number) => void,
  ): void {
    // One chain per direction keeps the order under any delays.
    let last: Promise<void> = Promise.resolve();
    from.on('data', (piece: Buffer) => {
      count(piece.length);
      const { wire } = this;
      if (wire.frozen || wire.lose === direction) {
        this.struck++;
        return;
      }
      const size = Number.isFinite(wire.sliceBytes) ? wire.sliceBytes : piece.length;
      for (let at = 0; at < piece.length; at += size) {
        const part = piece.subarray(at, at + size);
        const plain = wire.latencyMs + wire.jitterMs === 0 && wire.bytesPerSecond === Infinity;
        if (plain && size === piece.length) {
          to.write(part);
          continue;
        }
        this.struck++;
        const delayMs =
          wire.latencyMs +
          Math.random() * wire.jitterMs +
          (Number.isFinite(wire.bytesPerSecond) ? (part.length / wire.bytesPerSecond) * 1_000 : 0);
        from.pause();
        last = last.then(async () => {
          await this.wait(delayMs);
          if (!this.wire.frozen && !to.destroyed) to.write(part);
          from.resume();
        });
      }
    });
    from.on('end', () => {
      void last.then(() => {
        if (!this.wire.frozen) to.end();
      });
    });
  }

  private async wait(delayMs: number): Promise<void> {
    if (delayMs <= 0) return;
    await new Promise<void>((resolve) => {
      const timer = setTimeout(() => {
        this.timers.delete(timer);
        resolve();
      }, delayMs);
      this.timers.add(timer);
    });
  }
}

function drop({ client, service }: ProxiedPair): void {
  client.destroy();
  service.destroy();
}
