import { inspect } from 'node:util';
import { expect, test } from 'vitest';
import type { Clock } from '../../../src/lib/clock.ts';
import { createLog } from '../../../src/lib/log.ts';
import {
  equalSecrets,
  maxClientsRemembered,
  SecretJudge,
  shortSecretNote,
  type SecretVerdict,
} from '../../../src/port/secrets.ts';
import { movedClock } from '../../support/clock/test-clock.ts';

test('secrets of every pair of lengths compare without throwing', () => {
  for (let length = 0; length <= 200; length++) {
    const secret = 'k'.repeat(length);
    expect(equalSecrets(secret, secret)).toBe(true);
    expect(equalSecrets(secret, `${secret}x`)).toBe(false);
  }
});

const right = 'sixteen-and-more';
const long = 'twenty-four-and-more-of-them';

function judgeAt(clock: Clock) {
  const lines: { msg: string; client: string; count?: number }[] = [];
  const log = createLog({ destination: { write: (line) => void lines.push(JSON.parse(line)) } });
  const judge = new SecretJudge({ clock, log });
  const show = (secret: string, client = '192.0.2.1', door = 'keys'): SecretVerdict =>
    judge.judge({ door, client, secret, isRight: [right, long].includes(secret) });
  return { judge, lines, show };
}

const waitOf = (verdict: SecretVerdict): number => (verdict.is === 'wait' ? verdict.waitS : 0);

test('ten wrong secrets are free, then each one makes the wait longer, for its own client and door alone', () => {
  const clock = movedClock();
  const { show } = judgeAt(clock);
  for (let n = 0; n < 10; n++) expect(show(`wrong-${n}`).is).toBe('wrong');
  const waits: number[] = [];
  for (let n = 0; n < 12; n++) {
    const waitS = waitOf(show(`wrong again ${n}`));
    waits.push(waitS);
    clock.nowMs += waitS * 1_000;
    expect(show(`wrong after it ${n}`).is).toBe('wrong');
  }
  expect(waits).toEqual([1, 2, 4, 8, 16, 32, 64, 128, 256, 300, 300, 300]);
  expect(show(right, '192.0.2.2').is).toBe('right');
  expect(show(right, '192.0.2.1', 'exotel').is).toBe('right');
  clock.nowMs += 1_201_000;
  expect([show('wrong').is, show(right).is]).toEqual(['wrong', 'right']);
});

test('in the wait a short secret is not looked at, a long one passes, and so does the one that this client showed before', () => {
  const { show } = judgeAt(movedClock());
  expect(show(right, '192.0.2.7').is).toBe('right');
  for (const client of ['192.0.2.1', '192.0.2.7'])
    for (let n = 0; n < 10; n++) show(`wrong-${n}`, client);
  expect(show(right, '192.0.2.1')).toEqual({ is: 'wait', waitS: 1 });
  expect(show(long, '192.0.2.1').is).toBe('right');
  expect(show(right, '192.0.2.7').is).toBe('right');
});

test('an address that once showed a short secret guesses a hundred times, and no further', () => {
  const { show } = judgeAt(movedClock());
  expect(show(right).is).toBe('right');
  for (let n = 0; n < 99; n++) show(`wrong-${n}`);
  expect(show(right).is).toBe('right');
  show('wrong-99');
  expect(show(right).is).toBe('wait');
  expect(show(long).is).toBe('right');
});

test('a flood of clients is forgotten again, and keeps nobody out', () => {
  const { show, lines } = judgeAt(movedClock());
  for (let n = 0; n < 10; n++) show('wrong', '198.51.100.1');
  expect(show(right, '198.51.100.1').is).toBe('wait');
  for (let n = 0; n < maxClientsRemembered + 10; n++)
    show('wrong', `2001:db8:${n >> 8}:${n & 255}::1`);
  expect(show(right, '198.51.100.1').is).toBe('right');
  expect(lines.length).toBeLessThan(600);
});

test('thirty wrong secrets of a client are two lines of the log in ten seconds, without the secrets', () => {
  const clock = movedClock();
  const { judge, lines, show } = judgeAt(clock);
  for (let n = 0; n < 30; n++) show(`wrong-secret-${n}`);
  show('wrong-secret', '192.0.2.9');
  judge.tick();
  expect(lines.map(({ msg, client }) => `${client} ${msg}`)).toEqual([
    '192.0.2.1 a wrong secret was shown',
    '192.0.2.9 a wrong secret was shown',
  ]);
  clock.nowMs += 10_000;
  judge.tick();
  expect(lines.slice(2)).toMatchObject([
    { client: '192.0.2.1', msg: 'a wrong secret was shown, again', count: 29 },
  ]);
  expect(JSON.stringify(lines)).not.toContain('wrong-secret');
});

test('the judge holds no secret in memory', () => {
  const { judge, show } = judgeAt(movedClock());
  show(right);
  expect(inspect(judge, { depth: 9, showHidden: true })).not.toContain(right);
});

test('a secret below 24 characters is noted at the start, a longer one is not', () => {
  expect(shortSecretNote('TRUNKLINE_X', [long, right])).toContain('TRUNKLINE_X');
  expect(shortSecretNote('TRUNKLINE_X', [long])).toBeUndefined();
  expect(shortSecretNote('TRUNKLINE_X', [])).toBeUndefined();
});
