import { Router } from 'express';
import type { Bridge } from '../bridge/streams.ts';
import type { IsProxy } from '../port/addresses.ts';
import { GuardedClient } from '../lib/guarded-fetch.ts';
import { systemClock, wait, type Clock } from '../lib/clock.ts';
import { counted } from '../lib/counted.ts';
import { every } from '../lib/every.ts';
import type { Logger } from '../lib/log.ts';
import type { Part } from '../port/part.ts';
import { shortSecretNote, type SecretJudge } from '../port/secrets.ts';
import type { CarrierList } from '../protocol/api.ts';
import { carrierNames, carriers, carrierSettings } from './all.ts';
import type { CarriersConfig } from './config.ts';
import { RecentNonces } from './credentials.ts';
import { upgradesTotal, webhooksTotal } from './metrics.ts';
import { RefusalLog } from './refusal-log.ts';
import { carrierSetups } from './setups.ts';
import { Upgrades, type UpgradeContext } from './carrier-upgrades.ts';
import { webhookRouter } from './webhook-routes.ts';

type CarriersOptions = {
  config: CarriersConfig;
  bridge: Bridge;
  log: Logger;
  /** The address by which carriers reach us, without a slash at its end: the configured one, or else our own. */
  publicUrl: () => string;
  insecure: boolean;
  /** True while the port has connections to spare for a new call. */
  hasRoom: () => boolean;
  isProxy: IsProxy;
  secrets: SecretJudge;
  clock?: Clock;
};

const sweepMs = 1_000;

/**
 * This share of the drain time is kept for the last words of calls that have ended. Before it begins, streams may still
 * end by themselves.
 */
const lastWordsShare = 0.4;
const mostLastWordsMs = 7_200;
const lastWordsPart = (deadlineMs: number): number =>
  Math.min(deadlineMs * lastWordsShare, mostLastWordsMs);

/** Mounts all carriers on the one port: their sockets under /carriers, their webhooks beside them. */
export async function startCarriers(options: CarriersOptions): Promise<Part & AsyncDisposable> {
  for (const name of carrierNames) carriers[name].checkSettings?.(options.config);
  countFromZero(options.secrets);
  const clock = options.clock ?? systemClock;
  const log = options.log.child({ part: 'carriers' });
  const context: UpgradeContext = {
    ...options,
    log,
    clock,
    nonces: new RecentNonces(() => clock.now()),
    refusals: new RefusalLog({ log, clock }),
  };
  const api = new GuardedClient({ trust: 'as-written' });
  const upgrades = new Upgrades(context);
  // Deadlines are measured by this clock, so the timer that checks them uses it too.
  const sweeps = every(clock, sweepMs, () => upgrades.tick());
  const operator = Router();
  operator.get('/api/carriers', async (_request, response) => {
    const items = carrierSetups({
      config: options.config,
      publicUrl: options.publicUrl(),
      lastStreamMs: await lastStreams(options.bridge, upgrades.lastProvenMs),
      lastRefused: context.refusals.last,
    });
    response.json({ items } satisfies CarrierList);
  });
  return Promise.resolve({
    name: 'carriers',
    routers: [
      {
        access: 'public',
        router: webhookRouter({
          ...context,
          announcement: options.config.consentAnnouncement,
          api,
        }),
      },
      { access: 'operator', router: operator },
    ],
    upgrades: [
      {
        owns: (path) => upgrades.owns(path),
        handle: (request, socket, head, admitted) =>
          upgrades.handle(request, socket, head, admitted),
      },
    ],
    notes: () => notesOf(options.config, options.insecure),
    missing: () => missingOf(options.config, options.insecure),
    waitsFor(deadlineMs) {
      if (upgrades.liveStreams === 0) return undefined;
      const ownS = (deadlineMs - lastWordsPart(deadlineMs)) / 1_000;
      return `${counted(upgrades.liveStreams, 'open stream')} (${Math.round(ownS * 10) / 10} s)`;
    },
    leaving: () => {
      upgrades.stopAccepting();
      return Promise.resolve();
    },
    async drain(deadlineMs) {
      upgrades.stopAccepting();
      const until = clock.monotonicMs() + deadlineMs - lastWordsPart(deadlineMs);
      while (upgrades.liveStreams > 0 && clock.monotonicMs() < until) await wait(clock, 100);
      upgrades.closeAll();
    },
    [Symbol.asyncDispose]: () => {
      void sweeps.stop();
      upgrades.terminateAll();
      return api[Symbol.asyncDispose]();
    },
  });
}

/**
 * Returns when each carrier last streamed. This process remembers a time, which includes tests of the installation, and
 * the store has a time. The later one counts.
 */
async function lastStreams(
  bridge: Bridge,
  seenMs: ReadonlyMap<string, number>,
): Promise<Map<string, number>> {
  const found = await Promise.all(
    carrierNames.map(async (name): Promise<[string, number]> => {
      const at = Math.max(seenMs.get(name) ?? 0, (await bridge.lastStreamAt(name)) ?? 0);
      return [name, at];
    }),
  );
  return new Map(found.filter(([, at]) => at > 0));
}

/** Counters begin at 0, so that the first refusal of a carrier shows as an increase. */
function countFromZero(secrets: SecretJudge): void {
  for (const carrier of carrierNames) {
    secrets.open(carrier);
    for (const outcome of ['401', '403', '503']) upgradesTotal.inc({ carrier, outcome }, 0);
    for (const { action: webhook } of carriers[carrier].webhooks)
      for (const outcome of ['401', '403']) webhooksTotal.inc({ carrier, webhook, outcome }, 0);
  }
}

function shortSecretNotes(config: CarriersConfig): string[] {
  const values: Record<string, unknown> = config;
  const shared = Object.entries(carrierSettings).filter(([, schema]) => schema.meta()?.['shared']);
  return shared
    .map(([key, schema]) => {
      const secrets = [values[key] ?? []].flat().map(String);
      return shortSecretNote(String(schema.meta()?.['env']), secrets);
    })
    .filter((note) => note !== undefined);
}

function notesOf(config: CarriersConfig, insecure: boolean): string[] {
  if (insecure) return ['carriers: open to anyone who reaches this port (TRUNKLINE_INSECURE=1)'];
  return shortSecretNotes(config);
}

function missingOf(config: CarriersConfig, insecure: boolean): string[] {
  const isAnySet = insecure || carrierNames.some((name) => carriers[name].hasSecret(config));
  return isAnySet ? [] : ['a carrier (npx trunkline carriers)'];
}
