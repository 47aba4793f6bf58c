import { createHash } from 'node:crypto';

/**
 * What is kept of a text in its place. A token is looked up by it, so the time of a look-up tells an attacker something
 * about the digest at most, which says nothing about the token.
 */
export function digestOf(text: string): string {
  return createHash('sha256').update(text).digest('hex');
}
