import { isMainThread, Worker } from 'node:worker_threads';
import jsonata from 'jsonata';
import { expressionFunctions } from '../crm/expression-functions.ts';
import { UndefinedWatch } from './undefined-watch.ts';

/*
 * The process that runs an endpoint's mapping. A caller's words may make an expression run for ever or fill the
 * memory. In a process of its own, a deadline can end it, and the heap has a limit. A thread would not do: a thread
 * that reaches its heap limit within one large string ends the whole process.
 */

/* The messages between Trunkline and this process. Trunkline imports only these types from here. */

/** The first message: the expressions to compile. */
export type MappingSetup = { expressions: string[]; maxResultBytes: number };

/** The answer to the first message. `invalid` names the first expression that cannot be read. */
export type MappingReady = {
  ready: true;
  invalid?: { expression: number; message: string; position: number | undefined };
};

/**
 * A request to evaluate one expression over one input. The input is the stored JSON text, because this process does
 * the parsing too.
 */
export type MappingOrder = {
  id: number;
  /** The place in the list of the setup. */
  expression: number;
  event: string;
  /** JSON of what stands beside the event: `answers`, `links`, `unsure`, `options`, and `answer` where one is judged. */
  context: string;
  /** True also reports where the expression found nothing. This takes extra time and is not used for real events. */
  watch: boolean;
};

/**
 * The result of the expression as JSON; null if it made nothing. `lost`: the places at which it found nothing, and
 * the effect.
 */
export type MappingResult = { id: number } & (
  { made: string | null; lost: string[] } | { error: string }
);

const lookForParentEveryMs = 1_000;
const compiled: jsonata.Expression[] = [];
let maxResultBytes = 0;

function compileAll({ expressions, maxResultBytes: bytes }: MappingSetup): MappingReady {
  maxResultBytes = bytes;
  for (const [expression, text] of expressions.entries())
    try {
      const one = jsonata(text);
      for (const [name, run] of Object.entries(expressionFunctions))
        one.registerFunction(name, run);
      compiled.push(one);
    } catch (error) {
      return {
        ready: true,
        invalid: { expression, message: messageOf(error), position: at(error) },
      };
    }
  return { ready: true };
}

async function perform(order: MappingOrder): Promise<MappingResult> {
  const { id } = order;
  try {
    const input = {
      ...(JSON.parse(order.context) as object),
      event: JSON.parse(order.event) as unknown,
    };
    const expression = compiled[order.expression];
    using watch = order.watch && expression ? new UndefinedWatch(expression) : undefined;
    const made: unknown = await expression?.evaluate(input);
    // Undefined and functions have no JSON form: the expression made nothing.
    const text = (JSON.stringify(made) as string | undefined) ?? null;
    const bytes = text === null ? 0 : Buffer.byteLength(text);
    return bytes > maxResultBytes
      ? { id, error: `the expression makes a request of ${bytes} bytes; at most ${maxResultBytes}` }
      : { id, made: text, lost: watch?.lost ?? [] };
  } catch (error) {
    return { id, error: messageOf(error) };
  }
}

/** JSONata throws plain objects with a message and often a position. */
function messageOf(error: unknown): string {
  return typeof error === 'object' && error !== null && 'message' in error
    ? String(error.message).slice(0, 300)
    : 'failed';
}

function at(error: unknown): number | undefined {
  return typeof error === 'object' && error !== null && 'position' in error
    ? Number(error.position)
    : undefined;
}

if (isMainThread) {
  // If the parent is killed, an endless expression would survive it. This thread notices that and ends the process.
  new Worker(new URL(import.meta.url), { workerData: null }).unref();
  process.on('disconnect', () => process.exit());
  process.on('message', (message: MappingSetup | MappingOrder) => {
    if ('expressions' in message) process.send?.(compileAll(message));
    // Never rejects: every failure is a result.
    else void perform(message).then((result) => process.send?.(result));
  });
} else {
  const parent = process.ppid;
  setInterval(() => {
    if (process.ppid !== parent) process.kill(process.pid, 'SIGKILL');
  }, lookForParentEveryMs);
}
