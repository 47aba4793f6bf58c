import type { z } from 'zod';
import { validationErrors } from './validation.ts';

/** The one place that separates 400 (malformed) from 422 (well-formed but unusable). */
export type ParsedRequest<T> =
  | {
      ok: true;
      request: T;
      /**
       * Accepted fields without effect: names of earlier versions, repaired values, configurations whose feature is
       * off.
       */
      ignored: string[];
    }
  | { ok: false; status: 400; validationErrors: string[] }
  | { ok: false; status: 422; message: string };

export type ParseOptions = {
  /** True to ignore unknown keys and to repair unusable values that have one sensible meaning. */
  lenient?: boolean;
};

export type BodyFields = Record<string, unknown>;

export function isFields(value: unknown): value is BodyFields {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

export function malformed(errors: string[]): ParsedRequest<never> {
  return { ok: false, status: 400, validationErrors: errors };
}

/** The API's 422 text with the reason behind it. */
export function unusable(reason: string): ParsedRequest<never> {
  return { ok: false, status: 422, message: `Invalid parameter: ${reason}` };
}

/** Free-form fields. Their contents belong to the client, so null inside them is a value. */
const freeForm = new Set(['custom_metadata', 'post_session_metadata']);

/**
 * The deepest nesting, more than anything sensible has. Without it a body of brackets could exhaust the stack later.
 */
const deepestLevel = 64;

/** The body as fields without nulls, or the reason why it is not an object. */
export function fieldsOf(body: unknown): { fields: BodyFields } | { errors: string[] } {
  let level = [body];
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > deepestLevel) return { errors: ['body must not be nested that deep'] };
    level = level.flatMap((value) =>
      typeof value === 'object' && value !== null ? (Object.values(value) as unknown[]) : [],
    );
  }
  const fields = withoutNulls(body);
  return isFields(fields) ? { fields } : { errors: ['body must be a JSON object'] };
}

/** Removes nulls: null in an optional field means absent. The API does not define this, and clients send both. */
function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutNulls);
  if (!isFields(value)) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, field]) => field !== null)
      .map(([name, field]) => [name, freeForm.has(name) ? field : withoutNulls(field)]),
  );
}

/** Removes fields from an object in place and returns those that were there. */
export function takeOut(fields: BodyFields, names: readonly string[], prefix = ''): string[] {
  const present = names.filter((name) => name in fields);
  for (const name of present) Reflect.deleteProperty(fields, name);
  return present.map((name) => prefix + name);
}

/**
 * Configurations whose flag is missing. The API accepts them without effect, and the client is told. A flag that is
 * explicitly false is a decision, and its configuration may stay.
 */
export function unaskedConfigs(
  fields: BodyFields,
  flags: readonly string[],
  prefix = '',
): string[] {
  return flags
    .filter((flag) => fields[`${flag}_config`] !== undefined && fields[flag] === undefined)
    .map((flag) => `${prefix}${flag}_config`);
}

export function parseFields<T extends z.ZodType>(
  schema: T,
  fields: BodyFields,
  options: ParseOptions,
): { ok: true; request: z.output<T>; ignored: string[] } | { ok: false; errors: string[] } {
  const ignored: string[] = [];
  // Each round of leniency removes at least one key, so the loop ends.
  for (;;) {
    const parsed = schema.safeParse(fields, { reportInput: true });
    if (parsed.success) return { ok: true, request: parsed.data, ignored };
    const removed = options.lenient === true ? removeUnknown(fields, parsed.error.issues) : [];
    if (removed.length === 0)
      return { ok: false, errors: validationErrors(parsed.error.issues, schema) };
    ignored.push(...removed);
  }
}

function removeUnknown(fields: BodyFields, issues: readonly z.core.$ZodIssue[]): string[] {
  return issues.flatMap((issue) => {
    if (issue.code !== 'unrecognized_keys') return [];
    const holder = issue.path.reduce<unknown>(
      (value, step) => (value as Record<PropertyKey, unknown>)[step],
      fields,
    );
    const prefix = issue.path.map((step) => `${String(step)}.`).join('');
    return isFields(holder) ? takeOut(holder, issue.keys, prefix) : [];
  });
}
