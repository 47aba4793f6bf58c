import { describe, expect, test } from 'vitest';
import {
  check,
  violations,
  type ReceivedEvent,
  type History,
} from '../../support/crm/delivery-checker.ts';

/** Two calls of three events, all acknowledged, all arrived once and in order. */
function clean(): {
  issued: { callId: string; sequence: number; id: string; digest: string }[];
  arrivals: ReceivedEvent[];
  acknowledged: Set<string>;
} {
  const issued = ['a', 'b'].flatMap((callId) =>
    [1, 2, 3].map((sequence) => ({
      callId,
      sequence,
      id: `${callId}${sequence}`,
      digest: `d${callId}${sequence}`,
    })),
  );
  const arrivals = issued.map((event, index) => ({ ...event, atMs: index }));
  return { issued, arrivals, acknowledged: new Set(issued.map((event) => event.id)) };
}

type PlantedFault = [
  name: string,
  plant: (history: ReturnType<typeof clean>) => Partial<History>,
  found: string[],
];

const without = (arrivals: ReceivedEvent[], ...ids: string[]) =>
  arrivals.filter((arrival) => !ids.includes(arrival.id));
const one = (arrivals: ReceivedEvent[], id: string) =>
  arrivals.find((arrival) => arrival.id === id)!;

const planted: PlantedFault[] = [
  ['a clean run', () => ({}), []],
  ['an empty run', () => ({ issued: [], arrivals: [], acknowledged: new Set<string>() }), []],
  ['the last event of a call lost', (h) => ({ arrivals: without(h.arrivals, 'a3') }), ['lost']],
  ['the first event of a call lost', (h) => ({ arrivals: without(h.arrivals, 'a1') }), ['lost']],
  ['everything lost', () => ({ arrivals: [] }), ['lost']],
  ['missing but parked', (h) => ({ arrivals: without(h.arrivals, 'a3'), parked: new Set(['a3']) }), []],
  ['missing but erased', (h) => ({ arrivals: without(h.arrivals, 'a2', 'a3'), erased: new Set(['a2', 'a3']) }), []],
  ['missing and never acknowledged', (h) => ({ arrivals: without(h.arrivals, 'b3'), acknowledged: new Set(['a1', 'a2', 'a3', 'b1', 'b2']) }), []],
  ['one parked, another lost', (h) => ({ arrivals: without(h.arrivals, 'a2', 'a3'), parked: new Set(['a3']) }), ['lost']],
  ['an invented event', (h) => ({ arrivals: [...h.arrivals, { ...one(h.arrivals, 'b3'), id: 'x', sequence: 4 }] }), ['invented']],
  ['an event of a call nobody made', (h) => ({ arrivals: [...h.arrivals, { callId: 'z', sequence: 1, id: 'z1', digest: '', atMs: 9 }] }), ['invented']],
  ['two neighbours swapped', (h) => ({ arrivals: [h.arrivals[1]!, h.arrivals[0]!, ...h.arrivals.slice(2)] }), ['order']],
  ['the last first', (h) => ({ arrivals: [h.arrivals[2]!, h.arrivals[0]!, h.arrivals[1]!, ...h.arrivals.slice(3)] }), ['order']],
  ['calls interleaved', (h) => ({ arrivals: [0, 3, 1, 4, 2, 5].map((index) => h.arrivals[index]!) }), []],
  ['an event repeated at once', (h) => ({ arrivals: [h.arrivals[0]!, ...h.arrivals], crashes: 1 }), []],
  ['an old event repeated at the end', (h) => ({ arrivals: [...h.arrivals, one(h.arrivals, 'a1')], crashes: 1 }), []],
  ['a repetition without a crash', (h) => ({ arrivals: [...h.arrivals, one(h.arrivals, 'a1')], crashes: 0 }), ['repeated']],
  ['more repetitions than crashes', (h) => ({ arrivals: [...h.arrivals, one(h.arrivals, 'a1'), one(h.arrivals, 'a2')], crashes: 1 }), ['repeated']],
  ['a repetition in each of two calls for one crash', (h) => ({ arrivals: [...h.arrivals, one(h.arrivals, 'a3'), one(h.arrivals, 'b3')], crashes: 1 }), []],
  ['a repetition with other bytes', (h) => ({ arrivals: [...h.arrivals, { ...one(h.arrivals, 'a1'), digest: 'other' }], crashes: 1 }), ['altered']],
  ['first arrival with other bytes than issued', (h) => ({ arrivals: h.arrivals.map((arrival) => (arrival.id === 'a1' ? { ...arrival, digest: 'other' } : arrival)) }), ['altered']],
  ['the right id under another call', (h) => ({ arrivals: h.arrivals.map((arrival) => (arrival.id === 'a3' ? { ...arrival, callId: 'c' } : arrival)) }), ['altered']],
  ['the right id with another sequence', (h) => ({ arrivals: h.arrivals.map((arrival) => (arrival.id === 'a3' ? { ...arrival, sequence: 7 } : arrival)) }), ['altered']],
  ['one sequence number given twice', (h) => ({ issued: [...h.issued, { callId: 'a', sequence: 3, id: 'a3b', digest: 'd' }], arrivals: [...h.arrivals, { callId: 'a', sequence: 3, id: 'a3b', digest: 'd', atMs: 9 }] }), ['order', 'doubled']],
  ['arrived though its commit was not acknowledged', (h) => ({ acknowledged: new Set([...h.acknowledged].filter((id) => id !== 'b3')) }), []],
  ['audio that nothing explains', () => ({ ledgers: [{ leg: 'l', received: 100, acknowledged: 90, gaps: 5, paused: 0 }] }), ['gaps']],
  ['audio explained by a gap and a pause', () => ({ ledgers: [{ leg: 'l', received: 100, acknowledged: 90, gaps: 5, paused: 5 }] }), []],
  ['more audio acknowledged than received', () => ({ ledgers: [{ leg: 'l', received: 100, acknowledged: 110, gaps: 0, paused: 0 }] }), ['gaps']],
  ['an arrival beyond the schedule', () => ({ deadlineMs: 4 }), ['late']],
]; // prettier-ignore

describe('the checker itself', () => {
  test.each(planted)('%s', (_, plant, expected) => {
    const history = clean();
    const kinds = violations({ ...history, ...plant(history) }).map(
      (problem) => problem.split(':')[0],
    );
    expect(kinds).toEqual(expected);
  });

  test('counts what is allowed but worth knowing', () => {
    const history = clean();
    const found = check({
      ...history,
      arrivals: [...history.arrivals, one(history.arrivals, 'a1'), one(history.arrivals, 'a1')],
      acknowledged: new Set(['a1']),
    });
    expect(found).toMatchObject({ repeated: 2, worstRepeats: 2, recovered: 5 });
  });
});
