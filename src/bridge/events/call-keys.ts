import type { Transaction } from 'kysely';
import type { Database } from '../../store/schema.ts';

/**
 * A key by which a call is found. A telephone number is stored as its digits in reverse order. People write the end of
 * a number alike and its beginning in many ways, and an index can find keys with the same beginning.
 */
export type CallKey = {
  kind: 'number' | 'address' | 'tag' | 'agent' | 'mood' | 'entity' | 'disposition' | 'rule';
  key: string;
};

/**
 * At most this many characters of a party's number or name are examined and stored. Postgres cannot index long texts.
 */
export const longestParty = 300;
/** The largest number of digits in a key. E.164 allows 15, and some carriers put more in front. */
const longestNumber = 64;
/**
 * In a number with fewer digits, a leading zero may belong to an extension or to the end of a number, so it is kept.
 */
const leastNationalDigits = 7;
/**
 * A number without a country code needs at least this many digits. A shorter one would be part of too many other
 * numbers.
 */
const leastLocalDigits = 7;
/** A search needs at least this many digits. Fewer digits would match most calls. */
export const leastDigits = 3;

const exitCode = /^\s*(?:\+|00)/;
const trunkZero = /\(0\)/g;
const extension = /[\s;,]*(?:;ext=|\bext(?:ension)?\b\.?|\bx)\s*\d+\s*$/i;
const ofNumber = /^[\d\s()./+*#\p{Pd}]*$/u;

/** Matches `tel:` or `sip:` before a number, and a host or parameters after it. */
const wrapping = /^\s*(?:tel|sips?):([^@;?]*).*$/is;

/**
 * The digits of a telephone number in any form that people and carriers write. Undefined for text that is no number.
 */
export function digitsOf(text: string): string | undefined {
  if (text.length > longestParty) return undefined;
  // Copied numbers can contain marks of text direction, and full-width digits.
  const plain = text.normalize('NFKC').replace(/\p{Cf}/gu, '');
  const bare = plain.replace(wrapping, '$1').replace(extension, '');
  if (!ofNumber.test(bare)) return undefined;
  const isInternational = exitCode.test(bare);
  const digits = (isInternational ? bare.replace(trunkZero, '') : bare).replace(/\D/g, '');
  if (digits === '') return undefined;
  // Leading zeros dial out of a region or a country and are no part of the number.
  return digits.length < leastNationalDigits ? digits : digits.replace(/^0+(?=\d)/, '');
}

/** The key by which calls of this party are found. */
export function partyKey(party: string): CallKey | undefined {
  const digits = digitsOf(party);
  if (digits !== undefined) return { kind: 'number', key: reversed(digits) };
  const key = party.slice(0, longestParty).trim().toLowerCase();
  return key === '' ? undefined : { kind: 'address', key };
}

/** Finds the keys that mean the number with these digits: a range of keys, and single shorter keys. */
export function numberRange(digits: string): { from: string; to: string; shorter: string[] } {
  const key = reversed(digits);
  return {
    from: key,
    // The upper end sorts above every longer key in any collation, because keys consist of digits and have at most this
    // many.
    to: key.padEnd(longestNumber, '9'),
    shorter: Array.from({ length: Math.max(0, key.length - leastLocalDigits) }, (_, at) =>
      key.slice(0, leastLocalDigits + at),
    ),
  };
}

/** Makes the key of a tag. Upper and lower case do not matter. */
export function tagKey(tag: string): string {
  return tag.normalize('NFKC').toLowerCase();
}

/** True if both mean the same number, one of them perhaps without its country code. */
export function isSameNumber(one: string, other: string): boolean {
  const [a, b] = [partyKey(one), partyKey(other)];
  if (a === undefined || b === undefined || a.kind !== b.kind) return false;
  if (a.key === b.key) return true;
  const [short, long] = a.key.length < b.key.length ? [a.key, b.key] : [b.key, a.key];
  return a.kind === 'number' && short.length >= leastLocalDigits && long.startsWith(short);
}

/** Makes the call findable by its agent, and by no earlier one. */
export async function replaceAgentKey(
  tx: Transaction<Database>,
  callId: string,
  agentId: string | undefined,
): Promise<void> {
  await replaceKeys(tx, callId, 'agent', agentId === undefined ? [] : [tagKey(agentId)]);
}

/** Makes the call findable by these keys of one kind, and by no earlier ones. */
export async function replaceKeys(
  tx: Transaction<Database>,
  callId: string,
  kind: CallKey['kind'],
  keys: readonly string[],
): Promise<void> {
  await tx.deleteFrom('call_keys').where('call_id', '=', callId).where('kind', '=', kind).execute();
  await insertKeys(tx, callId, keys.map((key) => ({ kind, key: key.slice(0, longestParty) }))); // prettier-ignore
}

export async function insertKeys(
  tx: Transaction<Database>,
  callId: string,
  keys: readonly CallKey[],
): Promise<void> {
  if (keys.length === 0) return;
  await tx
    .insertInto('call_keys')
    .values(keys.map(({ kind, key }) => ({ call_id: callId, kind, key })))
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

function reversed(digits: string): string {
  return Array.from(digits).toReversed().join('').slice(0, longestNumber);
}
