import type { Direction } from '../bridge/streams.ts';
import type { Party } from '../protocol/events.ts';
import { withoutUndefined } from '../lib/without-undefined.ts';

/**
 * Makes a record whose keys are names from outside. It has no prototype, and it leaves `__proto__` out, so that no
 * key can be mistaken for a prototype when the record is copied.
 */
export function ownRecord(entries: Iterable<readonly [string, string]>): Record<string, string> {
  const record = Object.create(null) as Record<string, string>;
  for (const [name, value] of entries) if (name !== '__proto__') record[name] = value;
  return record;
}

/** Names and values from outside, in the order in which they came. A name may come more than once. */
export type Fields = [string, string][];

/** No carrier sends more fields. A stranger may send thousands, and each would be decoded, sorted and signed. */
export const fieldsAtMost = 100;

/**
 * Reads the first fields of a query or a form. The text is cut before any of it is decoded, so that a long one costs
 * nothing.
 */
export function fieldsIn(text: string): Fields {
  let end = -1;
  for (let count = 0; count < fieldsAtMost; count++) {
    end = text.indexOf('&', end + 1);
    if (end < 0) return [...new URLSearchParams(text)];
  }
  return [...new URLSearchParams(text.slice(0, end))];
}

/** Splits a request's target into path and query. */
export function splitTarget(target: string): { path: string; query: string } {
  const at = target.indexOf('?');
  return at < 0
    ? { path: target, query: '' }
    : { path: target.slice(0, at), query: target.slice(at + 1) };
}

/** Gives the first value of this name. */
export function fieldIn(query: string, name: string): string | undefined {
  return fieldsIn(query).find(([each]) => each === name)?.[1];
}

export type LiftedParameters = {
  token?: string;
  from?: string;
  to?: string;
  direction?: Direction;
  role?: Party;
  /** The remaining parameters, which are the operator's own. */
  rest: Record<string, string>;
};

const lifted = new Set(['token', 'from', 'to', 'direction', 'role', 'leg']);

/** Takes the parameters that mean something to us out of the list. The token above all must not be passed on. */
export function liftParameters(all: Record<string, string>): LiftedParameters {
  const rest = ownRecord(Object.entries(all).filter(([name]) => !lifted.has(name)));
  return {
    ...withoutUndefined({
      token: all['token'] || undefined,
      from: all['from'] || undefined,
      to: all['to'] || undefined,
      direction: directionOf(all['direction']),
      role: roleOf(all['role'] ?? all['leg']),
    }),
    rest,
  };
}

/** Carriers write `outbound-api` and `outbound-dial` for outbound calls; some write `incoming` and `outgoing`. */
export function directionOf(text: string | undefined): Direction | undefined {
  if (/^in(?:bound|coming)/.test(text ?? '')) return 'inbound';
  return /^out(?:bound|going)/.test(text ?? '') ? 'outbound' : undefined;
}

function roleOf(text: string | undefined): Party | undefined {
  return text === 'customer' || text === 'agent' ? text : undefined;
}

/**
 * A `role` parameter says whose audio the inbound track, or the only track, holds. The other track holds the other
 * party.
 */
export function tracksWithRoles(
  names: readonly string[],
  role: Party | undefined,
): { name: string; role?: Party }[] {
  if (role === undefined) return names.map((name) => ({ name }));
  const first = names.includes('inbound') ? 'inbound' : names[0];
  const other: Party = role === 'customer' ? 'agent' : 'customer';
  return names.map((name) => ({ name, role: name === first ? role : other }));
}

/** Reads the tracks that a start message names. A carrier that names none sends the inbound one. */
export function tracksOf(value: unknown): string[] {
  const known = Array.isArray(value)
    ? value.filter((name) => name === 'inbound' || name === 'outbound')
    : [];
  return known.length > 0 ? [...new Set(known as string[])] : ['inbound'];
}

/** Returns a copy of the record without these names. The copy has no prototype either. */
export function withoutNames(
  record: Record<string, string>,
  names: readonly string[],
): Record<string, string> {
  return ownRecord(Object.entries(record).filter(([name]) => !names.includes(name)));
}
