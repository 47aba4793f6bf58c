import type { Clock } from '../lib/clock.ts';
import { reasonOf } from '../lib/errors.ts';
import { every, type Loop } from '../lib/every.ts';
import type { Logger } from '../lib/log.ts';
import { newWebhookSecret } from '../lib/webhook-signature.ts';
import { Problem } from '../port/problem.ts';
import type { ApiConnection, Connected } from '../protocol/connection-reports.ts';
import { check } from '../protocol/validation.ts';
import { checkUrl } from '../lib/guarded-fetch-addresses.ts';
import { parseAllowance } from '../lib/guarded-fetch-addresses.ts';
import { endpointOf, EndpointSetting, type Endpoint } from './config.ts';
import type { ConnectedRow } from './connected-rows.ts';
import { Mapping } from './mapping.ts';
import { Sealing, type SealingOptions } from './sealing.ts';
import type { OutboxTables } from './tables.ts';

type ConnectedEndpointsOptions = {
  tables: OutboxTables;
  sealing: SealingOptions;
  /** The names that the settings use: an endpoint of theirs wins. */
  ofSettings: ReadonlySet<string>;
  /** Private hosts that may be dialled. */
  hosts: readonly string[];
  clock: Clock;
  log: Logger;
  take: (endpoint: Endpoint) => Promise<void>;
  letGo: (name: string) => Promise<void>;
};

/** A change at another node is seen after this time at the latest. */
const lookEveryMs = 2_000;
/** As many as the settings may have. */
const maxConnections = 64;

type HeldConnection = { version: string; endpoint: Endpoint | undefined; detail: string | null };

/**
 * The endpoints that were connected while the process ran. They lie in the database, sealed, and every node delivers
 * to them. The settings stay the authority: an endpoint of theirs with the same name is used in place of one here.
 */
export class ConnectedEndpoints {
  readonly #options: ConnectedEndpointsOptions;
  readonly #sealing: Sealing;
  #held = new Map<string, HeldConnection>();
  #looks: Loop | undefined;
  #looking: Promise<void> | undefined;

  constructor(options: ConnectedEndpointsOptions) {
    this.#options = options;
    this.#sealing = new Sealing(options.sealing);
  }

  /** The endpoints at the start, before anything is delivered. */
  async load(): Promise<Endpoint[]> {
    for (const row of await this.#options.tables.connected.list())
      this.#held.set(row.name, await this.#heldOf(row));
    return this.endpoints;
  }

  start(): void {
    const { clock, log } = this.#options;
    this.#looks = every(clock, lookEveryMs, () => this.look(), {
      failed: (error) => log.warn({ err: error }, 'connected endpoints could not be read'),
    });
  }

  async stop(): Promise<void> {
    await this.#looks?.stop();
  }

  get endpoints(): Endpoint[] {
    return [...this.#held.values()].flatMap(({ endpoint }) => endpoint ?? []);
  }

  async list(): Promise<ApiConnection[]> {
    const rows = await this.#options.tables.connected.list();
    return Promise.all(
      rows.map(async (row) => {
        const known = this.#held.get(row.name);
        return connectionOf(
          row,
          known?.version === row.version ? known : await this.#heldOf(row),
          this.#options.ofSettings.has(row.name),
        );
      }),
    );
  }

  /** The endpoint that was connected under this name, for a trial of it. */
  held(name: string): Endpoint {
    const held = this.#held.get(name);
    if (held === undefined) throw new Problem(404, 'no endpoint of this name was connected here');
    if (held.endpoint !== undefined) return held.endpoint;
    throw new Problem(409, held.detail ?? 'the settings have an endpoint of this name');
  }

  /** The endpoint of a request, or a problem that says what to correct. Nothing is stored. */
  read(
    name: string,
    body: unknown,
  ): { endpoint: Endpoint; setting: EndpointSetting; secret: string | undefined } {
    const given = typeof body === 'object' && body !== null && !Array.isArray(body) ? body : {};
    const isSigned = 'preset' in given || 'secrets' in given || 'shape' in given;
    const secret = isSigned ? undefined : newWebhookSecret();
    const parsed = check(EndpointSetting, {
      ...given,
      name,
      ...(secret === undefined ? {} : { secrets: [secret] }),
    });
    if (!parsed.ok)
      throw new Problem(400, 'Validation failed', { validationErrors: parsed.validationErrors });
    const endpoint = this.#guarded(endpointOf(parsed.value));
    const allowed = checkUrl(endpoint.url, this.#options.hosts.map(parseAllowance));
    if (!allowed.ok)
      throw new Problem(
        400,
        `the address is refused: ${allowed.reason}; a process that was started with TRUNKLINE_CONNECT_HOSTS=${new URL(endpoint.url).hostname} takes it`,
      );
    return { endpoint, setting: parsed.value, secret };
  }

  /** Connects it, in place of one with the same name. From the next event on all nodes deliver to it. */
  async put(name: string, body: unknown): Promise<Connected> {
    const { tables, ofSettings, clock } = this.#options;
    if (ofSettings.has(name))
      throw new Problem(409, `the settings have an endpoint named ${name}: choose another name`);
    const { endpoint, setting, secret } = this.read(name, body);
    const before = await tables.connected.list();
    if (before.length >= maxConnections && !before.some((one) => one.name === name))
      throw new Problem(409, `${maxConnections} endpoints are connected: remove one first`);
    {
      await using mapping = new Mapping(endpoint, clock);
      await mapping.check().catch((error: unknown) => {
        throw new Problem(400, reasonOf(error));
      });
    }
    const sealed = await this.#sealing.seal(JSON.stringify(setting));
    const { preset = null } = endpoint;
    await tables.connected.put({ name, preset, host: new URL(endpoint.url).host, sealed });
    await this.look();
    const stored = (await this.list()).find((one) => one.name === name);
    if (stored === undefined) throw new Problem(409, `${name} was removed meanwhile`);
    return { ...stored, ...(secret === undefined ? {} : { secret }) };
  }

  /** False if there was none. */
  async remove(name: string): Promise<boolean> {
    const removed = await this.#options.tables.connected.remove(name);
    await this.look();
    return removed;
  }

  /** Compares the rows with what this node delivers to. One look at a time. */
  look(): Promise<void> {
    return (this.#looking ??= this.#look().finally(() => (this.#looking = undefined)));
  }

  async #look(): Promise<void> {
    const { tables, ofSettings, take, letGo } = this.#options;
    const rows = await tables.connected.list();
    // Most installations have none: their look is one query.
    const running = rows.length === 0 ? [] : await tables.endpoints.activeEndpoints();
    const active = new Set(running.map(({ name }) => name));
    for (const row of rows) {
      const known = this.#held.get(row.name);
      const isNew = known?.version !== row.version;
      const held = isNew ? await this.#heldOf(row) : known;
      this.#held.set(row.name, held);
      if (ofSettings.has(row.name)) continue;
      if (held.endpoint === undefined) {
        if (isNew) await letGo(row.name);
        continue;
      }
      // Another node that starts switches off what it does not know yet.
      if (isNew || !active.has(row.name)) await tables.endpoints.addEndpoint(held.endpoint);
      if (isNew) await take(held.endpoint);
    }
    const there = new Set(rows.map(({ name }) => name));
    for (const name of [...this.#held.keys()].filter((one) => !there.has(one))) {
      this.#held.delete(name);
      if (ofSettings.has(name)) continue;
      await tables.endpoints.removeEndpoint(name);
      await letGo(name);
    }
  }

  async #heldOf({ name, sealed, version }: ConnectedRow): Promise<HeldConnection> {
    const { ofSettings, log } = this.#options;
    if (ofSettings.has(name)) return { version, endpoint: undefined, detail: null };
    const opened = await this.#sealing.open(sealed);
    if (opened === undefined) {
      const detail = 'no key of this node opens it: connect it again';
      log.error({ endpoint: name }, 'a connected endpoint cannot be opened: its key is not here');
      return { version, endpoint: undefined, detail };
    }
    try {
      const endpoint = endpointOf(EndpointSetting.parse(JSON.parse(opened)));
      return { version, endpoint: this.#guarded(endpoint), detail: null };
    } catch (error) {
      const detail = 'this version cannot use it: connect it again';
      log.error({ endpoint: name, reason: reasonOf(error) }, 'a connected endpoint is not usable');
      return { version, endpoint: undefined, detail };
    }
  }

  #guarded(endpoint: Endpoint): Endpoint {
    return { ...endpoint, guarded: { hosts: this.#options.hosts } };
  }
}

function connectionOf(row: ConnectedRow, held: HeldConnection, isShadowed: boolean): ApiConnection {
  const state = isShadowed ? 'shadowed' : held.endpoint === undefined ? 'unreadable' : 'connected';
  const { name, preset, host } = row;
  const detail = isShadowed ? 'the settings have an endpoint of this name' : held.detail;
  return { name, preset, host, changed_at: new Date(row.changedAt).toISOString(), state, detail };
}
