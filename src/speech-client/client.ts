import { wait, type Clock } from '../lib/clock.ts';
import type { Logger } from '../lib/log.ts';
import type { StreamingRequest } from '../protocol/live-request.ts';
import { SpeechApi, sessionUrl, type RecordResult, type SpeechTarget } from './api.ts';
import { CatchUp } from './catch-up.ts';
import { Connection } from './connection.ts';
import type { SpeechConfig } from './config.ts';
import { ServiceGate, type GateCause } from './service-gate.ts';
import { speechTotals } from './metrics.ts';
import { Orphans, type OrphanSearch } from './orphans.ts';
import { SpeechJobs } from './jobs.ts';
import { SpeechSession, type SessionOptions } from './session.ts';

type SpeechClientOptions = {
  config: SpeechConfig;
  /** Read again for every request. */
  target: () => SpeechTarget;
  clock: Clock;
  log: Logger;
};

type CreateRequest = {
  body: StreamingRequest;
  region?: string;
  /** When the leg began: the oldest leg goes first where there is a queue. */
  sinceMs: number;
  signal: AbortSignal;
  /** Said once for each new reason to wait. */
  onWaiting(cause: GateCause): void;
};

/** `orphans`: answers that were lost; each may have made a session that nobody knows of. */
type CreatedSession =
  | { outcome: 'created'; id: string; url: string; orphans: number }
  | { outcome: 'refused'; reason: string; orphans: number }
  | { outcome: 'aborted'; orphans: number };

type SessionStart = Omit<SessionOptions, 'clock' | 'catchUp' | 'coalesceBytes' | 'catchUpSpeed'>;

const sweepMs = 1_000;
const eraseAttempts = 12;

/** One per process: creates, runs, reads and erases live sessions at one speech service. */
export class SpeechClient implements AsyncDisposable {
  readonly config: SpeechConfig;
  /** The other half of the interface: whole recordings. */
  readonly jobs: SpeechJobs;
  readonly #api: SpeechApi;
  readonly #target: () => SpeechTarget;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #gate: ServiceGate;
  readonly #catchUp: CatchUp;
  readonly #orphans: Orphans;
  readonly #sessions = new Set<SpeechSession>();
  /** Of every leg that waits for a session: says the cause again when it has changed. */
  readonly #tellCause = new Set<() => void>();
  #stopSweep: (() => void) | undefined;
  #refusal: string | undefined;
  /** What the service said when it last refused the key. */
  #unauthorized = '';
  #closed = false;

  constructor(options: SpeechClientOptions) {
    this.config = options.config;
    this.#clock = options.clock;
    this.#log = options.log.child({ component: 'speech-client' });
    this.#target = options.target;
    this.#api = new SpeechApi(options.target, this.#clock);
    this.jobs = new SpeechJobs(options.target, this.#clock);
    this.#gate = new ServiceGate(this.#clock);
    this.#catchUp = new CatchUp(this.#clock);
    this.#orphans = new Orphans(this.#api, this.#clock, this.#log);
  }

  /** Asks until there is a session, however long that takes; only the signal or a real refusal ends it. */
  async create(request: CreateRequest): Promise<CreatedSession> {
    let told: GateCause | undefined;
    const tell = (): void => {
      const cause = this.#gate.cause;
      if (cause !== undefined && cause !== told) request.onWaiting(cause);
      told = cause;
    };
    tell();
    this.#tellCause.add(tell);
    try {
      return await this.#ask(request);
    } finally {
      this.#tellCause.delete(tell);
    }
  }

  async #ask(request: CreateRequest): Promise<CreatedSession> {
    const { body, region, signal, sinceMs } = request;
    let orphans = 0;
    while (!signal.aborted) {
      if (!(await this.#gate.enter(sinceMs, signal))) break;
      const result = await this.#api.create(withAcks(body, this.config.model), region, signal);
      if (result.outcome === 'unreachable' && result.uncertain) orphans++;
      if (result.outcome === 'refused' && result.isMade === true) orphans++;
      if (signal.aborted && result.outcome !== 'created') {
        this.#gate.leave();
        break;
      }
      switch (result.outcome) {
        case 'created':
          this.#refusal = undefined;
          this.#settle('created');
          speechTotals.created++;
          return { outcome: 'created', id: result.id, url: result.url, orphans };
        case 'refused':
          speechTotals.createFailures++;
          this.#refusal = wordsOf(result);
          this.#settle('other');
          return { outcome: 'refused', reason: this.#refusal, orphans };
        case 'unauthorized':
          this.#unauthorized = wordsOf(result);
          this.#failed('unauthorized', this.#unauthorized);
          break;
        case 'busy':
          this.#failed('busy', 'status 429', result.waitMs);
          break;
        case 'unreachable':
          this.#failed('unreachable', result.reason, result.waitMs);
          break;
      }
    }
    return { outcome: 'aborted', orphans };
  }

  session(start: SessionStart): SpeechSession {
    const { coalesceMs, catchUpSpeed } = this.config;
    const session: SpeechSession = new SpeechSession({
      ...start,
      // One of before a restart was checked when it was created; where it leads to now may have changed.
      url: sessionUrl(this.#target(), start.url) ?? start.url,
      clock: this.#clock,
      catchUp: this.#catchUp,
      coalesceBytes: Math.floor((start.bytesPerSecond * coalesceMs) / 1_000),
      catchUpSpeed,
      onOver: (reason) => {
        this.#sessions.delete(session);
        start.onOver(reason);
      },
    });
    this.#sessions.add(session);
    this.#stopSweep ??= this.#clock.after(sweepMs, () => this.#sweep());
    return session;
  }

  /**
   * Ends a session whose client is gone: then its record has all that it heard. Resolves when the service has closed it,
   * cannot be reached, or at the signal.
   */
  endSession(url: string, signal: AbortSignal): Promise<unknown> {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    try {
      const address = sessionUrl(this.#target(), url) ?? url;
      const connection = new Connection(address, {}, this.#clock, {
        onOpen: () => connection.sendText('{"type":"stop_recording"}'),
        onMessage: () => undefined,
        onEnd: () => resolve(undefined),
      });
      signal.addEventListener('abort', () => connection.drop(), { once: true });
    } catch {
      resolve(undefined); // an address that is none: nothing to end
    }
    return promise;
  }

  async record(sessionId: string, signal: AbortSignal): Promise<RecordResult> {
    return await this.#api.record(sessionId, signal);
  }

  /** DELETE /v2/live/{id}, asked again for two minutes while the service still finishes the session. */
  async erase(sessionId: string, signal?: AbortSignal): Promise<'erased' | 'unknown' | 'failed'> {
    for (let attempt = 0; attempt < eraseAttempts; attempt++) {
      if (this.#closed || signal?.aborted) break;
      const result = await this.#api.erase(sessionId, signal);
      if (result === 'erased' || result === 'unknown') return result;
      await wait(this.#clock, 10_000, signal);
    }
    return 'failed';
  }

  /** Sessions of this metadata that nobody knows of are erased, in the background. */
  cancelOrphans(search: OrphanSearch): void {
    this.#orphans.cancel(search);
  }

  health(): { state: 'ok' | 'degraded' | 'down'; detail?: string } {
    if (this.#refusal !== undefined)
      return { state: 'degraded', detail: `the service refuses our sessions: ${this.#refusal}` };
    switch (this.#gate.cause) {
      case undefined:
        return { state: 'ok' };
      case 'busy':
        return { state: 'degraded', detail: `no free session; ${this.#gate.waiting} legs wait` };
      case 'unauthorized':
        return {
          state: 'degraded',
          detail: `the service does not accept the key: ${this.#unauthorized}`,
        };
      case 'unreachable':
        return { state: 'degraded', detail: `not reachable; ${this.#gate.waiting} legs wait` };
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.#stopSweep?.();
    this.#orphans.close();
    for (const session of [...this.#sessions]) session.drop();
    await this.#api.close();
    await this.jobs.close();
  }

  #failed(cause: GateCause, reason: string, waitMs?: number): void {
    speechTotals.createFailures++;
    // Once per trouble, not once per attempt of a thousand legs.
    if (this.#gate.cause !== cause)
      this.#log.warn(
        { cause, reason, service: new URL(this.#target().url).host },
        'no live session can be had for now; audio is journalled',
      );
    this.#settle(cause, waitMs);
    for (const tell of this.#tellCause) tell();
  }

  #settle(result: 'created' | 'other' | GateCause, waitMs?: number): void {
    const before = this.#gate.cause;
    this.#gate.settle(result, waitMs);
    if (before !== undefined && this.#gate.cause === undefined)
      this.#log.info({ cause: before }, 'live sessions can be had again');
  }

  #sweep(): void {
    this.#stopSweep = undefined;
    const nowMs = this.#clock.monotonicMs();
    for (const session of this.#sessions) session.tick(nowMs);
    if (this.#sessions.size > 0) this.#stopSweep = this.#clock.after(sweepMs, () => this.#sweep());
  }
}

/** The service's own words, for people who have to mend what it refuses. */
function wordsOf({ status, reason }: { status: number; reason: string }): string {
  return `status ${status}${reason === '' ? '' : `: ${reason}`}`;
}

/** Resuming needs acks, whatever the template says; the model's name is the operator's. */
function withAcks(body: StreamingRequest, model: string | undefined): StreamingRequest {
  return {
    ...body,
    ...(model === undefined ? {} : { model: model as NonNullable<StreamingRequest['model']> }),
    messages_config: { ...body.messages_config, receive_acknowledgments: true },
  };
}
