import { expect, test } from 'vitest';
import { digitsOf, numberRange, partyKey } from '../../../../src/bridge/events/call-keys.ts';

/** As the list asks the store: one range of the index, and some keys by themselves. */
function finds(asked: string, stored: string): boolean {
  const { from, to, shorter } = numberRange(digitsOf(asked) ?? '');
  const { kind, key } = partyKey(stored) ?? {};
  if (kind !== 'number' || key === undefined) return false;
  return (key >= from && key <= to) || shorter.includes(key);
}

const forms = {
  '+15550100000': [
    ...['+1 (555) 010-0000', '15550100000', '555-010-0000', '(555) 010.0000', '0015550100000'],
    ...['tel:+1-555-010-0000', 'sip:+15550100000@carrier.example;user=phone', '0100000', '0000'],
    ...[
      '\u202A+1\u00A0555\u2011010\u20110000\u202C',
      '＋１５５５０１０００００',
      '+1 555 010 0000 ext. 12',
    ],
  ],
  '+442079460018': [
    ...['0044 20 7946 0018', '+44 (0)20 7946 0018', '020 7946 0018', '(020) 7946 0018'],
    ...['011 44 20 7946 0018', '7946 0018', '442079460018'],
  ],
  '020 7946 0018': ['+44 20 7946 0018', '0044 (0) 20 79460018', '020-7946-0018', '79460018'],
  '00442079460018': ['+44 20 7946 0018', '020 7946 0018'],
  '101': ['101'],
  '0100': ['0100', '100'],
};

test.each(Object.entries(forms))('the number %s is found in every form of it', (stored, asked) => {
  expect(asked.filter((form) => !finds(form, stored))).toEqual([]);
});

test('a number finds neither another nor a name', () => {
  expect(finds('+44 20 7946 0019', '+442079460018')).toBe(false);
  expect(finds('+1 555 010 0000', '+15550100')).toBe(false);
  expect(finds('+49 30 123456', '+4930123457')).toBe(false);
  expect(finds('101', '+15550100000')).toBe(false);
  expect(finds('101', 'sip:agent101@example.com')).toBe(false);
});

test('a party without a number is known by its name, however it is written', () => {
  expect(partyKey(' sip:Ann@Example.com')).toEqual({ kind: 'address', key: 'sip:ann@example.com' });
  expect(partyKey('client:jenny')).toEqual({ kind: 'address', key: 'client:jenny' });
  expect(partyKey('Anonymous')).toEqual({ kind: 'address', key: 'anonymous' });
  expect(partyKey(' ')).toBeUndefined();
  expect(partyKey('9'.repeat(300))?.key).toHaveLength(64);
  expect(partyKey('a'.repeat(5_000))?.key).toHaveLength(300);
});

/** The least processor time of several runs: what else the machine does only ever adds to it. */
function leastCpuMs(work: () => void): number {
  const runs = Array.from({ length: 5 }, () => {
    const before = process.cpuUsage();
    work();
    const { user, system } = process.cpuUsage(before);
    return (user + system) / 1_000;
  });
  return Math.min(...runs);
}

test.each([' ', ';', 'x', '1', 'ext', '(0)', ' x', ' 1x', 'sip:'])(
  'a text from outside that repeats "%s" costs at most 3 ms, however long it is',
  (piece) => {
    for (const times of [70, 20_000]) {
      const text = `${piece.repeat(times)}?`;
      expect(leastCpuMs(() => digitsOf(text))).toBeLessThan(3);
    }
  },
);
