import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  step,
  takesStreams,
  type CallInput,
  type CallState,
  type Deadline,
  type Effect,
} from '../../../../src/bridge/call/call-state.ts';

const legs = new Set(['a', 'b']);
const at = 1_000;
const hungUp = { hungUpAt: at, deadline: null };
const live = (...streams: string[]): CallState => ({ at: 'live', streams: new Set(streams) });

describe('the life of a call', () => {
  test('a stop finishes every leg at once', () => {
    const [state, effects] = step(live('s'), {
      type: 'stream-ended',
      stream: 's',
      how: 'stop',
      at,
      legs,
    });
    expect(state).toEqual({ at: 'finishing', reason: 'stop', ...hungUp, legs });
    expect(effects).toEqual(['finish-legs']);
  });

  test('while another stream goes on, so does the call', () => {
    const [state, effects] = step(live('s', 't'), {
      type: 'stream-ended',
      stream: 's',
      how: 'stop',
      at,
      legs,
    });
    expect(state).toEqual(live('t'));
    expect(effects).toEqual([]);
  });

  test.each(['close', 'error'] as const)(
    'a %s waits for the stream, and the stream stops the wait',
    (how) => {
      const [waiting, effects] = step(live('s'), {
        type: 'stream-ended',
        stream: 's',
        how,
        at,
        legs,
      });
      expect([waiting, effects]).toEqual([
        { at: 'waiting', reason: how, hungUpAt: at },
        ['await-stream'],
      ]);
      expect(step(waiting, { type: 'stream-opened', stream: 't' })).toEqual([
        live('t'),
        ['stop-waiting'],
      ]);
      expect(step(waiting, { type: 'wait-over', legs })[0]).toMatchObject({
        at: 'finishing',
        reason: how,
        ...hungUp,
      });
    },
  );

  test('draining neither ends the call nor starts a wait: the next process does', () => {
    expect(step(live('s'), { type: 'stream-ended', stream: 's', how: 'drain', at, legs })).toEqual([
      { at: 'waiting', reason: 'drain', hungUpAt: at },
      [],
    ]);
  });

  test('the end comes after the last leg, the summary after the end', () => {
    const first: CallState = { at: 'finishing', reason: 'stop', ...hungUp, legs };
    const [second, none] = step(first, { type: 'leg-done', leg: 'a' });
    expect(none).toEqual([]);
    const [ending, effects] = step(second, { type: 'leg-done', leg: 'b' });
    expect(effects).toEqual(['end']);
    expect(step(ending, { type: 'committed' })).toEqual([{ at: 'ended' }, ['summarise']]);
  });

  test('the end names the wait that ran out: audio that never went out before words that came too late', () => {
    const finishing: CallState = { at: 'finishing', reason: 'stop', ...hungUp, legs };
    const late = (state: CallState, deadline: Deadline): CallState =>
      step(state, { type: 'deadline-passed', deadline })[0];
    expect(late(finishing, 'finals')).toMatchObject({ deadline: 'finals' });
    expect(late(late(finishing, 'finals'), 'finishWithin')).toMatchObject({
      deadline: 'finishWithin',
    });
    expect(late(late(finishing, 'finishWithin'), 'finals')).toMatchObject({
      deadline: 'finishWithin',
    });
    const [ending] = step(late(finishing, 'finals'), { type: 'leg-done', leg: 'a' });
    expect(step(ending, { type: 'leg-done', leg: 'b' })[0]).toEqual({
      at: 'ending',
      reason: 'stop',
      hungUpAt: at,
      deadline: 'finals',
    });
  });

  test('a call without legs ends at once', () => {
    const [state, effects] = step(live('s'), {
      type: 'stream-ended',
      stream: 's',
      how: 'stop',
      at,
      legs: new Set(),
    });
    expect([state.at, effects]).toEqual(['ending', ['end']]);
  });

  test('a late stream cannot join a call that is over', () => {
    const finishing: CallState = { at: 'finishing', reason: 'stop', ...hungUp, legs };
    expect(takesStreams(finishing)).toBe(false);
    expect(step(finishing, { type: 'stream-opened', stream: 't' })).toEqual([finishing, []]);
  });

  const input: fc.Arbitrary<CallInput> = fc.oneof(
    fc.record({ type: fc.constant('stream-opened' as const), stream: fc.constantFrom('s', 't') }),
    fc.record({
      type: fc.constant('stream-ended' as const),
      stream: fc.constantFrom('s', 't'),
      how: fc.constantFrom('stop', 'close', 'error', 'idle', 'drain', 'refused'),
      at: fc.constant(at),
      legs: fc.constant(legs),
    }),
    fc.constantFrom(
      { type: 'deadline-passed' as const, deadline: 'finals' as const },
      { type: 'deadline-passed' as const, deadline: 'finishWithin' as const },
    ),
    fc.record({ type: fc.constant('wait-over' as const), legs: fc.constant(legs) }),
    fc.record({ type: fc.constant('leg-done' as const), leg: fc.constantFrom('a', 'b') }),
    fc.constant({ type: 'committed' as const }),
    fc.constant({ type: 'leave' as const }),
  );

  test('whatever happens in whatever order, a call ends at most once and never comes back', () => {
    fc.assert(
      fc.property(fc.array(input, { maxLength: 60 }), (inputs) => {
        let state: CallState = live();
        const seen: Effect[] = [];
        let wasOver = false;
        for (const one of inputs) {
          const [next, effects] = step(state, one);
          if (wasOver) expect(takesStreams(next)).toBe(false);
          state = next;
          wasOver ||= !takesStreams(state);
          seen.push(...effects);
        }
        for (const effect of ['end', 'summarise', 'finish-legs', 'abandon-legs'] as const)
          expect(seen.filter((one) => one === effect).length).toBeLessThanOrEqual(1);
        if (seen.includes('summarise'))
          expect(seen.indexOf('end')).toBeLessThan(seen.indexOf('summarise'));
      }),
      { numRuns: 500 },
    );
  });
});
