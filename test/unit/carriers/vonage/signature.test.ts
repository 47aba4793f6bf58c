import { tokenGenerate, verifySignature } from '@vonage/jwt';
import { createHmac, generateKeyPairSync } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { checkVonageJwt } from '../../../../src/carriers/vonage/signature.ts';
import { vonageJwt } from '../../../../src/carriers/vonage/player.ts';

const secret = 'a-signature-secret-of-ours';
const nowS = Math.floor(Date.now() / 1000);
const claims = {
  iss: 'Vonage',
  iat: nowS,
  jti: 'f3c1e8a0-0001',
  api_key: 'abcd1234',
  application_id: 'aaaa-bbbb',
};
const header = { alg: 'HS256', typ: 'JWT' };
const part = (value: unknown): string =>
  Buffer.from(typeof value === 'string' ? value : JSON.stringify(value)).toString('base64url');

function jwt(own: object = {}, head: object = header, key = secret, hash = 'sha256'): string {
  const signed = `${part(head)}.${part({ ...claims, ...own })}`;
  return `${signed}.${createHmac(hash, key).update(signed).digest('base64url')}`;
}

const seen = (): { remember: () => boolean } => ({ remember: () => true });
const rules = {
  secrets: [secret],
  apiKey: 'abcd1234',
  applicationId: 'aaaa-bbbb' as string | undefined,
  nowMs: nowS * 1000,
  nonces: seen(),
};

const good: [string, string, Partial<typeof rules>?][] = [
  ...[0, 1, 29, 30, 31, 60, 120, 200, 299, 300, 330].map((age): [string, string] => [
    `issued ${age} s ago`,
    jwt({ iat: nowS - age }),
  ]),
  ...[1, 10, 29, 30].map((ahead): [string, string] => [
    `a clock that is ${ahead} s ahead`,
    jwt({ iat: nowS + ahead }),
  ]),
  ...[30, 60, 300, 900, 86_400].map((left): [string, string] => [
    `expires in ${left} s`,
    jwt({ exp: nowS + left }),
  ]),
  ...['1', 'x'.repeat(256), 'f3c1e8a0-0001-4a2b', 'ü'].map((jti): [string, string] => [
    `a jti of ${jti.length}`,
    jwt({ jti }),
  ]),
  ...['key', 'ü-key', '1', 'a.b:c'].map((apiKey): [string, string, Partial<typeof rules>] => [
    `api_key ${apiKey}`,
    jwt({ api_key: apiKey }),
    { apiKey },
  ]),
  ...['12345678', 'ümläut-secret', 'x'.repeat(512), 'with space and "quotes"'].map(
    (key): [string, string, Partial<typeof rules>] => [
      `a secret of ${key.length}`,
      jwt({}, header, key),
      { secrets: [key] },
    ],
  ),
  ['the old secret of two', jwt({}, header, 'the-one-before'), { secrets: [secret, 'the-one-before'] }],
  ['the new secret of two', jwt(), { secrets: [secret, 'the-one-before'] }],
  ['any application', jwt({ application_id: 'another' }), { applicationId: undefined }],
  ['no application where any will do', jwt({ application_id: undefined }), { applicationId: undefined }],
  ['a header without typ', jwt({}, { alg: 'HS256' })],
  ['a header with its fields the other way', jwt({}, { typ: 'JWT', alg: 'HS256' })],
  ['a key id', jwt({}, { ...header, kid: '1' })],
  ['a subject and an audience', jwt({ sub: 'x', aud: 'y' })],
  ['not before now', jwt({ nbf: nowS })],
  ['parts of a second', jwt({ iat: nowS - 0.5 })],
  ['the token of our player', vonageJwt({ secret, apiKey: 'abcd1234', applicationId: 'aaaa-bbbb' }), { nowMs: Date.now() }],
]; // prettier-ignore

const { privateKey } = generateKeyPairSync('rsa', {
  modulusLength: 2048,
  privateKeyEncoding: { type: 'pkcs8', format: 'pem' },
  publicKeyEncoding: { type: 'spki', format: 'pem' },
});
const [goodHead = '', goodBody = '', goodSignature = ''] = jwt().split('.');
const forged = (body: object): string => `${goodHead}.${part(body)}.${goodSignature}`;

const bad: [string, string, Partial<typeof rules>?][] = [
  ['nothing', ''],
  ['the JWT of a webhook', jwt({ payload_hash: 'a'.repeat(64) })],
  ['one part', goodHead],
  ['two parts', `${goodHead}.${goodBody}`],
  ['no signature', `${goodHead}.${goodBody}.`],
  ['four parts', `${jwt()}.${goodSignature}`],
  ['no base64', '%%%.%%%.%%%'],
  ['a padded signature', `${jwt()}=`],
  ['a signature with another last bit', `${goodHead}.${goodBody}.${lastBitOf(goodSignature)}`],
  ['a signature cut short', jwt().slice(0, -1)],
  ['a header that is a list', `${part([])}.${goodBody}.${goodSignature}`],
  ['claims that are text', `${goodHead}.${part('"hello"')}.${goodSignature}`],
  ['claims that are no JSON', `${goodHead}.${part('{')}.${goodSignature}`],
  ['another secret', jwt({}, header, 'another-secret')],
  ['an empty secret', jwt({}, header, '')],
  ['no secret configured', jwt({}, header, ''), { secrets: [] }],
  ['the algorithm none', `${part({ alg: 'none' })}.${goodBody}.`],
  ['the algorithm none with our signature', `${part({ alg: 'none' })}.${goodBody}.${goodSignature}`],
  ['HS512', jwt({}, { alg: 'HS512', typ: 'JWT' }, secret, 'sha512')],
  ['HS384', jwt({}, { alg: 'HS384', typ: 'JWT' }, secret, 'sha384')],
  ['HS512 named, HS256 signed', jwt({}, { alg: 'HS512', typ: 'JWT' })],
  ['hs256 in small letters', jwt({}, { alg: 'hs256', typ: 'JWT' })],
  ['RS256 of the vendor’s own library', tokenGenerate('aaaa-bbbb', privateKey)],
  ['no algorithm', jwt({}, { typ: 'JWT' })],
  ['a list of algorithms', jwt({}, { alg: ['HS256'] })],
  ['another type', jwt({}, { alg: 'HS256', typ: 'JWE' })],
  ['a demand that we do not know', jwt({}, { ...header, crit: ['exp'] })],
  ['claims of another account in signed clothes', forged({ ...claims, api_key: 'other' })],
  ['a later time in signed clothes', forged({ ...claims, iat: nowS + 1 })],
  ['no issuer', jwt({ iss: undefined })],
  ['another issuer', jwt({ iss: 'Nexmo' })],
  ['the issuer in small letters', jwt({ iss: 'vonage' })],
  ['a list of issuers', jwt({ iss: ['Vonage'] })],
  ['another account', jwt({ api_key: 'other' })],
  ['no account', jwt({ api_key: undefined })],
  ['no account configured', jwt({ api_key: undefined }), { apiKey: undefined as unknown as string }],
  ['another application', jwt({ application_id: 'other' })],
  ['no application', jwt({ application_id: undefined })],
  ['no jti', jwt({ jti: undefined })],
  ['an empty jti', jwt({ jti: '' })],
  ['a jti that is a number', jwt({ jti: 5 })],
  ['a jti without end', jwt({ jti: 'x'.repeat(257) })],
  ['no time', jwt({ iat: undefined })],
  ['a time as text', jwt({ iat: String(nowS) })],
  ['a time in milliseconds', jwt({ iat: nowS * 1000 })],
  ['a time before time', jwt({ iat: -1 })],
  ['331 s ago', jwt({ iat: nowS - 331 })],
  ['a day ago', jwt({ iat: nowS - 86_400 })],
  ['31 s ahead', jwt({ iat: nowS + 31 })],
  ['expired', jwt({ exp: nowS - 31 })],
  ['an expiry as text', jwt({ exp: String(nowS + 60) })],
  ['not valid yet', jwt({ nbf: nowS + 60 })],
  ['a nonce seen before', jwt(), { nonces: { remember: () => false } }],
]; // prettier-ignore

/** Another spelling of the same 32 bytes: the last character holds two bits that nobody reads. */
function lastBitOf(signature: string): string {
  const alphabet = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  const last = alphabet.indexOf(signature.at(-1) ?? '');
  return `${signature.slice(0, -1)}${alphabet[last ^ 1] ?? ''}`;
}

describe('the JWT of a Vonage upgrade', () => {
  test('there are enough of both kinds', () => {
    expect(good.length).toBeGreaterThanOrEqual(40);
    expect(bad.length).toBeGreaterThanOrEqual(40);
  });

  test.each(good)('%s is let in, as the vendor’s own library would', (_what, token, own = {}) => {
    const all = { ...rules, ...own };
    expect(all.secrets.some((key) => verifies(token, key))).toBe(true);
    expect(checkVonageJwt(token, all)).toBe('good');
  });

  test.each(bad)('%s is refused in words without an exception', (_what, token, own = {}) => {
    expect(checkVonageJwt(token, { ...rules, ...own })).toEqual({ bad: expect.any(String) });
  });

  test('a token is good once, and only a good one uses up its jti', () => {
    const used: string[] = [];
    const nonces = {
      remember: (_scheme: string, nonce: string) => !used.includes(nonce) && used.push(nonce) > 0,
    };
    expect(checkVonageJwt(jwt({ iss: 'x' }), { ...rules, nonces })).not.toBe('good');
    expect(used).toEqual([]);
    expect(checkVonageJwt(jwt(), { ...rules, nonces })).toBe('good');
    expect(checkVonageJwt(jwt(), { ...rules, nonces })).not.toBe('good');
  });
});

function verifies(token: string, key: string): boolean {
  try {
    return verifySignature(token, key);
  } catch {
    return false;
  }
}
