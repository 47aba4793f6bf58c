import { generateKeyPairSync, sign as ed25519, type KeyObject } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { checkTelnyxSignature } from '../../../../src/carriers/telnyx/webhooks.ts';

const { publicKey, privateKey } = generateKeyPairSync('ed25519');
const other = generateKeyPairSync('ed25519');
const rawKey = (key: KeyObject): string =>
  key.export({ format: 'der', type: 'spki' }).subarray(-32).toString('base64');

const nowS = 1_800_000_000;
const event =
  '{"data":{"event_type":"streaming.stopped","payload":{"call_control_id":"v3:Qm9n","stream_id":"5f0c2b1e"}}}';

type Webhook = {
  signature: string;
  timestamp: string;
  body: Buffer;
  publicKey: string;
  nowMs: number;
};
type SignedWebhook = { body?: string | Buffer; atS?: number; key?: KeyObject; bar?: string; change?: Partial<Webhook> }; // prettier-ignore

function signed({ body = event, atS = nowS, key = privateKey, bar = '|', change = {} }: SignedWebhook): Webhook {
  const bytes = Buffer.from(body as string);
  const timestamp = String(atS);
  const message = Buffer.concat([Buffer.from(`${timestamp}${bar}`), bytes]);
  return {
    signature: ed25519(null, message, key).toString('base64'),
    timestamp,
    body: bytes,
    publicKey: rawKey(publicKey),
    nowMs: nowS * 1_000,
    ...change,
  };
} // prettier-ignore

const bodies: [string, string | Buffer][] = [
  ['an event', event],
  ['nothing', ''],
  ['a line break at the end', `${event}\n`],
  ['Windows line breaks', event.replaceAll(',', ',\r\n')],
  ['blanks', ` ${event} `],
  ['indented JSON', JSON.stringify(JSON.parse(event), null, 2)],
  ['a form', 'CallSid=v3%3AQm9n&StreamEvent=stream-stopped'],
  ['an empty form field', 'CallSid=&StreamEvent='],
  ['a bar', '1|2|3'],
  ['a bar first', `|${event}`],
  ['letters beyond ASCII', '{"name":"Søren Ångström 北京"}'],
  ['characters of four bytes', '{"name":"📞"}'],
  ['escapes', '{"name":"\\u00e5\\n\\"\\\\"}'],
  ['a NUL', 'a\0b'],
  ['no UTF-8', Buffer.from([0xff, 0xfe, 0x80, 0])],
  ['a byte-order mark', `\ufeff${event}`],
  ['thirty kilobytes', 'x'.repeat(30_000)],
  ['a number', '7'],
  ['an array', '[]'],
  ['HTML', '<script>alert(1)</script>'],
];
const ages = [
  -300, -299, -120, -60, -10, -3, -2, -1, 0, 1, 2, 3, 10, 30, 60, 120, 240, 299, 300, 5,
];

const good = signed({});
const bad: [string, Webhook][] = [
  ['another body', { ...good, body: Buffer.from(event.replace('stopped', 'started')) }],
  ['a blank more', { ...good, body: Buffer.from(`${event} `) }],
  ['a byte less', { ...good, body: Buffer.from(event.slice(0, -1)) }],
  ['no body', { ...good, body: Buffer.alloc(0) }],
  ['the body in other letters', { ...good, body: Buffer.from(event.toUpperCase()) }],
  ['the same JSON, written otherwise', { ...good, body: Buffer.from(JSON.stringify(JSON.parse(event), null, 1)) }],
  ['a second later than signed', { ...good, timestamp: String(nowS + 1) }],
  ['a second earlier than signed', { ...good, timestamp: String(nowS - 1) }],
  ['another key of the sender', signed({ key: other.privateKey })],
  ['another key of ours', { ...good, publicKey: rawKey(other.publicKey) }],
  ['a key of zeros', { ...good, publicKey: Buffer.alloc(32).toString('base64') }],
  ['the body alone signed', { ...good, signature: ed25519(null, Buffer.from(event), privateKey).toString('base64') }],
  ['the time alone signed', { ...good, signature: ed25519(null, Buffer.from(`${nowS}|`), privateKey).toString('base64') }],
  ['no bar', signed({ bar: '' })],
  ['a dot for the bar', signed({ bar: '.' })],
  ['two bars', signed({ bar: '||' })],
  ['the time in milliseconds', signed({ atS: nowS * 1_000 })],
  ['the time of 1970', signed({ atS: 0 })],
  ['a negative time', signed({ atS: -nowS })],
  ...['', ' ', 'now', `${nowS} `, ` ${nowS}`, `+${nowS}`, `${nowS}.0`, '0x6b49d200', `0${nowS}`, '1e9'].map(
    (timestamp): [string, Webhook] => [`the time as ${JSON.stringify(timestamp)}`, { ...good, timestamp }],
  ),
  ...([
    ['no signature', ''],
    ['a blank', ' '],
    ['a signature of zeros', Buffer.alloc(64).toString('base64')],
    ['the first half', Buffer.from(good.signature, 'base64').subarray(0, 32).toString('base64')],
    ['a byte more', Buffer.concat([Buffer.from(good.signature, 'base64'), Buffer.alloc(1)]).toString('base64')],
    ['twice itself', good.signature.repeat(2)],
    ['itself and another', `${good.signature}, ${good.signature}`],
    ['no padding', good.signature.replaceAll('=', '')],
    ['one sign of padding', good.signature.replace('==', '=')],
    ['a blank before it', ` ${good.signature}`],
    ['a line break behind it', `${good.signature}\n`],
    ['hexadecimal', Buffer.from(good.signature, 'base64').toString('hex')],
    ['the first character changed', `${good.signature.startsWith('A') ? 'B' : 'A'}${good.signature.slice(1)}`],
    ['reversed', Buffer.from(good.signature, 'base64').reverse().toString('base64')],
    ['base64 for addresses', `-_${good.signature.slice(2)}`],
    ['a hundred thousand letters', 'A'.repeat(100_000)],
    ['a NUL', `${good.signature.slice(0, -1)}\0`],
  ] satisfies [string, string][]).map(([what, signature]): [string, Webhook] => [what, { ...good, signature }]),
]; // prettier-ignore

describe('the Ed25519 signature of a Telnyx webhook', () => {
  test.each(bodies)('good: a body of %s', (_what, body) => {
    expect(checkTelnyxSignature(signed({ body }))).toBe('good');
  });

  test.each(ages)('good: signed %i s ago', (age) => {
    expect(checkTelnyxSignature(signed({ atS: nowS - age }))).toBe('good');
  });

  test.each(bad)('refused without an exception: %s', (_what, webhook) => {
    expect(checkTelnyxSignature(webhook)).toBe('wrong');
  });

  test.each([-31_536_000, -600, -301, 301, 600, 3_600])(
    'right, and signed %i s ago: the clock is off',
    (age) => {
      expect(checkTelnyxSignature(signed({ atS: nowS - age }))).toBe('off');
      expect(checkTelnyxSignature(signed({ atS: nowS - age, key: other.privateKey }))).toBe(
        'wrong',
      );
    },
  );

  test('there are at least 40 vectors on each side', () => {
    expect(bodies.length + ages.length).toBeGreaterThanOrEqual(40);
    expect(bad.length).toBeGreaterThanOrEqual(40);
  });

  test('signatures of any length from 0 to 200 are refused without an exception', () => {
    for (let length = 0; length <= 200; length++)
      expect(checkTelnyxSignature({ ...good, signature: 'A'.repeat(length) })).toBe('wrong');
  });
});
