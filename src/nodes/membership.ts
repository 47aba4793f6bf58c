import type { Selectable } from 'kysely';
import type { Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import { version } from '../lib/version.ts';
import { within } from '../lib/clock.ts';
import { every, type Loop } from '../lib/every.ts';
import type { NodesTable } from '../store/schema.ts';
import { maxDatabaseWaitMs } from '../store/backend.ts';
import type { Store } from '../store/store.ts';
import { nodeMetrics } from './metrics.ts';

export type NodeRow = Selectable<NodesTable>;

/**
 * A node that the others gave up, with the time at which it was last seen and the lead of its clock over the
 * database's.
 */
export type LostNode = {
  node: string;
  seenAt: number;
  aheadMs: number;
  silentMs: number;
  /**
   * True if the node stopped on purpose and left its calls to the others. Its live speech sessions may still wait for
   * its next start.
   */
  hasLeft: boolean;
};

/**
 * A node sends this many signs of life in the time after which it counts as lost. Two of them may be late without any
 * effect.
 */
const beatsPerSilence = 5;
/** After a node counts as lost, the takeover of its work may last this long. */
const takingOverMs = 10_000;
/** The rows of nodes that nobody has seen for this long are deleted. */
const forgottenMs = 30 * 86_400_000;

export type MembershipOptions = {
  store: Store;
  clock: Clock;
  log: Logger;
  node: string;
  silentMs: number;
  roles: readonly string[];
  capacity: number;
  /** The address at which the other nodes reach this one. */
  address?: string | undefined;
};

/** Duties that a part of this process has because the process is one of several nodes. */
export type NodeDuties = {
  legs(): number;
  /** The channels of live sessions, in use and in total; undefined if there is no speech service. */
  speech?(): { used: number; capacity: number };
  /**
   * Takes over the work of lost nodes, on this disk or elsewhere. Called again while the nodes are still in the table.
   */
  takeOver(lost: readonly LostNode[]): Promise<void>;
  /** Called after the others gave this node up. The part must find out which of its calls it still has. */
  wasGivenUp(): Promise<void>;
};

/**
 * Holds this process's place among the nodes of one database. Its row shows that it is there, and the others give up a
 * node whose row stands still. All times are the database's, because the nodes' clocks differ.
 */
export class Membership implements AsyncDisposable {
  readonly node: string;
  readonly #options: MembershipOptions;
  readonly #log: Logger;
  readonly #beatMs: number;
  readonly #duties: NodeDuties[] = [];
  #epoch = 0;
  #isDraining = false;
  #isClosed = false;
  /** The first sign of life in the latest series without a long pause. */
  #sinceMs = Infinity;
  #lastMs = -Infinity;
  #aheadMs = 0;
  #here: readonly NodeRow[] = [];
  #takingOver: Promise<void> | undefined;
  #beats: Loop | undefined;

  private constructor(options: MembershipOptions) {
    this.#options = options;
    this.node = options.node;
    this.#log = options.log.child({ part: 'nodes' });
    this.#beatMs = Math.round(options.silentMs / beatsPerSilence);
  }

  /** Resolves once the row of this node is written. */
  static async join(options: MembershipOptions): Promise<Membership> {
    const membership = new Membership(options);
    const nowMs = await options.store.databaseNow();
    await membership.#enter(nowMs);
    membership.#seen(nowMs);
    await membership.#lookWhoIsHere(nowMs);
    // A SQLite file belongs to one process, so nobody else would read its signs of life.
    if (options.store.kind === 'postgres') membership.#beats = membership.#beatAgain();
    return membership;
  }

  /** Milliseconds by which this process's clock is ahead of the database's. */
  get aheadMs(): number {
    return this.#aheadMs;
  }

  /** True if several nodes can share the database, so that one of them can be lost. */
  get isFleet(): boolean {
    return this.#options.store.kind === 'postgres';
  }

  /** After this many milliseconds, the work of a lost node has either been taken over or will not be. */
  get takeOverMs(): number {
    return Math.round(this.#options.silentMs * 1.5) + takingOverMs;
  }

  /** The running nodes that have a speech service, as this node last saw them. */
  get speechNodes(): readonly NodeRow[] {
    return this.#here.filter(({ roles }) => roles.split(',').includes('speech'));
  }

  attach(duties: NodeDuties): void {
    this.#duties.push(duties);
  }

  /** Tells the other nodes that this one takes nothing new. Resolves soon, even if the database does not answer. */
  async drain(): Promise<void> {
    this.#isDraining = true;
    if (this.#isClosed || !this.isFleet) return;
    const said = this.#beat().catch((error: unknown) =>
      this.#log.warn({ err: error }, 'the other nodes were not told that this one stops'),
    );
    await within(this.#options.clock, maxDatabaseWaitMs, said);
  }

  /** True if this node is stopping and another node has this role and keeps running, as last seen. */
  isRelievedAs(role: string): boolean {
    return this.relieverAs(role) !== undefined;
  }

  /**
   * Names a node that has this role and keeps running, the one with the fewest legs. Returns undefined if there is none
   * or if this node is not stopping.
   */
  relieverAs(role: string): string | undefined {
    if (!this.#isDraining) return undefined;
    const others = this.#here.filter(
      ({ node, draining, left_at, roles }) =>
        node !== this.node && draining === 0 && left_at === null && roles.split(',').includes(role),
    );
    return others.toSorted((a, b) => a.legs - b.legs)[0]?.node;
  }

  /**
   * Tells the other nodes that this node has no running call left, so that they take over its calls without waiting for
   * silence.
   */
  async leaveCalls(): Promise<void> {
    const { store } = this.#options;
    await store.db
      .updateTable('nodes')
      .set({ left_at: await store.databaseNow() })
      .where('node', '=', this.node)
      .where('epoch', '=', this.#epoch)
      .execute();
  }

  async rows(): Promise<{ nowMs: number; rows: NodeRow[] }> {
    const { store } = this.#options;
    // A single process writes no signs of life. It answers for itself when somebody asks.
    if (!this.isFleet) await this.#beat();
    const nowMs = await store.databaseNow();
    return {
      nowMs,
      rows: await store.db.selectFrom('nodes').selectAll().orderBy('node').execute(),
    };
  }

  /** The other running nodes, with the addresses at which they can be reached. */
  async peers(): Promise<ReadonlyMap<string, string>> {
    const { store } = this.#options;
    const rows = await store.db
      .selectFrom('nodes')
      .select(['node', 'address'])
      .where('node', '!=', this.node)
      .where('lost_at', 'is', null)
      .where('address', 'is not', null)
      .execute();
    return new Map(
      rows.flatMap(({ node, address }) => (address === null ? [] : [[node, address]])),
    );
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#isClosed) return;
    this.#isClosed = true;
    const working = Promise.all([this.#beats?.stop(), this.#takingOver]);
    await within(this.#options.clock, maxDatabaseWaitMs, working);
  }

  #beatAgain(): Loop {
    return every(this.#options.clock, this.#beatMs, () => this.#beat(), {
      failed: (error) => {
        nodeMetrics.missedBeats.inc();
        this.#log.warn(
          { err: error },
          'a sign of life was not written: the database did not take it',
        );
      },
    });
  }

  async #beat(): Promise<void> {
    const { store, silentMs } = this.#options;
    const nowMs = await store.databaseNow();
    const { numUpdatedRows } = await store.db
      .updateTable('nodes')
      .set({ ...this.#facts(nowMs), draining: this.#isDraining ? 1 : 0 })
      .where('node', '=', this.node)
      .where('epoch', '=', this.#epoch)
      .executeTakeFirst();
    if (numUpdatedRows === 0n) {
      await this.#enter(nowMs);
      this.#log.error(
        'the other nodes had given this one up: it stood still, or the database did not hear of it; it keeps the calls that nobody has taken',
      );
      nodeMetrics.givenUp.inc();
      for (const duties of this.#duties) await duties.wasGivenUp();
    }
    this.#seen(nowMs);
    await this.#lookWhoIsHere(nowMs);
    if (this.isFleet && !this.#isDraining) await this.#lookForLost(nowMs, silentMs);
  }

  /**
   * Notes a sign of life. After a long pause the series begins anew, because a node that was cut off from the database
   * cannot tell which others are running.
   */
  #seen(nowMs: number): void {
    if (nowMs - this.#lastMs > this.#options.silentMs / 2) this.#sinceMs = nowMs;
    this.#lastMs = nowMs;
  }

  async #enter(nowMs: number): Promise<void> {
    const { store, roles, capacity } = this.#options;
    const facts = {
      ...this.#facts(nowMs),
      address: this.#options.address ?? null,
      roles: roles.join(','),
      version,
      capacity,
      draining: this.#isDraining ? 1 : 0,
      started_at: nowMs - Math.round(process.uptime() * 1_000),
      lost_at: null,
      left_at: null,
    };
    const row = await store.db
      .insertInto('nodes')
      .values({ node: this.node, epoch: 1, ...facts })
      .onConflict((conflict) =>
        conflict
          .column('node')
          .doUpdateSet((eb) => ({ ...facts, epoch: eb('nodes.epoch', '+', 1) })),
      )
      .returning('epoch')
      .executeTakeFirstOrThrow();
    this.#epoch = row.epoch;
  }

  #facts(
    nowMs: number,
  ): Pick<NodeRow, 'seen_at' | 'legs' | 'ahead_ms' | 'speech_capacity' | 'speech_used'> {
    this.#aheadMs = Math.round(this.#options.clock.now() - nowMs);
    const legs = this.#duties.reduce((sum, duties) => sum + duties.legs(), 0);
    const speech = this.#duties.flatMap((duties) => duties.speech?.() ?? [])[0];
    return {
      seen_at: nowMs,
      legs,
      ahead_ms: this.#aheadMs,
      speech_capacity: speech?.capacity ?? 0,
      speech_used: speech?.used ?? 0,
    };
  }

  /**
   * Reads the rows of the running nodes. A node that was silent for this long is left out, even before anybody has
   * given it up.
   */
  async #lookWhoIsHere(nowMs: number): Promise<void> {
    const { store, silentMs } = this.#options;
    if (!this.isFleet) return;
    const rows = await store.db
      .selectFrom('nodes')
      .selectAll()
      .where('lost_at', 'is', null)
      .where('seen_at', '>=', nowMs - silentMs)
      .execute();
    this.#here = rows;
  }

  async #lookForLost(nowMs: number, silentMs: number): Promise<void> {
    const { db } = this.#options.store;
    if (nowMs - this.#sinceMs >= silentMs) {
      const given = await db
        .updateTable('nodes')
        .set((eb) => ({ lost_at: nowMs, epoch: eb('epoch', '+', 1) }))
        .where('node', '!=', this.node)
        .where('lost_at', 'is', null)
        .where('seen_at', '<', nowMs - silentMs)
        .returning(['node', 'seen_at', 'left_at'])
        .execute();
      for (const { node, seen_at, left_at } of given) {
        if (left_at !== null) continue;
        nodeMetrics.lostNodes.inc();
        this.#log.error(
          { node, silentMs: nowMs - seen_at },
          'a node gave no sign of life; its calls are taken over',
        );
      }
      await db
        .deleteFrom('nodes')
        .where('seen_at', '<', nowMs - forgottenMs)
        .execute();
    }
    const lost = await db
      .selectFrom('nodes')
      .select(['node', 'seen_at', 'ahead_ms', 'lost_at'])
      .where('node', '!=', this.node)
      .where((eb) => eb.or([eb('lost_at', 'is not', null), eb('left_at', 'is not', null)]))
      .execute();
    if (lost.length === 0 || this.#takingOver !== undefined) return;
    const nodes = lost.map((row) => ({
      node: row.node,
      seenAt: row.seen_at,
      aheadMs: row.ahead_ms,
      silentMs: nowMs - row.seen_at,
      hasLeft: row.lost_at === null,
    }));
    // The takeover runs beside the signs of life, because taking a hundred calls over lasts longer than a sign of life
    // may be late.
    this.#takingOver = this.#takeOver(nodes).finally(() => {
      this.#takingOver = undefined;
    });
  }

  async #takeOver(lost: readonly LostNode[]): Promise<void> {
    for (const duties of this.#duties) {
      if (this.#isClosed) return;
      await duties
        .takeOver(lost)
        .catch((error: unknown) =>
          this.#log.error(
            { err: error },
            'the work of a lost node was not taken over; it is tried again',
          ),
        );
    }
  }
}
