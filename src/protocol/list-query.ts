import { z } from 'zod';
import { isObject } from '../lib/json.ts';
import { JobKind, JobStatus } from './job.ts';
import { lineOf, type FieldError } from './validation.ts';

/**
 * 20 is the API's default. The maximum is ours: a page of 100 finished jobs with their results has several megabytes.
 */
const listLimits = { defaultItems: 20, maximumItems: 100 } as const;

/** The parsed query of GET /v2/live, /v2/pre-recorded and /v2/transcription. */
export type JobListQuery = {
  offset: number;
  limit: number;
  /** An empty list means every status. */
  statuses: JobStatus[];
  /** An empty list means both kinds. Only the mixed lists use it. */
  kinds: JobKind[];
  /** In ms since 1970, inclusive. */
  createdFrom: number | undefined;
  /** In ms since 1970, exclusive. */
  createdBefore: number | undefined;
  /** Pairs that a job's metadata must contain. */
  customMetadata: Record<string, unknown> | undefined;
};

type ParsedListQuery =
  { ok: true; query: JobListQuery } | { ok: false; validationErrors: string[] };

const dayMs = 86_400_000;

/** `kinds` are those that the list has. A filter by any other kind is refused. */
export function parseListQuery(
  params: URLSearchParams,
  kinds: readonly JobKind[] = JobKind.options,
): ParsedListQuery {
  const errors: FieldError[] = unknownFilters(params);
  const limit = integer(params, 'limit', 1, listLimits.defaultItems, errors);
  const day = time(params, 'date', errors);
  const after = time(params, 'after_date', errors);
  const before = time(params, 'before_date', errors);
  const query: JobListQuery = {
    offset: integer(params, 'offset', 0, 0, errors),
    limit: Math.min(limit, listLimits.maximumItems),
    statuses: choices(params, 'status', JobStatus, errors),
    kinds: choices(params, 'kind', JobKind, errors),
    createdFrom: latest(day, after === undefined ? undefined : after + 1),
    createdBefore: earliest(day === undefined ? undefined : day + dayMs, before),
    customMetadata: metadataFilter(params, errors),
  };
  const strange = query.kinds.find((kind) => !kinds.includes(kind));
  if (strange !== undefined)
    errors.push({
      path: 'kind',
      text: `must be ${kinds.join(' or ')}: this list has no other jobs`,
    });
  if (errors.length > 0) return { ok: false, validationErrors: errors.map(lineOf) };
  return { ok: true, query };
}

/** `region` has no effect here: released SDKs append it to every request. */
const filters = [
  ...['offset', 'limit', 'status', 'status[]', 'kind', 'kind[]'],
  ...['date', 'after_date', 'before_date', 'custom_metadata', 'region'],
];
const namesTold = 5;
const longestNameTold = 60;

function unknownFilters(params: URLSearchParams): FieldError[] {
  const unknown = [...new Set(params.keys())].filter(
    (name) => !filters.includes(name) && deepKeys(name, 'custom_metadata') === undefined,
  );
  const known = filters.filter((name) => name !== 'region' && !name.endsWith('[]'));
  return unknown.slice(0, namesTold).map((name) => ({
    path: name.slice(0, longestNameTold),
    text: `is no filter of this list, which has ${known.join(', ')}`,
  }));
}

function integer(
  params: URLSearchParams,
  path: string,
  minimum: number,
  missing: number,
  errors: FieldError[],
): number {
  const text = params.get(path);
  if (text === null || text === '') return missing;
  const value = /^-?\d{1,15}$/.test(text) ? Number(text) : NaN;
  if (Number.isNaN(value)) errors.push({ path, text: 'must be an integer' });
  else if (value < minimum) errors.push({ path, text: `must be at least ${minimum}` });
  return value;
}

/** A plus sign that was not encoded arrives as a space, as in `...T09:15:00 02:00`. */
function time(params: URLSearchParams, path: string, errors: FieldError[]): number | undefined {
  const text = params.get(path)?.replace(' ', '+');
  if (text === undefined || text === '') return undefined;
  const schema = path === 'date' ? z.iso.date() : z.iso.datetime({ offset: true, local: true });
  const isDay = z.iso.date().safeParse(text).success;
  if (!isDay && !schema.safeParse(text).success) {
    const form = path === 'date' ? 'a date of the form YYYY-MM-DD' : 'an ISO 8601 date-time';
    errors.push({ path, text: `must be ${form}` });
    return undefined;
  }
  // A time without a zone is read as UTC, whatever the machine's zone is.
  return Date.parse(/(?:Z|[+-]\d{2}:?\d{2})$/i.test(text) || isDay ? text : `${text}Z`);
}

function choices<T extends string>(
  params: URLSearchParams,
  path: string,
  schema: z.ZodEnum<Record<T, T>>,
  errors: FieldError[],
): T[] {
  const given = [...params.getAll(path), ...params.getAll(`${path}[]`)]
    .flatMap((value) => value.split(','))
    .filter((value) => value !== '');
  const allowed: string[] = schema.options;
  if (given.some((value) => !allowed.includes(value)))
    errors.push({ path, text: `must be one of ${allowed.join(', ')}` });
  return [...new Set(given)].filter((value): value is T => allowed.includes(value));
}

/** The deepest nesting of a filter. A job's metadata of 2,000 characters needs no more. */
const deepestFilter = 64;

/**
 * Reads JSON text, as documented, or `custom_metadata[key]=value`, as the JavaScript SDK writes it. The names come from
 * outside, so every object of the filter is made here without a prototype. `__proto__` and `constructor` are then
 * ordinary keys and cannot reach what all objects inherit.
 */
function metadataFilter(
  params: URLSearchParams,
  errors: FieldError[],
): Record<string, unknown> | undefined {
  const path = 'custom_metadata';
  let filter: Record<string, unknown> = bareObject();
  const text = params.get(path);
  if (text !== null && text !== '') {
    const parsed = json(text);
    if (!isObject(parsed)) {
      errors.push({ path, text: 'must be a JSON object' });
      return undefined;
    }
    const copy = bareCopy(parsed, deepestFilter);
    if (copy === undefined) {
      errors.push(tooDeep(path));
      return undefined;
    }
    filter = copy;
  }
  for (const [name, value] of params) {
    const keys = deepKeys(name, path);
    if (!keys) continue;
    if (keys.length > deepestFilter) {
      errors.push(tooDeep(path));
      return undefined;
    }
    setDeep(filter, keys, value);
  }
  return Object.keys(filter).length > 0 ? filter : undefined;
}

function tooDeep(path: string): FieldError {
  return { path, text: 'must not be nested that deep' };
}

/** The keys of `path[a][b]`, or undefined for any other name. */
function deepKeys(name: string, path: string): string[] | undefined {
  if (!name.startsWith(`${path}[`) || !name.endsWith(']')) return undefined;
  return name.slice(path.length + 1, -1).split('][');
}

/** Every object below the target must have no prototype; see `metadataFilter`. */
function setDeep(target: Record<string, unknown>, keys: string[], value: string): void {
  const [key = '', ...rest] = keys;
  if (rest.length === 0) {
    target[key] = value;
    return;
  }
  const inner = target[key];
  const next = isObject(inner) ? inner : bareObject();
  target[key] = next;
  setDeep(next, rest, value);
}

/** A copy whose objects have no prototype. Undefined if it is nested too deeply. */
function bareCopy(
  value: Record<string, unknown>,
  levels: number,
): Record<string, unknown> | undefined {
  const copy = bareObject();
  for (const [key, inner] of Object.entries(value)) {
    const copied = bareValue(inner, levels - 1);
    if (copied === undefined) return undefined;
    copy[key] = copied;
  }
  return copy;
}

function bareValue(value: unknown, levels: number): unknown {
  if (typeof value !== 'object' || value === null) return value;
  if (levels <= 0) return undefined;
  if (!Array.isArray(value)) return bareCopy(value as Record<string, unknown>, levels);
  const copies = value.map((item) => bareValue(item, levels - 1));
  return copies.includes(undefined) ? undefined : copies;
}

function bareObject(): Record<string, unknown> {
  return Object.create(null) as Record<string, unknown>;
}

/**
 * True if metadata contains every wanted pair, including nested objects. Scalars are also compared as text, since the
 * bracket form of a query has no types.
 */
export function containsMetadata(have: unknown, want: unknown): boolean {
  if (typeof want === 'object' && want !== null) {
    if (typeof have !== 'object' || have === null) return false;
    return Object.entries(want).every(
      ([key, value]) =>
        Object.hasOwn(have, key) && containsMetadata((have as Record<string, unknown>)[key], value),
    );
  }
  if (typeof have === 'object' && have !== null) return false;
  return have === want || String(have) === String(want);
}

/** The three addresses in a list's answer. They keep the filters and set offset and limit. */
export function pageLinks(
  listUrl: string,
  params: URLSearchParams,
  query: Pick<JobListQuery, 'offset' | 'limit'>,
  hasMore: boolean,
): { first: string; current: string; next: string | null } {
  const link = (offset: number): string => {
    const url = new URL(listUrl);
    url.search = '';
    for (const [name, value] of params)
      if (name !== 'offset' && name !== 'limit') url.searchParams.append(name, value);
    url.searchParams.set('offset', String(offset));
    url.searchParams.set('limit', String(query.limit));
    return url.href;
  };
  return {
    first: link(0),
    current: link(query.offset),
    next: hasMore ? link(query.offset + query.limit) : null,
  };
}

function json(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined; // invalid JSON is no object either, which the caller checks
  }
}

function latest(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? (a ?? b) : Math.max(a, b);
}

function earliest(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? (a ?? b) : Math.min(a, b);
}
