import { wait, type Clock } from '../lib/clock.ts';
import { every, type Loop, type Next } from '../lib/every.ts';
import type { Logger } from '../lib/log.ts';
import type { StreamingRequest } from '../protocol/live-request.ts';
import { SpeechApi, sessionUrl, type RecordResult, type SpeechTarget } from './service-api.ts';
import { CatchUp } from './catch-up.ts';
import { Connection, type SessionLine } from './connection.ts';
import type { SpeechConfig } from './config.ts';
import { ServiceGate, type GateCause } from './service-gate.ts';
import { speechTotals } from './metrics.ts';
import { Orphans, type OrphanSearch } from './orphans.ts';
import { SpeechJobs } from './jobs-api.ts';
import { SpeechSession, type SessionOptions } from './speech-session.ts';
import { SpeechNodes, type SpeechNode } from './speech-nodes.ts';

type SpeechClientOptions = {
  config: SpeechConfig;
  /** The processes that form the service. Read again for every request, because nodes come and go. */
  nodes: () => readonly SpeechNode[];
  clock: Clock;
  log: Logger;
};

type CreateRequest = {
  body: StreamingRequest;
  region?: string | undefined;
  /** The start of the leg. The oldest waiting leg is served first. */
  sinceMs: number;
  signal: AbortSignal;
  /** Called once for each new reason to wait. */
  onWaiting(cause: GateCause): void;
};

/** `orphans` counts lost answers. Each may have made a session that nobody knows of. */
type CreatedSession =
  | { outcome: 'created'; id: string; url: string; service: string; orphans: number }
  | { outcome: 'refused'; reason: string; orphans: number }
  | { outcome: 'aborted'; orphans: number };

type SessionStart = Omit<
  SessionOptions,
  'clock' | 'catchUp' | 'coalesceBytes' | 'catchUpSpeed' | 'line' | 'resumeWindowMs' | 'mayMove'
> & {
  /** The name of the node that has the session, as returned by `create`. Undefined in records of an earlier version. */
  service?: string | undefined;
};

/** A service keeps a session without a socket about this long. After that, a new session is the better choice. */
const resumeWindowMs = 60_000;
/** The same limit if another node would take the audio. A restarted node is back by then. */
const moveAfterMs = 5_000;
const sweepMs = 1_000;
const eraseAttempts = 12;

/** One per process: creates, runs, reads and erases live sessions at the nodes of one speech service. */
export class SpeechClient implements AsyncDisposable {
  readonly config: SpeechConfig;
  /** The other half of the API: whole recordings. */
  readonly jobs: SpeechJobs;
  readonly #api: SpeechApi;
  readonly #nodes: SpeechNodes;
  readonly #clock: Clock;
  readonly #log: Logger;
  readonly #gate: ServiceGate;
  readonly #catchUp: CatchUp;
  readonly #orphans: Orphans;
  /** The sessions, each with the name of its node. */
  readonly #sessions = new Map<SpeechSession, string | undefined>();
  /** One function for each leg that waits for a session. It reports the reason again when that has changed. */
  readonly #tellCause = new Set<() => void>();
  #sweeps: Loop | undefined;
  #refusal: string | undefined;
  /** The service's message when it last refused the key. */
  #unauthorized = '';
  #closed = false;

  constructor(options: SpeechClientOptions) {
    this.config = options.config;
    this.#clock = options.clock;
    this.#log = options.log.child({ component: 'speech-client' });
    this.#api = new SpeechApi(this.#clock);
    this.#nodes = new SpeechNodes({
      nodes: options.nodes,
      probe: (target) => this.#api.answers(target),
      clock: this.#clock,
      log: this.#log,
    });
    this.jobs = new SpeechJobs(this.#nodes, this.#clock);
    this.#gate = new ServiceGate(this.#clock);
    this.#catchUp = new CatchUp(this.#clock);
    const keepers = {
      find: (metadata: Record<string, unknown>) => this.#find(metadata),
      erase: (id: string) => this.#eraseOnce(id),
    };
    this.#orphans = new Orphans(keepers, this.#clock, this.#log);
  }

  /**
   * Asks until there is a session, however long that takes. Only the signal or a refusal of the request itself ends it.
   */
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
    const { signal, sinceMs } = request;
    let orphans = 0;
    while (!signal.aborted) {
      if (!(await this.#gate.enter(sinceMs, signal))) break;
      const asked = await this.#askNodes(request);
      orphans += asked.orphans;
      const { result } = asked;
      if (signal.aborted && result.outcome !== 'created') {
        this.#gate.leave();
        break;
      }
      switch (result.outcome) {
        case 'created':
          this.#refusal = undefined;
          this.#settle('created');
          speechTotals.created++;
          return { ...result, orphans };
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

  /** Asks one node after the other, until one accepts the session or refuses the request itself. */
  async #askNodes(request: CreateRequest): Promise<{ result: AskedResult; orphans: number }> {
    const { region, signal } = request;
    const body = withAcks(request.body, this.config.model);
    const candidates = this.#nodes.candidates();
    let worst: AskedResult = this.#noneToAsk();
    let orphans = 0;
    for (const [at, node] of candidates.entries()) {
      const told = this.#nodes.asked(node);
      const withinMs = this.#nodes.patienceMs(at < candidates.length - 1);
      const result = await this.#api.create(node.target, body, region, signal, withinMs);
      if (result.outcome === 'unreachable' && result.uncertain) orphans++;
      if (result.outcome === 'refused' && result.isMade === true) orphans++;
      if (result.outcome === 'created') {
        told('created');
        return { result: { ...result, service: node.name }, orphans };
      }
      if (result.outcome === 'refused' || signal.aborted) {
        told('other');
        return { result, orphans };
      }
      told(result.outcome, 'waitMs' in result ? result.waitMs : undefined);
      // A full node will have room again, so its answer is worth more than that of dead nodes.
      if (at === 0 || result.outcome === 'busy') worst = result;
    }
    const busyForMs = this.#nodes.busyForMs();
    if (worst.outcome === 'busy' && busyForMs !== undefined && candidates.length !== 1)
      worst = { outcome: 'busy', waitMs: Math.max(250, busyForMs) };
    return { result: worst, orphans };
  }

  #noneToAsk(): AskedResult {
    const busyForMs = this.#nodes.busyForMs();
    if (busyForMs !== undefined) return { outcome: 'busy', waitMs: Math.max(250, busyForMs) };
    const reason = 'no speech node is there';
    return { outcome: 'unreachable', reason, waitMs: undefined, uncertain: false };
  }

  session(start: SessionStart): SpeechSession {
    const { coalesceMs, catchUpSpeed } = this.config;
    const { service, ...rest } = start;
    const target = this.#targetOf(service, start.url);
    const session: SpeechSession = new SpeechSession({
      ...rest,
      // The address of a session from before a restart was checked when it was created. It is checked again, because
      // the target may have changed.
      url: (target && sessionUrl(target, start.url)) ?? start.url,
      line: lineOf(target),
      mayMove: () => this.#nodes.hasOther(service),
      resumeWindowMs: () => (this.#nodes.hasOther(service) ? moveAfterMs : resumeWindowMs),
      clock: this.#clock,
      catchUp: this.#catchUp,
      coalesceBytes: Math.floor((start.bytesPerSecond * coalesceMs) / 1_000),
      catchUpSpeed,
      onOver: (reason) => {
        this.#sessions.delete(session);
        const node = this.#nodes.named(service);
        // The node is checked in the background, so that the next leg need not find out again that it failed.
        if (reason === 'lost' && node !== undefined) this.#nodes.failed(node, 'unreachable');
        start.onOver(reason);
      },
    });
    this.#sessions.set(session, service);
    this.#sweeps ??= every(this.#clock, sweepMs, () => this.#sweep());
    return session;
  }

  /**
   * Ends a session whose client is gone, so that its record has everything it heard. Resolves when the service has
   * closed it, when it cannot be reached, or at the signal.
   */
  endSession(
    { url, service }: { url: string; service?: string | undefined },
    signal: AbortSignal,
  ): Promise<unknown> {
    const { promise, resolve } = Promise.withResolvers<undefined>();
    try {
      const target = this.#targetOf(service, url);
      const address = (target && sessionUrl(target, url)) ?? url;
      const connection = new Connection(address, lineOf(target), this.#clock, {
        onOpen: () => connection.sendText('{"type":"stop_recording"}'),
        onMessage: () => undefined,
        onEnd: () => resolve(undefined),
      });
      signal.addEventListener('abort', () => connection.drop(), { once: true });
    } catch {
      resolve(undefined); // an invalid address: nothing to end
    }
    return promise;
  }

  /** True if another node would take audio now. */
  hasOther(service: string | undefined): boolean {
    return this.#nodes.hasOther(service);
  }

  /**
   * Reads the record from the node that has it, or from any that may know it. Only a node that must know the session
   * can say that there is none.
   */
  async record(sessionId: string, signal: AbortSignal, service?: string): Promise<RecordResult> {
    let unavailable: RecordResult | undefined;
    let isFleetAsked = false;
    for (const node of this.#whoKnows(service)) {
      if (node.isOfFleet && isFleetAsked) continue;
      const result = await this.#api.record(node.target, sessionId, signal);
      if (result.outcome === 'found') return result;
      if (result.outcome === 'unavailable') unavailable ??= result;
      else if (node.name === service && !node.isOfFleet) return result;
      else isFleetAsked ||= node.isOfFleet;
    }
    const isSaid = unavailable === undefined || (isFleetAsked && this.#areAllOfFleet());
    return isSaid ? { outcome: 'unknown' } : (unavailable ?? { outcome: 'unknown' });
  }

  #areAllOfFleet(): boolean {
    return this.#nodes.all().every(({ isOfFleet }) => isOfFleet);
  }

  /** The nodes to ask: the named one first, those that do not answer last. */
  #whoKnows(service?: string): SpeechNode[] {
    const rank = ({ name }: SpeechNode): number =>
      name === service ? 0 : this.#nodes.causeOf(name) === 'unreachable' ? 2 : 1;
    return [...this.#nodes.all()].sort((a, b) => rank(a) - rank(b));
  }

  #targetOf(service: string | undefined, url: string): SpeechTarget | undefined {
    const nodes = this.#nodes.all();
    const named = this.#nodes.named(service);
    if (named !== undefined) return named.target;
    const host = URL.parse(url)?.host;
    const byHost = nodes.find(({ target }) => URL.parse(target.url)?.host === host);
    // Any node of a database can find its sessions.
    return (byHost ?? nodes.find(({ isOfFleet }) => isOfFleet) ?? nodes[0])?.target;
  }

  /** The sessions with this metadata at all nodes. Undefined if a node that may have some gives no answer. */
  async #find(metadata: Record<string, unknown>): Promise<string[] | undefined> {
    const found: string[] = [];
    let isFleetAsked = false;
    let isSilent = false;
    for (const node of this.#whoKnows()) {
      if (node.isOfFleet && isFleetAsked) continue;
      const ids = await this.#api.find(node.target, metadata);
      if (ids === undefined) isSilent = true;
      else found.push(...ids);
      isFleetAsked ||= node.isOfFleet && ids !== undefined;
    }
    return isSilent && !(isFleetAsked && this.#areAllOfFleet()) ? undefined : found;
  }

  /** Erases at the node that has the session, because the others do not know it. */
  async #eraseOnce(
    sessionId: string,
    signal?: AbortSignal,
  ): Promise<'erased' | 'unknown' | 'unfinished' | 'failed'> {
    let isFailed = false;
    let isFleetAsked = false;
    for (const node of this.#whoKnows()) {
      if (node.isOfFleet && isFleetAsked) continue;
      const result = await this.#api.erase(node.target, sessionId, signal);
      if (result === 'erased' || result === 'unfinished') return result;
      if (result === 'failed') isFailed = true;
      else isFleetAsked ||= node.isOfFleet;
    }
    return isFailed && !(isFleetAsked && this.#areAllOfFleet()) ? 'failed' : 'unknown';
  }

  /** DELETE /v2/live/{id}, repeated for two minutes while the service is still finishing the session. */
  async erase(sessionId: string, signal?: AbortSignal): Promise<'erased' | 'unknown' | 'failed'> {
    for (let attempt = 0; attempt < eraseAttempts; attempt++) {
      if (this.#closed || signal?.aborted) break;
      const result = await this.#eraseOnce(sessionId, signal);
      if (result === 'erased' || result === 'unknown') return result;
      await wait(this.#clock, 10_000, signal);
    }
    return 'failed';
  }

  /** Erases, in the background, sessions with this metadata that nobody knows of. */
  cancelOrphans(search: OrphanSearch): void {
    this.#orphans.cancel(search);
  }

  health(): { state: 'ok' | 'degraded' | 'down'; detail?: string } {
    if (this.#refusal !== undefined)
      return { state: 'degraded', detail: `the service refuses our sessions: ${this.#refusal}` };
    switch (this.#gate.cause) {
      case undefined:
        return this.#nodesHealth();
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

  /** `degraded` means that sessions are available although some nodes give none. */
  #nodesHealth(): { state: 'ok' | 'degraded'; detail?: string } {
    const nodes = this.#nodes.all();
    const { full, silent } = this.#nodes.passedOver();
    if (silent.length > 0)
      return {
        state: 'degraded',
        detail: `${silent.length} of ${nodes.length} speech nodes do not answer: ${silent.join(', ')}; sessions go to the others`,
      };
    if (full.length > 0 && full.length === nodes.length)
      return { state: 'degraded', detail: 'all speech nodes are full' };
    return { state: 'ok' };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    void this.#sweeps?.stop();
    this.#orphans.close();
    this.#nodes.close();
    for (const session of [...this.#sessions.keys()]) session.drop();
    await this.#api.close();
    await this.jobs.close();
  }

  #failed(cause: GateCause, reason: string, waitMs?: number): void {
    speechTotals.createFailures++;
    // Logged once per problem, not once per attempt of a thousand legs.
    if (this.#gate.cause !== cause)
      this.#log.warn(
        {
          cause,
          reason,
          services: this.#nodes.all().map(({ target }) => new URL(target.url).host),
        },
        'no live session is available; audio is journalled',
      );
    this.#settle(cause, waitMs);
    for (const tell of this.#tellCause) tell();
  }

  #settle(result: 'created' | 'other' | GateCause, waitMs?: number): void {
    const before = this.#gate.cause;
    this.#gate.settle(result, waitMs);
    if (before !== undefined && this.#gate.cause === undefined)
      this.#log.info({ cause: before }, 'live sessions are available again');
  }

  #sweep(): Next {
    const nowMs = this.#clock.monotonicMs();
    for (const [session, service] of [...this.#sessions]) {
      if (service !== undefined && this.#nodes.isGone(service)) {
        speechTotals.moved++;
        session.nodeIsGone();
      } else session.tick(nowMs);
    }
    if (this.#sessions.size > 0) return;
    this.#sweeps = undefined;
    return 'over';
  }
}

type AskedResult =
  | Exclude<Awaited<ReturnType<SpeechApi['create']>>, { outcome: 'created' }>
  | { outcome: 'created'; id: string; url: string; service: string };

/** The options of a session's sockets beside their address. The key of a service is sent over HTTP only. */
function lineOf(target: SpeechTarget | undefined): SessionLine {
  const { key, keyHeader, ca, keyOnSockets } = target ?? {};
  return {
    headers:
      keyOnSockets === true && key !== undefined && keyHeader !== undefined
        ? { [keyHeader]: key }
        : {},
    ca,
  };
}

/** The service's own words, for people who must correct what it refuses. */
function wordsOf({ status, reason }: { status: number; reason: string }): string {
  return `status ${status}${reason === '' ? '' : `: ${reason}`}`;
}

/** Resuming needs acks, whatever the template says. The operator chooses the name of the model. */
function withAcks(body: StreamingRequest, model: string | undefined): StreamingRequest {
  return {
    ...body,
    ...(model === undefined ? {} : { model: model as NonNullable<StreamingRequest['model']> }),
    messages_config: { ...body.messages_config, receive_acknowledgments: true },
  };
}
