import { Claims, deliver, type Fate, type DeliveryLane } from '../../lib/claims.ts';
import { within, type Clock } from '../../lib/clock.ts';
import { reasonOf } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import { Problem } from '../../port/problem.ts';
import type { ApiJobCallback, ApiJobCallbackState } from '../../protocol/api.ts';
import type { PreRecordedCallback, PreRecordedWebhook } from '../../protocol/callbacks.ts';
import type { PreRecordedResult } from '../../protocol/job.ts';
import { callbackOf } from '../../protocol/parse-pre-recorded.ts';
import type { PreRecordedRequest } from '../../protocol/pre-recorded.ts';
import { maxDatabaseWaitMs } from '../../store/backend.ts';
import type { Store } from '../../store/store.ts';
import type { Selectable, Updateable } from 'kysely';
import type { SpeechJobCallbacksTable } from '../../store/schema.ts';
import { fateOf, type CallbackOutcome } from '../callbacks/callback-queue.ts';
import { webhookName, type CallbackTarget, type Send } from '../callbacks/session-callbacks.ts';
import type { SpeechServiceConfig } from '../config.ts';
import { speechMetrics } from '../metrics.ts';
import type { JobRow } from '../records/job-records.ts';
import type { NewCallback } from './job-rows.ts';

type CallbackRow = Selectable<SpeechJobCallbacksTable>;
/** `nowMs` is the database's time at the claim. */
type ClaimedCallback = { row: CallbackRow; job: JobRow; target: CallbackTarget; nowMs: number };
type JobEvent = PreRecordedWebhook['event'];

/** Data of jobs that only this process holds: with zero retention a row has neither request nor result. */
export type UnstoredJobs = Map<string, { request: PreRecordedRequest; result?: PreRecordedResult }>;

/** The request of a job, or undefined if it is not known any more. */
export function requestOf(job: JobRow, unstored: UnstoredJobs): PreRecordedRequest | undefined {
  const known = unstored.get(job.id);
  if (known) return known.request;
  return job.request_params === null
    ? undefined
    : (JSON.parse(job.request_params) as PreRecordedRequest);
}

type JobCallbacksOptions = {
  store: Store;
  config: SpeechServiceConfig;
  node: string;
  send: Send;
  clock: Clock;
  log: Logger;
  unstored: UnstoredJobs;
};

/** Twice the deadline of an attempt. An attempt that takes longer has lost its process. */
const attemptLeaseMs = 20_000;
const lookMs = 2_000;
const atOnce = 8;

/** An operator's request for one page of callbacks. */
type JobCallbackListRequest = {
  state?: ApiJobCallbackState | undefined;
  jobId?: string | undefined;
  /** The last callback of the previous page. */
  after?: { createdAt: number; id: string } | undefined;
  limit: number;
};

/** The rows of the callbacks for an event of a job: one to the URL of its request, and one to each account webhook. */
export function callbacksFor(
  jobId: string,
  event: JobEvent,
  request: PreRecordedRequest | undefined,
  config: SpeechServiceConfig,
): NewCallback[] {
  const targets = config.webhooks.map(({ url }) => webhookName(url));
  // In the API only account webhooks hear of the beginning of a job.
  if (event !== 'transcription.created' && request && callbackOf(request)) targets.push('request');
  return targets.map((target) => ({
    id: `msg_${jobId.replaceAll('-', '')}_${event.split('.')[1] ?? ''}_${target}`,
    job_id: jobId,
    target,
    event,
  }));
}

/**
 * Delivers the callbacks of jobs from their rows, also after a restart. A delivered callback has no row. A callback
 * that was given up is parked: its row stays as long as the job, and a person may send it again.
 */
export class JobCallbacks {
  readonly #options: JobCallbacksOptions;
  readonly #claims: Claims<ClaimedCallback>;

  constructor(options: JobCallbacksOptions) {
    this.#options = options;
    const { clock, log } = options;
    const failed = (error: unknown): void =>
      log.error({ reason: reasonOf(error) }, 'callbacks of jobs could not be sent; will retry');
    this.#claims = new Claims({
      table: { claim: (begin) => this.#claimDue(begin), work: (claim) => this.#deliver(claim) },
      clock,
      lookMs,
      unreadable: failed,
      brokeOff: failed,
    });
  }

  start(): void {
    this.#claims.start();
  }

  wake(): void {
    this.#claims.wake();
  }

  /**
   * Stops delivery. An attempt that has not ended by the deadline, or whose outcome cannot be stored, is repeated after
   * the next start.
   */
  async stop(deadlineMs: number): Promise<void> {
    const patienceMs = Math.max(deadlineMs, maxDatabaseWaitMs);
    await within(this.#options.clock, patienceMs, this.#claims.stop());
  }

  /** Callbacks that have not arrived, newest first: waiting or parked. */
  async list(query: JobCallbackListRequest): Promise<{
    items: ApiJobCallback[];
    next: { createdAt: number; id: string } | undefined;
  }> {
    const { state, jobId, after, limit } = query;
    const { db } = this.#options.store;
    let select = db.selectFrom('speech_job_callbacks').selectAll();
    if (state !== undefined)
      select = select.where('parked_at', state === 'parked' ? 'is not' : 'is', null);
    if (jobId !== undefined) select = select.where('job_id', '=', jobId);
    if (after)
      // The first condition finds the place in the index. With the `or` alone, the database would scan from the newest
      // row.
      select = select
        .where('created_at', '<=', after.createdAt)
        .where((each) =>
          each.or([each('created_at', '<', after.createdAt), each('id', '<', after.id)]),
        );
    // One row more than requested shows whether there is a next page. The page is selected first and joined to its jobs
    // afterwards.
    const ofPage = select
      .orderBy('created_at', 'desc')
      .orderBy('id', 'desc')
      .limit(limit + 1);
    const found = await db
      .selectFrom(ofPage.as('callback'))
      .innerJoin('speech_jobs as job', 'job.id', 'callback.job_id')
      .selectAll('callback')
      .select('job.zero_retention')
      .orderBy('callback.created_at', 'desc')
      .orderBy('callback.id', 'desc')
      .execute();
    const page = found.slice(0, limit);
    const last = found.length > limit ? page.at(-1) : undefined;
    return {
      items: page.map((row) => publicCallback(row, this.#whyNotAgain(row) === undefined)),
      next: last && { createdAt: last.created_at, id: last.id },
    };
  }

  /**
   * Sends a parked callback again, with the same id and all its attempts. Returns the number of callbacks that were
   * started: 0 if it is already waiting, undefined if there is no such id.
   */
  async retry(id: string): Promise<number | undefined> {
    const { store } = this.#options;
    const row = await store.db
      .selectFrom('speech_job_callbacks as callback')
      .innerJoin('speech_jobs as job', 'job.id', 'callback.job_id')
      .selectAll('callback')
      .select('job.zero_retention')
      .where('callback.id', '=', id)
      .executeTakeFirst();
    if (!row) return undefined;
    const why = this.#whyNotAgain(row);
    if (why !== undefined) throw new Problem(409, `this callback cannot be sent again: ${why}`);
    const [changed] = await store.db
      .updateTable('speech_job_callbacks')
      .set({ attempts: 0, due_at: await store.databaseNow(), parked_at: null })
      .where('id', '=', id)
      // The condition makes a second click find no parked row.
      .where('parked_at', 'is not', null)
      .execute();
    this.wake();
    return Number(changed?.numUpdatedRows ?? 0n);
  }

  async #claimDue(begin: (claim: ClaimedCallback) => void): Promise<boolean> {
    const { store, node, config } = this.#options;
    const room = atOnce - this.#claims.size;
    if (room <= 0) return false; // when an attempt ends, it asks for the next look
    const nowMs = await store.databaseNow();
    const living = store.db
      .selectFrom('speech_nodes')
      .select('node')
      .where('seen_at', '>=', nowMs - config.jobs.lostNodeS * 1_000);
    const due = await store.db
      .selectFrom('speech_job_callbacks')
      .selectAll()
      .where('due_at', '<=', nowMs)
      // With zero retention the address and the result are in one node's memory. Only that node delivers, as long as
      // it lives.
      .where((each) =>
        each.or([
          each('target', '!=', 'request'),
          each.not(
            each.exists(
              each
                .selectFrom('speech_jobs')
                .select('speech_jobs.id')
                .whereRef('speech_jobs.id', '=', 'speech_job_callbacks.job_id')
                .where('speech_jobs.zero_retention', '=', 1)
                .where('speech_jobs.node', '!=', node)
                .where('speech_jobs.node', 'in', living),
            ),
          ),
        ]),
      )
      .orderBy('due_at')
      .orderBy('id')
      .limit(room)
      .execute();
    for (const row of due) {
      const claim = await this.#claim(row, nowMs);
      if (claim) begin(claim);
    }
    return due.length === room;
  }

  /**
   * Claims a callback. Undefined if nothing must be sent. The node that first moves the due time of the row makes the
   * attempt.
   */
  async #claim(row: CallbackRow, nowMs: number): Promise<ClaimedCallback | undefined> {
    const job = await this.#options.store.db
      .selectFrom('speech_jobs')
      .selectAll()
      .where('id', '=', row.job_id)
      .executeTakeFirst();
    if (!job) {
      await this.#settled(row); // the row was erased meanwhile
      return undefined;
    }
    const target = this.#targetOf(row, job);
    if (!target) {
      await this.#park(row, nowMs, row.target === 'request' ? nothingKept : notConfigured);
      return undefined;
    }
    // The attempt is counted before it is made. If the process dies during it, it counts and is repeated when its lease
    // ends.
    const attempts = row.attempts + 1;
    const due_at = nowMs + attemptLeaseMs;
    const host = job.zero_retention === 1 && row.target === 'request' ? null : hostOf(target.url);
    if (!(await this.#change(row, { attempts, due_at, host }))) return undefined;
    return { row: { ...row, attempts, due_at, host }, job, target, nowMs };
  }

  /** A claimed callback is delivered as a lane with one item. */
  async #deliver({ row, job, target, nowMs }: ClaimedCallback): Promise<boolean> {
    let isTried = false;
    const lane: DeliveryLane<CallbackRow, { fate: Fate; outcome: CallbackOutcome }> = {
      next: () => Promise.resolve(isTried ? undefined : row),
      attempt: async () => {
        isTried = true;
        const body = JSON.stringify(this.#bodyOf(row, job));
        const outcome = await this.#options
          .send(target, row.id, body)
          .catch((error: unknown): CallbackOutcome => ({
            outcome: 'failed',
            reason: reasonOf(error),
          }));
        return { outcome, fate: fateOf(outcome, row.attempts, nowMs) };
      },
      delivered: () => this.#settled(row).then(() => false),
      retry: (_row, { outcome }, due_at) =>
        this.#change(row, { due_at, last_error: 'reason' in outcome ? outcome.reason : null }),
      park: (_row, _attempt, reason) => this.#park(row, nowMs, reason).then(() => false),
    };
    await deliver(lane);
    return true; // there is room again
  }

  /**
   * Parks a callback: no further attempt is made without a person. With zero retention its data in memory is dropped,
   * because nothing else needs it.
   */
  async #park(row: CallbackRow, nowMs: number, reason: string): Promise<void> {
    const { log, unstored } = this.#options;
    if (!(await this.#change(row, { due_at: null, last_error: reason, parked_at: nowMs }))) return;
    if (row.target === 'request') unstored.delete(row.job_id);
    speechMetrics.callbacksGivenUp.inc();
    log.warn(
      { jobId: row.job_id, event: row.event, host: row.host, reason },
      'a callback of a job was given up after its last attempt',
    );
  }

  /**
   * Changes a row unless another node has changed it: a node that was paused must not undo newer work. Returns false
   * then.
   */
  async #change(row: CallbackRow, set: Updateable<SpeechJobCallbacksTable>): Promise<boolean> {
    const [changed] = await this.#options.store.db
      .updateTable('speech_job_callbacks')
      .set(set)
      .where('id', '=', row.id)
      .where('attempts', '=', row.attempts)
      .where('due_at', '=', row.due_at)
      .execute();
    return (changed?.numUpdatedRows ?? 0n) > 0n;
  }

  #whyNotAgain(row: CallbackRow & { zero_retention: number }): string | undefined {
    const { config, unstored } = this.#options;
    if (row.target === 'request')
      return row.zero_retention === 1 && !unstored.has(row.job_id) ? nothingKept : undefined;
    return config.webhooks.some(({ url }) => webhookName(url) === row.target)
      ? undefined
      : notConfigured;
  }

  async #settled({ id, job_id, target }: CallbackRow): Promise<void> {
    await this.#options.store.db.deleteFrom('speech_job_callbacks').where('id', '=', id).execute();
    if (target === 'request') this.#options.unstored.delete(job_id);
  }

  #targetOf(row: CallbackRow, job: JobRow): CallbackTarget | undefined {
    const { config } = this.#options;
    if (row.target !== 'request') {
      const webhook = config.webhooks.find(({ url }) => webhookName(url) === row.target);
      return webhook && { url: webhook.url, secret: webhook.secret, trusted: true };
    }
    const request = requestOf(job, this.#options.unstored);
    const callback = request && callbackOf(request);
    return callback && { ...callback, secret: config.callbackSecret, trusted: false };
  }

  #bodyOf(row: CallbackRow, job: JobRow): PreRecordedCallback | PreRecordedWebhook {
    const id = row.job_id;
    if (row.target !== 'request') return { event: row.event as JobEvent, payload: { id } };
    const unstored = this.#options.unstored.get(id);
    const metadata =
      unstored?.request.custom_metadata ??
      (job.custom_metadata === null
        ? null
        : (JSON.parse(job.custom_metadata) as Record<string, unknown>));
    const result =
      unstored?.result ??
      (job.result === null ? undefined : (JSON.parse(job.result) as PreRecordedResult));
    if (job.status === 'done' && result)
      return { id, event: 'transcription.success', payload: result, custom_metadata: metadata };
    const error =
      job.status === 'done'
        ? {
            code: 500,
            message:
              'the process ended before the result was delivered, and nothing of it was stored',
          }
        : { code: job.error_code ?? 500, message: job.error_message ?? 'internal error' };
    return { id, event: 'transcription.error', error, custom_metadata: metadata };
  }
}

const nothingKept = 'with zero data retention its address and its result were in memory alone';
const notConfigured = 'this webhook is not in the settings';

/** The host of an address. Its path and query may be secret. */
function hostOf(url: string): string | null {
  return URL.parse(url)?.host ?? null;
}

function publicCallback(row: CallbackRow, canRetry: boolean): ApiJobCallback {
  return {
    id: row.id,
    job_id: row.job_id,
    event: row.event,
    target: row.target === 'request' ? 'request' : 'webhook',
    host: row.host,
    state: row.parked_at === null ? 'pending' : 'parked',
    attempts: row.attempts,
    reason: row.last_error,
    created_at: new Date(row.created_at).toISOString(),
    next_attempt_at: iso(row.due_at),
    parked_at: iso(row.parked_at),
    can_retry: canRetry,
  };
}

function iso(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}
