import { expect, test } from 'vitest';
import { createLog, scrub } from '../../../src/lib/log.ts';

function lines(write: (log: ReturnType<typeof createLog>) => void): string {
  let out = '';
  const log = createLog({ destination: { write: (line: string) => void (out += line) } });
  write(log);
  return out;
}

test('secrets, numbers and words stay out of the log wherever they are put', () => {
  const canary = 'canary-4711';
  const out = lines((log) => {
    log.info(
      {
        token: canary,
        call: { from: canary, text: canary },
        deep: { er: { authorization: canary } },
      },
      'x',
    );
    log
      .child({ apiKey: canary })
      .warn({ err: new Error(`GET wss://host/v2/live?token=${canary} failed`) }, 'x');
  });
  expect(out).not.toContain(canary);
  expect(out.trim().split('\n')).toHaveLength(2);
});

test('one record is one line whatever the text holds', () => {
  const out = lines((log) => log.info({ reason: 'a\nb\u001b[31mred\u2028c' }, 'x'));
  expect(out.trim().split('\n')).toHaveLength(1);
  expect(out).not.toContain('\u001b');
});

test('at a terminal one event is one line, with its error and stack', () => {
  let out = '';
  const destination = { write: (line: string) => void (out += line) };
  const log = createLog({ pretty: true, destination });
  log.child({ callId: 'call_1' }).error({ err: new Error('away'), attempt: 2 }, 'it failed');
  log.info('next');
  const [first, second, ...others] = out.trim().split('\n');
  for (const part of ['it failed', '"callId":"call_1"', 'away', 'log.test.ts'])
    expect(first).toContain(part);
  expect(second).toContain('next');
  expect(others).toEqual([]);
});

test('credentials and phone numbers are taken out of error texts', () => {
  expect(scrub('https://user:pass@crm.example/x?key=abc&z=1 +1 (555) 010-0123 whsec_QUJD')).toBe(
    'https://[redacted]@crm.example/x?key=[redacted]&z=1 [number] [redacted]',
  );
});
