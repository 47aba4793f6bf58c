import { createHash } from 'node:crypto';
import { within, type Clock } from '../../lib/clock.ts';
import { reasonOf } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import type { PreRecordedCallback, PreRecordedWebhook } from '../../protocol/callbacks.ts';
import type { PreRecordedResult } from '../../protocol/job.ts';
import { callbackOf } from '../../protocol/parse-pre-recorded.ts';
import type { PreRecordedRequest } from '../../protocol/pre-recorded.ts';
import { maxDatabaseWaitMs } from '../../store/backend.ts';
import type { Store } from '../../store/store.ts';
import type { Selectable } from 'kysely';
import type { SpeechJobCallbacksTable } from '../../store/schema.ts';
import { retryDelaysMs, type CallbackOutcome } from '../callbacks/callback-queue.ts';
import type { CallbackTarget, Send } from '../callbacks/callbacks.ts';
import type { SpeechServiceConfig } from '../config.ts';
import { speechMetrics } from '../metrics.ts';
import type { JobRow } from '../records/job-records.ts';
import type { NewCallback } from './job-rows.ts';

type CallbackRow = Selectable<SpeechJobCallbacksTable>;
type JobEvent = PreRecordedWebhook['event'];

/** What only this process knows of a job: with zero retention its row has neither request nor result. */
export type UnstoredJobs = Map<string, { request: PreRecordedRequest; result?: PreRecordedResult }>;

export type JobCallbacksOptions = {
  store: Store;
  config: SpeechServiceConfig;
  send: Send;
  clock: Clock;
  log: Logger;
  unstored: UnstoredJobs;
};

/** Twice the deadline of an attempt: one that takes longer has lost its process. */
const attemptLeaseMs = 20_000;
const lookMs = 2_000;
const atOnce = 8;

/** The rows of what is to be told of a job: to the address of its request, and to the webhooks of the account. */
export function callbacksFor(
  jobId: string,
  event: JobEvent,
  request: PreRecordedRequest | undefined,
  config: SpeechServiceConfig,
): NewCallback[] {
  const targets = config.webhooks.map(({ url }) => webhookName(url));
  // The interface tells the beginning of a job to the webhooks of the account alone.
  if (event !== 'transcription.created' && request && callbackOf(request)) targets.push('request');
  return targets.map((target) => ({
    id: `msg_${jobId.replaceAll('-', '')}_${event.split('.')[1] ?? ''}_${target}`,
    job_id: jobId,
    target,
    event,
  }));
}

function webhookName(url: string): string {
  return createHash('sha256').update(url).digest('hex').slice(0, 16);
}

/** Delivers the callbacks of jobs from their rows: over restarts, each until it is delivered or given up. */
export class JobCallbacks {
  readonly #options: JobCallbacksOptions;
  #stopped = false;
  #atWork: Promise<void> | undefined;
  #cancelLook = (): void => undefined;

  constructor(options: JobCallbacksOptions) {
    this.#options = options;
  }

  start(): void {
    this.wake();
    if (!this.#stopped) this.#cancelLook = this.#options.clock.after(lookMs, () => this.start());
  }

  wake(): void {
    if (this.#stopped) return;
    this.#atWork ??= this.#deliverDue()
      .catch((error: unknown) =>
        this.#options.log.error(
          { reason: reasonOf(error) },
          'callbacks of jobs could not be sent; tried again',
        ),
      )
      .finally(() => {
        this.#atWork = undefined;
      });
  }

  /** An attempt that has not ended by the deadline, or whose outcome cannot be stored, is made again by the next start. */
  async stop(deadlineMs: number): Promise<void> {
    this.#stopped = true;
    this.#cancelLook();
    await within(
      this.#options.clock,
      Math.max(deadlineMs, maxDatabaseWaitMs),
      Promise.resolve(this.#atWork),
    );
  }

  async #deliverDue(): Promise<void> {
    const { store } = this.#options;
    while (!this.#stopped) {
      const nowMs = await store.databaseNow();
      const due = await store.db
        .selectFrom('speech_job_callbacks')
        .selectAll()
        .where('due_at', '<=', nowMs)
        .orderBy('due_at')
        .orderBy('id')
        .limit(atOnce)
        .execute();
      if (due.length === 0) return;
      await Promise.all(due.map((row) => this.#deliver(row, nowMs)));
    }
  }

  async #deliver(row: CallbackRow, nowMs: number): Promise<void> {
    if (!(await this.#take(row, nowMs))) return;
    const { store, log, send } = this.#options;
    const job = await store.db
      .selectFrom('speech_jobs')
      .selectAll()
      .where('id', '=', row.job_id)
      .executeTakeFirst();
    const target = job && this.#targetOf(row, job);
    if (!job || !target) {
      await this.#settled(row); // erased meanwhile, or a webhook that is configured no more
      return;
    }
    const outcome = await send(target, row.id, JSON.stringify(this.#bodyOf(row, job))).catch(
      (error: unknown): CallbackOutcome => ({ outcome: 'failed', reason: reasonOf(error) }),
    );
    if (outcome.outcome === 'delivered') {
      await this.#settled(row);
      return;
    }
    const delayMs = outcome.outcome === 'refused' ? undefined : retryDelaysMs[row.attempts];
    await store.db
      .updateTable('speech_job_callbacks')
      .set({ due_at: delayMs === undefined ? null : nowMs + delayMs, last_error: outcome.reason })
      .where('id', '=', row.id)
      .execute();
    if (delayMs !== undefined) return;
    speechMetrics.callbacksGivenUp.inc();
    log.warn(
      { jobId: row.job_id, event: row.event, reason: outcome.reason },
      'a callback of a job was given up after its last attempt',
    );
  }

  /** One node makes the attempt: whoever moves the row on first. */
  async #take(row: CallbackRow, nowMs: number): Promise<boolean> {
    const [taken] = await this.#options.store.db
      .updateTable('speech_job_callbacks')
      .set({ attempts: row.attempts + 1, due_at: nowMs + attemptLeaseMs })
      .where('id', '=', row.id)
      .where('attempts', '=', row.attempts)
      .where('due_at', '=', row.due_at)
      .execute();
    return (taken?.numUpdatedRows ?? 0n) > 0n;
  }

  async #settled({ id, job_id, target }: CallbackRow): Promise<void> {
    await this.#options.store.db.deleteFrom('speech_job_callbacks').where('id', '=', id).execute();
    if (target === 'request') this.#options.unstored.delete(job_id);
  }

  #requestOf(job: JobRow): PreRecordedRequest | undefined {
    return (
      this.#options.unstored.get(job.id)?.request ??
      (job.request_params === null
        ? undefined
        : (JSON.parse(job.request_params) as PreRecordedRequest))
    );
  }

  #targetOf(row: CallbackRow, job: JobRow): CallbackTarget | undefined {
    const { config } = this.#options;
    if (row.target !== 'request') {
      const webhook = config.webhooks.find(({ url }) => webhookName(url) === row.target);
      return webhook && { url: webhook.url, secret: webhook.secret, trusted: true };
    }
    const request = this.#requestOf(job);
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
