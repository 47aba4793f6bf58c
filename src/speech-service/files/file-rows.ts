import { sql, type Selectable } from 'kysely';
import type { SpeechFilesTable } from '../../store/schema.ts';
import type { Store } from '../../store/store.ts';
import type { StoredFiles } from './stored-files.ts';

export type FileRow = Selectable<SpeechFilesTable>;

/** The rows of `speech_files`. Where the bytes lie is decided elsewhere, by `files.ts`. */
export class FileRows {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  async add(row: FileRow): Promise<void> {
    await this.#store.db.insertInto('speech_files').values(row).execute();
  }

  async get(id: string): Promise<FileRow | undefined> {
    return this.#store.retried(() =>
      this.#store.db.selectFrom('speech_files').selectAll().where('id', '=', id).executeTakeFirst(),
    );
  }

  /** Deletes a row and resolves with it. A second caller finds none. */
  async remove(id: string, stored?: StoredFiles): Promise<FileRow | undefined> {
    return this.#store.transaction(async (tx) => {
      const row = await tx
        .deleteFrom('speech_files')
        .where('id', '=', id)
        .returningAll()
        .executeTakeFirst();
      if (row !== undefined) await stored?.erase(tx, id);
      return row;
    });
  }

  /** Deletes a row unless a job reads its file; check and deletion are one statement. */
  async removeUnused(id: string, stored?: StoredFiles): Promise<FileRow | undefined> {
    return this.#store.transaction(async (tx) => {
      const row = await tx
        .deleteFrom('speech_files')
        .where('id', '=', id)
        .where((eb) =>
          eb.not(eb.exists(eb.selectFrom('speech_jobs').select('id').where('file_id', '=', id))),
        )
        .returningAll()
        .executeTakeFirst();
      if (row !== undefined) await stored?.erase(tx, id);
      return row;
    });
  }

  /**
   * Files of this node or in the object store that were stored before `beforeMs` and that no job reads, oldest first.
   */
  async unusedBefore(node: string, beforeMs: number, limit: number): Promise<string[]> {
    const rows = await this.#store.db
      .selectFrom('speech_files')
      .select('id')
      .where((eb) =>
        eb.or([
          eb('node', '=', node),
          eb.exists(
            eb
              .selectFrom('objects')
              .select('objects.key')
              .where('objects.key', '=', sql<string>`'files/' || speech_files.id`),
          ),
        ]),
      )
      .where('created_at', '<', beforeMs)
      .where((eb) =>
        eb.not(
          eb.exists(
            eb
              .selectFrom('speech_jobs')
              .select('speech_jobs.id')
              .whereRef('speech_jobs.file_id', '=', 'speech_files.id'),
          ),
        ),
      )
      .orderBy('created_at')
      .limit(limit)
      .execute();
    return rows.map(({ id }) => id);
  }

  /** Those of the ids that have a row. */
  async known(ids: readonly string[]): Promise<Set<string>> {
    if (ids.length === 0) return new Set();
    const rows = await this.#store.db
      .selectFrom('speech_files')
      .select('id')
      .where('id', 'in', ids)
      .execute();
    return new Set(rows.map(({ id }) => id));
  }

  /** The bytes of one node's files, or of all nodes without `node`. */
  async bytesOf(node?: string): Promise<number> {
    const row = await this.#store.db
      .selectFrom('speech_files')
      .select(({ fn }) => fn.sum<number | string | null>('size').as('bytes'))
      .$if(node !== undefined, (files) => files.where('node', '=', node ?? ''))
      .executeTakeFirst();
    return Number(row?.bytes ?? 0);
  }
}
