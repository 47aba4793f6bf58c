import { createHash, createHmac, timingSafeEqual } from 'node:crypto';
import type { NonceMemory } from '../carrier.ts';
import { parseObject, textAt } from '../json/frames.ts';

const ageAtMostS = 300;
const skewS = 30;
const latestS = 100_000_000_000;

type VonageJwtRules = {
  secrets: readonly string[];
  apiKey: string | undefined;
  applicationId: string | undefined;
  nowMs: number;
  nonces: NonceMemory;
  /** The body of a webhook, which `payload_hash` must match. If absent, the JWT is meant to open a stream. */
  payload?: Buffer;
};

/** Checks that Vonage signed the token for this account, and that it is fresh and new. The reason holds no secret. */
export function checkVonageJwt(token: string, rules: VonageJwtRules): 'good' | { bad: string } {
  const parts = /^([\w-]+)\.([\w-]+)\.([\w-]+)$/.exec(token);
  const [, head = '', body = '', signature = ''] = parts ?? [];
  const header = parts ? parsed(head) : undefined;
  const claims = parts ? parsed(body) : undefined;
  if (!header || !claims) return { bad: 'the bearer token is no JWT' };
  // The scheme has one algorithm: a token must not choose how it is checked.
  if (header['alg'] !== 'HS256' || (header['typ'] !== undefined && header['typ'] !== 'JWT'))
    return { bad: 'the JWT is not signed with HS256' };
  if (header['crit'] !== undefined) return { bad: 'the JWT demands what is not known here' };
  if (!isSigned(`${head}.${body}`, signature, rules.secrets))
    return {
      bad: 'the signature of the JWT does not match: check TRUNKLINE_VONAGE_SIGNATURE_SECRET',
    };
  const wrong = wrongIn(claims, rules);
  if (wrong !== undefined) return { bad: wrong };
  const untilMs = rules.nowMs + (ageAtMostS + 2 * skewS) * 1000;
  return rules.nonces.remember('vonage', textAt(claims, 'jti', 256) ?? '', untilMs)
    ? 'good'
    : { bad: 'the jti of the JWT was used before' };
}

function parsed(part: string): Record<string, unknown> | undefined {
  return parseObject(Buffer.from(part, 'base64url').toString('utf8'));
}

function isSigned(signed: string, signature: string, secrets: readonly string[]): boolean {
  const given = Buffer.from(signature, 'base64url');
  let found = false;
  // Every secret is tried, so that the time does not tell which one matched.
  for (const secret of secrets) {
    const expected = createHmac('sha256', secret).update(signed).digest();
    // The text is compared too, because base64 has several spellings for the same bytes.
    const same = given.length === expected.length && timingSafeEqual(given, expected);
    found = (same && expected.toString('base64url') === signature) || found;
  }
  return found;
}

function wrongIn(
  claims: Record<string, unknown>,
  { apiKey, applicationId, nowMs, payload }: VonageJwtRules,
): string | undefined {
  if (claims['iss'] !== 'Vonage') return 'the JWT is not issued by Vonage';
  if (apiKey === undefined || claims['api_key'] !== apiKey)
    return 'api_key of the JWT is not TRUNKLINE_VONAGE_API_KEY';
  if (applicationId !== undefined && claims['application_id'] !== applicationId)
    return 'application_id of the JWT is not TRUNKLINE_VONAGE_APPLICATION_ID';
  if (textAt(claims, 'jti', 256) === undefined) return 'the JWT has no jti';
  // A JWT says what it is for: one that was made for a webhook's body opens no stream.
  if (payload === undefined && claims['payload_hash'] !== undefined)
    return 'the JWT is that of a webhook: it has a payload_hash';
  if (payload !== undefined && !isHashOf(claims['payload_hash'], payload))
    return 'payload_hash of the JWT is not that of the body: was it changed on its way?';
  const nowS = nowMs / 1000;
  const { iat, exp, nbf } = claims;
  if (!isTime(iat)) return 'the JWT does not say when it was issued';
  if (iat > nowS + skewS) return 'the JWT is from the future: check the clock';
  if (nowS - iat > ageAtMostS + skewS) return 'the JWT is too old';
  if (exp !== undefined && (!isTime(exp) || exp < nowS - skewS)) return 'the JWT has expired';
  if (nbf !== undefined && (!isTime(nbf) || nbf > nowS + skewS)) return 'the JWT is not valid yet';
  return undefined;
}

function isHashOf(claimed: unknown, payload: Buffer): boolean {
  const hash = createHash('sha256').update(payload).digest('hex');
  return typeof claimed === 'string' && claimed.toLowerCase() === hash;
}

function isTime(value: unknown): value is number {
  return typeof value === 'number' && value >= 0 && value <= latestS;
}
