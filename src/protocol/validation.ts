import type { z } from 'zod';
import { nearestName } from '../lib/nearest-name.ts';

/**
 * The fault of one field. A line of the API's `validation_errors` begins with the bare dotted path: the vendor's Python
 * client searches for exactly that form and shows the path to its user. No line repeats the sent value, which may be a
 * person's words or a key.
 */
export type FieldError = { path: string; text: string };

/** The lines, and for a field that does not exist the one that was probably meant. */
export function validationErrors(
  issues: readonly z.core.$ZodIssue[],
  schema: z.core.$ZodType,
): string[] {
  const lines = fieldErrors(issues).map((error) => {
    if (error.text !== notPresent) return lineOf(error);
    const path = error.path.split('.');
    const near = nearestName(path.at(-1) ?? '', fieldsAt(schema, path.slice(0, -1)));
    return near === undefined ? lineOf(error) : `${lineOf(error)}, did you mean ${near}?`;
  });
  return [...new Set(lines)];
}

/** The same faults with path and text apart. */
export function fieldErrors(issues: readonly z.core.$ZodIssue[]): FieldError[] {
  return issues.flatMap((issue) => findingsOf(issue));
}

/** Checks a body or query against its schema. Returns its value, or the lines that tell why it is invalid. */
export function check<Schema extends z.ZodType>(
  schema: Schema,
  value: unknown,
): { ok: true; value: z.output<Schema> } | { ok: false; validationErrors: string[] } {
  // Without the input, a missing field could not be distinguished from one of a wrong type.
  const parsed = schema.safeParse(value, { reportInput: true });
  if (parsed.success) return { ok: true, value: parsed.data };
  return { ok: false, validationErrors: validationErrors(parsed.error.issues, schema) };
}

const notPresent = 'must not be present';

/** The names of the fields that a body may have at a path. None where the path leads to no object. */
function fieldsAt(schema: z.core.$ZodType, path: readonly string[]): string[] {
  const { def } = schema._zod as { def: SchemaDef };
  const inner = def.innerType ?? def.in;
  if (inner !== undefined) return fieldsAt(inner, path);
  if (def.options !== undefined) return def.options.flatMap((option) => fieldsAt(option, path));
  const [name, ...rest] = path;
  if (name === undefined) return Object.keys(def.shape ?? {});
  const next =
    def.element ?? (Object.hasOwn(def.shape ?? {}, name) ? def.shape?.[name] : undefined);
  return next === undefined ? [] : fieldsAt(next, rest);
}

/** The parts of a schema in which others lie. */
type SchemaDef = {
  innerType?: z.core.$ZodType;
  in?: z.core.$ZodType;
  options?: readonly z.core.$ZodType[];
  shape?: Record<string, z.core.$ZodType>;
  element?: z.core.$ZodType;
};

export function lineOf({ path, text }: FieldError): string {
  return `${path === '' ? 'body' : path} ${text}`;
}

function findingsOf(issue: z.core.$ZodIssue, prefix: PropertyKey[] = []): FieldError[] {
  const full = [...prefix, ...issue.path];
  const path = full.map(String).join('.');
  switch (issue.code) {
    case 'unrecognized_keys':
      return issue.keys.map((key) => ({
        path: [...full, key].map(String).join('.'),
        text: notPresent,
      }));
    case 'invalid_union':
      return unionFindings(issue, full);
    default:
      return [{ path, text: textOf(issue) }];
  }
}

/** The branch of a union that the value was meant for: the one that accepts its type. */
function unionFindings(issue: z.core.$ZodIssueInvalidUnion, full: PropertyKey[]): FieldError[] {
  const path = full.map(String).join('.');
  if (issue.input === undefined && issue.errors.length > 0) return [{ path, text: 'is required' }];
  const meant = issue.errors.find((branch) =>
    branch.every((inner) => inner.path.length > 0 || inner.code !== 'invalid_type'),
  );
  if (meant) return meant.flatMap((inner) => findingsOf(inner, full));
  const kinds = issue.errors.flatMap((branch) =>
    branch.flatMap((inner) => (inner.code === 'invalid_type' ? [kindOf(inner.expected)] : [])),
  );
  if (kinds.length === 0) return [{ path, text: 'must have a known form' }];
  return [{ path, text: `must be ${[...new Set(kinds)].join(' or ')}` }];
}

function textOf(issue: Exclude<z.core.$ZodIssue, z.core.$ZodIssueUnrecognizedKeys>): string {
  if (
    issue.input === undefined &&
    (issue.code === 'invalid_type' || issue.code === 'invalid_value')
  )
    return 'is required';
  // The library's own words are about types and patterns. The schema's say what to write.
  if (isOwn(issue.message)) return issue.message;
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${kindOf(issue.expected)}`;
    case 'invalid_value':
      return `must be one of ${choices(issue.values.map(String), issue.input)}`;
    case 'too_small':
      return sizeText(issue.origin, 'at least', issue.minimum, issue.inclusive ?? true);
    case 'too_big':
      return sizeText(issue.origin, 'at most', issue.maximum, issue.inclusive ?? true);
    case 'invalid_format':
      return formats[issue.format] ?? `must be a valid ${issue.format}`;
    case 'not_multiple_of':
      return `must be a multiple of ${issue.divisor}`;
    case 'custom':
      // Our own refinements have complete messages.
      return issue.message;
    case 'invalid_key':
    case 'invalid_element':
    case 'invalid_union':
      return 'must have a known form';
  }
}

/** True for a message that a schema of ours gave to a rule. */
export function isOwn(message: string): boolean {
  return !/^(?:Invalid|Too |Unrecognized )/.test(message);
}

const formats: Record<string, string> = {
  regex: 'must have the documented form',
  url: 'must be an http or https URL',
  guid: 'must be a uuid',
  uuid: 'must be a uuid',
  datetime: 'must be an ISO 8601 date-time',
  date: 'must be a date of the form YYYY-MM-DD',
  base64: 'must be base64 text',
};

function kindOf(expected: string): string {
  switch (expected) {
    case 'int':
      return 'an integer';
    case 'array':
      return 'an array';
    case 'object':
    case 'record':
      return 'an object';
    default:
      return `a ${expected}`;
  }
}

/**
 * A short list of choices. A long list stands in the documentation; here only the name that was probably meant is
 * given.
 */
function choices(values: string[], given: unknown): string {
  if (values.length <= 20) return values.join(', ');
  const near = typeof given === 'string' ? nearestName(given, values) : undefined;
  const meant = near === undefined ? '' : `, did you mean ${near}?`;
  return `the ${values.length} documented values${meant}`;
}

function sizeText(
  origin: string,
  bound: string,
  limit: number | bigint,
  inclusive: boolean,
): string {
  const plural = Number(limit) === 1 ? '' : 's';
  if (origin === 'array' || origin === 'set')
    return `must contain ${bound} ${limit} element${plural}`;
  if (origin === 'string') return `must have ${bound} ${limit} character${plural}`;
  if (inclusive) return `must be ${bound} ${limit}`;
  return `must be ${bound === 'at least' ? 'more' : 'less'} than ${limit}`;
}
