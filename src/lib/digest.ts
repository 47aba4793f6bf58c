import { createHash } from 'node:crypto';

/**
 * A digest is kept in place of a text. A token is looked up by it, so the time of a look-up tells an attacker something
 * about the digest at most, which says nothing about the token.
 */
export function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
