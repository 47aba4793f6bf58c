import twilio from 'twilio';
import { describe, expect, test } from 'vitest';
import { isUrlSignature, type SignedRequest } from '../../../src/carriers/url-signature.ts';

const token = 'a-twilio-auth-token-of-ours';
/** The carrier's own package makes the good signatures. */
const sign = (url: string, params: Record<string, string> = {}, key = token): string =>
  twilio.getExpectedTwilioSignature(key, url, params);

const socket = (publicUrl: string, target: string): SignedRequest => ({
  publicUrl,
  kind: 'socket',
  target,
});
const home = 'https://bridge.example.net';
const path = '/carriers/twilio';

/** A signed address, and the request that it comes with: every spelling names our own endpoint. */
const goodUpgrades: [string, SignedRequest][] = [
  ['wss://bridge.example.net/carriers/twilio', socket(home, path)],
  ['https://bridge.example.net/carriers/twilio', socket(home, path)],
  ['wss://bridge.example.net:443/carriers/twilio', socket(home, path)],
  ['https://bridge.example.net:443/carriers/twilio', socket(home, path)],
  ['wss://bridge.example.net/carriers/twilio/', socket(home, path)],
  ['https://bridge.example.net/carriers/twilio/', socket(home, path)],
  ['wss://bridge.example.net:443/carriers/twilio/', socket(home, path)],
  ['wss://bridge.example.net/carriers/twilio', socket(home, `${path}/`)],
  ['wss://bridge.example.net:443/carriers/twilio', socket(home, `${path}/`)],
  ['wss://bridge.example.net/carriers/twilio/', socket(home, `${path}/`)],
  ['wss://bridge.example.net/carriers/twilio', socket(`${home}/`, path)],
  ['wss://bridge.example.net/carriers/twilio', socket(`${home}:443`, path)],
  ['wss://Bridge.Example.net/carriers/twilio', socket('https://Bridge.Example.net', path)],
  ['wss://bridge.example.net/carriers/twilio', socket('https://Bridge.Example.net', path)],
  ['wss://bridge.example.net:8443/carriers/twilio', socket(`${home}:8443`, path)],
  ['wss://bridge.example.net/carriers/twilio', socket(`${home}:8443`, path)],
  ['https://bridge.example.net:8443/carriers/twilio', socket(`${home}:8443`, path)],
  ['wss://bridge.example.net/phone/carriers/twilio', socket(`${home}/phone`, path)],
  ['wss://bridge.example.net/phone/carriers/twilio', socket(`${home}/phone/`, path)],
  [
    'wss://bridge.example.net/phone/carriers/twilio',
    socket(`${home}/phone`, '/phone/carriers/twilio'),
  ],
  ['wss://bridge.example.net/carriers', socket(home, '/carriers')],
  ['wss://bridge.example.net/carriers/', socket(home, '/carriers')],
  ['wss://bridge.example.net/carriers/twilio/abcDEF-123', socket(home, `${path}/abcDEF-123`)],
  ['wss://bridge.example.net/carriers/twilio?x=1', socket(home, `${path}?x=1`)],
  ['wss://bridge.example.net/carriers/twilio?a=b%20c&d=%2B', socket(home, `${path}?a=b%20c&d=%2B`)],
  ['wss://bridge.example.net/carriers/twilioab1', socket(home, `${path}?ab=1`)],
  ['wss://bridge.example.net/carriers/twiliob2c1', socket(home, `${path}?c=1&b=2`)],
  ['wss://192.0.2.7/carriers/twilio', socket('https://192.0.2.7', path)],
  ['wss://[2001:db8::7]/carriers/twilio', socket('https://[2001:db8::7]', path)],
  ['wss://[2001:db8::7]:443/carriers/twilio', socket('https://[2001:db8::7]', path)],
  ['wss://xn--brcke-lva.example/carriers/twilio', socket('https://xn--brcke-lva.example', path)],
  ['ws://127.0.0.1:8080/carriers/twilio', socket('http://127.0.0.1:8080', path)],
  ['ws://localhost:8080/carriers/twilio', socket('http://127.0.0.1:8080', path)],
  ['ws://127.0.0.1:8080/carriers/twilio', socket('http://localhost:8080', path)],
  ['ws://[::1]:8080/carriers/twilio', socket('http://localhost:8080', path)],
  ['http://127.0.0.1:8080/carriers/twilio', socket('http://127.0.0.1:8080', path)],
  ['wss://127.0.0.1:8080/carriers/twilio', socket('http://127.0.0.1:8080', path)],
  ['https://localhost:8080/carriers/twilio', socket('http://localhost:8080', path)],
  ['wss://bridge.example.net/carriers/twilio', socket('http://bridge.example.net', path)],
  ['ws://bridge.example.net:80/carriers/twilio', socket('http://bridge.example.net', path)],
  ['wss://a-tunnel.ngrok.example/carriers/twilio', socket('https://a-tunnel.ngrok.example', path)],
  ['wss://a-tunnel.ngrok.example/carriers/twilio/', socket('https://a-tunnel.ngrok.example', path)],
];

/** Signed for something else, or not signed at all. */
const good = sign('wss://bridge.example.net/carriers/twilio');
const badUpgrades: [string, string][] = [
  ['another host', sign('wss://bridge.example.org/carriers/twilio')],
  ['a host below ours', sign('wss://evil.bridge.example.net/carriers/twilio')],
  ['a host that begins like ours', sign('wss://bridge.example.net.evil.example/carriers/twilio')],
  ['our host behind a user name', sign('wss://bridge.example.net@evil.example/carriers/twilio')],
  ['another path', sign('wss://bridge.example.net/carriers/telnyx')],
  ['a longer path', sign('wss://bridge.example.net/carriers/twilio/x')],
  ['a shorter path', sign('wss://bridge.example.net/carriers')],
  ['the path in other letters', sign('wss://bridge.example.net/Carriers/twilio')],
  ['the path with a dot segment', sign('wss://bridge.example.net/carriers/./twilio')],
  ['the path percent-encoded', sign('wss://bridge.example.net/carriers/%74wilio')],
  ['two slashes', sign('wss://bridge.example.net//carriers/twilio')],
  ['no path', sign('wss://bridge.example.net')],
  ['plain ws on a host with TLS', sign('ws://bridge.example.net/carriers/twilio')],
  ['plain http on a host with TLS', sign('http://bridge.example.net/carriers/twilio')],
  ['another scheme', sign('ftp://bridge.example.net/carriers/twilio')],
  ['no scheme', sign('bridge.example.net/carriers/twilio')],
  ['another port', sign('wss://bridge.example.net:8443/carriers/twilio')],
  ['port 80', sign('wss://bridge.example.net:80/carriers/twilio')],
  ['a query that is not there', sign('wss://bridge.example.net/carriers/twilio?x=1')],
  ['an empty query', sign('wss://bridge.example.net/carriers/twilio?')],
  ['a fragment', sign('wss://bridge.example.net/carriers/twilio#x')],
  [
    'a form field that is not there',
    sign('wss://bridge.example.net/carriers/twilio', { CallSid: 'CA1' }),
  ],
  [
    'the wrong token',
    sign('wss://bridge.example.net/carriers/twilio', {}, 'not-the-auth-token-of-ours'),
  ],
  [
    'the token in other letters',
    sign('wss://bridge.example.net/carriers/twilio', {}, token.toUpperCase()),
  ],
  ['the token with a space', sign('wss://bridge.example.net/carriers/twilio', {}, `${token} `)],
  ['an empty token', sign('wss://bridge.example.net/carriers/twilio', {}, '')],
  ['an empty signature', ''],
  ['a space', ' '],
  ['the padding left out', good.replace('=', '')],
  ['double padding', `${good}=`],
  ['a blank before it', ` ${good}`],
  ['a line break after it', `${good}\n`],
  ['the first character changed', `${good.startsWith('A') ? 'B' : 'A'}${good.slice(1)}`],
  ['one character less', good.slice(1)],
  ['twice itself', `${good}, ${good}`],
  ['other letters', good.toLowerCase()],
  ['base64 for addresses', good.replaceAll('+', '-').replaceAll('/', '_').replace('=', '')],
  ['hexadecimal', Buffer.from(good, 'base64').toString('hex')],
  ['all zero', Buffer.alloc(20).toString('base64')],
  ['a SHA-256 of the same', 'A'.repeat(43) + '='],
  ['a very long text', 'A'.repeat(100_000)],
  ['characters outside the alphabet', `é${good.slice(1)}`],
  ['a NUL', `${good.slice(0, -1)}\0`],
];

describe('the signature of a Twilio upgrade', () => {
  test.each(goodUpgrades)('%s is our own address', (signed, request) => {
    expect(isUrlSignature(sign(signed), [token], request)).toBe(true);
  });

  test.each(badUpgrades)('%s is refused without an exception', (_what, signature) => {
    expect(isUrlSignature(signature, [token], socket(home, path))).toBe(false);
  });

  test('there are at least 40 vectors on each side', () => {
    expect(goodUpgrades.length).toBeGreaterThanOrEqual(40);
    expect(badUpgrades.length).toBeGreaterThanOrEqual(40);
  });

  test('during a rotation both tokens are good, and without a token none is', () => {
    const request = socket(home, path);
    const old = sign('wss://bridge.example.net/carriers/twilio', {}, 'the-old-token');
    expect(isUrlSignature(old, [token, 'the-old-token'], request)).toBe(true);
    expect(isUrlSignature(old, [token], request)).toBe(false);
    expect(isUrlSignature(good, [], request)).toBe(false);
  });

  test('signatures of any length from 0 to 200 are refused without an exception', () => {
    for (let length = 0; length <= 200; length++)
      expect(isUrlSignature('A'.repeat(length), [token], socket(home, path))).toBe(false);
  });
});

const form: Record<string, string> = {
  CallSid: 'CA77d0c1b2a3f44e5d8c9b0a1f2e3d4c5b',
  From: '+15550100123',
  To: '+15550100200',
  Direction: 'inbound',
  CallerName: 'J. Ortiz & Söhne',
  Empty: '',
  'a b': 'c=d&e',
  Digits: '#*',
};

describe('the signature of a Twilio webhook', () => {
  const url = 'https://bridge.example.net/carriers/twilio/voice';
  const request = (fields: [string, string][]): SignedRequest => ({
    publicUrl: home,
    kind: 'webhook',
    target: '/carriers/twilio/voice',
    fields,
  });

  test('fields are signed by name, in whatever order they came', () => {
    const signature = sign(url, form);
    expect(isUrlSignature(signature, [token], request(Object.entries(form)))).toBe(true);
    expect(isUrlSignature(signature, [token], request(Object.entries(form).toReversed()))).toBe(
      true,
    );
  });

  test('several values of one name are as the package signs them', () => {
    const signature = twilio.getExpectedTwilioSignature(token, url, { a: ['2', '1', '2'], b: '3' });
    expect(
      isUrlSignature(
        signature,
        [token],
        request([
          ['b', '3'],
          ['a', '2'],
          ['a', '1'],
          ['a', '2'],
        ]),
      ),
    ).toBe(true);
  });

  test.each(Object.keys(form))('a changed, missing or added %s is refused', (name) => {
    const signature = sign(url, form);
    const changed = Object.entries({ ...form, [name]: `${form[name] ?? ''}x` });
    const missing = Object.entries(form).filter(([other]) => other !== name);
    const added = [...Object.entries(form), ['Extra', 'x'] as [string, string]];
    expect(isUrlSignature(signature, [token], request(changed))).toBe(false);
    // An empty field leaves its name behind in what is signed.
    expect(isUrlSignature(signature, [token], request(missing))).toBe(false);
    expect(isUrlSignature(signature, [token], request(added))).toBe(false);
  });

  test('a socket address does not stand for a webhook, nor http for https', () => {
    expect(
      isUrlSignature(
        sign(url.replace('https', 'wss'), form),
        [token],
        request(Object.entries(form)),
      ),
    ).toBe(false);
    expect(
      isUrlSignature(
        sign(url.replace('https', 'http'), form),
        [token],
        request(Object.entries(form)),
      ),
    ).toBe(false);
  });
});
