import { validateV3Signature } from 'plivo';
import { createHmac, randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { isPlivoSignature, type PlivoRequest } from '../../../../src/carriers/plivo/signature.ts';

const token = 'a-plivo-auth-token-of-ours';
const nonce = '05429567804466091622';
const home = 'https://bridge.example.net';
const path = '/carriers/plivo';

/** Signs as Plivo documents its V3 scheme; Plivo's own package confirms every signature below before ours is asked. */
function sign(url: string, key = token, with_ = nonce): string {
  const [bare = '', query = ''] = url.split('?');
  const sorted = [...new URLSearchParams(query)]
    .map(([name, value]) => [name, value] as const)
    .sort(([a, x], [b, y]) => (a === b ? (x < y ? -1 : 1) : a < b ? -1 : 1))
    .map(([name, value]) => `${name}=${value}`)
    .join('&');
  return createHmac('sha256', key)
    .update(`${bare}${sorted && `?${sorted}`}.${with_}`)
    .digest('base64');
}

const socket = (
  publicUrl: string,
  target: string,
  other: Partial<PlivoRequest> = {},
): PlivoRequest => ({
  publicUrl,
  kind: 'socket',
  target,
  nonce,
  ...other,
});

const goodUpgrades: [string, PlivoRequest][] = [
  ['wss://bridge.example.net/carriers/plivo', socket(home, path)],
  ['https://bridge.example.net/carriers/plivo', socket(home, path)],
  ['wss://bridge.example.net:443/carriers/plivo', socket(home, path)],
  ['https://bridge.example.net:443/carriers/plivo', socket(home, path)],
  ['wss://bridge.example.net/carriers/plivo/', socket(home, path)],
  ['https://bridge.example.net/carriers/plivo/', socket(home, path)],
  ['wss://bridge.example.net/carriers/plivo', socket(home, `${path}/`)],
  ['https://bridge.example.net/carriers/plivo', socket(home, `${path}/`)],
  ['wss://bridge.example.net:443/carriers/plivo/', socket(home, path)],
  ['wss://bridge.example.net/carriers', socket(home, '/carriers')],
  ['https://bridge.example.net/carriers', socket(home, '/carriers')],
  ['wss://bridge.example.net/carriers/', socket(home, '/carriers')],
  ['wss://bridge.example.net/carriers/plivo/abcDEF-123_x', socket(home, `${path}/abcDEF-123_x`)],
  ['wss://bridge.example.net/carriers/plivo?a=1', socket(home, `${path}?a=1`)],
  ['https://bridge.example.net/carriers/plivo?a=1', socket(home, `${path}?a=1`)],
  ['wss://bridge.example.net/carriers/plivo?b=2&a=1', socket(home, `${path}?b=2&a=1`)],
  ['wss://bridge.example.net/carriers/plivo?a=2&a=1', socket(home, `${path}?a=2&a=1`)],
  [
    'wss://bridge.example.net/carriers/plivo?z=1&y=2&x=3&w=4',
    socket(home, `${path}?z=1&y=2&x=3&w=4`),
  ],
  ['wss://bridge.example.net/carriers/plivo?crm=C-20417', socket(home, `${path}?crm=C-20417`)],
  ['wss://bridge.example.net/carriers/plivo?a=b.c', socket(home, `${path}?a=b.c`)],
  ['wss://bridge.example.net/carriers/plivo?a=1&B=2', socket(home, `${path}?a=1&B=2`)],
  ['wss://bridge.example.net:8443/carriers/plivo', socket(`${home}:8443`, path)],
  ['https://bridge.example.net:8443/carriers/plivo', socket(`${home}:8443`, path)],
  ['wss://bridge.example.net/carriers/plivo', socket(`${home}:8443`, path)],
  [
    'wss://bridge.example.net:8443/carriers/plivo?b=1&a=2',
    socket(`${home}:8443`, `${path}?b=1&a=2`),
  ],
  ['wss://bridge.example.net/phone/carriers/plivo', socket(`${home}/phone`, path)],
  ['https://bridge.example.net/phone/carriers/plivo', socket(`${home}/phone`, path)],
  ['wss://bridge.example.net/phone/carriers/plivo', socket(`${home}/phone/`, path)],
  [
    'wss://bridge.example.net/phone/carriers/plivo',
    socket(`${home}/phone`, '/phone/carriers/plivo'),
  ],
  ['wss://192.0.2.7/carriers/plivo', socket('https://192.0.2.7', path)],
  ['https://192.0.2.7/carriers/plivo', socket('https://192.0.2.7', path)],
  ['wss://192.0.2.7:9443/carriers/plivo', socket('https://192.0.2.7:9443', path)],
  ['ws://127.0.0.1:8080/carriers/plivo', socket('http://127.0.0.1:8080', path)],
  ['ws://localhost:8080/carriers/plivo', socket('http://127.0.0.1:8080', path)],
  ['http://127.0.0.1:8080/carriers/plivo', socket('http://localhost:8080', path)],
  ['wss://127.0.0.1:8080/carriers/plivo', socket('http://127.0.0.1:8080', path)],
  ['https://localhost:8080/carriers/plivo', socket('http://localhost:8080', path)],
  ['wss://bridge.example.net/carriers/plivo', socket('http://bridge.example.net', path)],
  ['ws://bridge.example.net:80/carriers/plivo', socket('http://bridge.example.net', path)],
  ['wss://a-tunnel.ngrok.example/carriers/plivo', socket('https://a-tunnel.ngrok.example', path)],
  [
    'https://a-tunnel.ngrok.example/carriers/plivo/',
    socket('https://a-tunnel.ngrok.example', path),
  ],
];

const good = sign('wss://bridge.example.net/carriers/plivo');
const bad: [string, string, Partial<PlivoRequest>?][] = [
  ['another host', sign('wss://bridge.example.org/carriers/plivo')],
  ['a host below ours', sign('wss://evil.bridge.example.net/carriers/plivo')],
  ['a host that begins like ours', sign('wss://bridge.example.net.evil.example/carriers/plivo')],
  ['another path', sign('wss://bridge.example.net/carriers/twilio')],
  ['a longer path', sign('wss://bridge.example.net/carriers/plivo/x')],
  ['a shorter path', sign('wss://bridge.example.net/carriers')],
  ['the path in other letters', sign('wss://bridge.example.net/Carriers/plivo')],
  ['a dot segment', sign('wss://bridge.example.net/carriers/./plivo')],
  ['an encoded path', sign('wss://bridge.example.net/carriers/%70livo')],
  ['two slashes', sign('wss://bridge.example.net//carriers/plivo')],
  ['no path', sign('wss://bridge.example.net')],
  ['plain ws on a host with TLS', sign('ws://bridge.example.net/carriers/plivo')],
  ['plain http on a host with TLS', sign('http://bridge.example.net/carriers/plivo')],
  ['another port', sign('wss://bridge.example.net:8443/carriers/plivo')],
  ['a query that is not there', sign('wss://bridge.example.net/carriers/plivo?a=1')],
  ['a query that is there but not signed', good, { target: `${path}?a=1` }],
  [
    'a query with another value',
    sign('wss://bridge.example.net/carriers/plivo?a=1'),
    { target: `${path}?a=2` },
  ],
  ['the wrong token', sign('wss://bridge.example.net/carriers/plivo', 'not-the-token-of-ours')],
  [
    'the token in other letters',
    sign('wss://bridge.example.net/carriers/plivo', token.toUpperCase()),
  ],
  ['an empty token', sign('wss://bridge.example.net/carriers/plivo', '')],
  ['another nonce', sign('wss://bridge.example.net/carriers/plivo', token, '1')],
  ['the nonce changed on the way', good, { nonce: `${nonce}1` }],
  ['the nonce in part', good, { nonce: nonce.slice(1) }],
  ['no nonce', good, { nonce: '' }],
  ['a blank nonce', good, { nonce: ' ' }],
  ['form fields that were not signed', good, { fields: [['a', '1']] }],
  ['an empty signature', ''],
  ['only commas', ',,,,'],
  ['the padding left out', good.replace('=', '')],
  ['double padding', `${good}=`],
  ['the first character changed', `${good.startsWith('A') ? 'B' : 'A'}${good.slice(1)}`],
  ['one character less', good.slice(1)],
  ['other letters', good.toLowerCase()],
  ['a semicolon between', `x;${good}`],
  ['hexadecimal', Buffer.from(good, 'base64').toString('hex')],
  ['all zero', Buffer.alloc(32).toString('base64')],
  ['a SHA-1 of 20 bytes', Buffer.alloc(20).toString('base64')],
  ['a very long text', 'A'.repeat(100_000)],
  ['characters outside the alphabet', `é${good.slice(1)}`],
  [
    'ours in ninth place, behind eight others',
    `${Array.from({ length: 8 }, () => randomBytes(32).toString('base64')).join(',')},${good}`,
  ],
  ['a scheme of V2', `v2=${good}`],
];

describe('the V3 signature of a Plivo upgrade', () => {
  test.each(goodUpgrades)('%s is our own address', (signed, request) => {
    const signature = sign(signed);
    const isStandard = !/:(443|80)\//.test(signed);
    // The package drops a default port on its own, so those spellings have no oracle.
    if (isStandard) expect(validateV3Signature('GET', signed, nonce, token, signature)).toBe(true);
    expect(isPlivoSignature(signature, [token], request)).toBe(true);
  });

  test.each(bad)('%s is refused without an exception', (_what, signature, other) => {
    expect(isPlivoSignature(signature, [token], socket(home, path, other))).toBe(false);
  });

  test('there are at least 40 vectors on each side', () => {
    expect(goodUpgrades.length).toBeGreaterThanOrEqual(40);
    expect(bad.length).toBeGreaterThanOrEqual(40);
  });

  test('one of several signatures is enough, and so is one of two tokens', () => {
    const other = randomBytes(32).toString('base64');
    expect(isPlivoSignature(`${other}, ${good}`, [token], socket(home, path))).toBe(true);
    expect(isPlivoSignature(good, ['another-token', token], socket(home, path))).toBe(true);
    expect(isPlivoSignature(good, [], socket(home, path))).toBe(false);
  });
});

describe('the V3 signature of a Plivo callback', () => {
  const url = 'https://bridge.example.net/carriers/plivo/status';
  const fields: Record<string, string> = {
    CallUUID: '2f6c1d70',
    StreamID: 'c3d2e1f0',
    Event: 'stopped',
    From: '15550100123',
    Empty: '',
  };
  const request = (
    entries: [string, string][],
    target = '/carriers/plivo/status',
  ): PlivoRequest => ({
    publicUrl: home,
    kind: 'webhook',
    target,
    nonce,
    fields: entries,
  });
  const signForm = (base: string): string => {
    const sorted = Object.keys(fields)
      .sort()
      .map((name) => `${name}${fields[name] ?? ''}`)
      .join('');
    return createHmac('sha256', token).update(`${base}${sorted}.${nonce}`).digest('base64');
  };

  test('form fields stand behind the address, after a query behind a dot', () => {
    const plain = signForm(`${url}?`);
    expect(validateV3Signature('POST', url, nonce, token, plain, fields)).toBe(true);
    expect(isPlivoSignature(plain, [token], request(Object.entries(fields).toReversed()))).toBe(
      true,
    );
    const withQuery = signForm(`${url}?a=1.`);
    expect(validateV3Signature('POST', `${url}?a=1`, nonce, token, withQuery, fields)).toBe(true);
    expect(
      isPlivoSignature(
        withQuery,
        [token],
        request(Object.entries(fields), '/carriers/plivo/status?a=1'),
      ),
    ).toBe(true);
  });

  test.each(Object.keys(fields))('a changed or missing %s is refused', (name) => {
    const signature = signForm(`${url}?`);
    const changed = Object.entries({ ...fields, [name]: `${fields[name] ?? ''}x` });
    const missing = Object.entries(fields).filter(([other]) => other !== name);
    expect(isPlivoSignature(signature, [token], request(changed))).toBe(false);
    expect(isPlivoSignature(signature, [token], request(missing))).toBe(false);
  });
});
