import { createHash } from 'node:crypto';
import { sql, type ExpressionBuilder, type RawBuilder, type Transaction } from 'kysely';
import { within, type Clock } from '../lib/clock.ts';
import { reasonOf } from '../lib/errors.ts';
import { every, type Loop, type Next } from '../lib/every.ts';
import type { Health } from '../lib/health.ts';
import type { Logger } from '../lib/log.ts';
import type { Part } from '../port/part.ts';
import { maxDatabaseWaitMs } from '../store/backend.ts';
import type { Database } from '../store/schema.ts';
import type { Store } from '../store/store.ts';
import { Bucket, BucketError, type ObjectBody } from './bucket.ts';
import type { ObjectsConfig } from './config.ts';
import { Erasures } from './erasures.ts';
import { objectMetrics } from './metrics.ts';

/** A finished file on this disk that waits for its copy to the object store. */
export type LocalAudio = {
  key: string;
  bytes: number;
  read: (from: number, to: number) => AsyncIterable<Buffer>;
  /**
   * Returns true if the file still has an owner and may be moved. Called in the transaction that names the object,
   * while the owner's row is locked. A deletion of the owner at the same moment therefore finds the object's row.
   */
  isOwned(tx: Transaction<Database>): Promise<boolean>;
  /**
   * Called when the bytes are in the store and were read back and compared. The file may then be deleted. As long as
   * the file stays, this is called again in each round.
   */
  leave(): Promise<void>;
};

/** One kind of local files, with the functions that list them and check their owners. */
export type LocalFiles = {
  kind: 'recordings' | 'files' | 'sessions' | 'tails';
  /** Lists the files that may be copied to the store now. */
  ready(): AsyncIterable<LocalAudio>;
  /** Counts all finished files that are still on this disk. */
  waiting(): Promise<{ files: number; bytes: number }>;
  /**
   * Returns those of the ids that have an owner. The objects of the others are deleted. Called now and then with some
   * hundred ids.
   */
  owned(objects: readonly NamedObject[]): Promise<string[]>;
};

/** Names an object by the part of its key that follows the kind. */
export type NamedObject = { id: string; createdAt: number };

/** An object that is completely in the store. */
export type StoredObject = { key: string; bytes: number; partBytes: number; sha256: string };

export type ObjectsOptions = {
  config: ObjectsConfig & { url: string };
  store: Store;
  node: string;
  clock: Clock;
  log: Logger;
  /** A file that is larger than this becomes several objects, so that a broken connection costs only one of them. */
  partBytes?: number;
  stallMs?: number;
  /** The interval between two searches for files to copy. It grows after a failure. */
  roundMs?: number;
};

const defaultPartBytes = 268_435_456;
const copiesAtOnce = 3;
const keysAtOnce = 200;
const defaultRoundMs = 2_000;
const longestPauseMs = 60_000;
/** A file that could not be read is left alone for this long. */
const setAsideMs = 600_000;
const probeMs = 60_000;
const firstSweepMs = 60_000;
const sweepMs = 3_600_000;
/**
 * The owners of this many objects are queried together, this many times in one round. Further objects follow in the
 * next rounds.
 */
const sweptAtOnce = 500;
const sweptPerRound = 20;

/**
 * Moves audio to a bucket. Finished files are copied from this disk, read back, compared by hash, and only then deleted
 * here. One complete copy exists at every moment, and the rows show where.
 */
export class Objects implements Part, AsyncDisposable {
  readonly name = 'objects';
  readonly #options: ObjectsOptions;
  readonly #log: Logger;
  readonly #bucket: Bucket;
  readonly #erasures: Erasures;
  readonly #partBytes: number;
  readonly #sources: LocalFiles[] = [];
  readonly #setAside = new Map<string, number>();
  readonly #waiting = new Map<string, { files: number; bytes: number }>();
  readonly #closing = new AbortController();
  #trouble: { since: number; reason: string } | undefined;
  #failedRounds = 0;
  #answeredMs = -Infinity;
  #sweptMs: number;
  /** The key that each kind's search for objects without an owner has reached. A kind without an entry is finished. */
  readonly #sweeping = new Map<LocalFiles['kind'], string>();
  readonly #rounds: Loop;

  constructor(options: ObjectsOptions) {
    const { clock, log, store } = options;
    this.#options = options;
    this.#log = log.child({ part: 'objects' });
    this.#bucket = new Bucket(options);
    this.#partBytes = options.partBytes ?? defaultPartBytes;
    this.#sweptMs = clock.monotonicMs() + firstSweepMs - sweepMs;
    this.#erasures = new Erasures({
      store,
      clock,
      log: this.#log,
      signal: this.#closing.signal,
      remove: (key) => this.#asked('delete', () => this.#bucket.remove(key, this.#closing.signal)),
    });
    // Counters begin at 0, so that the first failure shows as an increase.
    for (const what of ['copy', 'read', 'delete', 'probe']) objectMetrics.failures.inc({ what }, 0);
    this.#rounds = every(clock, options.roundMs ?? defaultRoundMs, () => this.#work(), {
      firstMs: 0,
      failed: (error) => this.#roundFailed(error),
    });
  }

  /** From now on, files of this kind are moved to the store. */
  attach(source: LocalFiles): void {
    this.#sources.push(source);
    this.wake();
  }

  /** Reports a new file. If the store is unreachable, the file waits for the next round. */
  wake(): void {
    if (this.#failedRounds === 0) this.#rounds.wake();
  }

  /** Finds the object if the store has it completely. */
  async stored(key: string): Promise<StoredObject | undefined> {
    const row = await this.#options.store.retried(() =>
      this.#options.store.db
        .selectFrom('objects')
        .select(['key', 'bytes', 'part_bytes', 'sha256'])
        .where('key', '=', key)
        .where('state', '=', 'stored')
        .executeTakeFirst(),
    );
    return row && { key, bytes: row.bytes, partBytes: row.part_bytes, sha256: row.sha256 };
  }

  /** Reads exactly the bytes from `from` up to and without `to`, or fails. */
  async *read(
    { key, bytes, partBytes }: StoredObject,
    from: number,
    to: number,
    signal?: AbortSignal,
  ): AsyncGenerator<Buffer> {
    const end = Math.min(to, bytes);
    for (let at = Math.max(0, from); at < end;) {
      const part = Math.floor(at / partBytes);
      const next = Math.min(end, (part + 1) * partBytes);
      const start = part * partBytes;
      try {
        yield* this.#bucket.read(partKey(key, part), at - start, next - start, signal);
      } catch (error) {
        this.#failed('read', error);
        throw error;
      }
      this.#answered();
      at = next;
    }
  }

  /** The interval at which running calls send their audio; 0 means never. */
  get tailS(): number {
    return this.#options.config.tailS;
  }

  /**
   * Stores a small object from memory at once, in a single try. Returns false if `isOwned` returns false, either when
   * the object is named or when it is marked as stored. Bytes that have arrived by then are deleted.
   */
  async put(key: string, bytes: Buffer, isOwned: LocalAudio['isOwned']): Promise<boolean> {
    const { store, node, clock } = this.#options;
    const body = bodyOf(bytes);
    const row = {
      node,
      bytes: bytes.length,
      part_bytes: Math.max(1, bytes.length),
      sha256: body.sha256,
    };
    const isNamed = await store.transaction(async (tx) => {
      if (!(await isOwned(tx))) return false;
      await tx
        .insertInto('objects')
        .values({ key, state: 'copying', created_at: clock.now(), ...row })
        .onConflict((conflict) =>
          conflict.column('key').doUpdateSet(row).where('objects.state', '=', 'copying'),
        )
        .execute();
      return true;
    });
    if (!isNamed) return false;
    await this.#asked('tail', () => this.#bucket.put(key, body, this.#closing.signal));
    const isStored = await store.transaction(async (tx) => {
      if (!(await isOwned(tx))) {
        await this.#erasures.listOf(tx, [key], node, partKeysOf);
        return false;
      }
      const { numUpdatedRows } = await tx
        .updateTable('objects')
        .set({ state: 'stored' })
        .where('key', '=', key)
        .where('state', '=', 'copying')
        .where('node', '=', node)
        .executeTakeFirst();
      return numUpdatedRows > 0n;
    });
    if (isStored) return true;
    await this.#erasures.arrived([key]);
    return false;
  }

  /**
   * Lists the objects whose keys begin with the prefix, in the order of their keys. If a node is given, only its
   * objects are listed.
   */
  async below(prefix: string, node?: string): Promise<StoredObject[]> {
    let select = this.#options.store.db
      .selectFrom('objects')
      .select(['key', 'bytes', 'part_bytes', 'sha256'])
      .where((each) => beginsWith(this.#options.store.kind, each, prefix))
      .where('state', '=', 'stored');
    if (node !== undefined) select = select.where('node', '=', node);
    const rows = await select.orderBy(bytewise(this.#options.store.kind)).execute();
    return rows.map(({ part_bytes: partBytes, ...row }) => ({ ...row, partBytes }));
  }

  /** Erases all objects whose keys begin with the prefix. */
  async eraseBelow(tx: Transaction<Database>, prefix: string): Promise<void> {
    const rows = await tx
      .selectFrom('objects')
      .select('key')
      .where((each) => beginsWith(this.#options.store.kind, each, prefix))
      .execute();
    for (let at = 0; at < rows.length; at += keysAtOnce)
      await this.erase(
        tx,
        rows.slice(at, at + keysAtOnce).map(({ key }) => key),
      );
  }

  /**
   * Erases these objects. Runs in the transaction that deletes their owners, after that deletion. The bytes are deleted
   * at once or as soon as possible.
   */
  async erase(tx: Transaction<Database>, keys: readonly string[]): Promise<void> {
    await this.#erasures.list(tx, keys, partKeysOf);
  }

  /** Deletes the listed objects. Returns true if all of them are deleted within this time. */
  async eraseNow(withinMs: number): Promise<boolean> {
    let isDone = false;
    const erasing = this.#erasures.run().then((left) => {
      isDone = left === 0 && this.#erasures.waiting === 0;
    });
    await within(this.#options.clock, withinMs, erasing);
    return isDone;
  }

  health(): Record<string, Health> {
    const waiting = [...this.#waiting.values()];
    const files = waiting.reduce((sum, one) => sum + one.files, 0);
    const bytes = waiting.reduce((sum, one) => sum + one.bytes, 0);
    const erasures = this.#erasures.waiting;
    const parts = [
      ...(this.#trouble === undefined ? [] : [`the object store: ${this.#trouble.reason}`]),
      ...(files === 0 ? [] : [`${files} files (${mebibytes(bytes)}) wait on this disk`]),
      ...(this.#setAside.size === 0 ? [] : [`${this.#setAside.size} of them cannot be read here`]),
      ...(erasures === 0 ? [] : [`${erasures} deletions wait`]),
    ];
    const detail = parts.length === 0 ? {} : { detail: parts.join('; ') };
    const isWell = this.#trouble === undefined && this.#setAside.size === 0;
    return { objects: { state: isWell ? 'ok' : 'degraded', ...detail } };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort();
    // The next start begins an interrupted copy again, because the file is still here.
    await within(this.#options.clock, maxDatabaseWaitMs, this.#rounds.stop());
    await this.#bucket[Symbol.asyncDispose]();
  }

  async #work(): Promise<void> {
    try {
      await this.#probe();
      await this.#copyAll();
      const undeleted = await this.#erasures.run();
      await this.#sweep();
      if (undeleted > 0 && this.#trouble !== undefined)
        throw new BucketError('away', this.#trouble.reason);
      this.#failedRounds = 0;
    } finally {
      await this.#count().catch(() => undefined); // waiting files are counted again in the next round
    }
  }

  #roundFailed(error: unknown): Next {
    if (!(error instanceof BucketError) && !this.#closing.signal.aborted)
      this.#log.warn(
        { reason: reasonOf(error) },
        'audio was not copied to the object store; the copy is tried again',
      );
    const { roundMs = defaultRoundMs } = this.#options;
    return { inMs: Math.min(longestPauseMs, roundMs * 2 ** this.#failedRounds++) };
  }

  /** Tests whether objects can be stored, read and deleted, if no other request has shown this for a while. */
  async #probe(): Promise<void> {
    const { clock, node } = this.#options;
    if (this.#trouble === undefined && clock.monotonicMs() - this.#answeredMs < probeMs) return;
    const { signal } = this.#closing;
    const text = Buffer.from(`trunkline ${node}`);
    const key = `probe/${node}`;
    await this.#asked('probe', async () => {
      await this.#bucket.put(key, bodyOf(text), signal);
      await this.#compare(key, text.length, sha256Of(text));
      await this.#bucket.remove(key, signal);
    });
  }

  async #copyAll(): Promise<void> {
    const failed = new AbortController();
    for (const source of this.#sources) {
      const files = source.ready()[Symbol.asyncIterator]();
      const copyNext = async (): Promise<void> => {
        while (!this.#closing.signal.aborted && !failed.signal.aborted) {
          const next = await files.next();
          if (next.done === true) return;
          if (this.#isSetAside(next.value.key)) continue;
          await this.#copyOne(source, next.value);
        }
      };
      const copying = Array.from({ length: copiesAtOnce }, () =>
        copyNext().catch((error: unknown) => {
          failed.abort();
          throw error;
        }),
      );
      const ends = await Promise.allSettled(copying);
      const bad = ends.find((end) => end.status === 'rejected');
      if (bad !== undefined) throw bad.reason;
    }
  }

  async #copyOne(source: LocalFiles, audio: LocalAudio): Promise<void> {
    try {
      const outcome = await this.#copy(audio);
      if (outcome !== 'copied') return;
      objectMetrics.copied.inc({ kind: source.kind });
      objectMetrics.copiedBytes.inc(audio.bytes);
    } catch (error) {
      if (error instanceof BucketError || this.#closing.signal.aborted) throw error;
      // A damaged file must not keep the other files on this disk.
      this.#setAside.set(audio.key, this.#options.clock.monotonicMs() + setAsideMs);
      this.#log.error(
        { key: audio.key, reason: reasonOf(error) },
        'a file was not copied to the object store and stays on this disk',
      );
    }
  }

  async #copy(audio: LocalAudio): Promise<'copied' | 'left'> {
    const { store, node, clock } = this.#options;
    const { key, bytes } = audio;
    // An earlier process copied the last byte but ended before it deleted the file here.
    const there = await this.stored(key);
    if (there !== undefined) {
      if (there.bytes !== bytes) throw new Error('the object has another length than the file');
      await audio.leave();
      return 'left';
    }
    const parts = await this.#partsOf(audio);
    const row = { node, bytes, part_bytes: this.#partBytes, sha256: parts.sha256 };
    const isNamed = await store.transaction(async (tx) => {
      if (!(await audio.isOwned(tx))) return false;
      await tx
        .insertInto('objects')
        .values({ key, state: 'copying', created_at: clock.now(), ...row })
        .onConflict((conflict) =>
          conflict.column('key').doUpdateSet(row).where('objects.state', '=', 'copying'),
        )
        .execute();
      return true;
    });
    if (!isNamed) return 'left';
    for (const [part, body] of parts.bodies.entries())
      await this.#asked('copy', async () => {
        await this.#bucket.put(partKey(key, part), body, this.#closing.signal);
        await this.#compare(partKey(key, part), body.bytes, body.sha256);
      });
    const { numUpdatedRows } = await store.db
      .updateTable('objects')
      .set({ state: 'stored' })
      .where('key', '=', key)
      .where('state', '=', 'copying')
      .where('node', '=', node)
      .executeTakeFirst();
    if (numUpdatedRows === 0n) {
      // The object was erased during its copy. The parts that arrived are deleted, and no more are sent.
      await this.#erasures.arrived(partKeysOf({ bytes, part_bytes: this.#partBytes, key }));
      return 'left';
    }
    await audio.leave();
    return 'copied';
  }

  /** Returns the parts with their hashes, and the hash of the whole file. */
  async #partsOf({ bytes, read }: LocalAudio): Promise<{ bodies: ObjectBody[]; sha256: string }> {
    const whole = createHash('sha256');
    const bodies: ObjectBody[] = [];
    for (let from = 0; from === 0 || from < bytes; from += this.#partBytes) {
      const to = Math.min(bytes, from + this.#partBytes);
      const hash = createHash('sha256');
      for await (const piece of read(from, to)) {
        hash.update(piece);
        whole.update(piece);
        this.#closing.signal.throwIfAborted();
      }
      bodies.push({ bytes: to - from, sha256: hash.digest('hex'), read: () => read(from, to) });
    }
    return { bodies, sha256: whole.digest('hex') };
  }

  /** Reads the object back and compares its hash. Nothing else proves that the store has the object. */
  async #compare(key: string, bytes: number, sha256: string): Promise<void> {
    const hash = createHash('sha256');
    for await (const piece of this.#bucket.read(key, 0, bytes, this.#closing.signal))
      hash.update(piece);
    if (hash.digest('hex') !== sha256)
      throw new BucketError('away', 'the store gave back other bytes than it was given');
  }

  async #sweep(): Promise<void> {
    const { clock, store } = this.#options;
    if (clock.monotonicMs() - this.#sweptMs >= sweepMs) {
      this.#sweptMs = clock.monotonicMs();
      for (const { kind } of this.#sources) this.#sweeping.set(kind, `${kind}/`);
    }
    for (const source of this.#sources)
      for (let step = 0; step < sweptPerRound; step++) {
        const after = this.#sweeping.get(source.kind);
        if (after === undefined) break;
        const objects = await store.db
          .selectFrom('objects')
          .select(['key', 'created_at'])
          .where((each) => beginsWith(store.kind, each, `${source.kind}/`, after))
          .orderBy(bytewise(store.kind))
          .limit(sweptAtOnce)
          .execute();
        const last = objects.at(-1);
        if (last === undefined || objects.length < sweptAtOnce) this.#sweeping.delete(source.kind);
        else this.#sweeping.set(source.kind, last.key);
        if (last === undefined) break;
        const named = objects.map(({ key, created_at: createdAt }) => ({
          id: key.slice(source.kind.length + 1),
          createdAt,
        }));
        const owned = new Set(await source.owned(named));
        const keys = named.flatMap(({ id }) => (owned.has(id) ? [] : [`${source.kind}/${id}`]));
        if (keys.length === 0) continue;
        await store.transaction((tx) => this.erase(tx, keys));
        this.#log.info(
          { kind: source.kind, objects: keys.length },
          'objects without an owner were listed for deletion',
        );
      }
  }

  async #count(): Promise<void> {
    for (const source of this.#sources) {
      const found = await source.waiting();
      this.#waiting.set(source.kind, found);
      objectMetrics.waiting.set({ kind: source.kind }, found.files);
      objectMetrics.waitingBytes.set({ kind: source.kind }, found.bytes);
    }
  }

  async #asked(what: string, work: () => Promise<void>): Promise<void> {
    try {
      await work();
      this.#answered();
    } catch (error) {
      this.#failed(what, error);
      throw error;
    }
  }

  #answered(): void {
    this.#answeredMs = this.#options.clock.monotonicMs();
    if (this.#trouble === undefined) return;
    this.#trouble = undefined;
    this.#log.info('the object store answered again');
  }

  #failed(what: string, error: unknown): void {
    if (!(error instanceof BucketError) || this.#closing.signal.aborted) return;
    objectMetrics.failures.inc({ what });
    if (error.trouble === 'missing' && what === 'read') return;
    const { since } = this.#trouble ?? { since: this.#options.clock.now() };
    if (this.#trouble === undefined)
      this.#log.error(
        { what, reason: error.message },
        'the object store failed; audio stays on this disk until it answers well',
      );
    this.#trouble = { since, reason: error.message };
  }

  #isSetAside(key: string): boolean {
    const until = this.#setAside.get(key);
    if (until === undefined) return false;
    if (this.#options.clock.monotonicMs() < until) return true;
    this.#setAside.delete(key);
    return false;
  }
}

/** The first part has the key of the whole object, because most objects have only one part. */
function partKey(key: string, part: number): string {
  return part === 0 ? key : `${key}.${part}`;
}

function partKeysOf(object: { key: string; bytes: number; part_bytes: number }): string[] {
  const parts = Math.max(1, Math.ceil(object.bytes / object.part_bytes));
  return Array.from({ length: parts }, (_, part) => partKey(object.key, part));
}

function sha256Of(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

function bodyOf(bytes: Buffer): ObjectBody {
  return {
    bytes: bytes.length,
    sha256: sha256Of(bytes),
    // eslint-disable-next-line @typescript-eslint/require-await -- a body is read as it goes
    read: async function* () {
      yield bytes;
    },
  };
}

function mebibytes(bytes: number): string {
  return `${Math.ceil(bytes / 1_048_576)} MiB`;
}

/**
 * Compares keys byte by byte, whatever the database's collation is. In most languages a slash and a tilde sort before
 * every letter, and a range of keys would be empty.
 */
function bytewise(kind: Store['kind']): RawBuilder<string> {
  return kind === 'postgres' ? sql`key collate "C"` : sql`key`;
}

/**
 * Selects keys that begin with the prefix, by an index in the order of bytes. No key has a character that sorts after a
 * tilde.
 */
function beginsWith(
  kind: Store['kind'],
  each: ExpressionBuilder<Database, 'objects'>,
  prefix: string,
  after = prefix,
) {
  return each.and([
    each(bytewise(kind), after === prefix ? '>=' : '>', after),
    each(bytewise(kind), '<', `${prefix}~`),
  ]);
}
