import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { CarrierEvent } from '../../../../src/carriers/carrier.ts';
import { FrameOrder, type NumberedFrame } from '../../../../src/carriers/json/frame-order.ts';

function frame(number: number, track = 'inbound'): NumberedFrame {
  const payload = Buffer.alloc(4);
  payload.writeUInt32BE(number);
  return { number, track, timestampMs: number * 20, durationMs: 20, payload };
}

function run(numbers: readonly number[], first = 1): { out: number[]; events: CarrierEvent[] } {
  const order = new FrameOrder({ tracks: 1, first, firstIsSure: true });
  const events = [...numbers.flatMap((number) => order.push(frame(number))), ...order.flush()];
  const out = events.flatMap((event) =>
    event.type === 'audio' ? [event.payload.readUInt32BE()] : [],
  );
  return { out, events };
}

const lostMs = (events: CarrierEvent[]): number =>
  events.reduce((sum, event) => sum + (event.type === 'lost' ? event.durationMs : 0), 0);

test.each([
  ['200 ppm fast', 1.0002, 0],
  ['200 ppm slow', 0.9998, 0],
  ['set to another time every ten minutes', 1, 4_000_000],
])(
  'an hour by a carrier’s clock that is %s: only what the numbers miss is missing',
  (_what, rate, jumpMs) => {
    const order = new FrameOrder({ tracks: 2, first: 1, firstIsSure: true });
    const lost = new Map([['inbound', 0], ['outbound', 0]]); // prettier-ignore
    let came = 0;
    const frames = 3_600 * 50;
    for (let at = 0; at < frames; at++)
      for (const [second, track] of ['inbound', 'outbound'].entries()) {
        // One frame of the first track is lost every minute.
        if (second === 0 && at % 3_000 === 1_500) continue;
        const jumps = Math.floor(at / 30_000);
        const timestampMs = Math.round(at * 20 * rate) + (jumps % 2) * jumpMs;
        const payload = Buffer.alloc(4);
        for (const event of order.push({ number: 2 * at + second + 1, track, timestampMs, durationMs: 20, payload })) {
          if (event.type === 'audio') came++;
          if (event.type === 'lost') lost.set(event.track, lost.get(event.track)! + event.durationMs);
        } // prettier-ignore
      }
    for (const event of order.flush()) if (event.type === 'audio') came++;
    expect(came).toBe(2 * frames - 60);
    expect(Object.fromEntries(lost)).toEqual({ inbound: 60 * 20, outbound: 0 });
  },
);

describe('the order of numbered frames', () => {
  test('any shuffle inside the window comes out in order and whole', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 0, max: 8 }), { minLength: 1, maxLength: 200 }),
        (delays) => {
          // Each frame is late by some places, never by as many as the window holds.
          const sent = delays
            .map((delay, at) => ({ number: at + 1, due: at + delay }))
            .sort((a, b) => a.due - b.due || a.number - b.number);
          const { out, events } = run(sent.map(({ number }) => number));
          expect(out).toEqual(delays.map((_, at) => at + 1));
          expect(lostMs(events)).toBe(0);
        },
      ),
      { numRuns: 300 },
    );
  });

  test('repeats are dropped, losses declared, nothing invented: a model over drops, repeats and shuffles', () => {
    fc.assert(
      fc.property(
        fc.array(
          fc.record({
            copies: fc.constantFrom(0, 1, 1, 1, 1, 1, 2),
            delay: fc.integer({ min: 0, max: 6 }),
          }),
          { minLength: 20, maxLength: 200 },
        ),
        (plan) => {
          const sent = plan
            .flatMap(({ copies, delay }, at) =>
              Array.from({ length: copies }, (_, copy) => ({
                number: at + 1,
                due: at + delay + copy,
              })),
            )
            .sort((a, b) => a.due - b.due || a.number - b.number)
            .map(({ number }) => number);
          const { out, events } = run(sent);
          const present = [...new Set(sent)].sort((a, b) => a - b);
          expect(out).toEqual(present);
          const last = present.at(-1) ?? 0;
          expect(lostMs(events)).toBe((last - present.length) * 20);
          const duplicates = events.filter(
            (event) => event.type === 'count' && event.what === 'duplicate',
          ).length;
          expect(duplicates).toBe(sent.length - present.length);
        },
      ),
      { numRuns: 300 },
    );
  });

  test('100,000 frames with a neighbour swapped now and then keep every byte', () => {
    const numbers = Array.from({ length: 100_000 }, (_, at) => at + 1);
    for (let at = 0; at + 1 < numbers.length; at += 7)
      [numbers[at], numbers[at + 1]] = [numbers[at + 1]!, numbers[at]!];
    const { out } = run(numbers);
    expect(out.length).toBe(100_000);
    expect(out.every((number, at) => number === at + 1)).toBe(true);
  });

  test('a hole holds the next frames back for 200 ms and not longer', () => {
    const order = new FrameOrder({ tracks: 1, first: 1, firstIsSure: true });
    order.push(frame(1));
    for (let number = 3; number <= 11; number++) expect(order.push(frame(number))).toEqual([]);
    const events = order.push(frame(12));
    expect(events[0]).toEqual({
      type: 'lost',
      track: 'inbound',
      durationMs: 20,
      cause: 'numbering',
    });
    expect(events.filter(({ type }) => type === 'audio').length).toBe(10);
  });

  test('a frame whose loss was declared comes too late and is counted, not played twice', () => {
    const order = new FrameOrder({ tracks: 1, first: 1, firstIsSure: true });
    for (const number of [1, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12]) order.push(frame(number));
    expect(order.push(frame(2))).toEqual([{ type: 'count', what: 'late', track: 'inbound' }]);
  });

  test('a numbering that begins elsewhere or repeats itself loses no audio', () => {
    const order = new FrameOrder({ tracks: 1, first: 1, firstIsSure: false });
    const events = [
      ...Array.from({ length: 30 }, (_, at) => frame(at + 500)).flatMap((one) => order.push(one)),
      ...order.flush(),
    ];
    expect(events.filter(({ type }) => type === 'audio').length).toBe(30);
    expect(lostMs(events)).toBe(0);
    // The same number with another time is another frame: a carrier that numbers differently than documented.
    const odd = { ...frame(529), timestampMs: 99_999 };
    expect(order.push(odd).map(({ type }) => type)).toEqual(['count', 'audio']);
  });

  test('a jump of more than a minute is a new numbering, not an hour of silence', () => {
    const { out, events } = run([1, 2, 1_000_000, 1_000_001]);
    expect(out).toEqual([1, 2, 1_000_000, 1_000_001]);
    expect(lostMs(events)).toBe(0);
    expect(events).toContainEqual({ type: 'count', what: 'malformed', track: 'inbound' });
  });
});

describe('a numbering beside a media clock', () => {
  const at = (number: number, timestampMs: number): NumberedFrame => ({
    ...frame(number),
    timestampMs,
  });
  const followed = (frames: readonly NumberedFrame[], tracks = 1): CarrierEvent[] => {
    const order = new FrameOrder({ tracks, first: 1, firstIsSure: true, hasMediaClock: true });
    return [...frames.flatMap((one) => order.push(one)), ...order.flush()].filter(
      ({ type }) => type !== 'audio',
    );
  };

  test('a time without frames and without a missing number is quiet of that length', () => {
    expect(followed([at(1, 0), at(2, 20), at(3, 1_240), at(4, 1_260)])).toEqual([
      { type: 'quiet', track: 'inbound', durationMs: 1_200 },
    ]);
  });

  test('jitter of the timestamps is no quiet', () => {
    expect(followed([at(1, 0), at(2, 62), at(3, 75), at(4, 90), at(5, 180)])).toEqual([]);
  });

  test('numbers that jump while the clock goes on by a frame have lost nothing, fifty times', () => {
    const jumps = Array.from({ length: 50 }, (_, jump) =>
      Array.from({ length: 10 }, (_, step) => at(jump * 2_900 + step + 1, (jump * 10 + step) * 20)),
    ).flat();
    expect(followed(jumps)).toEqual([]);
  });

  test('numbers that jump with the clock have lost what the clock says', () => {
    const rest = Array.from({ length: 10 }, (_, step) => at(51 + step, 1_000 + step * 20));
    expect(followed([at(1, 0), ...rest])).toEqual([
      { type: 'lost', track: 'inbound', durationMs: 980, cause: 'numbering' },
    ]);
  });

  test('a clock that goes back tells nothing: the numbers count', () => {
    const rest = Array.from({ length: 10 }, (_, step) => at(6 + step, 5_000 + step * 20));
    expect(followed([at(1, 100_000), ...rest])).toEqual([
      { type: 'lost', track: 'inbound', durationMs: 80, cause: 'numbering' },
    ]);
  });
});
