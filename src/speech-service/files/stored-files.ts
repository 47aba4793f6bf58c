import { createHash } from 'node:crypto';
import { unlinkSync } from 'node:fs';
import { open, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { Transaction } from 'kysely';
import type { LocalAudio, Objects, NamedObject } from '../../objects/objects.ts';
import type { Database } from '../../store/schema.ts';
import type { Store } from '../../store/store.ts';
import { fileIdOf } from './own-address.ts';
import { isMissing } from '../../lib/is-missing.ts';
import { readRange } from '../../lib/read-range.ts';

type StoredFilesOptions = {
  objects: Objects;
  store: Store;
  node: string;
  folder: string;
  isUnderWay: (id: string) => boolean;
  /** Called when a file has left the disk and takes no space there any more. */
  onLeft: (bytes: number) => void;
};

const keys = 'files/';
const batch = 100;

/** Files in the object store. Every upload goes there and leaves the disk when no job of this node reads it. */
export class StoredFiles {
  readonly #options: StoredFilesOptions;
  /** Files that this node is reading from the disk, with the number of readers. */
  readonly #held = new Map<string, number>();

  constructor(options: StoredFilesOptions) {
    this.#options = options;
    options.objects.attach({
      kind: 'files',
      ready: () => this.#ready(),
      waiting: () => this.#waiting(),
      owned: (objects) => this.#owned(objects),
    });
  }

  /** Keeps a file on the disk until it is disposed of, if it is there. */
  hold(id: string): Disposable {
    this.#held.set(id, (this.#held.get(id) ?? 0) + 1);
    return {
      [Symbol.dispose]: () => {
        const left = (this.#held.get(id) ?? 1) - 1;
        if (left > 0) this.#held.set(id, left);
        else this.#held.delete(id);
      },
    };
  }

  /** A reader of the file's bytes, or undefined if the store does not have the file. */
  async reading(
    id: string,
  ): Promise<((from: number, to: number) => AsyncIterable<Buffer>) | undefined> {
    const { objects } = this.#options;
    const object = await objects.stored(keys + id);
    return object && ((from, to) => objects.read(object, from, to));
  }

  /** Copies a file to the disk and checks its hash. Returns false if the store does not have the file. */
  async fetch(id: string, path: string, signal: AbortSignal): Promise<boolean> {
    const { objects } = this.#options;
    const object = await objects.stored(keys + id);
    if (object === undefined) return false;
    using room = this.#options.store.reserve(object.bytes);
    let writtenBytes = 0;
    const hash = createHash('sha256');
    await using file = await open(path, 'w', 0o600);
    for await (const piece of objects.read(object, 0, object.bytes, signal)) {
      hash.update(piece);
      await file.write(piece);
      writtenBytes += piece.length;
      room.wrote(writtenBytes);
    }
    if (hash.digest('hex') !== object.sha256)
      throw new Error('the object store gave other bytes than it was given');
    return true;
  }

  /** Deletes the file in the transaction that deletes its row, after the row. */
  async erase(tx: Transaction<Database>, id: string): Promise<void> {
    await this.#options.objects.erase(tx, [keys + id]);
  }

  /** Starts moving the listed files now. */
  wake(): void {
    this.#options.objects.wake();
  }

  async #names(): Promise<string[]> {
    const { folder, isUnderWay } = this.#options;
    const names = await readdir(folder);
    return names.filter((name) => fileIdOf(name) === name && !isUnderWay(name));
  }

  async *#ready(): AsyncGenerator<LocalAudio> {
    const { store, node, folder } = this.#options;
    const names = await this.#names();
    for (let at = 0; at < names.length; at += batch) {
      const rows = await store.db
        .selectFrom('speech_files')
        .select(['id', 'size'])
        .where('id', 'in', names.slice(at, at + batch))
        .where('node', '=', node)
        .execute();
      for (const { id, size } of rows)
        yield {
          key: keys + id,
          bytes: size,
          read: (from, to) => readRange(join(folder, id), from, to),
          isOwned: (tx) => this.#isOwned(tx, id),
          leave: () => this.#leave(id, size),
        };
    }
  }

  async #isOwned(tx: Transaction<Database>, id: string): Promise<boolean> {
    const { store, node } = this.#options;
    let select = tx
      .selectFrom('speech_files')
      .select('id')
      .where('id', '=', id)
      .where('node', '=', node);
    if (store.kind === 'postgres') select = select.forUpdate();
    return (await select.executeTakeFirst()) !== undefined;
  }

  /**
   * Removes a file from the disk, unless an unfinished job of this node reads it: fetching it back would be a waste.
   */
  async #leave(id: string, bytes: number): Promise<void> {
    const { store, node, folder, onLeft } = this.#options;
    const job = await store.db
      .selectFrom('speech_jobs')
      .select('id')
      .where('file_id', '=', id)
      .where('node', '=', node)
      .where('status', 'in', ['queued', 'processing'])
      .executeTakeFirst();
    // Check and delete run in one synchronous step, so no reader can take the file between them.
    if (job !== undefined || this.#held.has(id)) return;
    try {
      unlinkSync(join(folder, id));
    } catch (error) {
      if (isMissing(error)) return;
      throw error;
    }
    onLeft(bytes);
  }

  async #waiting(): Promise<{ files: number; bytes: number }> {
    const { store, folder } = this.#options;
    const names = await this.#names();
    let [files, bytes] = [0, 0];
    for (let at = 0; at < names.length; at += batch) {
      const some = names.slice(at, at + batch);
      const there = await store.db
        .selectFrom('objects')
        .select('key')
        .where(
          'key',
          'in',
          some.map((id) => keys + id),
        ) // prettier-ignore
        .where('state', '=', 'stored')
        .execute();
      const stored = new Set(there.map(({ key }) => key));
      for (const id of some.filter((one) => !stored.has(keys + one))) {
        const found = await stat(join(folder, id)).catch(() => undefined); // the file was deleted meanwhile
        if (found === undefined) continue;
        files++;
        bytes += found.size;
      }
    }
    return { files, bytes };
  }

  async #owned(objects: readonly NamedObject[]): Promise<string[]> {
    const ids = objects.map(({ id }) => id);
    const files = await this.#options.store.db
      .selectFrom('speech_files')
      .select('id')
      .where('id', 'in', ids)
      .execute();
    return files.map(({ id }) => id);
  }
}
