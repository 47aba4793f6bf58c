import type { Transaction } from 'kysely';
import type { Database } from '../../store/schema.ts';

/**
 * The keys by which a call is found. A telephone number is stored as its digits in reverse order: people write the
 * end of a number alike and its beginning in many ways, and an index range finds keys with the same beginning.
 */
export type CallKey = { kind: 'number' | 'address' | 'tag'; key: string };

/**
 * At most this many characters of a party are examined and, for a name, stored. Postgres accepts no long text in an
 * index.
 */
const longestParty = 300;
/** The most digits of a key. E.164 has at most 15, and some carriers put more in front. */
const longestNumber = 64;
/** In a shorter number, a leading zero may belong to an extension or to the end of a number. */
const leastNationalDigits = 7;
/**
 * A number that was stored without its country needs at least this many digits; a shorter one would be part of too
 * many numbers.
 */
const leastLocalDigits = 7;
/** A search needs at least this many digits. Fewer would find most of all calls. */
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

/** The range of keys, and the single shorter keys, that mean the same number as these digits. */
export function numberRange(digits: string): { from: string; to: string; shorter: string[] } {
  const key = reversed(digits);
  return {
    from: key,
    // This is above every longer key in any collation: keys consist of digits, and have no more than this.
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
