import type { Bridge } from '../bridge/call-stream.ts';
import { systemClock, type Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import type { Part } from '../lib/part.ts';
import type { CarriersConfig } from './config.ts';
import { RecentNonces } from './nonces.ts';
import { Upgrades } from './upgrades.ts';

export type CarriersOptions = {
  config: CarriersConfig;
  bridge: Bridge;
  log: Logger;
  /** Base address by which carriers reach us: the configured one, or else our own. */
  publicUrl: () => string;
  insecure: boolean;
  clock?: Clock;
};

const sweepMs = 1_000;

/** All carriers on the one port: their sockets under /carriers, their webhooks beside them. */
export async function startCarriers(options: CarriersOptions): Promise<Part & AsyncDisposable> {
  const clock = options.clock ?? systemClock;
  const log = options.log.child({ part: 'carriers' });
  const upgrades = new Upgrades({
    ...options,
    log,
    clock,
    nonces: new RecentNonces(() => clock.now()),
  });
  const sweep = setInterval(() => upgrades.tick(), sweepMs);
  sweep.unref();
  return Promise.resolve({
    name: 'carriers',
    upgrades: [
      {
        owns: (path) => upgrades.owns(path),
        handle: (request, socket, head) => upgrades.handle(request, socket, head),
      },
    ],
    async drain(deadlineMs) {
      upgrades.stopAccepting();
      const until = clock.monotonicMs() + deadlineMs;
      while (upgrades.liveStreams > 0 && clock.monotonicMs() < until)
        await new Promise<void>((resolve) => clock.after(100, resolve));
      upgrades.closeAll();
    },
    [Symbol.asyncDispose]: () => {
      clearInterval(sweep);
      upgrades.terminateAll();
      return Promise.resolve();
    },
  });
}
