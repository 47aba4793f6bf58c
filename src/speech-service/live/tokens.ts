import { createHash, randomBytes } from 'node:crypto';

/** 256 bits; only its digest is kept. */
export function newToken(): string {
  return randomBytes(32).toString('base64url');
}

/**
 * Sessions are found by the digest: what an attacker can time about the look-up is the digest's, which
 * says nothing about the token.
 */
export function digestOf(token: string): string {
  return createHash('sha256').update(token).digest('hex');
}
