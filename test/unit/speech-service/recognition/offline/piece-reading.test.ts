import { expect, test } from 'vitest';
import { ReadingPrice } from '../../../../../src/speech-service/recognition/child/load.ts';
import type { OfflineResult } from '../../../../../src/speech-service/recognition/child/sherpa.ts';
import { AudioTrack } from '../../../../../src/speech-service/recognition/offline/audio-track.ts';
import {
  PieceReader,
  PieceReading,
} from '../../../../../src/speech-service/recognition/offline/piece-reading.ts';
import { PartialWords } from '../../../../../src/speech-service/recognition/offline/readings.ts';

const atEase = { needed: 0, latenessMs: 0, togetherMs: 0 };
const pressed = { needed: 0.9, latenessMs: 0, togetherMs: 0 };
const cut = { from: 8_000, to: 24_000, cutBefore: false, cutAfter: false };

function resultOf(text: string): OfflineResult {
  const tokens = text.split(' ').map((word) => ` ${word}`);
  return {
    text,
    lang: '',
    tokens,
    timestamps: tokens.map((_, index) => 0.2 + 0.3 * index),
    durations: [],
    ys_log_probs: tokens.map((_, index) => (index === 0 ? Math.log(0.5) : 0)),
  };
}

/** The reading of one piece by a model that gives times, and doubts its first reading or not. */
function readingOf(doubted: boolean) {
  const track = new AudioTrack();
  track.push(new Float32Array(32_000).fill(0.1));
  const lengths: number[][] = [];
  const model = {
    longestS: 8.8,
    estimatedTimes: false,
    price: new ReadingPrice(),
    read: (samples: Float32Array) => {
      lengths.push([samples.length]);
      return resultOf('good mourning');
    },
    doubts: () => doubted,
    readTogether: (first: OfflineResult, others: readonly Float32Array[]) => {
      expect(first.text).toBe('good mourning');
      lengths.push(others.map(({ length }) => length));
      return resultOf('good morning');
    },
  };
  const reading = new PieceReading(new PieceReader(model, track), cut);
  const words = new PartialWords();
  const readOn = (load: typeof atEase) => {
    while (!reading.started || reading.nextMs(load) !== undefined) reading.step(load, words, '');
    return reading.done(words);
  };
  return { reading, lengths, readOn };
}

const seconds = (...lengths: number[]) =>
  lengths.map((length) => Math.round(16_000 * (1 + length)));

test('a reading that the model doubts is made again with two more margins, once', () => {
  const { lengths, readOn } = readingOf(true);
  expect(readOn(atEase).text).toBe('good morning');
  expect(lengths).toEqual([seconds(0.2), seconds(0.35, 0.1)]);
});

test('a reading that is not doubted is the only one', () => {
  const { lengths, readOn } = readingOf(false);
  expect(readOn(atEase).text).toBe('good mourning');
  expect(lengths).toHaveLength(1);
});

test('under load a doubted reading has to do', () => {
  const { lengths, readOn } = readingOf(true);
  expect(readOn(pressed).text).toBe('good mourning');
  expect(lengths).toHaveLength(1);
});

test('words begin where their first tokens do, and are as sure as their least sure token', () => {
  const { words } = readingOf(false).readOn(atEase);
  expect(words.map(({ start }) => start)).toEqual([
    expect.closeTo(0.5 - 0.15 + 0.2), expect.closeTo(0.5 - 0.15 + 0.5),
  ]); // prettier-ignore
  expect(words.map(({ confidence }) => confidence)).toEqual([
    expect.closeTo(0.5), expect.closeTo(1),
  ]); // prettier-ignore
});
