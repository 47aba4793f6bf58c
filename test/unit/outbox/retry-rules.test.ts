import { describe, expect, test } from 'vitest';
import { Breaker } from '../../../src/outbox/breaker.ts';
import { OutboxConfig } from '../../../src/outbox/config.ts';
import { judge, nextAttempt, retryAfterMs, retryDelayMs } from '../../../src/outbox/retry-rules.ts';
import { newWebhookSecret } from '../../../src/lib/webhook-signature.ts';

const hour = 3_600_000;
const rules = { retryBudgetMs: 72 * hour, refusedTries: 5 };

describe('the schedule', () => {
  test('waits 5 s, 30 s, 2 min ... 12 h, each within a fifth', () => {
    const plain = [5, 30, 120, 600, 1_800, 3_600, 7_200, 14_400, 28_800, 43_200, 43_200, 43_200];
    for (const [index, seconds] of plain.entries()) {
      expect(retryDelayMs(index + 1, 0)).toBe(seconds * 800);
      expect(retryDelayMs(index + 1, 0.5)).toBe(seconds * 1_000);
      expect(retryDelayMs(index + 1, 0.999_999)).toBeLessThanOrEqual(seconds * 1_200);
    }
  });

  const now = Date.parse('2026-02-03T09:15:00Z');
  const values: [string | undefined, number | undefined][] = [
    ['0', 1_000], ['1', 1_000], ['2', 2_000], ['59', 59_000], ['60', 60_000], ['3599', 3_599_000],
    ['3600', hour], ['3601', hour], ['86400', hour], ['999999999999999999', hour], ['-1', 1_000],
    ['-99999', 1_000], ['1.5', 1_500], ['0.2', 1_000], [' 7 ', 7_000], ['+7', undefined], ['7s', undefined],
    ['1e9', undefined], ['0x10', undefined], ['', undefined], ['   ', undefined], [undefined, undefined],
    ['soon', undefined], ['NaN', undefined], ['Infinity', undefined], ['-Infinity', undefined], ['null', undefined],
    ['1,2', undefined], ['1;2', undefined], ['May', undefined], ['2026', 2_026_000], ['2026-02-03', undefined],
    ['Tue, 03 Feb 2026 09:15:30 GMT', 30_000], ['Tue, 03 Feb 2026 09:14:00 GMT', 1_000],
    ['Tue, 03 Feb 2026 23:00:00 GMT', hour], ['Tuesday, 03-Feb-26 09:15:30 GMT', 30_000],
    ['Tue Feb  3 09:16:00 2026 GMT', 60_000], ['Wed, 99 Foo 2026 09:15:30 GMT', undefined],
    ['Tue, 03 Feb 1926 09:15:30 GMT', 1_000], ['<script>', undefined], ['9'.repeat(400), undefined],
  ]; // prettier-ignore
  test('Retry-After in seconds or as a date is held between 1 s and 1 h, rubbish is ignored', () => {
    expect(values.length).toBeGreaterThanOrEqual(40);
    for (const [value, expected] of values)
      expect([value, retryAfterMs(value, now)]).toEqual([value, expected]);
  });

  test('an event that is refused for its content gets its few attempts, then gives up', () => {
    const refused = { scope: 'item' as const, reason: 'no' };
    expect(nextAttempt(refused, 4, now, now, 0.5, rules).do).toBe('retry');
    expect(nextAttempt(refused, 5, now, now, 0.5, rules)).toMatchObject({ do: 'give-up' });
  });

  test('an absent endpoint has the whole budget, with the last attempt at its end', () => {
    const down = { scope: 'endpoint' as const, reason: 'down' };
    const start = now;
    let at = start;
    let attempts = 0;
    for (;;) {
      const next = nextAttempt(down, ++attempts, start, at, 0.9, rules);
      if (next.do === 'give-up') break;
      at = next.at;
    }
    expect(at).toBe(start + rules.retryBudgetMs);
    expect(attempts).toBeGreaterThan(12);
  });
});

describe('the breaker', () => {
  test('opens when an endpoint does not answer, probes it more and more seldom, and starts again slowly', () => {
    const breaker = new Breaker(50);
    for (let failure = 0; failure < 5; failure++) breaker.failed('a', true, 0, 0);
    expect(breaker.isOpen).toBe(true);
    expect(breaker.room(0, 999)).toEqual({ calls: 0, probe: true });
    expect(breaker.room(0, 1_000)).toEqual({ calls: 1, probe: true });
    expect(breaker.room(1, 1_000).calls).toBe(0);
    let at = 1_000;
    const waits: number[] = [];
    for (let probe = 0; probe < 8; probe++) {
      breaker.failed('a', true, at, 0);
      let next = at;
      while (breaker.room(0, next).calls === 0) next += 500;
      waits.push(next - at);
      at = next;
    }
    expect(waits).toEqual([2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000]);
    expect(breaker.succeeded(at)).toBe(true);
    expect(breaker.room(0, at)).toEqual({ calls: 2, probe: false });
    expect(breaker.succeeded(at)).toBe(false);
    expect(breaker.room(0, at).calls).toBe(4);
  });

  test('stays shut while one call alone gets an error, and while successes come in between', () => {
    const breaker = new Breaker(50);
    for (let failure = 0; failure < 50; failure++) breaker.failed('poisoned', false, 0, 0);
    expect(breaker.isOpen).toBe(false);
    for (let failure = 0; failure < 50; failure++) {
      breaker.failed(`call ${failure}`, true, 0, 0);
      breaker.succeeded(0);
    }
    expect(breaker.isOpen).toBe(false);
  });

  test('gives an endpoint the quiet that it asks for', () => {
    const breaker = new Breaker(50);
    breaker.failed('a', true, 0, 0.5, 30_000);
    expect(breaker.room(0, 29_999).calls).toBe(0);
    expect(breaker.room(0, 30_000).calls).toBe(1);
  });
});

describe('the verdict on an answer', () => {
  const answer = (status: number) => ({
    ok: true as const, status, headers: {}, body: Buffer.from('x'), bodyEnd: 'broken' as const, url: '',
  }); // prettier-ignore
  test('2xx is delivered whatever its body does, 3xx is not followed, 410 ends it', () => {
    for (const status of [200, 201, 202, 204, 299])
      expect(judge(answer(status), 0).kind).toBe('delivered');
    for (const status of [301, 302, 303, 307, 308])
      expect(judge(answer(status), 0)).toMatchObject({ kind: 'failed', scope: 'endpoint' });
    expect(judge(answer(410), 0).kind).toBe('gone');
    for (const status of [400, 409, 413, 415, 418, 422])
      expect(judge(answer(status), 0)).toMatchObject({ scope: 'item' });
    for (const status of [401, 403, 404, 408, 429, 500, 502, 503, 504, 599])
      expect(judge(answer(status), 0)).toMatchObject({ scope: 'endpoint' });
  });
});

describe('the configuration', () => {
  const problems = (config: unknown) => {
    const parsed = OutboxConfig.safeParse(config);
    return parsed.success
      ? []
      : [...new Set(parsed.error.issues.map((issue) => issue.path.join('.')))];
  };
  test('a webhook without a secret, or with a weak one, does not start', () => {
    expect(problems({ webhookUrl: 'https://crm.example/hook' })).toEqual(['webhookSecret']);
    expect(problems({ webhookUrl: 'https://crm.example/hook', webhookSecret: 'hunter2' })).toEqual([
      'webhookSecret',
    ]);
    expect(
      problems({ webhookUrl: 'https://crm.example/hook', webhookSecret: 'whsec_c2hvcnQ=' }),
    ).toEqual(['webhookSecret']);
    expect(
      problems({ webhookUrl: 'ftp://crm.example/', webhookSecret: newWebhookSecret() }),
    ).toEqual(['webhookUrl']);
    expect(
      problems({ endpoints: [{ name: 'crm', url: 'https://crm.example/', secrets: [] }] }),
    ).toEqual(['endpoints.0.secrets']);
    expect(problems({})).toEqual([]);
  });

  test('two endpoints cannot share a name, and a typo is named', () => {
    const endpoint = { name: 'crm', url: 'https://crm.example/', secrets: [newWebhookSecret()] };
    expect(problems({ endpoints: [endpoint, endpoint] })).toEqual(['endpoints']);
    expect(problems({ endpoints: [{ ...endpoint, events: ['call.ende'] }] })).toEqual([
      'endpoints.0.events',
    ]);
    const { error } = OutboxConfig.safeParse({
      endpoints: [{ ...endpoint, events: ['call.started', 'call.ende'] }],
    });
    expect(error?.issues[0]?.message).toContain('did you mean call.ended?');
  });
});
