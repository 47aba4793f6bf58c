import { readdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { sql } from 'kysely';
import type { LocalAudio, Objects } from '../../../objects/objects.ts';
import type { Store } from '../../../store/store.ts';
import { readRange } from '../../../lib/read-range.ts';

/** The prefix of the audio of ended sessions in the object store. */
export const sessionKeys = 'sessions/';

const batch = 100;
/** One step of the retention looks at this many objects. */
const audiosAtOnce = 500;
/** The last bytes of a session may reach its file a moment after its end is stored. */
const settledMs = 3_000;

type StoredAudioOptions = { objects: Objects; store: Store; node: string; folder: string };

/** Moves the audio of ended sessions to the object store, if one is set and recordings are kept. */
export function storeAudio({ objects, store, node, folder }: StoredAudioOptions): void {
  const ended = (ids: readonly string[]) =>
    store.db
      .selectFrom('speech_jobs')
      .select('id')
      .where('id', 'in', [...ids])
      .where('kind', '=', 'live')
      .where('node', '=', node)
      .where('status', 'in', ['done', 'error'])
      // While callbacks are due, a restart restores the session with its files.
      .where('callbacks_due', '=', 0);
  const names = async (): Promise<string[]> =>
    (await readdir(folder)).flatMap((name) => /^([0-9a-f-]{36})\.audio$/.exec(name)?.[1] ?? []);
  // the file was deleted meanwhile
  const statOf = (id: string) => stat(join(folder, `${id}.audio`)).catch(() => undefined);
  // File times come from the machine's clock, even if the process uses another one.
  const sizeOf = async (id: string): Promise<number> => {
    const found = await statOf(id);
    return found !== undefined && Date.now() - found.mtimeMs > settledMs ? found.size : 0;
  };
  const endedHere = async function* (): AsyncGenerator<string> {
    const all = await names();
    for (let at = 0; at < all.length; at += batch)
      for (const { id } of await ended(all.slice(at, at + batch)).execute()) yield id;
  };
  const ready = async function* (): AsyncGenerator<LocalAudio> {
    for await (const id of endedHere()) {
      const path = join(folder, `${id}.audio`);
      const bytes = await sizeOf(id);
      if (bytes === 0) continue;
      yield {
        key: sessionKeys + id,
        bytes,
        read: (from, to) => readRange(path, from, to),
        async isOwned(tx) {
          let select = tx
            .selectFrom('speech_jobs')
            .select('id')
            .where('id', '=', id)
            .where('node', '=', node)
            .where('status', 'in', ['done', 'error']);
          if (store.kind === 'postgres') select = select.forUpdate();
          return (await select.executeTakeFirst()) !== undefined;
        },
        async leave() {
          const found = await statOf(id);
          if (found === undefined) return;
          if (found.size !== bytes) throw new Error('the file has grown since it was copied');
          await rm(path, { force: true });
        },
      };
    }
  };
  objects.attach({
    kind: 'sessions',
    ready,
    async waiting() {
      let [files, bytes] = [0, 0];
      for await (const id of endedHere()) {
        const size = await sizeOf(id);
        if (size === 0) continue;
        files++;
        bytes += size;
      }
      return { files, bytes };
    },
    async owned(objects) {
      const ids = objects.map(({ id }) => id);
      const sessions = await store.db
        .selectFrom('speech_jobs')
        .select('id')
        .where('id', 'in', ids)
        .execute();
      return sessions.map(({ id }) => id);
    },
  });
}

/**
 * Deletes the stored audio of sessions that ended before a time, in steps, and returns the number. An object is younger
 * than the end of its session, and the age of objects is indexed.
 */
export async function forgetAudioBefore(
  objects: Objects,
  store: Store,
  endedBefore: number,
): Promise<number> {
  let forgotten = 0;
  for (let after = { key: '', created_at: -1 }; ;) {
    const rows = await store.db
      .selectFrom('objects')
      .select(['key', 'created_at'])
      // The expression is written as in the index.
      .where(sql<boolean>`substr(key, 1, 6) = 'sessio'`)
      .where('created_at', '<=', endedBefore)
      .where(sql<boolean>`(created_at, key) > (${after.created_at}, ${after.key})`)
      .orderBy('created_at')
      .orderBy('key')
      .limit(audiosAtOnce)
      .execute();
    const last = rows.at(-1);
    if (last === undefined) return forgotten;
    const ended = await store.db
      .selectFrom('speech_jobs')
      .select('id')
      .where(
        'id',
        'in',
        rows.map(({ key }) => key.slice(sessionKeys.length)),
      )
      .where('completed_at', '<=', endedBefore)
      .execute();
    if (ended.length > 0)
      await store.transaction((tx) =>
        objects.erase(
          tx,
          ended.map(({ id }) => sessionKeys + id),
        ),
      );
    forgotten += ended.length;
    objects.wake();
    if (rows.length < audiosAtOnce) return forgotten;
    after = last;
  }
}
