import { createHmac, timingSafeEqual } from 'node:crypto';
import { equalSecrets } from '../../port/secrets.ts';
import type { AuthContext, UpgradeRequest } from '../carrier.ts';
import { clockSkewSeconds } from '../metrics.ts';
import { authoritiesOf } from '../origins.ts';
import type { AudiohookConfig } from './settings.ts';

/**
 * A signature may lie a little ahead of our clock, because clocks differ. A signature older than a minute is a replay.
 */
const audiohookClock = { aheadMs: 3_000, ageMs: 60_000 } as const;

const components = [
  '@request-target',
  '@authority',
  'audiohook-organization-id',
  'audiohook-session-id',
  'audiohook-correlation-id',
  'x-api-key',
] as const;
const nonceLengthAtLeast = 22;
const labelsAtMost = 4;

type UpgradeSignature = 'good' | 'missing' | { bad: string };

type SignatureContext = Pick<
  AuthContext<AudiohookConfig>,
  'config' | 'publicUrl' | 'nowMs' | 'nonces'
>;

type SignedList = {
  /** The text from the opening bracket on, unchanged, because the signature covers exactly this text. */
  verbatim: string;
  covered: string[];
  parameters: Map<string, string | number>;
};

/** Checks the API key and the HTTP message signature over the six components of the upgrade. */
export function checkAudiohookSignature(
  request: UpgradeRequest,
  context: SignatureContext,
): UpgradeSignature {
  const { audiohookApiKey: apiKey, audiohookClientSecret: secret } = context.config;
  const given = request.headers['x-api-key'];
  if (given === undefined) return 'missing';
  if (apiKey === undefined || secret === undefined)
    return { bad: 'TRUNKLINE_AUDIOHOOK_API_KEY and TRUNKLINE_AUDIOHOOK_CLIENT_SECRET are not set' };
  const keyIsRight = equalSecrets(given.trim(), apiKey);
  const signature = checkSignature(request, context, {
    apiKey,
    secret: Buffer.from(secret, 'base64'),
  });
  // The signature is checked even when the key is wrong, so that the time of the answer does not tell a right key
  // from a guess.
  return keyIsRight ? signature : { bad: 'the API key is not the configured one' };
}

function checkSignature(
  request: UpgradeRequest,
  context: SignatureContext,
  secrets: { apiKey: string; secret: Buffer },
): UpgradeSignature {
  const lists = parseLists(request.headers['signature-input'] ?? '');
  const signatures = parseSignatures(request.headers['signature'] ?? '');
  if (!lists || !signatures) return { bad: 'Signature-Input or Signature is missing or malformed' };
  const labels = [...lists.keys()].filter((label) => signatures.has(label)).slice(0, labelsAtMost);
  let reason = 'no label stands in both Signature-Input and Signature';
  for (const label of labels) {
    const list = lists.get(label);
    const signature = signatures.get(label);
    if (!list || !signature) continue;
    // The time is checked last: only a signature with the right secret says anything about our clock.
    const bad =
      checkList(list, secrets.apiKey) ??
      checkDigest(request, context, list, signature, secrets.secret) ??
      checkClock(list, context.nowMs);
    if (bad === undefined) return rememberNonce(list, context);
    reason = bad;
  }
  return { bad: reason };
}

function checkList({ covered, parameters }: SignedList, apiKey: string): string | undefined {
  const missing = components.filter((name) => !covered.includes(name));
  if (missing.length > 0) return `the signature does not cover ${missing.join(', ')}`;
  if (new Set(covered).size !== covered.length) return 'a component is covered twice';
  const keyId = parameters.get('keyid');
  const nonce = parameters.get('nonce');
  const algorithm = parameters.get('alg');
  if (typeof keyId !== 'string' || !equalSecrets(keyId, apiKey)) return 'keyid is not the API key';
  if (typeof nonce !== 'string' || nonce.length < nonceLengthAtLeast)
    return `the nonce has under ${nonceLengthAtLeast} characters`;
  if (algorithm !== undefined && algorithm !== 'hmac-sha256') return 'alg is not hmac-sha256';
  return ['created', 'expires'].every((name) => typeof parameters.get(name) === 'number')
    ? undefined
    : 'created or expires is missing';
}

/**
 * Checks when the signature was made. These refusals begin with the word `clock`, so that an operator finds a wrong
 * clock at once.
 */
function checkClock({ parameters }: SignedList, nowMs: number): string | undefined {
  const expiresMs = Number(parameters.get('expires')) * 1000;
  const aheadMs = Number(parameters.get('created')) * 1000 - nowMs;
  clockSkewSeconds.set({ carrier: 'audiohook' }, aheadMs / 1000);
  if (aheadMs > audiohookClock.aheadMs)
    return `clock: signed ${Math.round(aheadMs / 1000)} s in the future`;
  if (-aheadMs > audiohookClock.ageMs) return `clock: signed ${Math.round(-aheadMs / 1000)} s ago`;
  return expiresMs <= nowMs
    ? `clock: expired ${Math.round((nowMs - expiresMs) / 1000)} s ago`
    : undefined;
}

function checkDigest(
  request: UpgradeRequest,
  context: SignatureContext,
  list: SignedList,
  signature: Buffer,
  secret: Buffer,
): string | undefined {
  const authorities =
    context.config.audiohookAuthority === undefined
      ? authoritiesOf(context.publicUrl)
      : [context.config.audiohookAuthority.toLowerCase()];
  let found = false;
  for (const authority of authorities) {
    const base = signatureBase(request, list, authority);
    if (base === undefined) return 'a covered header is missing';
    found = timingSafeEqual(createHmac('sha256', secret).update(base).digest(), signature) || found;
  }
  return found
    ? undefined
    : 'the signature does not match: check TRUNKLINE_AUDIOHOOK_CLIENT_SECRET and TRUNKLINE_PUBLIC_URL';
}

/** Builds one line for each covered component, in the order of the list, and the list itself. */
function signatureBase(
  request: UpgradeRequest,
  list: SignedList,
  authority: string,
): string | undefined {
  const lines: string[] = [];
  for (const name of list.covered) {
    const value = valueOf(name, request, authority);
    if (value === undefined) return undefined;
    lines.push(`"${name}": ${value}`);
  }
  return [...lines, `"@signature-params": ${list.verbatim}`].join('\n');
}

function valueOf(name: string, request: UpgradeRequest, authority: string): string | undefined {
  if (name === '@request-target') return request.target;
  if (name === '@authority') return authority;
  if (name === '@method') return 'GET';
  return name.startsWith('@') ? undefined : request.headers[name]?.trim();
}

function rememberNonce(
  { parameters }: SignedList,
  { nonces, nowMs }: SignatureContext,
): UpgradeSignature {
  const nonce = String(parameters.get('nonce'));
  const untilMs = nowMs + audiohookClock.ageMs + audiohookClock.aheadMs;
  return nonces.remember('audiohook', nonce, untilMs)
    ? 'good'
    : { bad: 'the nonce was used before' };
}

const listForm =
  /^([a-z*][a-z0-9_.*-]{0,63})=(\(((?:"[a-z0-9@_.-]{1,64}"(?: "[a-z0-9@_.-]{1,64}")*)?)\)((?:;[a-z]{1,16}=(?:"[^"\\\x00-\x1f\x7f-\uffff]{0,512}"|-?\d{1,15}))*))$/;

/**
 * Reads the kind of dictionary that signature headers use. Any other form is malformed, because a proof that is only
 * half understood must not count.
 */
function parseLists(header: string): Map<string, SignedList> | undefined {
  const lists = new Map<string, SignedList>();
  for (const member of splitMembers(header)) {
    const match = listForm.exec(member);
    if (!match) return undefined;
    const [, label = '', verbatim = '', names = '', rest = ''] = match;
    if (lists.has(label)) return undefined;
    const parameters = parseParameters(rest);
    if (!parameters) return undefined;
    const covered = [...names.matchAll(/"([^"]*)"/g)].map(([, name = '']) => name);
    lists.set(label, { verbatim, covered, parameters });
  }
  return lists.size > 0 ? lists : undefined;
}

function parseParameters(text: string): Map<string, string | number> | undefined {
  const parameters = new Map<string, string | number>();
  for (const [, name = '', quoted, number] of text.matchAll(/;([a-z]+)=(?:"([^"]*)"|(-?\d+))/g)) {
    if (parameters.has(name)) return undefined;
    parameters.set(name, quoted ?? Number(number));
  }
  return parameters;
}

/**
 * Reads `sig1=:base64:`. HMAC-SHA256 is 32 bytes; other lengths are refused here, because comparing them would throw.
 */
function parseSignatures(header: string): Map<string, Buffer> | undefined {
  const signatures = new Map<string, Buffer>();
  for (const member of splitMembers(header)) {
    const match = /^([a-z*][a-z0-9_.*-]{0,63})=:([A-Za-z0-9+/]{43}=):$/.exec(member);
    if (!match || signatures.has(match[1] ?? '')) return undefined;
    signatures.set(match[1] ?? '', Buffer.from(match[2] ?? '', 'base64'));
  }
  return signatures.size > 0 ? signatures : undefined;
}

/** Commas inside quotes do not separate members. Headers are at most 8 KiB, and so is this text. */
function splitMembers(header: string): string[] {
  const members: string[] = [];
  let from = 0;
  let isQuoted = false;
  for (let at = 0; at <= header.length; at++) {
    const char = header[at];
    if (char === '"') isQuoted = !isQuoted;
    if (at < header.length && (char !== ',' || isQuoted)) continue;
    members.push(header.slice(from, at).trim());
    from = at + 1;
  }
  return members.slice(0, 16);
}
