import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  firstState,
  step,
  waitOf,
  type SessionEffect,
  type SessionEvent,
  type SessionState,
} from '../../../../src/speech-service/live/live-state.ts';

function run(...events: SessionEvent[]): {
  state: SessionState;
  effects: string[];
  last: SessionEffect[];
} {
  let state = firstState;
  const effects: string[] = [];
  let last: SessionEffect[] = [];
  for (const event of events) {
    [state, last] = step(state, event);
    effects.push(...last.map((effect) => effect.do));
  }
  return { state, effects, last };
}

const connected: SessionEvent = { type: 'connected' };
const audio: SessionEvent = { type: 'audio', resent: false };
const stop: SessionEvent = { type: 'stop' };
const lost: SessionEvent = { type: 'disconnected', code: 1006 };
const finished: SessionEvent = { type: 'finished' };

describe('a live session', () => {
  test('from the POST to the end', () => {
    const { state, effects } = run(connected, audio, audio, stop, finished);
    expect(state).toEqual({ at: 'ended', outcome: 'done' });
    expect(effects).toEqual([
      'send-waiting',
      'start-recording',
      'take-audio',
      'take-audio',
      'ack-stop',
      'finish',
      'close',
    ]);
  });

  test('a close with 1000 by the client is a stop, any other may come back', () => {
    expect(run(connected, audio, { type: 'disconnected', code: 1000 }).last).toEqual([
      { do: 'finish' },
    ]);
    for (const code of [1001, 1005, 1006, 1011, 3008, 4000, 4500])
      expect(run(connected, audio, { type: 'disconnected', code }).state).toEqual({
        at: 'recording',
        socket: false,
      });
  });

  test('a second socket replaces the first with 4409 and goes on', () => {
    const { state, last } = run(connected, audio, connected);
    expect(state).toEqual({ at: 'recording', socket: true });
    expect(last.map((effect) => effect.do)).toEqual(['close-replaced', 'send-waiting']);
  });

  test('the stop is remembered over sockets: nobody waits for another one', () => {
    const { state, effects } = run(connected, audio, stop, lost, connected, finished);
    expect(state.at).toBe('ended');
    expect(effects.filter((effect) => effect === 'finish')).toHaveLength(1);
    expect(effects.at(-1)).toBe('close');
  });

  test('a stop is refused the second time on one socket and accepted as the first of another', () => {
    expect(run(connected, audio, stop, stop).last).toEqual([{ do: 'refuse-stop' }]);
    expect(run(connected, audio, stop, lost, connected, stop).last).toEqual([{ do: 'ack-stop' }]);
    expect(run(connected, audio, stop, lost, connected, stop, stop).last).toEqual([
      { do: 'refuse-stop' },
    ]);
  });

  test('audio after the stop is refused, but what a reconnected client held is taken', () => {
    expect(run(connected, audio, stop, audio).last).toEqual([{ do: 'refuse-audio' }]);
    const resent: SessionEvent = { type: 'audio', resent: true };
    expect(run(connected, audio, stop, resent).last).toEqual([{ do: 'refuse-audio' }]);
    expect(run(connected, audio, stop, lost, connected, resent).last).toEqual([
      { do: 'take-audio' },
    ]);
  });

  test('a client that comes back to an ended session gets the remaining messages and 4403', () => {
    expect(run(connected, audio, stop, finished, connected).last).toEqual([
      { do: 'send-waiting' },
      { do: 'close', code: 4403, reason: 'session ended' },
    ]);
  });

  test('the waits: never connected is error 408, idle is 4408, abandoned and too long are finished', () => {
    expect(run({ type: 'waited', for: 'never-connected' }).last).toMatchObject([
      { do: 'fail', errorCode: 408 },
    ]);
    expect(run(connected, { type: 'waited', for: 'idle' }).last).toMatchObject([
      { do: 'close', code: 4408 },
      { do: 'finish' },
    ]);
    expect(run(connected, audio, lost, { type: 'waited', for: 'abandoned' }).last).toEqual([
      { do: 'finish' },
    ]);
    expect(run(connected, audio, { type: 'waited', for: 'longest' }).state).toMatchObject({
      at: 'finishing',
      socket: true,
    });
  });

  test('a wait that fired too late changes nothing', () => {
    expect(run(connected, audio, { type: 'waited', for: 'abandoned' }).last).toEqual([]);
    expect(run(connected, audio, stop, { type: 'waited', for: 'idle' }).last).toEqual([]);
  });

  test('in any order of events: one finish, one end, no audio after the end, always something to wait for', () => {
    const events = fc.constantFrom<SessionEvent>(
      connected, audio, stop, lost, finished,
      { type: 'audio', resent: true },
      { type: 'disconnected', code: 1000 },
      { type: 'waited', for: 'idle' },
      { type: 'waited', for: 'abandoned' },
      { type: 'waited', for: 'never-connected' },
      { type: 'waited', for: 'longest' },
      { type: 'broken', closeCode: 4500, reason: 'x', errorCode: 500 },
    ); // prettier-ignore
    fc.assert(
      fc.property(fc.array(events, { maxLength: 40 }), (list) => {
        let state = firstState;
        let finishes = 0;
        let ended = false;
        for (const event of list) {
          // The ending is only finished once it has begun.
          if (event.type === 'finished' && state.at !== 'finishing' && state.at !== 'ended')
            continue;
          const [next, effects] = step(state, event);
          finishes += effects.filter((effect) => effect.do === 'finish').length;
          if (ended) expect(effects.map((effect) => effect.do)).not.toContain('take-audio');
          ended ||= next.at === 'ended';
          if (ended) expect(next.at).toBe('ended');
          state = next;
          if (state.at === 'queued' || state.at === 'recording')
            expect(waitOf(state)).toBeDefined();
        }
        expect(finishes).toBeLessThanOrEqual(1);
      }),
    );
  });
});
