import { randomBytes } from 'node:crypto';

const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/**
 * `call_01J9...`: a prefix, 48 bits of time and 80 random bits in Crockford's base 32. Ids sort by creation time, so a
 * page of a list is a range of the primary key.
 */
export function newId(prefix: string, nowMs: number = Date.now()): string {
  let random = '';
  for (const byte of randomBytes(16)) random += alphabet.charAt(byte & 31);
  return firstId(prefix, nowMs) + random;
}

/** The time at which an id was made, in ms since 1970. */
export function timeOfId(id: string): number {
  const time = id.slice(id.indexOf('_') + 1).slice(0, 10);
  let ms = 0;
  for (const digit of time) ms = ms * 32 + Math.max(0, alphabet.indexOf(digit));
  return ms;
}

/** The smallest id of that millisecond. Ids that are not smaller were made then or later. */
export function firstId(prefix: string, atMs: number): string {
  let time = '';
  for (let rest = atMs, digit = 0; digit < 10; digit++) {
    time = alphabet.charAt(rest % 32) + time;
    rest = Math.floor(rest / 32);
  }
  return `${prefix}_${time}`;
}
