import { createPublicKey, verify } from 'node:crypto';

/** What stands before the 32 bytes of an Ed25519 key in the form that crypto reads (SPKI). */
const spkiPrefix = Buffer.from('302a300506032b6570032100', 'hex');

/** Ed25519 is 64 bytes; anything else is refused before it is looked at. */
const signatureForm = /^[A-Za-z0-9+/]{86}==$/;
const timestampForm = /^\d{10}$/;
const toleranceS = 300;

/** carriers.md 2.1: the timestamp, a bar, and the body as it was received. */
export function isTelnyxSignature(options: {
  signature: string;
  timestamp: string;
  body: Buffer;
  publicKey: string;
  nowMs: number;
}): boolean {
  const { signature, timestamp, body, publicKey, nowMs } = options;
  if (!signatureForm.test(signature) || !timestampForm.test(timestamp)) return false;
  if (Math.abs(nowMs / 1_000 - Number(timestamp)) > toleranceS) return false;
  const key = createPublicKey({
    key: Buffer.concat([spkiPrefix, Buffer.from(publicKey, 'base64')]),
    format: 'der',
    type: 'spki',
  });
  const message = Buffer.concat([Buffer.from(`${timestamp}|`), body]);
  return verify(null, message, key, Buffer.from(signature, 'base64'));
}
