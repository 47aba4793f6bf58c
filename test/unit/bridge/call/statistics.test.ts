import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { statisticsOf } from '../../../../src/bridge/call/statistics.ts';
import type { Turn } from '../../../../src/protocol/events.ts';

const turn = (role: Turn['role'], start: number, end: number): Turn => ({
  role,
  text: 'x',
  start,
  end,
});

describe('how a conversation went', () => {
  test('talk time and ratio count overlapping words of one party once', () => {
    const { talk, talk_ratio } = statisticsOf(
      [turn('customer', 0, 4), turn('customer', 3, 6), turn('agent', 6, 8)],
      10,
    );
    expect(talk).toEqual({ customer: 6, agent: 2 });
    expect(talk_ratio).toEqual({ customer: 0.75, agent: 0.25 });
  });

  test('cutting in counts for who cuts in; a quick answer and a backchannel do not', () => {
    const { interruptions } = statisticsOf(
      [
        turn('customer', 0, 5),
        turn('agent', 4, 7),
        turn('customer', 6.9, 9),
        turn('agent', 7.5, 7.9),
      ],
      10,
    );
    expect(interruptions).toEqual({ customer: 0, agent: 1 });
  });

  test('a monologue goes on over the other’s mhm', () => {
    const { longest_monologue } = statisticsOf(
      [
        turn('agent', 0, 5),
        turn('customer', 5, 5.4),
        turn('agent', 6, 12),
        turn('customer', 12, 14),
      ],
      14,
    );
    expect(longest_monologue).toEqual({ agent: 12, customer: 2 });
  });

  test('dead air is where nobody speaks for three seconds, at both ends too', () => {
    const { dead_air } = statisticsOf(
      [turn('agent', 4, 6), turn('customer', 8, 9), turn('agent', 14, 15)],
      20,
    );
    expect(dead_air).toEqual({ total: 14, longest: 5, count: 3 });
  });

  test('a hole hides talk and silence alike, and no monologue goes on over it', () => {
    const figures = statisticsOf(
      [turn('customer', 0, 6), turn('customer', 20, 22), turn('agent', 24, 26)],
      26,
      [{ start: 5, end: 18 }],
    );
    expect(figures).toMatchObject({
      talk: { customer: 7, agent: 2 },
      longest_monologue: { customer: 5, agent: 2 },
      dead_air: { total: 0, count: 0 },
    });
  });

  test('nobody spoke', () => {
    expect(statisticsOf([], 0)).toMatchObject({
      talk: { customer: 0, agent: 0 },
      talk_ratio: { customer: 0, agent: 0 },
      dead_air: { count: 0 },
    });
  });

  test('whatever is said, ratios add up and nobody talks longer than there was time', () => {
    const turns = fc.array(
      fc.record({
        role: fc.constantFrom('customer' as const, 'agent' as const),
        start: fc.integer({ min: 0, max: 900 }),
        length: fc.integer({ min: 0, max: 100 }),
      }),
      { maxLength: 40 },
    );
    fc.assert(
      fc.property(turns, (drawn) => {
        const all = drawn.map(({ role, start, length }) => turn(role, start, start + length));
        const { talk, talk_ratio, dead_air } = statisticsOf(all, 1_000);
        if (talk === null || talk_ratio === null) throw new Error('nobody was counted');
        expect(Math.max(talk.customer, talk.agent)).toBeLessThanOrEqual(1_000);
        expect(dead_air.total).toBeLessThanOrEqual(1_000);
        if (talk.customer + talk.agent > 0)
          expect(talk_ratio.customer + talk_ratio.agent).toBeCloseTo(1, 2);
      }),
    );
  });

  test('nobody knows who spoke in a mixed leg: only the silence of all is told', () => {
    const figures = statisticsOf([turn('mixed', 0, 2), turn('mixed', 10, 11)], 12);
    expect(figures).toMatchObject({ talk: null, talk_ratio: null, interruptions: null });
    expect(figures.dead_air).toEqual({ total: 8, longest: 8, count: 1 });
  });
});
