import { createHmac, randomBytes, timingSafeEqual } from 'node:crypto';

/*
 * Standard Webhooks 1.0.0 with the symmetric scheme: HMAC-SHA256 over `id.timestamp.body`. A secret is written as
 * `whsec_` and the base64 of 24 to 64 bytes. All attempts for an event have the same id, each with its own timestamp.
 */
const prefix = 'whsec_';
const toleranceS = 300;

type WebhookHeaders = {
  'webhook-id': string;
  'webhook-timestamp': string;
  'webhook-signature': string;
};

type SignatureCheck = { ok: true } | { ok: false; reason: string };

export function newWebhookSecret(): string {
  return prefix + randomBytes(32).toString('base64');
}

/**
 * Signs the bytes that are sent, not the text they were made from. During a rotation two secrets sign, so a receiver
 * with either one accepts.
 */
export function signWebhook(
  secrets: readonly string[],
  id: string,
  timestampS: number,
  body: Uint8Array,
): WebhookHeaders {
  const signatures = secrets.map(
    (secret) => `v1,${digest(secret, id, String(timestampS), body).toString('base64')}`,
  );
  return {
    'webhook-id': id,
    'webhook-timestamp': String(timestampS),
    'webhook-signature': signatures.join(' '),
  };
}

type ReceivedHeaders = Record<string, string | string[] | undefined>;

/** The check that a receiver makes. Header names are in lower case, as in Node. */
export function verifyWebhook(
  secrets: readonly string[],
  headers: ReceivedHeaders,
  body: Uint8Array,
  nowS: number = Date.now() / 1000,
): SignatureCheck {
  const id = headers['webhook-id'];
  const timestamp = headers['webhook-timestamp'];
  const signature = headers['webhook-signature'];
  if (typeof id !== 'string' || typeof timestamp !== 'string' || typeof signature !== 'string')
    return { ok: false, reason: 'a webhook header is missing' };
  if (!/^\d{1,12}$/.test(timestamp)) return { ok: false, reason: 'the timestamp is not a number' };
  if (Math.abs(nowS - Number(timestamp)) > toleranceS)
    return { ok: false, reason: 'the timestamp is more than five minutes away from the clock' };
  for (const candidate of signature.split(' ')) {
    const given = decode(candidate);
    if (
      given &&
      secrets.some((secret) => timingSafeEqual(given, digest(secret, id, timestamp, body)))
    )
      return { ok: true };
  }
  return { ok: false, reason: 'no signature matches' };
}

/**
 * Accepts exactly 32 bytes in canonical base64. `timingSafeEqual` throws for other lengths, and a short signature must
 * not match.
 */
function decode(candidate: string): Buffer | undefined {
  if (!candidate.startsWith('v1,')) return undefined;
  const text = candidate.slice(3);
  const bytes = Buffer.from(text, 'base64');
  return bytes.length === 32 && bytes.toString('base64') === text ? bytes : undefined;
}

function digest(secret: string, id: string, timestamp: string, body: Uint8Array): Buffer {
  const key = Buffer.from(
    secret.startsWith(prefix) ? secret.slice(prefix.length) : secret,
    'base64',
  );
  return createHmac('sha256', key).update(`${id}.${timestamp}.`).update(body).digest();
}
