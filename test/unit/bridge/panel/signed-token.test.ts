import { createHmac } from 'node:crypto';
import { expect, test } from 'vitest';
import { isSignedForm, readSigned } from '../../../../src/bridge/panel/signed-token.ts';

const secret = 'the-embed-secret-of-this-test-has-32';
const nowMs = Date.parse('2026-02-03T09:00:00Z');
const nowS = nowMs / 1_000;

const encoded = (value: unknown): string =>
  Buffer.from(JSON.stringify(value)).toString('base64url');

function signed(
  claims: Record<string, unknown>,
  { header, by = secret }: { header?: Record<string, string>; by?: string } = {},
): string {
  const text = `${encoded(header ?? { alg: 'HS256', typ: 'JWT' })}.${encoded({ aud: 'trunkline-panel', scope: 'agent', sub: 'a17', exp: nowS + 600, ...claims })}`;
  return `${text}.${createHmac('sha256', by).update(text).digest('base64url')}`;
}

test('a token that a desktop signed opens what it says, until its time is over', () => {
  const token = signed({});
  expect(isSignedForm(token)).toBe(true);
  expect(readSigned(token, secret, nowMs)).toEqual({
    scope: 'agent',
    agent: 'a17',
    callId: undefined,
    expiresAt: nowMs + 600_000,
    id: undefined,
  });
  expect(readSigned(token, secret, nowMs + 600_000)).toBeUndefined();
  expect(readSigned(signed({ scope: 'qa', teams: ['north'] }), secret, nowMs)).toMatchObject({ scope: 'qa', teams: ['north'] }); // prettier-ignore
  expect(readSigned(signed({ scope: 'call', sub: 'call_1' }), secret, nowMs)).toMatchObject({ scope: 'call', callId: 'call_1', agent: undefined }); // prettier-ignore
});

test.each([
  ['another secret', signed({}, { by: `${secret}x` })],
  ['no algorithm', signed({}, { header: { alg: 'none' } })],
  ['another algorithm', signed({}, { header: { alg: 'HS512' } })],
  ['no end', signed({ exp: undefined })],
  ['an end that is text', signed({ exp: String(nowS + 600) })],
  ['an end in thirteen hours', signed({ exp: nowS + 13 * 3_600 })],
  ['a time that is to come', signed({ nbf: nowS + 300 })],
  ['another audience', signed({ aud: 'crm' })],
  ['a list of audiences', signed({ aud: ['trunkline-panel'] })],
  ['another scope', signed({ scope: 'admin' })],
  ['no holder', signed({ sub: '' })],
  ['teams for one agent', signed({ teams: ['north'] })],
  ['no team', signed({ scope: 'supervisor', teams: [] })],
  ['a team that is no text', signed({ scope: 'supervisor', teams: [7] })],
  ['an empty signature', signed({}).replace(/[^.]+$/, '')],
  ['a cut signature', signed({}).slice(0, -4)],
  ['more parts', `${signed({})}.x`],
  ['too many letters', signed({ note: 'x'.repeat(3_000) })],
  ['no JSON', 'a.b.c'],
  ['nothing', ''],
])('a token with %s opens nothing', (_what, token) => {
  expect(readSigned(token, secret, nowMs)).toBeUndefined();
});

test('a changed claim breaks the signature', () => {
  const [header, , signature] = signed({}).split('.');
  const claims = encoded({
    aud: 'trunkline-panel',
    scope: 'supervisor',
    sub: 'a17',
    exp: nowS + 600,
  });
  expect(readSigned(`${header}.${claims}.${signature}`, secret, nowMs)).toBeUndefined();
});
