import { sql, type ExpressionBuilder, type Selectable, type Transaction } from 'kysely';
import type { PreRecordedRequest } from '../../protocol/pre-recorded.ts';
import type { Database, SpeechJobCallbacksTable } from '../../store/schema.ts';
import type { Store } from '../../store/store.ts';
import { deleteJobRows, metadataPairs, type JobRow } from '../records/job-records.ts';

type NewJob = {
  id: string;
  node: string;
  createdAt: number;
  request: PreRecordedRequest;
  zeroRetention: boolean;
  /** The file, if it is already stored here. */
  file?: JobFileFacts | undefined;
  callbacks: NewCallback[];
};

/** Facts about the audio of a job, known once the audio is there. */
export type JobFileFacts = {
  id: string;
  filename: string;
  source: string | null;
  durationS: number;
  channels: number;
};

/** The facts of a fetched or uploaded file. */
export function factsOf(file: JobFileFacts): JobFileFacts {
  const { id, filename, source, durationS, channels } = file;
  return { id, filename, source, durationS, channels };
}

export type NewCallback = Pick<
  Selectable<SpeechJobCallbacksTable>,
  'id' | 'job_id' | 'target' | 'event'
>;

/** A job that this process works on. `attempt` is a fencing number: writes of an older claim have no effect. */
export type JobClaim = { id: string; node: string; attempt: number };

export type JobEnd =
  { outcome: 'done'; result: string | null } | { outcome: 'error'; code: number; message: string };

/** Limits on the jobs that a node takes: only those that no other node can do, and none of `except`. */
type ClaimLimits = { onlyOwn?: boolean; except?: readonly string[] };

/** A claim ends this long after the last sign of life of its process. */
export const claimMs = 30_000;

/** A node without a sign of life for this long loses its row. A missing row and a silent node mean the same. */
const forgottenMs = 30 * 86_400_000;

/** The rows of pre-recorded jobs and their queue. The oldest unclaimed job is taken first. */
export class JobRows {
  readonly #store: Store;

  constructor(store: Store) {
    this.#store = store;
  }

  /** Stores a job. Returns false, and stores nothing, if its file was deleted meanwhile. */
  async insert(job: NewJob): Promise<boolean> {
    const { id, request, file, zeroRetention } = job;
    const metadata = zeroRetention ? undefined : request.custom_metadata;
    const pairs = [...metadataPairs(metadata ?? {})];
    const created = { kind: 'pre-recorded', created_at: job.createdAt } as const;
    const nowMs = await this.#store.databaseNow();
    return this.#store.transaction(async (tx) => {
      if (file && !(await holdsFile(tx, file.id, this.#store.kind))) return false;
      await tx
        .insertInto('speech_jobs')
        .values({
          ...created,
          id,
          node: job.node,
          token_digest: null,
          status: 'queued',
          completed_at: null,
          error_code: null,
          custom_metadata: metadata ? JSON.stringify(metadata) : null,
          post_session_metadata: '{}',
          request_params: zeroRetention ? null : JSON.stringify(request),
          audio_duration: file?.durationS ?? null,
          channels: file?.channels ?? null,
          result: null,
          zero_retention: zeroRetention ? 1 : 0,
          callbacks_due: 0,
          file_id: file?.id ?? null,
          // The address may reveal whose audio it is. With zero retention it stays in memory, like the request.
          filename: zeroRetention ? null : (file?.filename ?? null),
          source: zeroRetention ? null : file ? file.source : request.audio_url,
          claimed_until: null,
          attempts: 0,
          progress_s: null,
          error_message: null,
        })
        .execute();
      if (pairs.length > 0)
        await tx
          .insertInto('speech_job_metadata')
          .values(pairs.map((pair) => ({ ...created, job_id: id, pair })))
          .execute();
      await addCallbacks(tx, job.callbacks, nowMs);
      return true;
    });
  }

  /** The numbers of waiting and running jobs on all nodes. */
  async unfinished(): Promise<{ queued: number; processing: number }> {
    const rows = await this.#store.db
      .selectFrom('speech_jobs')
      .select(['status', ({ fn }) => fn.countAll<number>().as('count')])
      .where('kind', '=', 'pre-recorded')
      .where('status', 'in', ['queued', 'processing'])
      .groupBy('status')
      .execute();
    const of = (status: string): number => rows.find((row) => row.status === status)?.count ?? 0;
    return { queued: of('queued'), processing: of('processing') };
  }

  /**
   * Takes the oldest unclaimed job. A job whose file only another node's disk has is left to that node, unless the file
   * can be fetched again. With zero retention a job stays with the node whose memory holds it. A job whose file has
   * lost its row is taken too, and ends in error.
   */
  async claim(
    node: string,
    { onlyOwn = false, except = [] }: ClaimLimits = {},
  ): Promise<{ claim: JobClaim; job: JobRow } | undefined> {
    const nowMs = await this.#store.databaseNow();
    return this.#store.transaction(async (tx) => {
      let select = tx
        .selectFrom('speech_jobs')
        .selectAll()
        .where('kind', '=', 'pre-recorded')
        .where('status', 'in', ['queued', 'processing'])
        .where((each) =>
          each.or([each('claimed_until', 'is', null), each('claimed_until', '<', nowMs)]),
        )
        .where((each) => each.or([each('zero_retention', '=', 0), each('node', '=', node)]))
        .where((each) =>
          each.or([
            each('source', 'is not', null),
            each('zero_retention', '=', 1),
            each.exists(
              each
                .selectFrom('speech_files')
                .select('speech_files.id')
                .whereRef('speech_files.id', '=', 'speech_jobs.file_id')
                .where('speech_files.node', '=', node),
            ),
            each.exists(storedFileOfJob(each)),
            each.not(
              each.exists(
                each
                  .selectFrom('speech_files')
                  .select('speech_files.id')
                  .whereRef('speech_files.id', '=', 'speech_jobs.file_id'),
              ),
            ),
          ]),
        )
        .$if(except.length > 0, (jobs) => jobs.where('id', 'not in', except))
        .$if(onlyOwn, (jobs) =>
          jobs.where((each) =>
            each.or([
              each('zero_retention', '=', 1),
              each.exists(
                each
                  .selectFrom('speech_files')
                  .select('speech_files.id')
                  .whereRef('speech_files.id', '=', 'speech_jobs.file_id')
                  .where('speech_files.node', '=', node),
              ),
            ]),
          ),
        )
        .orderBy('created_at')
        .orderBy('id')
        .limit(1);
      // A row that another node is taking is skipped. Waiting for it would end without a job.
      if (this.#store.kind === 'postgres') select = select.forUpdate().skipLocked();
      const job = await select.executeTakeFirst();
      if (!job) return undefined;
      const attempt = (job.attempts ?? 0) + 1;
      await tx
        .updateTable('speech_jobs')
        .set({ node, status: 'processing', claimed_until: nowMs + claimMs, attempts: attempt })
        .where('id', '=', job.id)
        .execute();
      return { claim: { id: job.id, node, attempt }, job };
    });
  }

  /** Renews the claim. Returns false if another process has the job, or the job was cancelled or erased. */
  async renew(claim: JobClaim, progressS: number): Promise<boolean> {
    const nowMs = await this.#store.databaseNow();
    return this.#change(claim, { claimed_until: nowMs + claimMs, progress_s: progressS });
  }

  /** Retried while Postgres is away, so that an outage between fetching and reading does not end the job in error. */
  async attachFile(claim: JobClaim, file: JobFileFacts, isNamed: boolean): Promise<boolean> {
    return this.#store.retried(() =>
      this.#change(claim, {
        file_id: file.id,
        filename: isNamed ? file.filename : null,
        audio_duration: file.durationS,
        channels: file.channels,
      }),
    );
  }

  /** Gives the job back as if it had never begun, because this process stops. */
  async release(claim: JobClaim): Promise<void> {
    await this.#change(claim, {
      status: 'queued',
      claimed_until: null,
      attempts: claim.attempt - 1,
      progress_s: null,
    });
  }

  /** Frees the jobs that an earlier run of this node held. */
  async releaseAllOf(node: string): Promise<void> {
    await this.#store.db
      .updateTable('speech_jobs')
      .set({ claimed_until: null, progress_s: null })
      .where('kind', '=', 'pre-recorded')
      .where('status', '=', 'processing')
      .where('node', '=', node)
      .execute();
  }

  /** Stores a sign of life of this node, and deletes nodes that have been gone for a month. */
  async signOfLife(node: string): Promise<void> {
    const seen_at = await this.#store.databaseNow();
    const { db } = this.#store;
    await db
      .insertInto('speech_nodes')
      .values({ node, seen_at })
      .onConflict((conflict) => conflict.column('node').doUpdateSet({ seen_at }))
      .execute();
    await db
      .deleteFrom('speech_nodes')
      .where('seen_at', '<', seen_at - forgottenMs)
      .execute();
  }

  /** Jobs that only another node can do, if that node has been silent for `silentMs`. */
  async ofLostNodes(node: string, silentMs: number, limit: number): Promise<JobRow[]> {
    const nowMs = await this.#store.databaseNow();
    const { db } = this.#store;
    const lives = db
      .selectFrom('speech_nodes')
      .select('node')
      .where('seen_at', '>=', nowMs - silentMs);
    return db
      .selectFrom('speech_jobs')
      .selectAll()
      .where('kind', '=', 'pre-recorded')
      .where('status', 'in', ['queued', 'processing'])
      .where('created_at', '<', nowMs - silentMs)
      .where((each) =>
        each.or([each('claimed_until', 'is', null), each('claimed_until', '<', nowMs)]),
      )
      .where((each) =>
        each.or([
          each.and([
            each('source', 'is', null),
            each.exists(
              each
                .selectFrom('speech_files')
                .select('speech_files.id')
                .whereRef('speech_files.id', '=', 'speech_jobs.file_id')
                .where('speech_files.node', '!=', node)
                .where('speech_files.node', 'not in', lives),
            ),
            each.not(each.exists(storedFileOfJob(each))),
          ]),
          each.and([
            each('zero_retention', '=', 1),
            each('speech_jobs.node', '!=', node),
            each('speech_jobs.node', 'not in', lives),
          ]),
        ]),
      )
      .limit(limit)
      .execute();
  }

  /** Stores the end, its callbacks and the usage row in one transaction. Returns false if the job is no longer ours. */
  async end(
    claim: JobClaim | { id: string },
    end: JobEnd,
    completedAt: number,
    callbacks: NewCallback[],
  ): Promise<boolean> {
    // Callbacks become due by the database's clock. This node's clock may be ahead, and they would be late. If Postgres
    // is away, this waits: a job without a stored end would be read again.
    const nowMs = await this.#store.retried(() => this.#store.databaseNow());
    return this.#store.transaction(async (tx) => {
      // If two ends come at once, the first is stored. The second finds no such row, and no callback is sent for it.
      let update = tx
        .updateTable('speech_jobs')
        .set({
          status: end.outcome,
          completed_at: completedAt,
          claimed_until: null,
          error_code: end.outcome === 'error' ? end.code : null,
          error_message: end.outcome === 'error' ? end.message : null,
          result: end.outcome === 'done' ? end.result : null,
        })
        .where('id', '=', claim.id)
        .where('kind', '=', 'pre-recorded')
        .where('status', 'in', ['queued', 'processing']);
      if ('attempt' in claim)
        update = update.where('node', '=', claim.node).where('attempts', '=', claim.attempt);
      const row = await update.returning(['id', 'created_at', 'audio_duration']).executeTakeFirst();
      if (!row) return false;
      await addCallbacks(tx, callbacks, nowMs);
      await tx
        .insertInto('speech_usage')
        .values({
          id: row.id,
          kind: 'pre-recorded',
          created_at: row.created_at,
          completed_at: completedAt,
          status: end.outcome,
          audio_duration: row.audio_duration,
        })
        .execute();
      return true;
    });
  }

  /** Deletes a job and its callbacks. Returns whether no other job uses its file. */
  async delete(id: string, fileId: string | null): Promise<boolean> {
    return this.#store.transaction(async (tx) => {
      // Two jobs of one file may be deleted at once. The lock lets the second see that the first is gone.
      if (fileId !== null) await holdsFile(tx, fileId, this.#store.kind);
      await tx.deleteFrom('speech_job_callbacks').where('job_id', '=', id).execute();
      await deleteJobRows(tx, id);
      if (fileId === null) return false;
      const other = await tx
        .selectFrom('speech_jobs')
        .select('id')
        .where('file_id', '=', fileId)
        .limit(1)
        .executeTakeFirst();
      return other === undefined;
    });
  }

  async completedBefore(
    time: number,
    limit: number,
    except: readonly string[],
  ): Promise<{ id: string; file_id: string | null }[]> {
    return this.#store.db
      .selectFrom('speech_jobs')
      .select(['id', 'file_id'])
      .where('kind', '=', 'pre-recorded')
      .where('status', 'in', ['done', 'error'])
      .where('completed_at', '<', time)
      .where('id', 'not in', ['', ...except])
      .orderBy('completed_at')
      .limit(limit)
      .execute();
  }

  /** Deletes at most `limit` old usage rows and returns their number. */
  async forgetUsageBefore(time: number, limit: number): Promise<number> {
    const { numDeletedRows } = await this.#store.db
      .deleteFrom('speech_usage')
      .where('id', 'in', (each) =>
        each
          .selectFrom('speech_usage')
          .select('id')
          .where('completed_at', '<', time)
          .orderBy('completed_at')
          .limit(limit),
      )
      .executeTakeFirst();
    return Number(numDeletedRows);
  }

  async #change(claim: JobClaim, set: Partial<JobRow>): Promise<boolean> {
    const [changed] = await this.#store.db
      .updateTable('speech_jobs')
      .set(set)
      .where('id', '=', claim.id)
      .where('node', '=', claim.node)
      .where('attempts', '=', claim.attempt)
      .where('status', '=', 'processing')
      .execute();
    return (changed?.numUpdatedRows ?? 0n) > 0n;
  }
}

/** Locks the file's row until the job is stored, so that the sweep of unused files cannot delete it in between. */
async function holdsFile(
  tx: Transaction<Database>,
  id: string,
  kind: Store['kind'],
): Promise<boolean> {
  let select = tx.selectFrom('speech_files').select('id').where('id', '=', id);
  if (kind === 'postgres') select = select.forUpdate();
  return (await select.executeTakeFirst()) !== undefined;
}

async function addCallbacks(
  tx: Transaction<Database>,
  callbacks: readonly NewCallback[],
  nowMs: number,
): Promise<void> {
  if (callbacks.length === 0) return;
  await tx
    .insertInto('speech_job_callbacks')
    .values(
      callbacks.map((callback) => ({
        ...callback,
        body: null,
        created_at: nowMs,
        attempts: 0,
        due_at: nowMs,
        last_error: null,
        host: null,
        parked_at: null,
      })),
    )
    .execute();
}

/** True for a job whose file is in the object store, where any node can read it. */
function storedFileOfJob(each: ExpressionBuilder<Database, 'speech_jobs'>) {
  return each
    .selectFrom('objects')
    .select('objects.key')
    .where('objects.key', '=', sql<string>`'files/' || speech_jobs.file_id`)
    .where('objects.state', '=', 'stored');
}
