import type { LiveRequest } from '../../protocol/live-request.ts';
import type { Objects } from '../../objects/objects.ts';
import type { Store } from '../../store/store.ts';
import { sessionKeys } from './disk/stored-audio.ts';
import { deleteJobRows, metadataPairs, type JobRow } from '../records/job-records.ts';

type NewSessionRow = {
  id: string;
  node: string;
  tokenDigest: string;
  createdAt: number;
  request: LiveRequest;
  zeroRetention: boolean;
  estimatedTimes: boolean;
};

type StoredEnd =
  | { outcome: 'done'; result: string | null; audioS: number }
  | { outcome: 'error'; errorCode: number; reason: string; audioS: number };

const dayMs = 86_400_000;
const nodeIsLost =
  'the node that had this session is lost, and with it what the session had not said yet: begin a new session and send the audio from the last acknowledgement on';

/** Metadata for sessions whose word times are estimated because the model gives none. */
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
  readonly #objects: Objects | undefined;

  constructor(store: Store, objects?: Objects) {
    this.#store = store;
    this.#objects = objects;
  }

  /** Stores a new session and the pairs of its metadata. */
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

  /** Stores the end of a session once; a second end changes nothing. Returns whether this was the first. */
  async end(
    id: string,
    end: StoredEnd,
    completedAt: number,
    callbacksDue: boolean,
  ): Promise<boolean> {
    const { numUpdatedRows } = await this.#store.db
      .updateTable('speech_jobs')
      .set({
        status: end.outcome,
        completed_at: completedAt,
        audio_duration: end.audioS,
        error_code: end.outcome === 'error' ? end.errorCode : null,
        error_message: end.outcome === 'error' ? end.reason : null,
        result: end.outcome === 'done' ? end.result : null,
        callbacks_due: callbacksDue ? 1 : 0,
      })
      .where('id', '=', id)
      .where('status', 'in', ['queued', 'processing'])
      .executeTakeFirst();
    return numUpdatedRows > 0n;
  }

  /** Ends the live sessions of lost nodes, whose audio is lost too. Returns their number. */
  async endOfLost(nodes: readonly string[], completedAt: number): Promise<number> {
    const { numUpdatedRows } = await this.#store.db
      .updateTable('speech_jobs')
      .set({
        status: 'error',
        completed_at: completedAt,
        error_code: 500,
        error_message: nodeIsLost,
      })
      .where('kind', '=', 'live')
      .where('node', 'in', [...nodes])
      .where('status', 'in', ['queued', 'processing'])
      .executeTakeFirst();
    return Number(numUpdatedRows);
  }

  /** Those of the sessions that other nodes have ended or erased, because they heard nothing from this node. */
  async endedByOthers(ids: readonly string[]): Promise<string[]> {
    if (ids.length === 0) return [];
    const rows = await this.#store.db
      .selectFrom('speech_jobs')
      .select(['id', 'error_message'])
      .where('id', 'in', [...ids])
      .execute();
    const found = new Map(rows.map((row) => [row.id, row.error_message]));
    return ids.filter((id) => !found.has(id) || found.get(id) === nodeIsLost);
  }

  async callbacksSettled(id: string): Promise<void> {
    await this.#store.db
      .updateTable('speech_jobs')
      .set({ callbacks_due: 0 })
      .where('id', '=', id)
      .execute();
  }

  /** The time at which the session ended. Null while it runs, undefined if there is no such session. */
  async endOf(id: string): Promise<number | null | undefined> {
    const row = await this.#store.db
      .selectFrom('speech_jobs')
      .select('completed_at')
      .where('id', '=', id)
      .executeTakeFirst();
    return row?.completed_at;
  }

  async byToken(digest: string): Promise<JobRow | undefined> {
    return this.#store.db
      .selectFrom('speech_jobs')
      .selectAll()
      .where('token_digest', '=', digest)
      .executeTakeFirst();
  }

  async delete(id: string): Promise<void> {
    await this.#store.transaction(async (tx) => {
      await deleteJobRows(tx, id);
      await this.#objects?.erase(tx, [sessionKeys + id]);
    });
    this.#objects?.wake();
  }

  /** The sessions of this node that have not ended, or whose callbacks are not finished. */
  async unfinished(node: string): Promise<JobRow[]> {
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

  /**
   * Sessions past their retention: those of this node that ended before `time`, and those that another node should have
   * deleted a day ago. That node is gone with its files. Its sessions may have no end in their row, but no session
   * lasts a day.
   */
  async completedBefore(
    node: string,
    time: number,
    limit: number,
    except: readonly string[],
  ): Promise<{ id: string }[]> {
    const ofThisNode = await this.#store.db
      .selectFrom('speech_jobs')
      .select('id')
      .where('node', '=', node)
      .where('kind', '=', 'live')
      .where('completed_at', '<', time)
      .where('callbacks_due', '=', 0)
      .where('id', 'not in', ['', ...except])
      .orderBy('completed_at')
      .limit(limit)
      .execute();
    const ofOthers = await this.#store.db
      .selectFrom('speech_jobs')
      .select('id')
      .where('node', '!=', node)
      .where('kind', '=', 'live')
      .where('created_at', '<', time - dayMs)
      .where('id', 'not in', ['', ...except])
      .orderBy('created_at')
      .limit(limit)
      .execute();
    return [...ofThisNode, ...ofOthers];
  }
}
