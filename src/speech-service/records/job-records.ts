import { createHash } from 'node:crypto';
import type { Selectable, Transaction } from 'kysely';
import {
  jobRequestId,
  type JobFile,
  type JobKind,
  type JobRecord,
  type LiveJobRecord,
  type LiveResult,
  type PreRecordedJobRecord,
  type PreRecordedResult,
} from '../../protocol/job.ts';
import type { JobListQuery } from '../../protocol/list-query.ts';
import type { Database, SpeechJobsTable } from '../../store/schema.ts';
import type { Store } from '../../store/store.ts';

export type JobRow = Selectable<SpeechJobsTable>;

/** Deletes the rows that sessions and jobs have in common. Their owners delete files, callbacks and audio. */
export async function deleteJobRows(tx: Transaction<Database>, id: string): Promise<void> {
  await tx.deleteFrom('speech_job_metadata').where('job_id', '=', id).execute();
  await tx.deleteFrom('speech_jobs').where('id', '=', id).execute();
}

type Listed = { id: string; created_at: number };

/** Reads live sessions and pre-recorded jobs for clients: one job, or a page of jobs. */
export class JobRecords {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  async get(id: string, kinds: readonly JobKind[]): Promise<JobRow | undefined> {
    return this.#store.retried(() =>
      this.#store.db
        .selectFrom('speech_jobs')
        .selectAll()
        .where('id', '=', id)
        .where('kind', 'in', kinds)
        .executeTakeFirst(),
    );
  }

  async setPostSessionMetadata(id: string, metadata: Record<string, unknown>): Promise<boolean> {
    const [changed] = await this.#store.db
      .updateTable('speech_jobs')
      .set({ post_session_metadata: JSON.stringify(metadata) })
      .where('id', '=', id)
      .execute();
    return (changed?.numUpdatedRows ?? 0n) > 0n;
  }

  /**
   * Lists the ids of one page of jobs, newest first, from indexes alone. Rows contain whole results, so each is read
   * only when it is sent. One id more than the page shows whether another page follows.
   */
  async list(
    query: JobListQuery,
    kinds: readonly JobKind[],
  ): Promise<{ ids: string[]; hasMore: boolean }> {
    return this.#store.retried(() => this.#page(query, kinds));
  }

  async #page(
    query: JobListQuery,
    kinds: readonly JobKind[],
  ): Promise<{ ids: string[]; hasMore: boolean }> {
    const wanted = query.customMetadata ? [...metadataPairs(query.customMetadata)] : [];
    const ids = await this.#ofKinds(query, kinds, (kind, part) =>
      wanted.length > 0 ? this.#byMetadata(kind, part, wanted) : this.#byAge(kind, part),
    );
    return { ids: ids.slice(0, query.limit), hasMore: ids.length > query.limit };
  }

  /** Each index begins with the kind. For two kinds, both lists are read as far as the page reaches and merged. */
  async #ofKinds(
    query: JobListQuery,
    kinds: readonly JobKind[],
    read: (kind: JobKind, part: JobListQuery) => Promise<Listed[]>,
  ): Promise<string[]> {
    const [only] = kinds;
    if (kinds.length === 1 && only) return (await read(only, query)).map(({ id }) => id);
    const part = { ...query, offset: 0, limit: query.offset + query.limit };
    const lists = await Promise.all(kinds.map((kind) => read(kind, part)));
    return lists
      .flat()
      .sort((a, b) => b.created_at - a.created_at || (a.id < b.id ? 1 : -1))
      .slice(query.offset, query.offset + query.limit + 1)
      .map(({ id }) => id);
  }

  async #byAge(kind: JobKind, query: JobListQuery): Promise<Listed[]> {
    let select = this.#store.db
      .selectFrom('speech_jobs')
      .select(['id', 'created_at'])
      .where('kind', '=', kind);
    if (query.statuses.length > 0) select = select.where('status', 'in', query.statuses);
    if (query.createdFrom !== undefined)
      select = select.where('created_at', '>=', query.createdFrom);
    if (query.createdBefore !== undefined)
      select = select.where('created_at', '<', query.createdBefore);
    return select
      .orderBy('created_at', 'desc')
      .orderBy('id', 'desc')
      .limit(query.limit + 1)
      .offset(query.offset)
      .execute();
  }

  /** The rarest pair selects the jobs through its index. The other pairs are looked up for each of those. */
  async #byMetadata(
    kind: JobKind,
    query: JobListQuery,
    wanted: readonly string[],
  ): Promise<Listed[]> {
    const { statuses, createdFrom, createdBefore } = query;
    const rarest = await this.#rarest(kind, wanted);
    let select = this.#store.db
      .selectFrom('speech_job_metadata as led')
      .select(['led.job_id as id', 'led.created_at'])
      .where('led.pair', '=', rarest)
      .where('led.kind', '=', kind);
    for (const pair of wanted)
      if (pair !== rarest)
        select = select.where((expression) =>
          expression.exists(
            expression
              .selectFrom('speech_job_metadata as also')
              .select('also.pair')
              .whereRef('also.job_id', '=', 'led.job_id')
              .where('also.pair', '=', pair),
          ),
        );
    if (statuses.length > 0)
      select = select.where((expression) =>
        expression.exists(
          expression
            .selectFrom('speech_jobs')
            .select('speech_jobs.id')
            .whereRef('speech_jobs.id', '=', 'led.job_id')
            .where('speech_jobs.status', 'in', statuses),
        ),
      );
    if (createdFrom !== undefined) select = select.where('led.created_at', '>=', createdFrom);
    if (createdBefore !== undefined) select = select.where('led.created_at', '<', createdBefore);
    return select
      .orderBy('led.created_at', 'desc')
      .orderBy('led.job_id', 'desc')
      .limit(query.limit + 1)
      .offset(query.offset)
      .execute();
  }

  async #rarest(kind: JobKind, pairs: readonly string[]): Promise<string> {
    const counts = await Promise.all(
      pairs.slice(0, maxCountedPairs).map(async (pair) => {
        const rows = await this.#store.db
          .selectFrom('speech_job_metadata')
          .select('job_id')
          .where('pair', '=', pair)
          .where('kind', '=', kind)
          .limit(rareJobs)
          .execute();
        return { pair, count: rows.length };
      }),
    );
    counts.sort((a, b) => a.count - b.count);
    return counts[0]?.pair ?? '';
  }
}

/** A pair with fewer jobs than this is rare enough to select by. Counting stops there. */
const rareJobs = 500;
/** At most this many pairs of a filter are counted; the rarest of those selects the jobs. */
const maxCountedPairs = 8;

/**
 * The pairs of metadata as they are stored: a digest of each path and the text of its value. A query string has no
 * types, so a number and its text count as the same value. Objects and arrays count by their contents.
 */
export function metadataPairs(value: unknown, path: readonly string[] = []): Set<string> {
  if (typeof value === 'object' && value !== null)
    return new Set(
      Object.entries(value).flatMap(([key, inner]) => [...metadataPairs(inner, [...path, key])]),
    );
  const pair = JSON.stringify([path, String(value)]);
  return new Set([createHash('sha256').update(pair).digest('base64url').slice(0, 22)]);
}

/** A row as the API shows it. Clients require every key, so a missing value is null. */
export function recordOfRow(row: JobRow): JobRecord {
  return row.kind === 'live' ? liveRecord(row) : preRecordedRecord(row);
}

/**
 * The row as JSON text. The stored result is inserted as it is: parsing and writing this long text again would delay
 * other requests.
 */
export function recordText(row: JobRow): string {
  if (row.result === null) return JSON.stringify(recordOfRow(row));
  const { result: _, ...others } = recordOfRow({ ...row, result: null });
  return `${JSON.stringify(others).slice(0, -1)},"result":${row.result}}`;
}

/** `error_message` and `progress` are our addition. Clients that do not know them ignore them. */
function liveRecord(row: JobRow): LiveJobRecord {
  return {
    ...commonOf(row),
    kind: 'live',
    file: {
      id: row.id,
      filename: `${row.id.slice(0, 8)}.wav`,
      source: null,
      audio_duration: row.audio_duration,
      number_of_channels: row.channels,
    },
    result: row.result === null ? null : (JSON.parse(row.result) as LiveResult),
    ...(row.error_message === null ? {} : { error_message: row.error_message }),
  };
}

function preRecordedRecord(row: JobRow): PreRecordedJobRecord {
  return {
    ...commonOf(row),
    kind: 'pre-recorded',
    file: fileOf(row),
    result: row.result === null ? null : (JSON.parse(row.result) as PreRecordedResult),
    ...(row.error_message === null ? {} : { error_message: row.error_message }),
    ...(row.status === 'processing' && row.audio_duration !== null
      ? { progress: { seconds_done: row.progress_s ?? 0, seconds: row.audio_duration } }
      : {}),
  };
}

/** Before the audio is fetched, only its address is known. */
function fileOf(row: JobRow): JobFile {
  return {
    id: row.file_id ?? row.id,
    filename: row.filename,
    source: row.source,
    audio_duration: row.audio_duration,
    number_of_channels: row.channels,
  };
}

function commonOf(row: JobRow) {
  return {
    id: row.id,
    request_id: jobRequestId(row.id),
    version: 2,
    status: row.status,
    created_at: new Date(row.created_at).toISOString(),
    completed_at: row.completed_at === null ? null : new Date(row.completed_at).toISOString(),
    custom_metadata: object(row.custom_metadata),
    error_code: row.error_code,
    post_session_metadata: object(row.post_session_metadata) ?? {},
    request_params: object(row.request_params),
  };
}

function object(text: string | null): Record<string, unknown> | null {
  return text === null ? null : (JSON.parse(text) as Record<string, unknown>);
}
