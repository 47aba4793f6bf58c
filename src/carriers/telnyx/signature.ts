import { createPublicKey, verify } from 'node:crypto';
import { clockSkewSeconds } from '../counters.ts';

/** What stands before the 32 bytes of an Ed25519 key in the form that crypto reads (SPKI). */
const spkiPrefix = Buffer.from('302a300506032b6570032100', 'hex');

/** Ed25519 is 64 bytes; anything else is refused before it is looked at. */
const signatureForm = /^[A-Za-z0-9+/]{86}==$/;
const timestampForm = /^\d{10}$/;
const toleranceS = 300;

/**
 * carriers.md 2.1: the timestamp, a bar, and the body as it was received. The clock is looked at last: `off`
 * says that only the time was wrong (F74).
 */
export function checkTelnyxSignature(options: {
  signature: string;
  timestamp: string;
  body: Buffer;
  publicKey: string;
  nowMs: number;
}): 'good' | 'wrong' | 'off' {
  const { signature, timestamp, body, publicKey, nowMs } = options;
  if (!signatureForm.test(signature) || !timestampForm.test(timestamp)) return 'wrong';
  const key = createPublicKey({
    key: Buffer.concat([spkiPrefix, Buffer.from(publicKey, 'base64')]),
    format: 'der',
    type: 'spki',
  });
  const message = Buffer.concat([Buffer.from(`${timestamp}|`), body]);
  if (!verify(null, message, key, Buffer.from(signature, 'base64'))) return 'wrong';
  const aheadS = Number(timestamp) - nowMs / 1_000;
  clockSkewSeconds.set({ carrier: 'telnyx' }, aheadS);
  return Math.abs(aheadS) > toleranceS ? 'off' : 'good';
}
