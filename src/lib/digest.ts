import { createHash } from 'node:crypto';

/**
 * A digest that is stored in place of a text. Tokens are looked up by digest, so the timing of a look-up can reveal
 * something about the digest at most, and nothing about the token.
 */
export function digestOf(text: string | Uint8Array): string {
  return createHash('sha256').update(text).digest('hex');
}
