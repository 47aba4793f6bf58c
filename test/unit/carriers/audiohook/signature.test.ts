import { createHmac } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { checkAudiohookSignature } from '../../../../src/carriers/audiohook/signature.ts';
import type { UpgradeRequest } from '../../../../src/carriers/carrier.ts';
import { CarriersConfig } from '../../../../src/carriers/config.ts';
import { RecentNonces } from '../../../../src/carriers/credentials.ts';

/** The vector that the reference implementation publishes. */
const published = {
  secret: 'TXlTdXBlclNlY3JldEtleVRlbGxOby0xITJAMyM0JDU=',
  apiKey: 'SGVsbG8sIEkgYW0gdGhlIEFQSSBrZXkh',
  target: '/api/v1/voicebiometrics/ws',
  publicUrl: 'https://audiohook.example.com',
  headers: {
    'audiohook-organization-id': 'd7934305-0972-4844-938e-9060eef73d05',
    'audiohook-session-id': '30b0e395-84d3-4570-ac13-9a62d8f514c0',
    'audiohook-correlation-id': 'e160e428-53e2-487c-977d-96989bf5c99d',
    'x-api-key': 'SGVsbG8sIEkgYW0gdGhlIEFQSSBrZXkh',
    'signature-input':
      'sig1=("@request-target" "@authority" "audiohook-organization-id" "audiohook-session-id" "audiohook-correlation-id" "x-api-key");keyid="SGVsbG8sIEkgYW0gdGhlIEFQSSBrZXkh";nonce="VGhpc0lzQVVuaXF1ZU5vbmNl";alg="hmac-sha256";created=1641013200;expires=3282026430',
    signature: 'sig1=:NZBwyBHRRyRoeLqy1IzOa9VYBuI8TgMFt2GRDkDuJh4=:',
  },
  createdMs: 1_641_013_200_000,
};

const all = [
  '@request-target',
  '@authority',
  'audiohook-organization-id',
  'audiohook-session-id',
  'audiohook-correlation-id',
  'x-api-key',
];

type SignedUpgrade = {
  covered?: string[];
  keyid?: string | null;
  nonce?: string | null;
  alg?: string | null;
  createdS?: number | null;
  expiresS?: number | null;
  secret?: string;
  authority?: string;
  target?: string;
  label?: string;
  /** Order of the parameters behind the list. */
  order?: ('keyid' | 'nonce' | 'alg' | 'created' | 'expires')[];
  signatureLabel?: string;
  change?: (headers: Record<string, string | undefined>) => void;
};

const nowMs = 1_800_000_000_000;
const nowS = nowMs / 1000;

function signed(signing: SignedUpgrade = {}): UpgradeRequest {
  const target = '/carriers/audiohook';
  const headers: Record<string, string | undefined> = {
    'audiohook-organization-id': published.headers['audiohook-organization-id'],
    'audiohook-session-id': published.headers['audiohook-session-id'],
    'audiohook-correlation-id': published.headers['audiohook-correlation-id'],
    'x-api-key': published.apiKey,
  };
  const parameters = {
    keyid: text(signing.keyid, published.apiKey),
    nonce: text(signing.nonce, 'AAAAAAAAAAAAAAAAAAAAAAAA'),
    alg: text(signing.alg, 'hmac-sha256'),
    created: number(signing.createdS, nowS),
    expires: number(signing.expiresS, nowS + 30),
  };
  const order = signing.order ?? (['keyid', 'nonce', 'alg', 'created', 'expires'] as const);
  const covered = signing.covered ?? all;
  const list = `(${covered.map((name) => `"${name}"`).join(' ')})${order.map((name) => (parameters[name] === undefined ? '' : `;${name}=${parameters[name]}`)).join('')}`;
  const values: Record<string, string | undefined> = {
    ...headers,
    '@request-target': signing.target ?? target,
    '@authority': signing.authority ?? 'bridge.example.net',
    '@method': 'GET',
  };
  const base = [
    ...covered.map((name) => `"${name}": ${values[name] ?? ''}`),
    `"@signature-params": ${list}`,
  ].join('\n');
  const digest = createHmac('sha256', Buffer.from(signing.secret ?? published.secret, 'base64'))
    .update(base)
    .digest('base64');
  const label = signing.label ?? 'sig1';
  headers['signature-input'] = `${label}=${list}`;
  headers['signature'] = `${signing.signatureLabel ?? label}=:${digest}:`;
  signing.change?.(headers);
  return { target, path: target, query: '', headers };
}

function text(given: string | null | undefined, usual: string): string | undefined {
  return given === null ? undefined : `"${given ?? usual}"`;
}

function number(given: number | null | undefined, usual: number): string | undefined {
  return given === null ? undefined : String(given ?? usual);
}

const config = CarriersConfig.parse({
  audiohookApiKey: published.apiKey,
  audiohookClientSecret: published.secret,
});

function check(
  request: UpgradeRequest,
  options: { nowMs?: number; publicUrl?: string; authority?: string; nonces?: RecentNonces } = {},
): ReturnType<typeof checkAudiohookSignature> {
  const now = options.nowMs ?? nowMs;
  return checkAudiohookSignature(request, {
    config:
      options.authority === undefined
        ? config
        : { ...config, audiohookAuthority: options.authority },
    publicUrl: options.publicUrl ?? 'https://bridge.example.net',
    nowMs: now,
    nonces: options.nonces ?? new RecentNonces(() => now),
  });
}

const edit = (name: string, how: (value: string) => string | undefined) => ({
  change: (headers: Record<string, string | undefined>) => {
    headers[name] = how(headers[name] ?? '');
  },
});

const good: [string, SignedUpgrade, Parameters<typeof check>[1]?][] = [
  ['as the client signs', {}],
  ['without alg', { alg: null }],
  ['the list in reverse', { covered: all.toReversed() }],
  ['the list sorted', { covered: [...all].sort() }],
  ['the method covered as well', { covered: [...all, '@method'] }],
  ['parameters in reverse', { order: ['expires', 'created', 'alg', 'nonce', 'keyid'] }],
  ['created first', { order: ['created', 'expires', 'nonce', 'keyid'] }],
  ['created now and expiring in a second', { expiresS: nowS + 1 }],
  ['created 3 s ahead of us', { createdS: nowS + 3 }],
  ['created 2 s ahead of us', { createdS: nowS + 2 }],
  ['created 1 s ago', { createdS: nowS - 1 }],
  ['created 7 s ago', { createdS: nowS - 7 }],
  ['created 30 s ago', { createdS: nowS - 30 }],
  ['created 60 s ago', { createdS: nowS - 60, expiresS: nowS + 1 }],
  ['expiring in a century', { expiresS: 4_900_000_000 }],
  ['a nonce of 22', { nonce: 'A'.repeat(22) }],
  ['a nonce of 64', { nonce: 'b'.repeat(64) }],
  ['a nonce with signs', { nonce: 'abc+/=-_.~!*()abcdefghi' }],
  ['a nonce of digits', { nonce: '1234567890123456789012' }],
  ['another label', { label: 'genesys' }],
  ['a label with signs', { label: 'sig-1.a_b*' }],
  ['a label of one letter', { label: 's' }],
  ['a blank around Signature', edit('signature', (value) => ` ${value} `)],
  ['a blank around Signature-Input', edit('signature-input', (value) => ` ${value} `)],
  ['a blank around a signed header', edit('audiohook-session-id', (value) => `  ${value} `)],
  [
    'another signature beside it',
    edit('signature', (value) => `other=:${Buffer.alloc(32).toString('base64')}:, ${value}`),
  ],
  [
    'another list beside it',
    edit('signature-input', (value) => `other=("@authority");created=1, ${value}`),
  ],
  [
    'both beside it',
    {
      change: (headers) => {
        headers['signature'] =
          `other=:${Buffer.alloc(32).toString('base64')}:, ${headers['signature'] ?? ''}`;
        headers['signature-input'] =
          `other=("@authority");created=1, ${headers['signature-input'] ?? ''}`;
      },
    },
  ],
  ['a header that is not covered', edit('x-forwarded-host', () => 'evil.example')],
  ['a Host header of any kind', edit('host', () => 'evil.example')],
  [
    'a public address with a port',
    { authority: 'bridge.example.net:8443' },
    { publicUrl: 'https://bridge.example.net:8443' },
  ],
  ['the default port written out', {}, { publicUrl: 'https://bridge.example.net:443' }],
  ['a public address in capitals', {}, { publicUrl: 'https://Bridge.Example.NET' }],
  ['a public address with a path', {}, { publicUrl: 'https://bridge.example.net/phone' }],
  ['a loopback address', { authority: '127.0.0.1:8080' }, { publicUrl: 'http://127.0.0.1:8080' }],
  ['its other name', { authority: 'localhost:8080' }, { publicUrl: 'http://127.0.0.1:8080' }],
  ['its name in IPv6', { authority: '[::1]:8080' }, { publicUrl: 'http://localhost:8080' }],
  [
    'an authority from the configuration',
    { authority: 'inside.example' },
    { authority: 'inside.example' },
  ],
  ['the same in capitals', { authority: 'inside.example' }, { authority: 'Inside.Example' }],
  ['an address with a number', { authority: '192.0.2.7' }, { publicUrl: 'https://192.0.2.7' }],
];

const bad: [string, SignedUpgrade, Parameters<typeof check>[1]?][] = [
  ...all.map((name): [string, SignedUpgrade] => [
    `${name} not covered`,
    { covered: all.filter((other) => other !== name) },
  ]),
  ['nothing covered', { covered: [] }],
  ['a component twice', { covered: [...all, '@authority'] }],
  ['a covered header that is not there', { covered: [...all, 'x-other'] }],
  ['an unknown derived component', { covered: [...all, '@scheme'] }],
  ['the wrong secret', { secret: Buffer.from('another secret of 28 letters').toString('base64') }],
  ['the secret not decoded', { secret: Buffer.from(published.secret).toString('base64') }],
  ['another authority', { authority: 'bridge.example.org' }],
  ['the authority with a port', { authority: 'bridge.example.net:443' }],
  ['the authority in capitals', { authority: 'Bridge.Example.Net' }],
  ['another target', { target: '/carriers/twilio' }],
  ['a target with a query', { target: '/carriers/audiohook?x=1' }],
  [
    'another organization',
    edit('audiohook-organization-id', () => '00000000-0972-4844-938e-9060eef73d05'),
  ],
  ['another session', edit('audiohook-session-id', () => '00000000-84d3-4570-ac13-9a62d8f514c0')],
  [
    'another correlation',
    edit('audiohook-correlation-id', () => '00000000-53e2-487c-977d-96989bf5c99d'),
  ],
  ['no organization', edit('audiohook-organization-id', () => undefined)],
  ['no session', edit('audiohook-session-id', () => undefined)],
  ['no correlation', edit('audiohook-correlation-id', () => undefined)],
  ['another API key', edit('x-api-key', () => 'another-api-key-of-someone')],
  ['the API key in other letters', edit('x-api-key', (value) => value.toLowerCase())],
  ['another keyid', { keyid: 'another-api-key-of-someone' }],
  ['no keyid', { keyid: null }],
  ['no nonce', { nonce: null }],
  ['an empty nonce', { nonce: '' }],
  ['a nonce of 21', { nonce: 'A'.repeat(21) }],
  ['another alg', { alg: 'hmac-sha512' }],
  ['an empty alg', { alg: '' }],
  ['alg in capitals', { alg: 'HMAC-SHA256' }],
  ['no created', { createdS: null }],
  ['no expires', { expiresS: null }],
  ['created 4 s ahead', { createdS: nowS + 4 }],
  ['created 10 minutes ahead', { createdS: nowS + 600 }],
  ['created 61 s ago', { createdS: nowS - 61 }],
  ['created 10 minutes ago', { createdS: nowS - 600 }],
  ['created in 1970', { createdS: 0 }],
  ['a negative created', { createdS: -5 }],
  ['expiring now', { expiresS: nowS }],
  ['expired', { expiresS: nowS - 1 }],
  ['no Signature', edit('signature', () => undefined)],
  ['an empty Signature', edit('signature', () => '')],
  ['no Signature-Input', edit('signature-input', () => undefined)],
  ['an empty Signature-Input', edit('signature-input', () => '')],
  ['labels that differ', { signatureLabel: 'sig2' }],
  ['a label in capitals', { label: 'SIG1' }],
  ['the signature without colons', edit('signature', (value) => value.replaceAll(':', ''))],
  ['the signature in quotes', edit('signature', (value) => value.replaceAll(':', '"'))],
  [
    'the signature a character short',
    edit('signature', (value) => value.replace('=:', '=:').replace(/.=:$/, '=:')),
  ],
  ['the signature without padding', edit('signature', (value) => value.replace(/=:$/, ':'))],
  [
    'the first character changed',
    edit('signature', (value) =>
      value.replace(/=:(.)/, (_, char: string) => `=:${char === 'A' ? 'B' : 'A'}`),
    ),
  ],
  ['the signature twice', edit('signature', (value) => `${value}, ${value}`)],
  ['the list twice', edit('signature-input', (value) => `${value}, ${value}`)],
  ['a parameter twice', edit('signature-input', (value) => `${value};created=${nowS}`)],
  [
    'a parameter changed afterwards',
    edit('signature-input', (value) =>
      value.replace(`expires=${nowS + 30}`, `expires=${nowS + 31}`),
    ),
  ],
  ['two blanks in the list', edit('signature-input', (value) => value.replace('" "', '"  "'))],
  ['an unclosed list', edit('signature-input', (value) => value.replace(')', ''))],
  [
    'an unclosed quote',
    edit('signature-input', (value) => value.replace(/"$/, '').replace('nonce="', 'nonce=')),
  ],
  ['an escape in a quote', { nonce: 'A'.repeat(22) + '\\"' }],
  ['rubbish', edit('signature-input', () => '%%%')],
  ['commas alone', edit('signature-input', () => ',,,,,,')],
  ['eight thousand letters', edit('signature-input', () => 'a'.repeat(8000))],
];

describe('the HTTP message signature of an AudioHook upgrade', () => {
  test('the published vector is accepted at its time', () => {
    const { target, headers, publicUrl, createdMs } = published;
    const request = { target, path: target, query: '', headers };
    expect(check(request, { publicUrl, nowMs: createdMs + 1_000 })).toBe('good');
  });

  test.each(good)('good: %s', (_what, signing, options) => {
    expect(check(signed(signing), options)).toBe('good');
  });

  test.each(bad)('refused: %s', (_what, signing, options) => {
    expect(check(signed(signing), options)).toEqual({ bad: expect.any(String) });
  });

  test('there are at least 40 vectors on each side', () => {
    expect(good.length).toBeGreaterThanOrEqual(40);
    expect(bad.length).toBeGreaterThanOrEqual(40);
  });

  test('without an API key nothing was offered, and without configured secrets none is good', () => {
    expect(check(signed(edit('x-api-key', () => undefined)))).toBe('missing');
    const unset = { ...config, audiohookApiKey: undefined };
    const context = {
      config: unset as typeof config,
      publicUrl: 'https://bridge.example.net',
      nowMs,
      nonces: new RecentNonces(() => nowMs),
    };
    expect(checkAudiohookSignature(signed(), context)).toEqual({
      bad: expect.stringContaining('not set'),
    });
  });

  test('a nonce is good once, and a wrong signature does not use it up', () => {
    const nonces = new RecentNonces(() => nowMs);
    expect(check(signed({ secret: 'AAAA' }), { nonces })).toEqual({ bad: expect.any(String) });
    expect(check(signed(), { nonces })).toBe('good');
    expect(check(signed(), { nonces })).toEqual({ bad: 'the nonce was used before' });
    expect(check(signed({ nonce: 'B'.repeat(24) }), { nonces })).toBe('good');
  });

  test('a clock that is off is named as such', () => {
    expect(check(signed(), { nowMs: nowMs + 600_000 })).toEqual({ bad: 'clock: signed 600 s ago' });
    expect(check(signed(), { nowMs: nowMs - 600_000 })).toEqual({
      bad: 'clock: signed 600 s in the future',
    });
  });

  test('mutated headers never throw and never pass', () => {
    const request = signed();
    const letters = '"();=:,\\ \t@aA0-é\0';
    let state = 7;
    const random = (below: number): number =>
      (state = (state * 1_103_515_245 + 12_345) % 2_147_483_648) % below;
    const passed: string[] = [];
    for (let round = 0; round < 2_000; round++) {
      const name = round % 2 === 0 ? 'signature-input' : 'signature';
      const value = request.headers[name] ?? '';
      const at = random(value.length);
      const mutated =
        value.slice(0, at) + (letters[random(letters.length)] ?? '') + value.slice(at + random(3));
      if (mutated === value || mutated.trim() === value) continue;
      const verdict = check({ ...request, headers: { ...request.headers, [name]: mutated } });
      if (verdict === 'good') passed.push(mutated);
    }
    expect(passed).toEqual([]);
  });
});

describe('the memory of nonces', () => {
  test('an expired nonce may come again, and the memory stays bounded', () => {
    let now = 0;
    const nonces = new RecentNonces(() => now);
    expect(nonces.remember('x', 'a', 100)).toBe(true);
    expect(nonces.remember('x', 'a', 100)).toBe(false);
    expect(nonces.remember('y', 'a', 100)).toBe(true);
    now = 101;
    expect(nonces.remember('x', 'a', 200)).toBe(true);
    for (let one = 0; one < 120_000; one++) nonces.remember('x', String(one), 1e9);
    expect(nonces.size).toBeLessThanOrEqual(100_000);
  });

  test('1,000 captured requests are all refused when replayed', () => {
    let now = nowMs;
    const nonces = new RecentNonces(() => now);
    const captured = Array.from({ length: 1_000 }, (_, at) =>
      signed({ nonce: `nonce-of-the-capture-${at}-x` }),
    );
    for (const request of captured) expect(check(request, { nonces })).toBe('good');
    for (const laterMs of [1_000, 10_000, 3_600_000]) {
      now = nowMs + laterMs;
      const accepted = captured.filter(
        (request) => check(request, { nonces, nowMs: now }) === 'good',
      );
      expect(accepted).toEqual([]);
    }
  }, 30_000);
});
