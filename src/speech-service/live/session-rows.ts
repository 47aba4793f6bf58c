import { createHash } from 'node:crypto';
import type { Selectable } from 'kysely';
import { jobRequestId, type LiveJobRecord, type LiveResult } from '../../protocol/job.ts';
import type { JobListQuery } from '../../protocol/list-query.ts';
import type { LiveRequest } from '../../protocol/live-request.ts';
import type { Store } from '../../store/store.ts';
import type { SpeechJobsTable } from '../../store/schema.ts';

export type SessionRow = Selectable<SpeechJobsTable>;

export type NewSessionRow = {
  id: string;
  node: string;
  tokenDigest: string;
  createdAt: number;
  request: LiveRequest;
  zeroRetention: boolean;
  estimatedTimes: boolean;
};

export type StoredEnd =
  | { outcome: 'done'; result: string | null; audioS: number }
  | { outcome: 'error'; errorCode: number; audioS: number };

/** The metadata of sessions whose word times are estimated, because the model gives none. */
const estimatedWordTimes = { word_times: 'estimated' };

const notPreRecorded = {
  file_id: null,
  filename: null,
  source: null,
  claimed_until: null,
  attempts: null,
  progress_s: null,
  error_message: null,
};

/** The rows of live sessions in the table `speech_jobs`. */
export class SessionRows {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Stores a new session with the pairs of its metadata. */
  async insert(job: NewSessionRow): Promise<void> {
    const metadata = job.zeroRetention ? undefined : job.request.custom_metadata;
    const pairs = [...metadataPairs(metadata ?? {})];
    const created = { kind: 'live', created_at: job.createdAt } as const;
    await this.#store.transaction(async (tx) => {
      await tx
        .insertInto('speech_jobs')
        .values({
          ...created,
          id: job.id,
          node: job.node,
          token_digest: job.tokenDigest,
          status: 'queued',
          completed_at: null,
          error_code: null,
          custom_metadata: metadata ? JSON.stringify(metadata) : null,
          post_session_metadata: JSON.stringify(job.estimatedTimes ? estimatedWordTimes : {}),
          request_params: job.zeroRetention ? null : JSON.stringify(job.request),
          audio_duration: null,
          channels: job.request.channels,
          result: null,
          zero_retention: job.zeroRetention ? 1 : 0,
          callbacks_due: 0,
          ...notPreRecorded,
        })
        .execute();
      if (pairs.length > 0)
        await tx
          .insertInto('speech_job_metadata')
          .values(pairs.map((pair) => ({ ...created, job_id: job.id, pair })))
          .execute();
    });
  }

  async recording(id: string): Promise<void> {
    await this.#store.db
      .updateTable('speech_jobs')
      .set({ status: 'processing' })
      .where('id', '=', id)
      .where('status', '=', 'queued')
      .execute();
  }

  /** Stores the end of a session once: a second end changes nothing. */
  async end(id: string, end: StoredEnd, completedAt: number, callbacksDue: boolean): Promise<void> {
    await this.#store.db
      .updateTable('speech_jobs')
      .set({
        status: end.outcome,
        completed_at: completedAt,
        audio_duration: end.audioS,
        error_code: end.outcome === 'error' ? end.errorCode : null,
        result: end.outcome === 'done' ? end.result : null,
        callbacks_due: callbacksDue ? 1 : 0,
      })
      .where('id', '=', id)
      .where('status', 'in', ['queued', 'processing'])
      .execute();
  }

  async callbacksSettled(id: string): Promise<void> {
    await this.#store.db
      .updateTable('speech_jobs')
      .set({ callbacks_due: 0 })
      .where('id', '=', id)
      .execute();
  }

  async get(id: string): Promise<SessionRow | undefined> {
    return this.#store.db
      .selectFrom('speech_jobs')
      .selectAll()
      .where('id', '=', id)
      .where('kind', '=', 'live')
      .executeTakeFirst();
  }

  /** When the session ended; null while it runs, undefined when there is no such session. */
  async endOf(id: string): Promise<number | null | undefined> {
    const row = await this.#store.db
      .selectFrom('speech_jobs')
      .select('completed_at')
      .where('id', '=', id)
      .executeTakeFirst();
    return row?.completed_at;
  }

  async byToken(digest: string): Promise<SessionRow | undefined> {
    return this.#store.db
      .selectFrom('speech_jobs')
      .selectAll()
      .where('token_digest', '=', digest)
      .executeTakeFirst();
  }

  async setPostSessionMetadata(id: string, metadata: Record<string, unknown>): Promise<boolean> {
    const [changed] = await this.#store.db
      .updateTable('speech_jobs')
      .set({ post_session_metadata: JSON.stringify(metadata) })
      .where('id', '=', id)
      .where('kind', '=', 'live')
      .execute();
    return (changed?.numUpdatedRows ?? 0n) > 0n;
  }

  async delete(id: string): Promise<void> {
    await this.#store.transaction(async (tx) => {
      await tx.deleteFrom('speech_job_metadata').where('job_id', '=', id).execute();
      await tx.deleteFrom('speech_jobs').where('id', '=', id).execute();
    });
  }

  /** The sessions of this node that are not ended, or whose callbacks are not settled. */
  async unfinished(node: string): Promise<SessionRow[]> {
    return this.#store.db
      .selectFrom('speech_jobs')
      .selectAll()
      .where('node', '=', node)
      .where('kind', '=', 'live')
      .where((each) =>
        each.or([each('status', 'in', ['queued', 'processing']), each('callbacks_due', '=', 1)]),
      )
      .execute();
  }

  async completedBefore(node: string, time: number, limit: number): Promise<string[]> {
    const rows = await this.#store.db
      .selectFrom('speech_jobs')
      .select('id')
      .where('node', '=', node)
      .where('kind', '=', 'live')
      .where('completed_at', '<', time)
      .where('callbacks_due', '=', 0)
      .limit(limit)
      .execute();
    return rows.map((row) => row.id);
  }

  /**
   * A page of sessions, newest first. The ids are found in indexes alone; then the rows of the page are
   * read, with their results, and no others. One id more than the page tells whether another page follows.
   */
  async list(query: JobListQuery): Promise<{ rows: SessionRow[]; hasMore: boolean }> {
    const wanted = query.customMetadata ? [...metadataPairs(query.customMetadata)] : [];
    const ids =
      wanted.length > 0 ? await this.#byMetadata(query, wanted) : await this.#byAge(query);
    const page = ids.slice(0, query.limit);
    if (page.length === 0) return { rows: [], hasMore: false };
    const rows = await this.#store.db
      .selectFrom('speech_jobs')
      .selectAll()
      .where('id', 'in', page)
      .orderBy('created_at', 'desc')
      .orderBy('id', 'desc')
      .execute();
    return { rows, hasMore: ids.length > query.limit };
  }

  async #byAge(query: JobListQuery): Promise<string[]> {
    let select = this.#store.db.selectFrom('speech_jobs').select('id').where('kind', '=', 'live');
    if (query.statuses.length > 0) select = select.where('status', 'in', query.statuses);
    if (query.createdFrom !== undefined)
      select = select.where('created_at', '>=', query.createdFrom);
    if (query.createdBefore !== undefined)
      select = select.where('created_at', '<', query.createdBefore);
    const rows = await select
      .orderBy('created_at', 'desc')
      .orderBy('id', 'desc')
      .limit(query.limit + 1)
      .offset(query.offset)
      .execute();
    return rows.map((row) => row.id);
  }

  /** The rarest pair leads through its index; the others are looked up for each of its jobs. */
  async #byMetadata(query: JobListQuery, wanted: readonly string[]): Promise<string[]> {
    const { statuses, createdFrom, createdBefore } = query;
    const rarest = await this.#rarest(wanted);
    let select = this.#store.db
      .selectFrom('speech_job_metadata as led')
      .select('led.job_id')
      .where('led.pair', '=', rarest)
      .where('led.kind', '=', 'live');
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
    const rows = await select
      .orderBy('led.created_at', 'desc')
      .orderBy('led.job_id', 'desc')
      .limit(query.limit + 1)
      .offset(query.offset)
      .execute();
    return rows.map((row) => row.job_id);
  }

  async #rarest(pairs: readonly string[]): Promise<string> {
    const counts = await Promise.all(
      pairs.slice(0, maxCountedPairs).map(async (pair) => {
        const rows = await this.#store.db
          .selectFrom('speech_job_metadata')
          .select('job_id')
          .where('pair', '=', pair)
          .where('kind', '=', 'live')
          .limit(rareJobs)
          .execute();
        return { pair, count: rows.length };
      }),
    );
    counts.sort((a, b) => a.count - b.count);
    return counts[0]?.pair ?? '';
  }
}

/** A pair with fewer jobs than this is rare enough to lead; counting ends there. */
const rareJobs = 500;
/** So many pairs of a filter are counted. A filter with more is led by one of these. */
const maxCountedPairs = 8;

/**
 * The pairs of metadata as they are stored: a digest of each path and the text of its value. A filter of the
 * query string has no types, so a number and its text are one value. Objects and arrays count by what is in
 * them.
 */
export function metadataPairs(value: unknown, path: readonly string[] = []): Set<string> {
  if (typeof value === 'object' && value !== null)
    return new Set(
      Object.entries(value).flatMap(([key, inner]) => [...metadataPairs(inner, [...path, key])]),
    );
  const pair = JSON.stringify([path, String(value)]);
  return new Set([createHash('sha256').update(pair).digest('base64url').slice(0, 22)]);
}

/** A row as the interface shows it. Clients demand every key, so a missing value is null. */
export function recordOfRow(row: SessionRow): LiveJobRecord {
  return {
    id: row.id,
    request_id: jobRequestId(row.id),
    version: 2,
    status: row.status,
    created_at: new Date(row.created_at).toISOString(),
    completed_at: row.completed_at === null ? null : new Date(row.completed_at).toISOString(),
    kind: 'live',
    custom_metadata: object(row.custom_metadata),
    error_code: row.error_code,
    post_session_metadata: object(row.post_session_metadata) ?? {},
    file: {
      id: row.id,
      filename: `${row.id.slice(0, 8)}.wav`,
      source: null,
      audio_duration: row.audio_duration,
      number_of_channels: row.channels,
    },
    request_params: object(row.request_params),
    result: row.result === null ? null : (JSON.parse(row.result) as LiveResult),
  };
}

function object(text: string | null): Record<string, unknown> | null {
  return text === null ? null : (JSON.parse(text) as Record<string, unknown>);
}
