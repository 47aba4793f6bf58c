import type { Transaction } from 'kysely';
import { systemClock, type Clock } from '../lib/clock.ts';
import { TrunklineError } from '../lib/errors.ts';
import type { Logger } from '../lib/log.ts';
import type { Health } from '../lib/health.ts';
import type { Part } from '../port/part.ts';
import type { Database } from '../store/schema.ts';
import { maxDatabaseWaitMs } from '../store/backend.ts';
import type { Store } from '../store/store.ts';
import type { ApiEndpoint } from '../protocol/delivery-reports.ts';
import type { CallEventType } from '../protocol/events.ts';
import { endpointsOf, type Endpoint, type OutboxConfig, typesOf } from './config.ts';
import { ContactLookups } from './contact-lookups.ts';
import { connectionRoutes } from './connections-api.ts';
import { ConnectedEndpoints } from './connected-endpoints.ts';
import { Deliveries, deliveriesApi, failureSince } from './deliveries.ts';
import { Dispatcher } from './dispatcher.ts';
import { Housekeeping } from './housekeeping.ts';
import { Mapping } from './mapping.ts';
import type { SealingOptions } from './sealing.ts';
import type { WebhookClient } from './sender.ts';
import { eraseCall } from './event-rows.ts';
import { OutboxTables } from './tables.ts';

export type OutboxOptions = {
  config: OutboxConfig;
  store: Store;
  log: Logger;
  clock?: Clock;
  random?: () => number;
  /** Seals endpoints that are connected while the process runs. Without it none can be. */
  sealing?: SealingOptions;
  /** Replaces the network in simulations. */
  client?: WebhookClient;
};

export type Outbox = Part &
  AsyncDisposable & {
    /** Call this after a commit with events: the outbox looks at once instead of at the next poll. */
    wake(): void;
    /** Removes a call's events and deliveries in the given transaction. */
    eraseCall(tx: Transaction<Database>, callId: string): Promise<void>;
    /** The endpoints that want events of this type. */
    wanting(type: CallEventType): { name: string; isMapped: boolean }[];
    readonly deliveries: Deliveries;
    /** Looks up who calls, at the CRMs that are connected. */
    readonly contacts: Pick<ContactLookups, 'find'>;
  };

/** Told at the start, with what sets it up. */
const noCrm = 'a CRM (npx trunkline crm, or TRUNKLINE_WEBHOOK_URL)';

/** Delivers stored events to the configured endpoints, per call in order, until the process stops. */
export async function startOutbox(options: OutboxOptions): Promise<Outbox> {
  const { config, store, clock = systemClock, random = Math.random } = options;
  const log = options.log.child({ part: 'outbox' });
  const endpoints = endpointsOf(config);
  const warnings = await mappingWarnings(endpoints, clock, log);
  const tables = new OutboxTables(store);
  const connections =
    options.sealing &&
    new ConnectedEndpoints({
      tables,
      sealing: options.sealing,
      ofSettings: new Set(endpoints.map(({ name }) => name)),
      hosts: config.connectHosts,
      clock,
      log,
      take: (endpoint) => dispatcher.take(endpoint),
      letGo: (name) => dispatcher.letGo(name),
    });
  const connected = (await connections?.load()) ?? [];
  /** Those of the settings, and those that were connected since. */
  const all = () => [...endpoints, ...(connections?.endpoints ?? [])];
  const disabled = await tables.endpoints.saveEndpoints(all());
  const housekeeping = new Housekeeping({
    config,
    tables,
    ownsDatabase: store.kind === 'sqlite',
    clock,
    log,
  });
  await housekeeping.start();
  const dispatcher: Dispatcher = new Dispatcher({
    config,
    endpoints: [...endpoints, ...connected],
    tables,
    clock,
    random,
    log,
    client: options.client,
    onParked: () => housekeeping.countSoon(),
  });
  const deliveries = new Deliveries(tables, all, () => dispatcher.changed());
  /** The endpoints for which calls waited when this process began. */
  const waiting = (await deliveries.endpoints()).filter(({ waiting_calls: calls }) => calls > 0);
  dispatcher.remember(waiting);
  dispatcher.start(disabled);
  connections?.start();
  housekeeping.onDue = () => dispatcher.wake();
  housekeeping.onSet = (byMs) => dispatcher.shiftClaims(byMs);
  const contacts = new ContactLookups({ ...options, ...tables.crm, endpoints: all, clock, log });
  let closing: Promise<void> | undefined;
  const close = async (): Promise<void> => {
    await contacts[Symbol.asyncDispose]();
    await connections?.stop();
    await housekeeping.stop(maxDatabaseWaitMs);
    await dispatcher.stop(0);
    await dispatcher.close();
  };
  return {
    name: 'outbox',
    deliveries,
    contacts,
    routers: [
      deliveriesApi(deliveries),
      ...(connections ? [connectionRoutes(connections)] : []),
    ].map((router) => ({ access: 'operator' as const, router })),
    wake: () => dispatcher.wake(),
    wanting: (type) => wantingOf(all(), type),
    eraseCall: (tx, callId) => eraseCall(tx, callId, clock.now()),
    health: () => healthsOf(dispatcher, housekeeping),
    missing: () => (all().length > 0 ? [] : [noCrm]),
    notes: () => notesOf(dispatcher, waiting, warnings),
    drain: async (deadlineMs) => {
      await Promise.all([
        housekeeping.stop(Math.max(deadlineMs, maxDatabaseWaitMs)),
        dispatcher.stop(deadlineMs),
      ]);
    },
    [Symbol.asyncDispose]: () => (closing ??= close()),
  };
}

function wantingOf(endpoints: readonly Endpoint[], type: CallEventType) {
  return endpoints
    .filter((one) => typesOf(one).includes(type))
    .map(({ name, shape }) => ({ name, isMapped: shape !== 'envelope' }));
}

function healthsOf(dispatcher: Dispatcher, housekeeping: Housekeeping): Record<string, Health> {
  const { troubles } = dispatcher;
  return {
    outbox: healthOf(dispatcher, housekeeping),
    ...(troubles.length === 0
      ? {}
      : { delivery: { state: 'degraded', detail: troubles.join('; ') } }),
  };
}

function waitingNotes(waiting: readonly ApiEndpoint[], { disabled }: Dispatcher): string[] {
  return waiting.flatMap((endpoint) => {
    const { name, waiting_calls: calls } = endpoint;
    if (disabled.has(name)) return [];
    const wait = calls === 1 ? '1 call waits' : `${calls} calls wait`;
    const failure = failureSince(endpoint);
    const last = failure === undefined ? '' : `, last failure ${utcMinute(failure.at)}: ${failure.reason ?? 'unknown'}`; // prettier-ignore
    return [`${wait} for webhook ${name}${last} (npx trunkline deliveries list)`];
  });
}

/** Such as `2026-12-04 09:30 UTC`. */
function utcMinute(at: string): string {
  return `${at.slice(0, 16).replace('T', ' ')} UTC`;
}

function notesOf(
  dispatcher: Dispatcher,
  waiting: readonly ApiEndpoint[],
  warnings: readonly string[],
): string[] {
  return [
    ...disabledNotes(dispatcher),
    ...waitingNotes(waiting, dispatcher),
    ...mappingNotes(warnings),
  ];
}

function disabledNotes({ disabled }: Dispatcher): string[] {
  return [...disabled].map(
    ([name, reason]) =>
      `webhook ${name} is switched off (${reason}): trunkline deliveries enable ${name}`,
  );
}

async function mappingWarnings(
  endpoints: readonly Endpoint[],
  clock: Clock,
  log: Logger,
): Promise<string[]> {
  const warnings: string[] = [];
  for (const endpoint of endpoints) {
    await using mapping = new Mapping(endpoint, clock);
    for (const warning of await mapping.check()) warnings.push(`${endpoint.name}, ${warning}`);
  }
  for (const warning of warnings.slice(0, maxMappingNotes))
    log.warn({ warning }, 'an expression of a mapping found no value');
  return warnings;
}

/** Mappings may find nothing on purpose, so this many notes are logged for a person and nothing is stopped. */
const maxMappingNotes = 10;

function mappingNotes(warnings: readonly string[]): string[] {
  const shown = warnings.slice(0, maxMappingNotes).map((warning) => `mapping of ${warning}`);
  const more = warnings.length - shown.length;
  return more === 0 ? shown : [...shown, `and ${more} more of the kind: trunkline webhooks try`];
}

/** Only an unreadable table makes the process unready. Failures of endpoints are not the process's own. */
function healthOf(dispatcher: Dispatcher, housekeeping: Housekeeping): Health {
  if (dispatcher.failures >= 3)
    return { state: 'down', detail: 'the outbox cannot read its table' };
  const troubles = [
    ...[...dispatcher.disabled.keys()].map((name) => `${name} is switched off`),
    ...(housekeeping.parked > 0
      ? [housekeeping.parked === 1 ? '1 call is parked' : `${housekeeping.parked} calls are parked`]
      : []),
  ];
  return troubles.length === 0
    ? { state: 'ok' }
    : { state: 'degraded', detail: troubles.join('; ') };
}

/** Finds an endpoint in the settings, for commands that run without the process. */
export function endpointNamed(config: OutboxConfig, name: string) {
  const endpoints = endpointsOf(config);
  const found = endpoints.find((endpoint) => endpoint.name === name);
  if (found) return found;
  const names = endpoints.map((endpoint) => endpoint.name).join(', ') || 'none is configured';
  throw new TrunklineError('BAD_INPUT', `No endpoint is named ${name} (${names})`);
}
