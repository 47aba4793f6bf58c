import fc from 'fast-check';
import { expect, test } from 'vitest';
import { LegLedger } from '../../../../src/bridge/records/ledger.ts';

test('received = acknowledged + gaps + paused, filler outside the sum', () => {
  const ledger = new LegLedger();
  ledger.audio(1_000);
  ledger.filler(300, true);
  ledger.filler(200, false);
  ledger.audio(500);
  expect(ledger.acknowledge(1_400)).toBe(1_000);
  expect(ledger.gap(1_400, 1_700)).toBe(200);
  ledger.acknowledge(2_000);
  expect(ledger.counts()).toEqual({
    received: 1_800,
    acknowledged: 1_300,
    gaps: 200,
    paused: 300,
    filler: 500,
  });
  expect(ledger.underWay()).toBe(0);
});

test('an ack of a place that was declared a gap counts nothing twice', () => {
  const ledger = new LegLedger();
  ledger.audio(1_000);
  ledger.gap(200, 400);
  expect(ledger.gap(300, 500)).toBe(100);
  ledger.acknowledge(1_000);
  expect(ledger.counts()).toMatchObject({ acknowledged: 700, gaps: 300 });
});

type Step =
  | { do: 'audio' | 'paused' | 'filler' | 'ack'; bytes: number }
  | { do: 'gap'; from: number; bytes: number };
const bytes = fc.integer({ min: 1, max: 400 });
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constantFrom('audio', 'paused', 'filler', 'ack'), bytes }),
  fc.record({ do: fc.constant('gap' as const), from: fc.integer({ min: 0, max: 3_000 }), bytes }),
);

test('whatever happens in whatever order, every byte is in exactly one place (model: a byte at a time)', () => {
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), fc.nat(60), (steps, reopenAt) => {
      let ledger = new LegLedger();
      const kinds: string[] = [];
      let settled = 0;
      for (const [index, one] of steps.entries()) {
        // A restart in between changes nothing.
        if (index === reopenAt)
          ledger = new LegLedger(JSON.parse(JSON.stringify(ledger.snapshot())));
        if (one.do === 'gap') {
          ledger.gap(one.from, one.from + one.bytes);
          for (
            let at = Math.max(one.from, settled);
            at < Math.min(kinds.length, one.from + one.bytes);
            at++
          )
            kinds[at] = kinds[at] === 'audio' ? 'gap' : kinds[at]!;
          while (one.from <= settled && settled < Math.min(kinds.length, one.from + one.bytes))
            settled++;
        } else if (one.do === 'ack') {
          const to = Math.min(kinds.length, settled + one.bytes);
          ledger.acknowledge(settled + one.bytes);
          for (; settled < to; settled++)
            if (kinds[settled] === 'audio') kinds[settled] = 'acknowledged';
        } else {
          if (one.do === 'audio') ledger.audio(one.bytes);
          else ledger.filler(one.bytes, one.do === 'paused');
          for (let count = 0; count < one.bytes; count++) kinds.push(one.do);
        }
        const count = (...wanted: string[]): number =>
          kinds.filter((kind) => wanted.includes(kind)).length;
        expect(ledger.counts()).toEqual({
          received: count('audio', 'gap', 'acknowledged', 'paused'),
          acknowledged: count('acknowledged'),
          gaps: count('gap'),
          paused: count('paused'),
          filler: count('paused', 'filler'),
        });
        expect(ledger.settled).toBe(settled);
        expect(ledger.balanced()).toBe(true);
      }
    }),
    { numRuns: 200 },
  );
});
