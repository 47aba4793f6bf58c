import { Webhook } from 'standardwebhooks';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  newWebhookSecret,
  signWebhook,
  verifyWebhook,
} from '../../../src/lib/webhook-signature.ts';

const nowS = Math.floor(Date.now() / 1000);

describe('Standard Webhooks signatures', () => {
  test('the public library accepts what we sign and we accept what it signs', () => {
    fc.assert(
      fc.property(
        fc.string({ unit: 'grapheme' }),
        fc.stringMatching(/^[\w-]{1,40}$/),
        (body, id) => {
          const secret = newWebhookSecret();
          const theirs = new Webhook(secret);
          const bytes = Buffer.from(body);
          const headers = signWebhook([secret], id, nowS, bytes);
          expect(theirs.sign(id, new Date(nowS * 1000), bytes)).toBe(headers['webhook-signature']);
          expect(() =>
            theirs.verify(bytes.toString(), headers, { jsonParse: false }),
          ).not.toThrow();
          expect(verifyWebhook([secret], headers, bytes)).toEqual({ ok: true });
        },
      ),
    );
  });

  test('the published example comes out the same', () => {
    const headers = signWebhook(
      ['whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw'],
      'msg_p5jXN8AQM9LWM0D4loKWxJek',
      1614265330,
      Buffer.from('{"test": 2432232314}'),
    );
    expect(headers['webhook-signature']).toBe('v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE=');
  });

  test('during a rotation a receiver with either secret accepts, one with neither does not', () => {
    const [old, next, other] = [newWebhookSecret(), newWebhookSecret(), newWebhookSecret()];
    const body = Buffer.from('{}');
    const headers = signWebhook([next, old], 'evt_1', nowS, body);
    expect(verifyWebhook([old], headers, body).ok).toBe(true);
    expect(verifyWebhook([next], headers, body).ok).toBe(true);
    expect(verifyWebhook([other], headers, body)).toEqual({
      ok: false,
      reason: 'no signature matches',
    });
  });

  test('a changed body, id, time or signature is refused, and so is every shortened signature', () => {
    const secret = newWebhookSecret();
    const body = Buffer.from('{"a":1}');
    const headers = signWebhook([secret], 'evt_1', nowS, body);
    const signature = headers['webhook-signature'];
    const refused = [
      verifyWebhook([secret], headers, Buffer.from('{"a":2}')),
      verifyWebhook([secret], { ...headers, 'webhook-id': 'evt_2' }, body),
      verifyWebhook([secret], { ...headers, 'webhook-timestamp': String(nowS + 1) }, body),
      verifyWebhook([secret], { ...headers, 'webhook-timestamp': `${nowS}.0` }, body),
      verifyWebhook([secret], { ...headers, 'webhook-signature': undefined }, body),
      verifyWebhook(
        [secret],
        { ...headers, 'webhook-signature': signature.replace('v1,', 'v1a,') },
        body,
      ),
      ...Array.from({ length: signature.length }, (_, length) =>
        verifyWebhook(
          [secret],
          { ...headers, 'webhook-signature': signature.slice(0, length) },
          body,
        ),
      ),
    ];
    expect(refused.filter((verdict) => verdict.ok)).toEqual([]);
  });

  test('an old or future timestamp is refused by name', () => {
    const secret = newWebhookSecret();
    for (const skewS of [-301, 301, -86_400]) {
      const headers = signWebhook([secret], 'evt_1', nowS + skewS, Buffer.from('x'));
      expect(verifyWebhook([secret], headers, Buffer.from('x'), nowS)).toMatchObject({
        ok: false,
        reason: expect.stringContaining('clock'),
      });
    }
  });
});
