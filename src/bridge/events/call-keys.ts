import type { Transaction } from 'kysely';
import type { Database } from '../../store/schema.ts';

/**
 * What a call is found by. A telephone number is its digits from the last to the first: people write the end of a number
 * alike and its beginning in many ways, and a range of an index finds what begins alike.
 */
export type CallKey = { kind: 'number' | 'address' | 'tag'; key: string };

/** Characters of a party that are looked at, and kept of a name: Postgres takes no long text into an index. */
const longestParty = 300;
/** Digits of a key; E.164 has 15, and some carriers put more in front. */
const longestNumber = 64;
/** With fewer digits a leading zero may be one of an extension or of the end of a number. */
const leastNationalDigits = 7;
/** Of a number that was stored without its country: fewer digits would be a part of too many numbers. */
const leastLocalDigits = 7;
/** Fewer would find most of all calls. */
export const leastDigits = 3;

const exitCode = /^\s*(?:\+|00)/;
const trunkZero = /\(0\)/g;
const extension = /[\s;,]*(?:;ext=|\bext(?:ension)?\b\.?|\bx)\s*\d+\s*$/i;
const ofNumber = /^[\d\s()./+*#\p{Pd}]*$/u;

/** `tel:` and `sip:` may stand before a number, a host or parameters behind one. */
const wrapping = /^\s*(?:tel|sips?):([^@;?]*).*$/is;

/** The digits of a telephone number in any form that people and carriers write; undefined for what is none. */
export function digitsOf(text: string): string | undefined {
  if (text.length > longestParty) return undefined;
  // Numbers that are copied bring marks of direction along, and digits of other widths.
  const plain = text.normalize('NFKC').replace(/\p{Cf}/gu, '');
  const bare = plain.replace(wrapping, '$1').replace(extension, '');
  if (!ofNumber.test(bare)) return undefined;
  const isInternational = exitCode.test(bare);
  const digits = (isInternational ? bare.replace(trunkZero, '') : bare).replace(/\D/g, '');
  if (digits === '') return undefined;
  // Zeros in front lead out of a region or a country and are no part of the number.
  return digits.length < leastNationalDigits ? digits : digits.replace(/^0+(?=\d)/, '');
}

/** By what a call is found whose party this is. */
export function partyKey(party: string): CallKey | undefined {
  const digits = digitsOf(party);
  if (digits !== undefined) return { kind: 'number', key: reversed(digits) };
  const key = party.slice(0, longestParty).trim().toLowerCase();
  return key === '' ? undefined : { kind: 'address', key };
}

/** The keys that mean the same number as these digits, each a range or a key of its own. */
export function numberRange(digits: string): { from: string; to: string; shorter: string[] } {
  const key = reversed(digits);
  return {
    from: key,
    // Above every longer key, in any collation: keys have nothing but digits, and no more than these.
    to: key.padEnd(longestNumber, '9'),
    shorter: Array.from({ length: Math.max(0, key.length - leastLocalDigits) }, (_, at) =>
      key.slice(0, leastLocalDigits + at),
    ),
  };
}

/** Tags are the same however they are written large or small. */
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
