import jsonata from 'jsonata';
import { z } from 'zod';
import { TrunklineError, reasonOf } from '../lib/errors.ts';
import type { CallEvent } from '../protocol/events.ts';
import { eventExamples } from '../protocol/event-examples.ts';
import type { Endpoint, MappingStep } from './config.ts';

/** The request that a step's expression makes. */
const MappedRequest = z.strictObject({
  method: z.enum(['GET', 'POST', 'PUT', 'PATCH', 'DELETE']).default('POST'),
  path: z.string().startsWith('/'),
  headers: z.record(z.string(), z.string()).default({}),
  body: z.unknown().optional(),
});

export type StepRequest = {
  method: z.infer<typeof MappedRequest>['method'];
  url: string;
  headers: Record<string, string>;
  body: Buffer | undefined;
};

export type StepAnswer = { status: number; body: unknown };
export type StepAnswers = Record<string, StepAnswer>;

export type CompiledStep = {
  name: string;
  accept: readonly number[];
  /** Undefined when this event needs no such request. */
  request(event: unknown, answers: StepAnswers): Promise<StepRequest | undefined>;
};

/** A mapping ready to run. Throws CONFIG_INVALID with the step's name and the place in its expression. */
export function compileMapping(endpoint: Endpoint): CompiledStep[] {
  if (endpoint.shape === 'envelope') return [];
  return endpoint.shape.steps.map((step) => compileStep(endpoint, step));
}

function compileStep(endpoint: Endpoint, step: MappingStep): CompiledStep {
  let expression: jsonata.Expression;
  try {
    expression = jsonata(step.request);
  } catch (error) {
    throw invalid(endpoint, step, error);
  }
  return {
    name: step.name,
    accept: step.accept ?? [],
    request: async (event, answers) => {
      const made: unknown = await expression.evaluate({ event, answers });
      if (made === undefined || made === null) return undefined;
      return requestOf(endpoint, made);
    },
  };
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

/**
 * At start: every step on an example of every type that the endpoint gets. What depends on an answer that
 * only the CRM can give is made with none, and may then fail; the first step depends on nothing.
 */
export async function checkMapping(endpoint: Endpoint): Promise<void> {
  const [first] = compileMapping(endpoint);
  if (!first || endpoint.shape === 'envelope') return;
  for (const event of examplesFor(endpoint))
    try {
      await first.request(event, {});
    } catch (error) {
      const step = endpoint.shape.steps[0];
      if (step) throw invalid(endpoint, step, error, event.type);
    }
}

export function examplesFor(endpoint: Endpoint): CallEvent[] {
  const wanted = endpoint.events;
  return Object.values(eventExamples).filter(
    (event) =>
      event.type !== 'call.skipped' && (wanted === undefined || wanted.includes(event.type)),
  );
}

function invalid(
  endpoint: Endpoint,
  step: MappingStep,
  cause: unknown,
  type?: string,
): TrunklineError {
  const position =
    typeof cause === 'object' && cause !== null && 'position' in cause
      ? ` at character ${String(cause.position)}`
      : '';
  const event = type === undefined ? '' : ` for ${type}`;
  const reason =
    typeof cause === 'object' && cause !== null && 'message' in cause
      ? String(cause.message)
      : reasonOf(cause);
  return new TrunklineError(
    'CONFIG_INVALID',
    `outbox.endpoints: ${endpoint.name}, step ${step.name}${event}${position}: ${reason}`,
  );
}
