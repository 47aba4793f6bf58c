import { expect, test } from 'vitest';
import type { CallLeg } from '../../../../src/bridge/call/call-leg.ts';
import type { Gap, WaitingGaps } from '../../../../src/bridge/records/gap.ts';
import { HeldGaps } from '../../../../src/bridge/events/held-gaps.ts';
import { TestClock } from '../../../support/clock/test-clock.ts';

const leg = {
  record: { id: 'leg_1' },
  audio: { stateChanged: () => undefined, keepState: () => undefined },
} as unknown as CallLeg;
const gap = (start: number, end: number, cause: Gap['cause'] = 'carrier'): Gap => ({
  cause,
  start,
  end,
  bytes: Math.round((end - start) * 8_000),
  detail: 'lost',
});

function heldGaps() {
  const clock = new TestClock(0);
  const told: Gap[] = [];
  const gaps = new HeldGaps({ clock, tell: (_leg, one) => told.push(one) });
  return { clock, told, gaps };
}

test('gaps that touch are one, another cause or a hole between them makes two', () => {
  const { told, gaps } = heldGaps();
  gaps.add(leg, gap(1, 1.4));
  gaps.add(leg, gap(1.401, 2));
  gaps.add(leg, gap(2, 3, 'journal'));
  gaps.add(leg, gap(3.1, 4, 'journal'));
  gaps.flush();
  expect(told.map(({ cause, start, end }) => [cause, start, end])).toEqual([
    ['carrier', 1, 2],
    ['journal', 2, 3],
    ['journal', 3.1, 4],
  ]);
});

test('a gap is told a second after its last piece, and one without an end after half a minute', async () => {
  const { clock, told, gaps } = heldGaps();
  gaps.add(leg, gap(0, 0.6));
  await clock.pass(900);
  gaps.add(leg, gap(0.6, 1.2));
  await clock.pass(900);
  expect(told).toEqual([]);
  await clock.pass(200);
  expect(told).toMatchObject([{ start: 0, end: 1.2, bytes: 9_600 }]);
  for (let second = 10; second < 50; second++) {
    gaps.add(leg, gap(second, second + 1));
    await clock.pass(950);
  }
  expect(told.length).toBe(2);
  expect(told[1]!.end).toBeGreaterThan(38);
});

test('short ones are a figure, which the next process goes on with, as with the gap that was open', () => {
  const first = heldGaps();
  first.gaps.add(leg, gap(1, 1.02));
  first.gaps.add(leg, gap(2, 2.499));
  first.gaps.add(leg, gap(3, 3.3));
  const left = JSON.parse(JSON.stringify(first.gaps.waitingOf('leg_1'))) as WaitingGaps;
  expect(left).toMatchObject({ short: { count: 2, seconds: 0.519 }, open: { start: 3, end: 3.3 } });
  first.gaps.close();
  first.gaps.flush();
  expect(first.told).toEqual([]);

  const { told, gaps } = heldGaps();
  gaps.restore(leg, left);
  gaps.add(leg, gap(3.3, 3.6));
  gaps.add(leg, gap(5, 5.02));
  gaps.flush(leg);
  expect(told).toMatchObject([{ start: 3, end: 3.6 }]);
  expect(gaps.shortOf('leg_1')).toMatchObject({ count: 3, seconds: 0.539 });
});
