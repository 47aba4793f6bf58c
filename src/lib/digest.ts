import { createHash } from 'node:crypto';

/**
 * What is kept of a token in its place. It is looked up by this digest, so the time of a look-up tells an attacker
 * something about the digest at most, which says nothing about the token.
 */
export function digestOf(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}
