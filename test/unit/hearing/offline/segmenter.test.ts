import { expect, test } from 'vitest';
import { Audible } from '../../../../src/hearing/offline/voice-activity.ts';
import { Segmenter, type SegmenterEvent } from '../../../../src/hearing/offline/segmenter.ts';

const window = 512;
const rate = 16000;

/** Plays a line of # (voiced) and . (quiet) windows of 32 ms. */
function play(line: string, options: Partial<ConstructorParameters<typeof Segmenter>[0]> = {}) {
  const segmenter = new Segmenter({
    pauseS: 0.3,
    maximumDurationS: 30,
    longestPieceS: 8.8,
    goesOn: false,
    quietest: (_from, to) => to - rate / 2,
    ...options,
  });
  const events: SegmenterEvent[] = [];
  for (const [index, sign] of Array.from(line).entries())
    events.push(...segmenter.window(sign === '#', (index + 1) * window));
  events.push(...segmenter.finish());
  return events;
}

test('an utterance begins with its first voiced window and ends a pause after its last', () => {
  const events = play(`.....${'#'.repeat(10)}${'.'.repeat(20)}`);
  expect(events.map(({ type }) => type)).toEqual(['start', 'end']);
  // The detector answers one window late, so speech began in the window before.
  expect(events[0]).toMatchObject({ from: 4 * window });
  expect(events[1]).toMatchObject({ to: 15 * window, cutBefore: false, cutAfter: false });
});

test('a click is no speech', () => {
  expect(play('....##............')).toEqual([]);
});

test('a stop inside a word does not end the utterance', () => {
  const events = play(`${'#'.repeat(10)}....${'#'.repeat(10)}${'.'.repeat(20)}`);
  expect(events.filter(({ type }) => type === 'end')).toHaveLength(1);
});

test('speech without a pause is cut at the longest duration, and what follows is an utterance of its own', () => {
  const events = play('#'.repeat(200), { maximumDurationS: 3 });
  const ends = events.filter((event) => event.type === 'end');
  expect(ends.length).toBeGreaterThanOrEqual(2);
  for (const [index, end] of ends.entries()) {
    expect(end.to - end.from).toBeLessThanOrEqual(3 * rate);
    if (index > 0) expect(end).toMatchObject({ from: ends[index - 1]!.to, cutBefore: true });
  }
  expect(ends[0]!.cutAfter).toBe(true);
});

test('a long utterance is read in pieces that touch and that the model can read', () => {
  const events = play('#'.repeat(700));
  const pieces = events.filter((event) => event.type !== 'start');
  expect(pieces.map(({ type }) => type)).toEqual(['piece', 'piece', 'end']);
  let at = 0;
  for (const piece of pieces) {
    expect(piece.from).toBe(at);
    expect(piece.to - piece.from).toBeLessThanOrEqual(8.8 * rate);
    at = piece.to;
  }
});

test('the end of the audio ends the utterance', () => {
  expect(play('#'.repeat(20)).map(({ type }) => type)).toEqual(['start', 'end']);
});

test('sound that the detector still calls a voice is none if it is far below the voice before', () => {
  const audible = new Audible();
  const at = (decibels: number, voiced = true) =>
    audible.window(voiced, new Float32Array(window).fill(0.5 * 10 ** (decibels / 20)));
  expect([at(0), at(-30), at(-50), at(0, false)]).toEqual([true, true, false, false]);
  // Somebody who speaks softly is heard when the loud one has been quiet for a moment.
  for (let i = 0; i < 90; i++) at(-80, false);
  expect(at(-50)).toBe(true);
});
