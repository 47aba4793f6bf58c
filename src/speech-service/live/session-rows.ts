import type { Selectable } from 'kysely';
import { jobRequestId, type LiveJobRecord, type LiveResult } from '../../protocol/job.ts';
import { containsMetadata, type JobListQuery } from '../../protocol/list-query.ts';
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

/** How many rows are looked at together when they are filtered by metadata, which no index holds. */
const scanRows = 200;

/** The metadata of sessions whose word times are estimated, because the model gives none. */
const estimatedWordTimes = { word_times: 'estimated' };

/** The rows of live sessions in the table `speech_jobs`. */
export class SessionRows {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  async insert(job: NewSessionRow): Promise<void> {
    const { custom_metadata: metadata } = job.request;
    await this.#store.db
      .insertInto('speech_jobs')
      .values({
        id: job.id,
        kind: 'live',
        node: job.node,
        token_digest: job.tokenDigest,
        status: 'queued',
        created_at: job.createdAt,
        completed_at: null,
        error_code: null,
        custom_metadata: metadata && !job.zeroRetention ? JSON.stringify(metadata) : null,
        post_session_metadata: JSON.stringify(job.estimatedTimes ? estimatedWordTimes : {}),
        request_params: job.zeroRetention ? null : JSON.stringify(job.request),
        audio_duration: null,
        channels: job.request.channels,
        result: null,
        zero_retention: job.zeroRetention ? 1 : 0,
        callbacks_due: 0,
      })
      .execute();
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
    await this.#store.db.deleteFrom('speech_jobs').where('id', '=', id).execute();
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

  /** A page of sessions, newest first. One row more than the page is read: it tells whether another page follows. */
  async list(query: JobListQuery): Promise<{ rows: SessionRow[]; hasMore: boolean }> {
    const wanted = query.limit + 1;
    if (!query.customMetadata) {
      const rows = await this.#page(query, query.offset, wanted);
      return { rows: rows.slice(0, query.limit), hasMore: rows.length === wanted };
    }
    const matching: SessionRow[] = [];
    let skipped = 0;
    for (let offset = 0; matching.length < wanted; offset += scanRows) {
      const rows = await this.#page(query, offset, scanRows);
      for (const row of rows) {
        const metadata: unknown =
          row.custom_metadata === null ? {} : JSON.parse(row.custom_metadata);
        if (!containsMetadata(metadata, query.customMetadata)) continue;
        if (skipped < query.offset) skipped++;
        else if (matching.length < wanted) matching.push(row);
      }
      if (rows.length < scanRows) break;
    }
    return { rows: matching.slice(0, query.limit), hasMore: matching.length === wanted };
  }

  async #page(query: JobListQuery, offset: number, limit: number): Promise<SessionRow[]> {
    let select = this.#store.db.selectFrom('speech_jobs').selectAll().where('kind', '=', 'live');
    if (query.statuses.length > 0) select = select.where('status', 'in', query.statuses);
    if (query.createdFrom !== undefined)
      select = select.where('created_at', '>=', query.createdFrom);
    if (query.createdBefore !== undefined)
      select = select.where('created_at', '<', query.createdBefore);
    return select
      .orderBy('created_at', 'desc')
      .orderBy('id', 'desc')
      .limit(limit)
      .offset(offset)
      .execute();
  }
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
