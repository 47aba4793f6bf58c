import { randomBytes } from 'node:crypto';
import { digestOf } from '../lib/digest.ts';

const prefix = 'tlk_';
const secretLength = 43;
const checkLength = 6;

/** A new key: 256 random bits, and a few letters by which a key that was typed wrongly is told from one that was revoked. */
export function newKey(): string {
  const secret = randomBytes(32).toString('base64url');
  return `${prefix}${secret}${checkOf(secret)}`;
}

/** True for text that has the form of a named key. Nothing else is looked up. */
export function hasKeyForm(text: string): boolean {
  if (!/^tlk_[\w-]{49}$/.test(text)) return false;
  const secret = text.slice(prefix.length, prefix.length + secretLength);
  return text.slice(-checkLength) === checkOf(secret);
}

function checkOf(secret: string): string {
  return digestOf(`trunkline key ${secret}`).slice(0, checkLength);
}
