import express from 'express';
import { createServer, type Server } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { CarriersConfig } from '../../../src/carriers/config.ts';
import { startCarriers } from '../../../src/carriers/carriers.ts';
import { proxiesIn } from '../../../src/port/addresses.ts';
import { createLog } from '../../../src/lib/log.ts';
import { systemClock, type Clock } from '../../../src/lib/clock.ts';
import type { Part } from '../../../src/port/part.ts';
import { SecretJudge } from '../../../src/port/secrets.ts';
import type { Bridge } from '../../../src/bridge/streams.ts';
import { until } from '../process/until.ts';
import type { CarrierClient } from './carrier-client.ts';
import { RecordingBridge } from './recording-bridge.ts';

export type CarrierServer<B extends Bridge = RecordingBridge> = AsyncDisposable & {
  port: number;
  url: string;
  bridge: B;
  part: Part;
  log: string[];
  http: Server;
  /** Waits until the server has read everything this client sent, so that a test of a deadline can start. */
  hasRead(client: CarrierClient): Promise<void>;
};

/** The carriers' routes alone on their own port, in front of a bridge that records. */
export async function carrierServer(
  options: {
    config?: Partial<CarriersConfig>;
    insecure?: boolean;
    publicUrl?: string;
    proxies?: string[];
    clock?: Clock;
  } = {},
): Promise<CarrierServer> {
  const bridge = new RecordingBridge();
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const lines: string[] = [];
  const log = createLog({ destination: { write: (line) => void lines.push(line) } });
  const sockets = new Set<Socket>();
  server.on('connection', (socket) => sockets.add(socket));
  const carriers = await startCarriers({
    config: CarriersConfig.parse(options.config ?? {}),
    bridge,
    log,
    publicUrl: () => options.publicUrl ?? `http://127.0.0.1:${port}`,
    insecure: options.insecure ?? false,
    hasRoom: () => true,
    isProxy: proxiesIn(options.proxies ?? []),
    clock: options.clock ?? systemClock,
    secrets: new SecretJudge({ clock: options.clock ?? systemClock, log }),
  });
  const app = express();
  for (const { router } of carriers.routers ?? []) app.use(router);
  server.on('request', app);
  server.on('upgrade', (request, socket, head) => {
    socket.on('error', () => socket.destroy());
    void carriers.upgrades?.[0]?.handle(request, socket, head, () => undefined);
  });
  return {
    port,
    url: `ws://127.0.0.1:${port}`,
    bridge,
    part: carriers,
    log: lines,
    http: server,
    async hasRead({ wire }) {
      const socket = [...sockets].find(({ remotePort }) => remotePort === wire.localPort);
      await until(() => socket?.bytesRead === wire.bytesWritten);
    },
    [Symbol.asyncDispose]: async () => {
      await carriers[Symbol.asyncDispose]();
      server.closeAllConnections();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}
