import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Utterance } from '../../../../src/protocol/addons.ts';
import { SectionLanes } from '../../../../src/speech-service/jobs/section-lanes.ts';
import { readChannels, sampleRate } from '../../../../src/speech-service/jobs/reading.ts';
import { TestClock } from '../../../support/clock/test-clock.ts';
import {
  gibberishFrom,
  murmurRecogniser,
  type MurmurRecogniser,
} from '../../../support/recognition/murmurs.ts';
import { until } from '../../../support/process/until.ts';

let folder = '';
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'trunkline-reading-'));
});
afterAll(() => rm(folder, { recursive: true }));

type Sound = { level: number; seconds: number };

/** Words are levels, each one another; gaps of zeros and pauses of some level lie between them. */
function recording(sounds: readonly Sound[]): Int16Array {
  const lengths = sounds.map(({ seconds }) => Math.round(seconds * sampleRate));
  const samples = new Int16Array(lengths.reduce((sum, length) => sum + length, 0));
  let at = 0;
  for (const [index, { level }] of sounds.entries())
    samples.fill(level, at, (at += lengths[index]!));
  return samples;
}

/** Reproducible numbers from 0 to 1. */
function numbers(seed: number): () => number {
  let state = seed;
  return () => (state = (state * 16_807) % 2_147_483_647) / 2_147_483_647;
}

/** Speech of so many utterances; in some of the pauses somebody murmurs, too softly to be loud. */
function spoken(seed: number, utterances: number, murmured = 0): Int16Array {
  const next = numbers(seed);
  const sounds: Sound[] = [];
  let level = 5_000;
  for (let count = 0; count < utterances; count++) {
    for (let words = 1 + Math.floor(next() * 4); words > 0; words--)
      sounds.push(
        { level: ++level, seconds: 0.2 + next() / 2 },
        { level: 0, seconds: next() * 0.3 },
      );
    const murmurs = next() < murmured;
    sounds.push({ level: murmurs ? 5 : 0, seconds: murmurs ? 1.5 : 0.55 + next() });
  }
  return recording(sounds);
}

let files = 0;

async function reading(
  recogniser: MurmurRecogniser,
  channels: readonly Int16Array[],
  options: Partial<Parameters<typeof readChannels>[0]> = {},
): Promise<Utterance[]> {
  const written = channels.map(async (samples, channel) => {
    const path = join(folder, `${files++}.pcm`);
    await writeFile(path, new Uint8Array(samples.buffer));
    return { channel, path, samples: samples.length };
  });
  return readChannels({
    recogniser,
    clock: new TestClock(20),
    channels: await Promise.all(written),
    languages: ['en'],
    codeSwitching: false,
    vocabulary: undefined,
    lanes: new SectionLanes(recogniser.mostProcesses),
    sectionS: 6,
    signal: new AbortController().signal,
    onProgress: () => undefined,
    ...options,
  });
}

const inOneStream = (...channels: Int16Array[]): Promise<Utterance[]> =>
  reading(murmurRecogniser(1), channels);

/** Same words and times; a stream that begins elsewhere may round a millisecond otherwise. */
function expectAlike(heard: Utterance[], expected: Utterance[], withinS = 0.002): void {
  const shape = ({ text, channel, words }: Utterance) => [channel, text, words.map(({ word }) => word)]; // prettier-ignore
  expect(heard.map(shape)).toEqual(expected.map(shape));
  for (const [index, { start, end }] of expected.entries()) {
    expect(Math.abs(heard[index]!.start - start)).toBeLessThanOrEqual(withinS);
    expect(Math.abs(heard[index]!.end - end)).toBeLessThanOrEqual(withinS);
  }
}

describe('a file that is read in parts', () => {
  test.each([11, 12])('has every word of it once, at its time: recording %i', async (seed) => {
    const audio = spoken(seed, 40);
    const recogniser = murmurRecogniser(3);
    const heard = await reading(recogniser, [audio]);
    expectAlike(heard, await inOneStream(audio));
    expect(recogniser.mostAtOnce()).toBe(3);
    expect(recogniser.opened()).toBeGreaterThan(5);
    expect(recogniser.streams.size).toBe(0);
  });

  test('tells each stretch once in which nothing was understood, wherever the parts begin', async () => {
    const sentence = (level: number) => [
      { level, seconds: 0.6 },
      { level: 0, seconds: 0.8 },
    ];
    const levels = Array.from({ length: 30 }, (_, i) => (i % 5 === 4 ? gibberishFrom + i : 5_000 + i)); // prettier-ignore
    const audio = recording(levels.flatMap(sentence));
    const told: { channel: number; start: number; end: number }[][] = [];
    await reading(murmurRecogniser(3), [audio, audio.slice()], {
      onWordless: (stretches) => told.push([...stretches]),
    });
    expect(told).toHaveLength(1);
    const starts = [0, 1].map((channel) =>
      told[0]?.filter((one) => one.channel === channel).map(({ start }) => start),
    );
    const expected = [4, 9, 14, 19, 24, 29].map(
      (index) => expect.closeTo(index * 1.4, 1) as number,
    );
    expect(starts).toEqual([expected, expected]);
  });

  test.each([21, 22])(
    'is cut at no pause in which somebody murmurs: recording %i',
    async (seed) => {
      const audio = spoken(seed, 24, 0.6);
      const recogniser = murmurRecogniser(3);
      expectAlike(await reading(recogniser, [audio]), await inOneStream(audio));
      expect(recogniser.streams.size).toBe(0);
    },
  );

  test('stays one part where nobody pauses, or where somebody murmurs in every pause', async () => {
    const words = Array.from({ length: 40 }, (_, word) => [
      { level: 5_000 + word, seconds: 0.5 },
      { level: 0, seconds: 0.2 },
    ]);
    const unpaused = murmurRecogniser(2);
    expect(await reading(unpaused, [recording(words.flat())])).toHaveLength(1);
    expect(unpaused.opened()).toBe(1);
    const murmured = murmurRecogniser(2);
    expect(await reading(murmured, [spoken(31, 30, 1)])).toHaveLength(1);
    // After some wrong seams no other is tried.
    expect(murmured.opened()).toBeLessThan(8);
  });

  test('has both channels in order of time, and none where a channel is empty', async () => {
    const both = [spoken(41, 20), spoken(42, 20)];
    const recogniser = murmurRecogniser(2);
    const heard = await reading(recogniser, [...both, new Int16Array()]);
    expectAlike(heard, await inOneStream(...both));
    expect(recogniser.mostAtOnce()).toBe(2);
    const starts = heard.map(({ start }) => start);
    expect(starts).toEqual(starts.toSorted((a, b) => a - b));
  });

  test('goes on where a stream failed', async () => {
    const audio = spoken(51, 40);
    const recogniser = murmurRecogniser(2);
    const heard = reading(recogniser, [audio]);
    await until(() => recogniser.opened() > 3);
    recogniser.fail();
    // The new stream begins at the last decided sample, so its windows of 32 ms lie elsewhere.
    expectAlike(await heard, await inOneStream(audio), 0.033);
  });

  test('fails as a whole, and keeps no turn, when one part fails again and again', async () => {
    const recogniser = murmurRecogniser(2);
    const lanes = new SectionLanes(2);
    const failing = setInterval(() => recogniser.fail(), 1);
    const heard = reading(recogniser, [spoken(61, 30)], { lanes });
    await expect(heard).rejects.toThrow('the audio could not be recognised: on request');
    clearInterval(failing);
    expect(recogniser.streams.size).toBe(0);
    const next = spoken(62, 5);
    expectAlike(await reading(recogniser, [next], { lanes }), await inOneStream(next));
  });

  test('ends at once when its job is cancelled', async () => {
    const recogniser = murmurRecogniser(2);
    recogniser.held = true;
    const cancelled = new AbortController();
    const heard = reading(recogniser, [spoken(71, 30)], { signal: cancelled.signal });
    await until(() => recogniser.streams.size === 2);
    cancelled.abort(new Error('cancelled'));
    await expect(heard).rejects.toThrow('cancelled');
    expect(recogniser.streams.size).toBe(0);
  });

  test('is given up when the recogniser decides nothing for half an hour', async () => {
    const recogniser = murmurRecogniser(2);
    recogniser.held = true;
    const clock = new TestClock(0);
    const heard = reading(recogniser, [spoken(81, 30)], { clock });
    const outcome = expect(heard).rejects.toThrow('nothing was recognised for 30 minutes');
    await until(() => recogniser.streams.size === 2);
    await clock.pass(1_803_000);
    await outcome;
    expect(recogniser.streams.size).toBe(0);
  });

  test('tells how far it is without a hole: seconds grow to the end of the audio', async () => {
    const audio = spoken(91, 40);
    const told: number[] = [];
    await reading(murmurRecogniser(3), [audio], {
      clock: new TestClock(100),
      onProgress: (seconds) => told.push(seconds),
    });
    expect(told).toEqual(told.toSorted((a, b) => a - b));
    expect(told.at(-1)).toBeCloseTo(audio.length / sampleRate, 3);
  });

  test('is one part where its first words settle the language of the others', async () => {
    const recogniser = murmurRecogniser(2);
    const status = recogniser.status();
    recogniser.status = () => ({ ...status, languages: ['en', 'fr'] });
    const audio = [spoken(95, 20)];
    await reading(recogniser, audio, { languages: [] });
    expect(recogniser.opened()).toBe(1);
    await reading(recogniser, audio, { languages: [], codeSwitching: true });
    expect(recogniser.opened()).toBeGreaterThan(3);
  });
});

describe('the lanes of jobs', () => {
  const never = new AbortController().signal;
  const settled = async (turn: Promise<Disposable>): Promise<Disposable | undefined> =>
    Promise.race([turn, new Promise<undefined>((resolve) => setImmediate(resolve, undefined))]);

  test('a second job reads at once beside a long one, which then has no more than its share', async () => {
    const lanes = new SectionLanes(2);
    const [long, short] = [lanes.ofJob(), lanes.ofJob()];
    const first = await long.take(never);
    const second = await long.take(never);
    const third = long.take(never);
    expect(await settled(third)).toBeUndefined();
    const other = await settled(short.take(never));
    expect(other).toBeDefined();
    first[Symbol.dispose]();
    expect(await settled(third)).toBeUndefined();
    second[Symbol.dispose]();
    expect(await settled(third)).toBeDefined();
    const fourth = long.take(never);
    expect(await settled(fourth)).toBeUndefined();
    other?.[Symbol.dispose]();
    expect(await settled(fourth)).toBeDefined();
  });

  test('with two parts for each process a job has four turns, and another still its first', async () => {
    const lanes = new SectionLanes(2, 2);
    const [long, short] = [lanes.ofJob(), lanes.ofJob()];
    for (let part = 0; part < 4; part++) expect(await settled(long.take(never))).toBeDefined();
    expect(await settled(long.take(never))).toBeUndefined();
    expect(await settled(short.take(never))).toBeDefined();
  });

  test('a job that gives up waiting takes no turn, and a turn is given back once', async () => {
    const lanes = new SectionLanes(1);
    const [one, other] = [lanes.ofJob(), lanes.ofJob()];
    const gone = new AbortController();
    const held = await one.take(never);
    const waiting = one.take(gone.signal);
    gone.abort(new Error('cancelled'));
    await expect(waiting).rejects.toThrow('cancelled');
    const others = await other.take(never);
    held[Symbol.dispose]();
    held[Symbol.dispose]();
    const next = await settled(one.take(never));
    expect(next).toBeDefined();
    expect(await settled(one.take(never))).toBeUndefined();
    others[Symbol.dispose]();
    await expect(one.take(gone.signal)).rejects.toThrow('cancelled');
  });
});
