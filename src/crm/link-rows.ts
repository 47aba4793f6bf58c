import { sql } from 'kysely';
import { storableText } from '../lib/storable.ts';
import type { Store } from '../store/store.ts';

/** The remote ids of a call at one endpoint, by what they name. */
export type RemoteIds = Record<string, string>;

/** A step's mark: the record may have been made although its answer was lost. */
export type UnsureMark = { step: string; atMs: number };

const unsurePrefix = 'unsure:';

export function unsureKind(step: string): string {
  return unsurePrefix + step;
}

const answeredPrefix = 'answered:';

/** The kind of the row that says for which event a step without a link of its own was answered last. */
export function answeredKind(step: string): string {
  return answeredPrefix + step;
}

/** All that is known of a call at one endpoint. `answered` has the event by the step. */
export type KnownLinks = { links: RemoteIds; unsure: UnsureMark[]; answered: RemoteIds };

/** The CRM's ids of a call's records: written as soon as its answer is there, so that no retry makes a second record. */
export class LinkRows {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  async of(endpoint: string, callId: string): Promise<KnownLinks> {
    const rows = await this.#store.db
      .selectFrom('crm_links')
      .select(['kind', 'remote_id', 'noted_at'])
      .where('endpoint', '=', endpoint)
      .where('call_id', '=', callId)
      .execute();
    const links = Object.create(null) as RemoteIds;
    const answered = Object.create(null) as RemoteIds;
    const unsure: UnsureMark[] = [];
    for (const { kind, remote_id, noted_at } of rows)
      if (kind.startsWith(unsurePrefix))
        unsure.push({ step: kind.slice(unsurePrefix.length), atMs: noted_at });
      else if (kind.startsWith(answeredPrefix))
        answered[kind.slice(answeredPrefix.length)] = remote_id;
      else links[kind] = remote_id;
    return { links, unsure, answered };
  }

  /** Before a request that may make a record: a process that is killed after it leaves this row. */
  async mark(endpoint: string, callId: string, step: string, nowMs: number): Promise<void> {
    await this.#put(endpoint, callId, unsureKind(step), '', nowMs);
  }

  /** The answer is there, and with it the links that it brings. */
  async settle(
    endpoint: string,
    callId: string,
    step: string,
    links: RemoteIds,
    nowMs: number,
  ): Promise<void> {
    for (const [kind, id] of Object.entries(links))
      await this.#put(endpoint, callId, kind, id, nowMs);
    await this.unmark(endpoint, callId, step);
  }

  /** The step made nothing, or its record is known. */
  async unmark(endpoint: string, callId: string, step: string): Promise<void> {
    await this.forget(endpoint, callId, [unsureKind(step)]);
  }

  async forget(endpoint: string, callId: string, kinds: readonly string[]): Promise<void> {
    await this.#store.db
      .deleteFrom('crm_links')
      .where('endpoint', '=', endpoint)
      .where('call_id', '=', callId)
      .where('kind', 'in', [...kinds])
      .execute();
  }

  async #put(
    endpoint: string,
    callId: string,
    kind: string,
    id: string,
    nowMs: number,
  ): Promise<void> {
    await sql`
      insert into crm_links (endpoint, call_id, kind, remote_id, noted_at)
      values (${endpoint}, ${callId}, ${kind}, ${storableText(id)}, ${nowMs})
      on conflict (endpoint, call_id, kind) do update set
        remote_id = excluded.remote_id, noted_at = excluded.noted_at`.execute(this.#store.db);
  }
}

/** Keeps the links of one run of a command in memory. Nothing remains after the run. */
export class LinksOfOneRun {
  readonly links = Object.create(null) as RemoteIds;

  of(): Promise<KnownLinks> {
    return Promise.resolve({ links: this.links, unsure: [], answered: {} });
  }

  mark(): Promise<void> {
    return Promise.resolve();
  }

  unmark(): Promise<void> {
    return Promise.resolve();
  }

  settle(_endpoint: string, _callId: string, _step: string, links: RemoteIds): Promise<void> {
    Object.assign(this.links, links);
    return Promise.resolve();
  }

  forget(_endpoint: string, _callId: string, kinds: readonly string[]): Promise<void> {
    for (const kind of kinds) Reflect.deleteProperty(this.links, kind);
    return Promise.resolve();
  }
}

export type CallLinkStore = Pick<LinkRows, 'of' | 'mark' | 'unmark' | 'settle' | 'forget'>;
