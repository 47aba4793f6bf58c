import { equalSecrets } from '../port/keys.ts';
import type { UpgradeRequest, Verdict } from './carrier.ts';

/** `Authorization: Bearer`; undefined when the header is of another kind. */
export function bearerOf(request: UpgradeRequest): string | undefined {
  return /^Bearer +([A-Za-z0-9._~+/=-]{1,4000})$/i.exec(
    request.headers['authorization'] ?? '',
  )?.[1];
}

/** A shared secret that the carrier sends as a bearer token. Nothing sent leaves the stream token. */
export function checkBearer(request: UpgradeRequest, secrets: readonly string[]): Verdict {
  if (request.headers['authorization'] === undefined) return { outcome: 'at-start' };
  const given = bearerOf(request);
  if (given === undefined)
    return { outcome: 'refused', status: 403, reason: 'Authorization is not a bearer token' };
  if (isOneOf(given, secrets)) return { outcome: 'accepted', by: 'bearer' };
  return { outcome: 'refused', status: 403, reason: 'the bearer token is not the configured one' };
}

export function checkBasic(
  request: UpgradeRequest,
  expected: { username: string | undefined; password: string | undefined },
): Verdict {
  const header = request.headers['authorization'];
  if (header === undefined) return { outcome: 'at-start' };
  const given = basicOf(header);
  if (given === undefined)
    return { outcome: 'refused', status: 403, reason: 'Authorization is not well-formed Basic' };
  if (expected.username === undefined || expected.password === undefined)
    return {
      outcome: 'refused',
      status: 403,
      reason: 'no user name and password are configured for this carrier',
    };
  return equalSecrets(given, `${expected.username}:${expected.password}`)
    ? { outcome: 'accepted', by: 'basic' }
    : {
        outcome: 'refused',
        status: 403,
        reason: 'user name or password is not the configured one',
      };
}

function basicOf(header: string): string | undefined {
  const encoded = /^Basic +([A-Za-z0-9+/]{1,4000}={0,2})$/i.exec(header)?.[1];
  if (encoded === undefined || encoded.length % 4 !== 0) return undefined;
  const text = Buffer.from(encoded, 'base64').toString('utf8');
  return text.includes(':') ? text : undefined;
}

function isOneOf(given: string, secrets: readonly string[]): boolean {
  let found = false;
  for (const secret of secrets) found = equalSecrets(given, secret) || found;
  return found;
}
