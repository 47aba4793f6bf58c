import { fork, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { fileURLToPath } from 'node:url';
import { z } from 'zod';
import type { Clock } from '../lib/clock.ts';
import { TrunklineError, reasonOf } from '../lib/errors.ts';
import { Silence, waitedForProcessorMs } from '../lib/silence.ts';
import { eventExamples } from '../protocol/event-examples.ts';
import type { CallEvent } from '../protocol/events.ts';
import type { MappingStep } from '../crm/step.ts';
import type { EarlierEvents } from './earlier-rows.ts';
import { headerName, headerValue, typesOf, type Endpoint } from './config.ts';
import type { MappingOrder, MappingReady, MappingResult, MappingSetup } from './mapping-child.ts';

/** The time limit of one expression for one event. Usual mappings take a few milliseconds. */
const maxEvaluationMs = 1_000;
/** However busy the machine is, an expression has at most this long on top. Then its event is tried again later. */
const mostWaitedMs = 20_000;
const tickMs = 100;
/** A process that takes longer to start is ended. It normally takes 0.2 s, under load some seconds. */
const maxStartMs = 20_000;
/** The limit for one request that a mapping makes, in bytes of JSON. */
export const maxMappedBytes = 1_048_576;
/** The heap limit of a mapping process. A process that needs more ends, and only its event fails. */
const maxHeapMiB = 64;
/**
 * At most this many orders wait for an endpoint's mapping process: as many as an endpoint can have calls in progress.
 */
export const maxMappingsWaiting = 1_000;
const maxHeaders = 64;

/** The request that a step's expression makes. */
const MappedRequest = z.strictObject({
  method: z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']).default('POST'),
  path: z.string().startsWith('/'),
  headers: z
    .record(headerName, headerValue)
    .refine((headers) => Object.keys(headers).length <= maxHeaders, `at most ${maxHeaders} headers`)
    .default({}),
  body: z.unknown().optional(),
});

export type StepRequest = {
  method: z.infer<typeof MappedRequest>['method'];
  url: string;
  headers: Record<string, string>;
  body: Buffer | undefined;
};

export type StepAnswer = { status: number; body: unknown };
/** Answers by the name of their step. A name may equal an inherited property, so read with `Object.hasOwn`. */
export type StepAnswers = Record<string, StepAnswer>;

/** An expression finds this beside the event. */
export type StepContext = {
  answers: StepAnswers;
  /** The CRM's ids of this call's records. */
  links: Record<string, string>;
  /** Steps whose answer was lost: their record may be there. */
  unsure: Record<string, true>;
  /** The data of what was told of the call before this event: only for steps that name it. */
  earlier?: EarlierEvents;
  /** The entry of a list that a step with `each` is done for. */
  item?: StepItem;
};

export type StepItem = { id: string };

/** A step is done for at most this many entries of its list. */
const maxStepItems = 20;
const StepItems = z
  .array(z.looseObject({ id: z.string().regex(/^[a-z0-9_]{1,24}$/) }))
  .max(maxStepItems, `a step is done for at most ${maxStepItems} entries`);

/** The places of a step's expressions in the list that the child gets. */
type StepPlaces = {
  request: number;
  each: number | undefined;
  expect: number | undefined;
  remember: [string, number][];
};

/** The process did not reach this order in time. The event itself may be fine. */
export class MappingBusy extends Error {}

type Waiting = {
  expression: number;
  event: string;
  context: string;
  watch: boolean;
  settle: (result: Evaluated | Error) => void;
};

type Evaluated = { made: string | null; lost: string[] };

/**
 * The mapping of one endpoint, in a child process that works on one event at a time. A child that misses the deadline
 * or runs out of memory is ended and takes only that event's attempt with it; a fresh one goes on with the queue. The
 * child is started by the first event and then kept.
 */
export class Mapping implements AsyncDisposable {
  readonly steps: readonly MappingStep[];
  readonly #places: readonly StepPlaces[];
  readonly #endpoint: Endpoint;
  readonly #clock: Clock;
  readonly #expressions: string[];
  readonly #waiting: Waiting[] = [];
  #current: (Waiting & { id: number }) | undefined;
  #child: ChildProcess | undefined;
  #invalid: MappingReady['invalid'];
  #isReady = false;
  #cancelDeadline: () => void = () => undefined;
  #ending: Promise<unknown> = Promise.resolve();
  #lastId = 0;
  #closed = false;

  constructor(endpoint: Endpoint, clock: Clock) {
    this.steps = endpoint.shape === 'envelope' ? [] : endpoint.shape.steps;
    this.#endpoint = endpoint;
    this.#clock = clock;
    this.#expressions = [];
    const place = (text: string): number => this.#expressions.push(text) - 1;
    this.#places = this.steps.map(({ request, each, expect, remember = {} }) => ({
      request: place(request),
      each: each === undefined ? undefined : place(each),
      expect: expect === undefined ? undefined : place(expect),
      remember: Object.entries(remember).map(([kind, text]) => [kind, place(text)]),
    }));
  }

  /**
   * The request of that step, or undefined if this event needs none. Rejects with the reason if it cannot be made,
   * and with `MappingBusy` if the child does not reach it within `deadlineMs`.
   */
  async request(
    step: number,
    event: string,
    context: StepContext,
    deadlineMs: number,
  ): Promise<StepRequest | undefined> {
    return (await this.#make(step, event, context, deadlineMs, false)).request;
  }

  /**
   * Like `request`, for a person: it also reports the places at which the expression found nothing. If a mapping uses
   * a field that does not exist, the request lacks it and no error is raised.
   */
  watched(
    step: number,
    event: string,
    context: StepContext,
    deadlineMs: number,
  ): Promise<{ request: StepRequest | undefined; lost: string[] }> {
    return this.#make(step, event, context, deadlineMs, true);
  }

  /** The entries that a step with `each` is done for: none for an expression that finds nothing. */
  async items(
    step: number,
    event: string,
    context: StepContext,
    deadlineMs: number,
  ): Promise<StepItem[]> {
    const place = this.#places[step]?.each;
    if (place === undefined) return [];
    const { made } = await this.#evaluate(place, event, this.#given(context), deadlineMs, false);
    const found: unknown = made === null ? [] : JSON.parse(made);
    // JSONata gives a list of one entry as the entry itself.
    const parsed = StepItems.safeParse([found ?? []].flat());
    if (!parsed.success) throw new Error(z.prettifyError(parsed.error).replace(/\s*\n\s*/g, ' '));
    return parsed.data;
  }

  /** The value of a step's expression as it is, for a step that makes no request. */
  async value(
    step: number,
    event: string,
    context: StepContext,
    deadlineMs: number,
  ): Promise<unknown> {
    const place = this.#places[step]?.request ?? -1;
    const { made } = await this.#evaluate(place, event, this.#given(context), deadlineMs, false);
    return made === null ? undefined : (JSON.parse(made) as unknown);
  }

  /** The links that the answer of a step brings, or why the answer is a refusal. */
  async judgedAnswer(
    step: number,
    event: string,
    context: StepContext,
    answer: StepAnswer,
    deadlineMs: number,
  ): Promise<AnswerOpinion> {
    const places = this.#places[step];
    const given = this.#given(context, answer);
    if (places?.expect !== undefined) {
      const { made } = await this.#evaluate(places.expect, event, given, deadlineMs, false);
      const opinion: unknown = made === null ? null : JSON.parse(made);
      if (opinion !== true) return refusalOf(opinion);
    }
    const links: Record<string, string> = {};
    for (const [kind, place] of places?.remember ?? []) {
      const { made } = await this.#evaluate(place, event, given, deadlineMs, false);
      const id: unknown = made === null ? null : JSON.parse(made);
      // A link is kept for good: an id that is no short text or number is a mistake of the expression.
      if ((typeof id === 'string' && id.length <= 256) || typeof id === 'number')
        links[kind] = String(id);
    }
    return { links };
  }

  #given(context: StepContext, answer?: StepAnswer): string {
    const options = this.#endpoint.options ?? {};
    return JSON.stringify({ ...context, options, answer });
  }

  async #make(
    step: number,
    event: string,
    context: StepContext,
    deadlineMs: number,
    watch: boolean,
  ): Promise<{ request: StepRequest | undefined; lost: string[] }> {
    const place = this.#places[step]?.request ?? -1;
    const { made, lost } = await this.#evaluate(place, event, this.#given(context), deadlineMs, watch); // prettier-ignore
    if (made === null || made === 'null') return { request: undefined, lost };
    return { request: requestOf(this.#endpoint, JSON.parse(made)), lost };
  }

  /**
   * Checks the mapping at the start: every expression compiles, and makes a request from an example of every type
   * that the endpoint gets. Later steps need answers that only the CRM can give, so they are tried as long as the
   * steps before have an `example`. Returns a line for each place where an expression found nothing. Throws
   * CONFIG_INVALID with the step's name and the position in its expression.
   */
  async check(): Promise<string[]> {
    const warnings: string[] = [];
    if (this.steps.length === 0) return warnings;
    for (const event of examplesFor(this.#endpoint)) {
      const text = JSON.stringify(event);
      const context: StepContext = { answers: {}, links: {}, unsure: {} };
      for (const [index, step] of this.steps.entries()) {
        if (step.on?.includes(event.type) === false) continue;
        try {
          if (step.each !== undefined) {
            const [item] = await this.items(index, text, context, maxStartMs);
            if (item === undefined) continue;
            context.item = item;
          } else delete context.item;
          const { request, lost } = await this.watched(index, text, context, maxStartMs);
          for (const one of lost) warnings.push(`step ${step.name} for ${event.type}: ${one}`);
          if (request === undefined) continue;
          if (step.example === undefined) break;
          context.answers[step.name] = step.example;
          const opinion = await this.judgedAnswer(index, text, context, step.example, maxStartMs);
          if ('reason' in opinion) throw new Error(`its example is refused: ${opinion.reason}`);
          Object.assign(context.links, opinion.links);
        } catch (error) {
          if (this.#invalid) throw this.#notReadable(this.#invalid);
          throw this.#notValid(
            index,
            { message: reasonOf(error), position: undefined },
            event.type,
          );
        }
      }
    }
    // Many fields of a preset may have no value, and its own tests have looked at each.
    return this.#endpoint.preset === undefined ? warnings : [];
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#closed = true;
    this.#endChild(new Error('the mapping is closed'));
    for (const one of this.#waiting.splice(0)) one.settle(new Error('the mapping is closed'));
    await this.#ending;
  }

  #evaluate(
    expression: number,
    event: string,
    context: string,
    deadlineMs: number,
    watch: boolean,
  ): Promise<Evaluated> {
    return new Promise((resolve, reject) => {
      if (this.#closed) return reject(new Error('the mapping is closed'));
      if (this.#waiting.length >= maxMappingsWaiting)
        return reject(new MappingBusy('too many events wait for the mapping'));
      const order: Waiting = {
        expression,
        event,
        context,
        watch,
        settle: (result) => {
          cancel();
          if (result instanceof Error) reject(result);
          else resolve(result);
        },
      };
      // This deadline is for the wait. During the evaluation, the order has the deadline of the evaluation.
      const cancel = this.#clock.after(deadlineMs, () => {
        const place = this.#waiting.indexOf(order);
        if (place < 0) return;
        this.#waiting.splice(place, 1);
        order.settle(new MappingBusy('the mapping was busy with other events'));
      });
      this.#waiting.push(order);
      this.#next();
    });
  }

  #next(): void {
    if (this.#current || this.#closed || this.#waiting.length === 0) return;
    if (!this.#child) return this.#startChild();
    if (!this.#isReady) return;
    const waiting = this.#waiting.shift();
    if (!waiting) return;
    const { expression, event, context, watch } = waiting;
    const id = ++this.#lastId;
    this.#current = { ...waiting, id };
    const { pid = 0 } = this.#child;
    this.#awaitEnd(new Silence(() => waitedForProcessorMs(pid), mostWaitedMs));
    this.#tell({ id, expression, event, context, watch });
  }

  /** On a busy machine the time in which the child, or this process, got no processor does not count. */
  #awaitEnd(silence: Silence): void {
    this.#cancelDeadline = this.#clock.after(tickMs, () => {
      if (!silence.isTooLong(tickMs, maxEvaluationMs)) this.#awaitEnd(silence);
      else if (silence.ms >= mostWaitedMs)
        this.#endChild(new MappingBusy('the machine was too busy to evaluate the expression'));
      else this.#endChild(new Error(`the expression did not end within ${maxEvaluationMs} ms`));
    });
  }

  #startChild(): void {
    const child = fork(fileURLToPath(new URL('./mapping-child.ts', import.meta.url)), [], {
      execArgv: ['--disable-proto=delete', `--max-old-space-size=${maxHeapMiB}`],
      // An expression must not see the environment of this process.
      env: Object.create(null) as NodeJS.ProcessEnv,
      stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
    });
    child.unref();
    child.channel?.unref();
    this.#child = child;
    this.#cancelDeadline = this.#clock.after(maxStartMs, () =>
      this.#endChild(new Error('the process of the mapping did not start')),
    );
    // Messages of a child that was replaced are ignored.
    const current = (): boolean => this.#child === child;
    child.on('message', (message: MappingReady | MappingResult) => {
      if (current()) this.#take(message);
    });
    child.on('error', (error) => {
      if (current())
        this.#endChild(new Error(`the process of the mapping failed: ${error.message}`));
    });
    child.on('exit', (_code, signal) => {
      if (current()) this.#endChild(lossOf(signal));
    });
    this.#tell({ expressions: this.#expressions, maxResultBytes: maxMappedBytes });
  }

  #tell(message: MappingSetup | MappingOrder): void {
    // A message can only fail to be sent if the child is ending; its exit then fails the order.
    this.#child?.send(message, () => undefined);
  }

  #take(message: MappingReady | MappingResult): void {
    this.#cancelDeadline();
    if ('ready' in message) {
      this.#isReady = true;
      this.#invalid = message.invalid;
      if (message.invalid) {
        const error = this.#notReadable(message.invalid);
        for (const one of this.#waiting.splice(0)) one.settle(error);
      }
    } else if (message.id === this.#current?.id) {
      const { settle } = this.#current;
      this.#current = undefined;
      settle('error' in message ? new Error(message.error) : message);
    }
    this.#next();
  }

  /** Ends the child and fails its present order, or the first order that waits for its start. */
  #endChild(reason: Error): void {
    this.#cancelDeadline();
    const child = this.#child;
    this.#child = undefined;
    const failed = this.#current ?? (this.#isReady ? undefined : this.#waiting.shift());
    this.#isReady = false;
    this.#current = undefined;
    if (child && child.exitCode === null && child.signalCode === null) {
      const exited = once(child, 'exit').catch(() => undefined);
      this.#ending = Promise.all([this.#ending, exited]);
      child.kill('SIGKILL');
    }
    failed?.settle(reason);
    this.#next();
  }

  #notReadable(invalid: NonNullable<MappingReady['invalid']>): TrunklineError {
    const { expression } = invalid;
    const step = this.#places.findIndex(
      ({ request, each, expect, remember }) =>
        request === expression ||
        each === expression ||
        expect === expression ||
        remember.some(([, place]) => place === expression),
    );
    return this.#notValid(step, invalid);
  }

  #notValid(
    step: number,
    why: { message: string; position: number | undefined },
    type?: string,
  ): TrunklineError {
    const place = why.position === undefined ? '' : ` at character ${why.position}`;
    const event = type === undefined ? '' : ` for ${type}`;
    return new TrunklineError(
      'CONFIG_INVALID',
      `outbox.endpoints: ${this.#endpoint.name}, step ${this.steps[step]?.name ?? step}${event}${place}: ${why.message}`,
    );
  }
}

/** The word of a mapping on an answer. `forget`: the remembered record is gone, and the steps begin anew. */
type AnswerOpinion =
  { links: Record<string, string> } | { reason: string; retry?: boolean; forget?: boolean };

function refusalOf(opinion: unknown): AnswerOpinion {
  if (typeof opinion === 'string') return { reason: opinion.slice(0, 300) };
  if (typeof opinion === 'object' && opinion !== null && 'reason' in opinion) {
    const { reason, retry, forget } = opinion as {
      reason: unknown;
      retry?: unknown;
      forget?: unknown;
    };
    return { reason: String(reason).slice(0, 300), retry: retry === true, forget: forget === true };
  }
  return { reason: 'the answer is not what the mapping expects' };
}

/** Only a heap at its limit aborts the process; no other mistake of an expression does. */
function lossOf(signal: NodeJS.Signals | null): Error {
  return new Error(
    signal === 'SIGABRT'
      ? `the expression needs more memory than ${maxHeapMiB} MiB`
      : 'the process of the mapping ended',
  );
}

function requestOf(endpoint: Endpoint, made: unknown): StepRequest {
  const parsed = MappedRequest.safeParse(made);
  if (!parsed.success) throw new Error(z.prettifyError(parsed.error).replace(/\s*\n\s*/g, ' '));
  const { method, path, headers, body } = parsed.data;
  const base = new URL(endpoint.url);
  const url = new URL(base.origin + base.pathname.replace(/\/$/, '') + path);
  if (url.origin !== base.origin) throw new Error('the path leads to another host');
  const bytes = bodyBytes(body);
  const type = Object.keys(headers).some((name) => name.toLowerCase() === 'content-type');
  return {
    method,
    url: url.href,
    headers: bytes && !type ? { 'content-type': 'application/json', ...headers } : headers,
    body: bytes,
  };
}

function bodyBytes(body: unknown): Buffer | undefined {
  if (body === undefined || body === null) return undefined;
  return Buffer.from(typeof body === 'string' ? body : JSON.stringify(body));
}

function examplesFor(endpoint: Endpoint): CallEvent[] {
  return typesOf(endpoint).map((type) => eventExamples[type]);
}
