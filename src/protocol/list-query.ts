import { z } from 'zod';
import { JobKind, JobStatus } from './job.ts';
import { lineOf, type FieldError } from './validation.ts';

/** 20 is the interface's; the cap is ours: a page of 100 finished jobs with their results is several megabytes. */
const listLimits = { defaultItems: 20, maximumItems: 100 } as const;

/** Query of GET /v2/live, /v2/pre-recorded and /v2/transcription, understood. */
export type JobListQuery = {
  offset: number;
  limit: number;
  /** [] means every status. */
  statuses: JobStatus[];
  /** [] means both; only the mixed lists look at it. */
  kinds: JobKind[];
  /** ms since 1970, inclusive. */
  createdFrom: number | undefined;
  /** ms since 1970, exclusive. */
  createdBefore: number | undefined;
  /** Pairs that a job's metadata must contain. */
  customMetadata: Record<string, unknown> | undefined;
};

export type ParsedListQuery =
  { ok: true; query: JobListQuery } | { ok: false; validationErrors: string[] };

const dayMs = 86_400_000;

export function parseListQuery(params: URLSearchParams): ParsedListQuery {
  const findings: FieldError[] = [];
  const limit = integer(params, 'limit', 1, listLimits.defaultItems, findings);
  const day = time(params, 'date', findings);
  const after = time(params, 'after_date', findings);
  const before = time(params, 'before_date', findings);
  const query: JobListQuery = {
    offset: integer(params, 'offset', 0, 0, findings),
    limit: Math.min(limit, listLimits.maximumItems),
    statuses: choices(params, 'status', JobStatus, findings),
    kinds: choices(params, 'kind', JobKind, findings),
    createdFrom: latest(day, after === undefined ? undefined : after + 1),
    createdBefore: earliest(day === undefined ? undefined : day + dayMs, before),
    customMetadata: metadataFilter(params, findings),
  };
  if (findings.length > 0) return { ok: false, validationErrors: findings.map(lineOf) };
  return { ok: true, query };
}

function integer(
  params: URLSearchParams,
  path: string,
  minimum: number,
  missing: number,
  findings: FieldError[],
): number {
  const text = params.get(path);
  if (text === null || text === '') return missing;
  const value = /^-?\d{1,15}$/.test(text) ? Number(text) : NaN;
  if (Number.isNaN(value)) findings.push({ path, text: 'must be an integer' });
  else if (value < minimum) findings.push({ path, text: `must be at least ${minimum}` });
  return value;
}

/** A plus sign that was not encoded arrives as a space, as in `...T09:15:00 02:00`. */
function time(params: URLSearchParams, path: string, findings: FieldError[]): number | undefined {
  const text = params.get(path)?.replace(' ', '+');
  if (text === undefined || text === '') return undefined;
  const schema = path === 'date' ? z.iso.date() : z.iso.datetime({ offset: true, local: true });
  const isDay = z.iso.date().safeParse(text).success;
  if (!isDay && !schema.safeParse(text).success) {
    const form = path === 'date' ? 'a date of the form YYYY-MM-DD' : 'an ISO 8601 date-time';
    findings.push({ path, text: `must be ${form}` });
    return undefined;
  }
  // Without a zone it is UTC here, whatever the machine's zone is.
  return Date.parse(/(?:Z|[+-]\d{2}:?\d{2})$/i.test(text) || isDay ? text : `${text}Z`);
}

function choices<T extends string>(
  params: URLSearchParams,
  path: string,
  schema: z.ZodEnum<Record<T, T>>,
  findings: FieldError[],
): T[] {
  const given = [...params.getAll(path), ...params.getAll(`${path}[]`)]
    .flatMap((value) => value.split(','))
    .filter((value) => value !== '');
  const allowed: string[] = schema.options;
  if (given.some((value) => !allowed.includes(value)))
    findings.push({ path, text: `must be one of ${allowed.join(', ')}` });
  return [...new Set(given)].filter((value): value is T => allowed.includes(value));
}

/** JSON text, as documented, or `custom_metadata[key]=value`, as the JavaScript SDK writes it. */
function metadataFilter(
  params: URLSearchParams,
  findings: FieldError[],
): Record<string, unknown> | undefined {
  const path = 'custom_metadata';
  const filter: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  const text = params.get(path);
  if (text !== null && text !== '') {
    const parsed = z.record(z.string(), z.unknown()).safeParse(json(text));
    if (!parsed.success) {
      findings.push({ path, text: 'must be a JSON object' });
      return undefined;
    }
    Object.assign(filter, parsed.data);
  }
  for (const [name, value] of params) {
    const keys = deepKeys(name, path);
    if (keys) setDeep(filter, keys, value);
  }
  return Object.keys(filter).length > 0 ? filter : undefined;
}

/** The keys of `path[a][b]`; undefined for any other name. */
function deepKeys(name: string, path: string): string[] | undefined {
  if (!name.startsWith(`${path}[`) || !name.endsWith(']')) return undefined;
  return name.slice(path.length + 1, -1).split('][');
}

function setDeep(target: Record<string, unknown>, keys: string[], value: string): void {
  const [key = '', ...rest] = keys;
  if (rest.length === 0) {
    target[key] = value;
    return;
  }
  const inner: unknown = target[key];
  const next: Record<string, unknown> =
    typeof inner === 'object' && inner !== null
      ? (inner as Record<string, unknown>)
      : (Object.create(null) as Record<string, unknown>);
  target[key] = next;
  setDeep(next, rest, value);
}

/**
 * Whether metadata contains every wanted pair, nested objects likewise. Scalars are compared as text too,
 * since the query's deep form has no types.
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

/** The three addresses of a list answer: filters kept, then offset and limit. */
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
    return undefined; // not JSON is not an object either, which is what the caller checks
  }
}

function latest(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? (a ?? b) : Math.max(a, b);
}

function earliest(a: number | undefined, b: number | undefined): number | undefined {
  return a === undefined || b === undefined ? (a ?? b) : Math.min(a, b);
}
