import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { openStore, type Store, type StoreOptions } from '../../../src/store/store.ts';

export async function temporaryFolder(): Promise<AsyncDisposable & { path: string }> {
  const path = await mkdtemp(join(tmpdir(), 'trunkline-'));
  return {
    path,
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }),
  };
}

/** A store in a temporary folder, which is deleted with it. */
export async function temporaryStore(
  options: StoreOptions = {},
): Promise<Store & { dataDir: string }> {
  const folder = await temporaryFolder();
  const dataDir = join(folder.path, 'data');
  const store = await openStore({ ballastBytes: 0, lowWaterBytes: 0, dataDir, ...options });
  return Object.assign(Object.create(store) as Store, {
    dataDir,
    [Symbol.asyncDispose]: async () => {
      await store[Symbol.asyncDispose]();
      await folder[Symbol.asyncDispose]();
    },
  });
}

/** The ids of the events in a closed store, read without the program. */
export function storedRows(dataDir: string): Set<string> {
  const database = new DatabaseSync(join(dataDir, 'trunkline.sqlite'));
  const rows = database.prepare('SELECT id FROM events').all();
  database.close();
  return new Set(rows.map((row) => String(row['id'])));
}
