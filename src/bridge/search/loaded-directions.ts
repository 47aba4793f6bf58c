import { sql } from 'kysely';
import { within, type Clock } from '../../lib/clock.ts';
import { NearDirections } from '../../meaning/near-directions.ts';
import type { PackedNear } from '../../meaning/packed-near.ts';
import type { NearAsk } from '../../meaning/sign-index.ts';
import type { Store } from '../../store/store.ts';
import type { LiveFeed } from '../live-feed.ts';

const rowsAtOnce = 1_000;
/** A search waits this long for rows that are not in memory yet. Then it looks at those that are. */
const waitMs = 2_000;

type PackedRows = {
  last: number | null;
  count: number;
  ids: string;
  calls: string;
  roles: string;
  directions: string;
};

type LoadedDirectionsOptions = { store: Store; feed: Pick<LiveFeed, 'whenErased'>; clock: Clock };

/**
 * The directions of all words in the memory of this node, since its first search by meaning. Before each search it
 * reads what is new. The database alone decides what is shown: a row that was erased is in no answer, and leaves the
 * memory when its call is erased or when a search meets it.
 */
export class LoadedDirections implements AsyncDisposable {
  readonly #options: LoadedDirectionsOptions;
  readonly #near = new NearDirections();
  readonly #leaveFeed: () => void;
  #last = 0;
  #loading: Promise<void> | undefined;
  #isStopped = false;

  constructor(options: LoadedDirectionsOptions) {
    this.#options = options;
    this.#leaveFeed = options.feed.whenErased((id) => this.#near.forget([id]));
  }

  /** The words that are nearly the nearest; `isWhole` is false while older words are still read. */
  async nearest(ask: NearAsk): Promise<{ found: PackedNear; isWhole: boolean } | undefined> {
    this.#loading ??= this.#load().finally(() => (this.#loading = undefined));
    const loading = this.#loading;
    const isWhole = await within(this.#options.clock, waitMs, loading);
    const found = await this.#near.nearest(ask);
    return found && { found, isWhole };
  }

  drop(ids: readonly number[]): void {
    this.#near.drop(ids);
  }

  async #load(): Promise<void> {
    // The thread was lost, or there is none yet.
    if (!this.#near.hasRows) this.#last = 0;
    while (!this.#isStopped) {
      const { last, count, ...rows } = await this.#packed(this.#last);
      if (last === null) return;
      await this.#near.add(rows);
      // The thread was lost with all its rows: the next search reads them again, from the first.
      if (!this.#near.hasRows) return;
      this.#last = last;
      if (count < rowsAtOnce) return;
    }
  }

  /** The database packs the rows into a few texts: a thousand objects would hold up the thread that moves audio. */
  async #packed(after: number): Promise<PackedRows> {
    const { db, kind } = this.#options.store;
    const joined = (column: string) =>
      sql.raw(kind === 'sqlite' ? `group_concat(${column}, ',' order by seq)` : `string_agg(${column}::text, ',' order by seq)`); // prettier-ignore
    const bytes = sql.raw(kind === 'sqlite' ? `group_concat(hex(direction), '' order by seq)` : `string_agg(encode(direction, 'hex'), '' order by seq)`); // prettier-ignore
    const { rows } =
      await sql<PackedRows>`select max(seq) as last, count(*) as count, ${joined('id')} as ids,
      ${joined('call_id')} as calls, ${joined('role')} as roles, ${bytes} as directions from
      (select * from said_directions where seq > ${after} order by seq limit ${rowsAtOnce}) d`.execute(
        db,
      );
    return rows[0] ?? { last: null, count: 0, ids: '', calls: '', roles: '', directions: '' };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isStopped = true;
    this.#leaveFeed();
    await this.#near[Symbol.asyncDispose]();
  }
}
