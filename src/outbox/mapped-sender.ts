import type { Authorizer } from '../crm/authorizer.ts';
import { NoToken } from '../crm/authorizer.ts';
import { answeredKind, unsureKind, type CallLinkStore, type UnsureMark } from '../crm/link-rows.ts'; // prettier-ignore
import type { RateLimit } from '../crm/rate-limit.ts';
import type { MappingStep } from '../crm/step.ts';
import type { Clock } from '../lib/clock.ts';
import { reasonOf } from '../lib/errors.ts';
import type { GuardedAnswer, GuardedRequest } from '../lib/guarded-fetch.ts';
import type { ApiExchange } from '../protocol/delivery-reports.ts';
import type { Endpoint } from './config.ts';
import { eventsWithEarlier, type EarlierRows } from './earlier-rows.ts';
import { exchangeOf, exchangesText, withoutValues } from './exchanges.ts';
import type {
  Mapping,
  StepAnswer,
  StepAnswers,
  StepContext,
  StepItem,
  StepRequest,
} from './mapping.ts';
import { MappingBusy } from './mapping.ts';
import { judge, type DeliveryVerdict } from './retry-rules.ts';
import type { QueuedEvent } from './claim-rows.ts';

type MappedRequest = Pick<GuardedRequest, 'url' | 'method' | 'headers' | 'body'>;

export type MappedSenderOptions = {
  endpoint: Endpoint;
  mapping: Mapping;
  clock: Clock;
  /** Undefined where nothing is kept: a preview of a command. */
  links: CallLinkStore | undefined;
  earlier: EarlierRows | undefined;
  authorizer: Authorizer | undefined;
  rate: RateLimit | undefined;
  /** Adds the operator's headers and the signature. */
  headersFor(
    made: Record<string, string>,
    proof: Record<string, string>,
    item: QueuedEvent,
    body: Buffer,
  ): Record<string, string>;
  exchange(request: MappedRequest, deadlineMs: number, signal: AbortSignal): Promise<GuardedAnswer>;
};

export type MappedResult = {
  verdict: DeliveryVerdict;
  progress: string | null;
  exchanges: string | null;
};

/** A search of the CRM finds a new record after this time, where the step names none. */
const usualSettleS = 5;

/**
 * Carries an event through the steps of a mapping. What the CRM calls the records of a call is written as soon as its
 * answer is there. A step that makes a record which the CRM would make twice is marked before it is sent: after a lost
 * answer or a kill all steps begin anew, and a search before that step finds the record.
 */
export class MappedSender {
  readonly #options: MappedSenderOptions;

  constructor(options: MappedSenderOptions) {
    this.#options = options;
  }

  async send(
    item: QueuedEvent,
    deadlineMs: number,
    nowMs: number,
    signal: AbortSignal,
  ): Promise<MappedResult> {
    const run = new MappedRun(this.#options, item, deadlineMs, nowMs, signal);
    await run.begin();
    const verdict = run.withoutSecrets(await run.perform());
    if (verdict.kind === 'delivered' && item.type === 'call.erased') await run.forgetAll();
    return { verdict, progress: run.progress, exchanges: run.told };
  }
}

/** One attempt at one event. */
class MappedRun {
  readonly #options: MappedSenderOptions;
  readonly #item: QueuedEvent;
  readonly #nowMs: number;
  readonly #signal: AbortSignal;
  readonly #endsMs: number;
  readonly #exchanges: ApiExchange[] = [];
  readonly #context: StepContext;
  #unsure: UnsureMark[] = [];
  #answered: string[] = [];
  #hasForgotten = false;
  #isUnsure = false;
  /** Headers whose values an answer must not show: the operator's own, and each proof of this attempt. */
  #own: Record<string, string>;

  constructor(
    options: MappedSenderOptions,
    item: QueuedEvent,
    deadlineMs: number,
    nowMs: number,
    signal: AbortSignal,
  ) {
    this.#options = options;
    this.#item = item;
    this.#nowMs = nowMs;
    this.#signal = signal;
    this.#endsMs = options.clock.monotonicMs() + deadlineMs;
    this.#own = options.endpoint.headers;
    this.#context = {
      answers: progressOf(item.progress),
      links: {},
      unsure: Object.create(null) as Record<string, true>,
    };
  }

  /** Answers of an attempt that may have made a record are not kept: the search before it must be asked again. */
  get progress(): string | null {
    return this.#isUnsure ? null : JSON.stringify(this.#context.answers);
  }

  get told(): string | null {
    return this.#exchanges.length === 0 ? null : exchangesText(this.#exchanges);
  }

  /** The verdict as people see it: a CRM that repeats a key or a fetched token must not spread it. */
  withoutSecrets(verdict: DeliveryVerdict): DeliveryVerdict {
    const answer = verdict.answer === null ? null : withoutValues(verdict.answer, this.#own);
    if (verdict.kind === 'delivered') return { ...verdict, answer: answer ?? '' };
    const reason = withoutValues(verdict.reason, this.#own);
    return { ...verdict, answer, reason } as DeliveryVerdict;
  }

  async begin(): Promise<void> {
    const { endpoint, links, earlier } = this.#options;
    const { type, callId, sequence } = this.#item;
    if (earlier !== undefined && eventsWithEarlier.includes(type) && namesEarlier(endpoint))
      this.#context.earlier = await earlier.before(callId, sequence);
    if (links === undefined || !usesLinks(endpoint)) return;
    const known = await links.of(endpoint.name, this.#item.callId);
    this.#context.links = known.links;
    this.#unsure = known.unsure;
    for (const { step } of known.unsure) this.#context.unsure[step] = true;
    // Answers from before the lost one would tell that the record is not there.
    if (known.unsure.length > 0) this.#context.answers = progressOf(null);
    this.#answered = Object.keys(known.answered);
    // A process that was killed later in its attempt has kept no answers, but this step was done.
    for (const [step, eventId] of Object.entries(known.answered))
      if (eventId === this.#item.eventId)
        this.#context.answers[step] ??= { status: 200, body: null };
  }

  /** Nothing of an erased call stays: its endpoint has done what it does with an erasure. */
  async forgetAll(): Promise<void> {
    const unsure = this.#unsure.map(({ step }) => unsureKind(step));
    const answered = this.#answered.map(answeredKind);
    await this.#unlink([...Object.keys(this.#context.links), ...unsure, ...answered]);
  }

  async perform(): Promise<DeliveryVerdict> {
    let verdict: DeliveryVerdict = {
      kind: 'delivered',
      status: 204,
      answer: 'this event needs no request',
    };
    for (const [index, step] of this.#options.mapping.steps.entries()) {
      if (step.on?.includes(this.#item.type) === false) continue;
      let items: (StepItem | undefined)[] = [undefined];
      try {
        if (step.each !== undefined)
          items = await this.#options.mapping.items(index, this.#item.body, this.#context, this.#leftMs()); // prettier-ignore
      } catch (error) {
        return unmappable(step.name, error);
      }
      for (const item of items) {
        const next = await this.#onceFor(index, step, item);
        // The steps begin anew once at most: the record that was forgotten is not forgotten again.
        if (next === 'anew') return this.perform();
        if (next === undefined) continue;
        verdict = next;
        if (verdict.kind !== 'delivered') return verdict;
      }
    }
    return verdict;
  }

  /** One request of a step, or undefined where it was answered before or this event needs none. */
  async #onceFor(
    index: number,
    step: MappingStep,
    item: StepItem | undefined,
  ): Promise<DeliveryVerdict | 'anew' | undefined> {
    const name = item === undefined ? step.name : `${step.name}_${item.id}`;
    if (Object.hasOwn(this.#context.answers, name)) return undefined;
    if (item === undefined) delete this.#context.item;
    else this.#context.item = item;
    let made: StepRequest | undefined;
    try {
      made = await this.#options.mapping.request(index, this.#item.body, this.#context, this.#leftMs()); // prettier-ignore
    } catch (error) {
      return unmappable(name, error);
    }
    return made === undefined ? undefined : this.#step(index, { ...step, name }, made);
  }

  #leftMs(): number {
    return Math.max(1, this.#endsMs - this.#options.clock.monotonicMs());
  }

  async #step(
    index: number,
    step: MappingStep,
    made: StepRequest,
  ): Promise<DeliveryVerdict | 'anew'> {
    const { endpoint, links, clock } = this.#options;
    if (step.once === true && links !== undefined) {
      const early = this.#tooEarly(step.name, step.settleSeconds ?? usualSettleS);
      if (early !== undefined) return early;
      await links.mark(endpoint.name, this.#item.callId, step.name, clock.now());
    }
    const answer = await this.#sent(step.name, made);
    if ('kind' in answer) {
      // Nothing was sent: the mark of before holds as it was.
      if (step.once === true) await this.#unmarked(step.name);
      return answer;
    }
    if (answer.ok && step.forget?.on.includes(answer.status) === true && !this.#hasForgotten)
      return this.#forget(this.#kindsOf(step.forget.links));
    const verdict = judgedFor(step, answer, this.#nowMs);
    if (verdict.kind !== 'delivered') {
      if (step.once === true) await this.#afterFailure(step.name, verdict);
      return verdict;
    }
    const body = answer.ok ? parsedBody(answer.body) : null;
    return this.#took(index, step, { status: verdict.status, body }, verdict);
  }

  async #took(
    index: number,
    step: MappingStep,
    answer: StepAnswer,
    verdict: DeliveryVerdict & { kind: 'delivered' },
  ): Promise<DeliveryVerdict | 'anew'> {
    const { endpoint, mapping, links, clock } = this.#options;
    const { callId, body } = this.#item;
    let opinion;
    try {
      opinion = await mapping.judgedAnswer(index, body, this.#context, answer, this.#leftMs());
    } catch (error) {
      this.#isUnsure = step.once === true;
      return unmappable(step.name, error);
    }
    if ('reason' in opinion) {
      if (opinion.forget === true && !this.#hasForgotten)
        return this.#forget(this.#kindsOf(Object.keys(step.remember ?? {})));
      if (step.once === true) await this.#unmarked(step.name);
      return {
        kind: 'failed',
        scope: opinion.retry === true ? 'endpoint' : 'item',
        hard: false,
        status: answer.status,
        answer: verdict.answer,
        reason: opinion.reason,
      };
    }
    const { item } = this.#context;
    const found = Object.fromEntries(
      Object.entries(opinion.links).map(([kind, id]) => [item === undefined ? kind : `${kind}_${item.id}`, id]), // prettier-ignore
    );
    const isKept = step.once === true || Object.keys(found).length > 0;
    // A step whose answer brings no link would be forgotten by a kill before the attempt's end.
    const isAnswered = step.once === true && Object.keys(found).length === 0;
    const answered = isAnswered ? { [answeredKind(step.name)]: this.#item.eventId } : {};
    if (isAnswered) this.#answered.push(step.name);
    if (isKept && links !== undefined)
      await links.settle(endpoint.name, callId, step.name, { ...found, ...answered }, clock.now());
    Object.assign(this.#context.links, found);
    if (step.unlink !== undefined) await this.#unlink(this.#kindsOf(step.unlink));
    this.#context.answers[step.name] = answer;
    return verdict;
  }

  /** The names of links as they are kept: those of an entry of a list end with its id. */
  #kindsOf(kinds: readonly string[]): string[] {
    const { item } = this.#context;
    return item === undefined ? [...kinds] : kinds.map((kind) => `${kind}_${item.id}`);
  }

  /** The remembered record was deleted at the CRM: all steps begin anew, once in an attempt. */
  async #forget(kinds: readonly string[]): Promise<'anew'> {
    this.#hasForgotten = true;
    await this.#unlink(kinds);
    this.#context.answers = progressOf(null);
    return 'anew';
  }

  async #unlink(kinds: readonly string[]): Promise<void> {
    const { endpoint, links } = this.#options;
    if (kinds.length > 0) await links?.forget(endpoint.name, this.#item.callId, kinds);
    for (const kind of kinds) Reflect.deleteProperty(this.#context.links, kind);
  }

  /** A record that was perhaps made a moment ago is not found yet: making it again now could make a second one. */
  #tooEarly(step: string, settleS: number): DeliveryVerdict | undefined {
    const mark = this.#unsure.find((one) => one.step === step);
    if (mark === undefined) return undefined;
    const waitMs = mark.atMs + settleS * 1_000 - this.#options.clock.now();
    if (waitMs <= 0) return undefined;
    this.#isUnsure = true;
    return {
      kind: 'failed', scope: 'endpoint', hard: false, status: null, answer: null, retryAfterMs: waitMs,
      reason: `step ${step}: its last answer was lost, and the CRM is searched again in ${Math.ceil(waitMs / 1_000)} s`,
    }; // prettier-ignore
  }

  /** A refusal made nothing. Without an answer, or after a fault of the CRM, the record may be there. */
  async #afterFailure(step: string, verdict: DeliveryVerdict): Promise<void> {
    const isRefused = verdict.status !== null && verdict.status >= 400 && verdict.status < 500;
    if (isRefused) await this.#unmarked(step);
    else this.#isUnsure = true;
  }

  /** A mark from an earlier attempt stays: that attempt may have made the record. */
  async #unmarked(step: string): Promise<void> {
    const { endpoint, links } = this.#options;
    const before = this.#unsure.find((one) => one.step === step);
    if (links === undefined) return;
    if (before === undefined) await links.unmark(endpoint.name, this.#item.callId, step);
    else await links.mark(endpoint.name, this.#item.callId, step, before.atMs);
    this.#isUnsure = before !== undefined;
  }

  /** The answer, or why nothing was sent. A proof that is refused is fetched anew, once. */
  async #sent(step: string, made: StepRequest): Promise<GuardedAnswer | DeliveryVerdict> {
    const { authorizer } = this.#options;
    const first = await this.#sentOnce(step, made);
    if (!('ok' in first) || !first.ok || first.status !== 401 || authorizer?.isFetched !== true)
      return first;
    authorizer.refused(this.#own);
    return this.#sentOnce(step, made);
  }

  async #sentOnce(step: string, made: StepRequest): Promise<GuardedAnswer | DeliveryVerdict> {
    const { endpoint, authorizer, rate } = this.#options;
    const late = await rate?.place(this.#leftMs(), this.#signal);
    if (late !== undefined) return notSent(`waits for its turn: ${late}`, false);
    let proof: Record<string, string> = {};
    try {
      proof = (await authorizer?.headers(this.#leftMs())) ?? {};
    } catch (error) {
      return notSent(reasonOf(error), error instanceof NoToken && error.isRefused);
    }
    const body = made.body ?? Buffer.alloc(0);
    const request: MappedRequest = {
      url: made.url,
      method: made.method,
      headers: this.#options.headersFor(
        { 'idempotency-key': `${this.#item.eventId}/${step}`, ...made.headers },
        proof,
        this.#item,
        body,
      ),
      ...(made.body ? { body: made.body } : {}),
    };
    const answer = await this.#options.exchange(request, this.#leftMs(), this.#signal);
    this.#own = { ...endpoint.headers, ...proof };
    this.#exchanges.push(exchangeOf({ step, own: this.#own, isEvent: false, request, answer }));
    return answer;
  }
}

/** The word of the statuses on the event; some of them speak of one record and not of the endpoint. */
function judgedFor(step: MappingStep, answer: GuardedAnswer, nowMs: number): DeliveryVerdict {
  const verdict = judge(answer, nowMs, step.accept);
  if (verdict.kind === 'delivered' || verdict.status === null) return verdict;
  if (step.itemStatuses?.includes(verdict.status) !== true) return verdict;
  return { ...verdict, kind: 'failed', scope: 'item', hard: false };
}

function usesLinks(endpoint: Endpoint): boolean {
  return (
    endpoint.shape !== 'envelope' &&
    endpoint.shape.steps.some(({ remember, once }) => remember !== undefined || once === true)
  );
}

function namesEarlier({ shape }: Endpoint): boolean {
  return shape !== 'envelope' && shape.steps.some(({ request }) => /\bearlier\b/.test(request));
}

function notSent(reason: string, hard: boolean): DeliveryVerdict {
  return { kind: 'failed', scope: 'endpoint', hard, status: null, answer: null, reason };
}

/**
 * An expression that fails on this event is the event's own trouble. If the process was busy with other events, the
 * event is tried again like after any failure of the endpoint.
 */
function unmappable(step: string, error: unknown): DeliveryVerdict {
  const reason = `mapping step ${step}: ${reasonOf(error).slice(0, 300)}`;
  const scope = error instanceof MappingBusy ? 'endpoint' : 'item';
  return { kind: 'failed', scope, hard: false, status: null, answer: null, reason };
}

/** The object has no prototype, because a step may be named like an inherited property. */
export function progressOf(progress: string | null): StepAnswers {
  const answers = Object.create(null) as StepAnswers;
  if (progress === null) return answers;
  return Object.assign(answers, JSON.parse(progress) as StepAnswers);
}

function parsedBody(body: Buffer): unknown {
  const text = body.toString('utf8');
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text; // the next step can use an answer that is not JSON too
  }
}
