import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { InFlight } from '../../../src/speech-client/in-flight.ts';

describe('acks', () => {
  test('five chunks, three acks, a cut: the rest is sent again from the last ack, and nothing is left open', () => {
    const flight = new InFlight(0);
    flight.reconnected();
    for (let sent = 800; sent <= 4_000; sent += 800) flight.sentUpTo(sent);
    flight.acknowledge(0, 800);
    flight.acknowledge(800, 1_600);
    expect(flight.acknowledge(1_600, 2_400)).toEqual({ outcome: 'moved', rebased: 0 });
    flight.reconnected();
    expect([flight.acknowledged, flight.sent]).toEqual([2_400, 2_400]);
    flight.sentUpTo(5_600);
    expect(flight.acknowledge(2_400, 5_600)).toEqual({ outcome: 'moved', rebased: 0 });
    expect(flight.unacknowledged).toBe(0);
  });

  test('a service that appends what it already had is followed, its times too', () => {
    const flight = new InFlight(100_000);
    flight.reconnected();
    flight.sentUpTo(104_000);
    flight.acknowledge(0, 2_400);
    flight.reconnected();
    flight.sentUpTo(105_600);
    expect(flight.acknowledge(4_000, 7_200)).toEqual({ outcome: 'moved', rebased: 1_600 });
    expect(flight.acknowledged).toBe(105_600);
    expect(flight.originAt(1_000)).toBe(100_000);
    expect(flight.originAt(4_500)).toBe(98_400);
    flight.sentUpTo(106_400);
    expect(flight.acknowledge(7_200, 8_000)).toEqual({ outcome: 'moved', rebased: 0 });
    expect(flight.acknowledged).toBe(106_400);
  });

  test('a first ack that leaves earlier ones out is not taken for a service that counts twice', () => {
    const flight = new InFlight(0);
    flight.reconnected();
    for (let sent = 160; sent <= 1_600; sent += 160) flight.sentUpTo(sent);
    expect(flight.acknowledge(800, 960)).toEqual({ outcome: 'moved', rebased: 0 });
    expect(flight.acknowledged).toBe(960);
  });

  test.each([
    { name: 'negative', range: [-5, 10] },
    { name: 'the wrong way round', range: [160, 0] },
    { name: 'not whole', range: [0, 1.5] },
    { name: 'not a number', range: [0, Number.NaN] },
    { name: 'ahead of what was sent', range: [0, 10_000] },
    { name: 'behind an earlier one', range: [0, 160] },
  ])('an ack that is $name frees nothing', ({ range }) => {
    const flight = new InFlight(0);
    flight.reconnected();
    flight.sentUpTo(1_600);
    flight.acknowledge(0, 800);
    expect(flight.acknowledge(range[0]!, range[1]!).outcome).toBe('bad');
    expect(flight.acknowledged).toBe(800);
  });

  test('under any acks at all, the position never moves back and never beyond what was sent', () => {
    const number = fc.oneof(fc.integer({ min: -10, max: 5_000 }), fc.double(), fc.maxSafeInteger());
    const step = fc.oneof(
      fc.record({ send: fc.integer({ min: 1, max: 800 }) }),
      fc.record({ from: number, to: number }),
      fc.constant('reconnect' as const),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 80 }), (steps) => {
        const flight = new InFlight(0);
        let before = 0;
        let everSent = 0;
        for (const one of steps) {
          if (one === 'reconnect') flight.reconnected();
          else if ('send' in one) flight.sentUpTo(flight.sent + one.send);
          else flight.acknowledge(one.from, one.to);
          everSent = Math.max(everSent, flight.sent);
          expect(flight.acknowledged).toBeGreaterThanOrEqual(before);
          expect(flight.acknowledged).toBeLessThanOrEqual(everSent);
          before = flight.acknowledged;
        }
      }),
      { numRuns: 300 },
    );
  });
});

test('a session that is taken over after a kill goes on from what was on record', () => {
  const flight = new InFlight(0);
  flight.reconnected();
  flight.sentUpTo(4_000);
  flight.acknowledge(0, 2_400);
  const next = new InFlight({ ...flight.state(), everSent: 4_800 });
  next.reconnected();
  expect(next.sent).toBe(2_400);
  next.sentUpTo(4_800);
  expect(next.acknowledge(2_400, 4_800)).toEqual({ outcome: 'moved', rebased: 0 });
  expect(next.heardUpTo(4_000)).toBe(4_000);
  expect(next.heardUpTo(1_000_000)).toBe(4_800);
});
