import type { Request } from 'express';
import type { z } from 'zod';
import { nearestName } from '../../lib/nearest-name.ts';
import { Problem } from '../../port/problem.ts';
import { check } from '../../protocol/validation.ts';

/** Parses the query of a request. Parameters that the schema does not know are ignored. */
export function read<Schema extends z.ZodType>(
  schema: Schema,
  request: Request<never> | Request,
): z.output<Schema> {
  const parsed = check(schema, request.query);
  if (parsed.ok) return parsed.value;
  throw invalid(parsed.validationErrors);
}

/**
 * Parses a query of filters. An unknown parameter is refused, because an ignored filter would be mistaken for one
 * that applies. The error suggests the name that was probably meant; `meant` maps names of other APIs that do not
 * resemble ours.
 */
export function readKnown<Shape extends z.ZodRawShape>(
  schema: z.ZodObject<Shape>,
  request: Request<never> | Request,
  meant: Record<string, string> = {},
): z.output<z.ZodObject<Shape>> {
  const known = Object.keys(schema.shape);
  const unknown = Object.keys(request.query)
    .filter((name) => !known.includes(name))
    .map((name) => `${shown(name)} must not be present${hint(name, known, meant)}`);
  const parsed = check(schema, request.query);
  if (parsed.ok && unknown.length === 0) return parsed.value;
  throw invalid([...unknown, ...(parsed.ok ? [] : parsed.validationErrors)]);
}

const maxReportDays = 365;

/** The days of a report, 30 where the query names none. */
export function reportDaysIn({ last_days: given = '30' }: Record<string, unknown>): number {
  const days = Number(given);
  if (!Number.isInteger(days) || days < 1 || days > maxReportDays)
    throw invalid([`last_days must be a whole number from 1 to ${maxReportDays}`]);
  return days;
}

export function invalid(validationErrors: string[]): Problem {
  return new Problem(400, 'Validation failed', { validationErrors });
}

function hint(name: string, known: readonly string[], meant: Record<string, string>): string {
  const other = Object.hasOwn(meant, name) ? meant[name] : undefined;
  const near = other ?? nearestName(name, known);
  return near === undefined ? `: there is ${known.join(', ')}` : `, did you mean ${near}?`;
}

/** Formats a parameter name for an error message. */
function shown(name: string): string {
  return name.length > 60 ? `${name.slice(0, 60)}…` : name;
}

export async function found<T>(row: Promise<T | undefined>): Promise<T> {
  const value = await row;
  if (value === undefined) throw new Problem(404, 'call not found');
  return value;
}
