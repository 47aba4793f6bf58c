import { expect, test } from 'vitest';
import type { LoadLevel } from '../../../../src/hearing/engine/engine.ts';
import { ReadingPrice } from '../../../../src/hearing/engine/load.ts';
import type { OfflineResult } from '../../../../src/hearing/engine/sherpa.ts';
import type {
  PieceModel,
  PieceResult,
  ReadingWishes,
} from '../../../../src/hearing/offline/offline-model.ts';
import { AudioTrack } from '../../../../src/hearing/offline/audio-track.ts';
import { PieceReader } from '../../../../src/hearing/offline/piece-reader.ts';
import { PieceReading } from '../../../../src/hearing/offline/piece-reading.ts';
import { VoicedStretches } from '../../../../src/hearing/offline/wordless.ts';
import { PartialWords } from '../../../../src/hearing/offline/readings.ts';

const atEase: LoadLevel = { needed: 0, latenessMs: 0, togetherMs: 0 };
const pressed: LoadLevel = { needed: 0.9, latenessMs: 0, togetherMs: 0 };
const cut = { from: 8_000, to: 24_000, cutBefore: false, cutAfter: false, heardTo: 24_000 };

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

type Given = { given?: readonly number[] | undefined };

/** The part of a model that no test here looks at: short pieces, times of its own, every reading free. */
const quickModel = () => ({
  longestS: 8.8,
  estimatedTimes: false,
  goesOn: false,
  price: new ReadingPrice(),
});

/** The reading of one piece by a model that gives times, and doubts its first reading or not. */
function readingOf(doubted: boolean) {
  const track = new AudioTrack();
  track.push(new Float32Array(32_000).fill(0.1));
  const lengths: number[][] = [];
  const wishes: (ReadingWishes | undefined)[] = [];
  const model = {
    ...quickModel(),
    read: (samples: Float32Array, _language: string, about?: ReadingWishes) => {
      lengths.push([samples.length]);
      wishes.push(about);
      return resultOf('good mourning');
    },
    doubts: () => doubted,
    readTogether: (first: OfflineResult, variants: readonly Float32Array[]) => {
      expect(first.text).toBe('good mourning');
      lengths.push(variants.map(({ length }) => length));
      return resultOf('good morning');
    },
  };
  const reading = new PieceReading(new PieceReader(model, track), cut);
  const words = new PartialWords();
  const readOn = (load: LoadLevel) => {
    while (!reading.started || reading.nextMs(load) !== undefined) reading.step(load, words, '');
    return reading.done(words).piece;
  };
  return { reading, lengths, wishes, readOn };
}

const seconds = (...lengths: number[]) =>
  lengths.map((length) => Math.round(16_000 * (1 + length)));

test('a reading that the model doubts is made again with two more margins, once', () => {
  const { lengths, readOn } = readingOf(true);
  expect(readOn(atEase).text).toBe('good morning');
  expect(lengths).toEqual([seconds(0.25), seconds(0.25, 0.1, 0.35)]);
});

test('under some load a doubted reading is made again with one more margin', () => {
  const { reading, lengths, readOn } = readingOf(true);
  const busy: LoadLevel = { needed: 0.3, latenessMs: 0, togetherMs: 0 };
  expect(readOn(busy).text).toBe('good morning');
  expect(lengths).toEqual([seconds(0.25), seconds(0.25, 0.1)]);
  expect(reading.nextMs(atEase)).toBeUndefined();
});

test('one text is enough where it is sure, but not for those who have time', () => {
  const { wishes, readOn } = readingOf(false);
  readOn(atEase);
  expect(wishes).toMatchObject([{ sparing: true, hurried: false }]);
  const patient = readingOf(false);
  patient.readOn({ ...atEase, isPatient: true });
  expect(patient.wishes).toMatchObject([{ sparing: false, hurried: false }]);
  const underLoad = readingOf(false);
  underLoad.readOn(pressed);
  expect(underLoad.wishes).toMatchObject([{ hurried: true }]);
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
    expect.closeTo(0.5 - 0.2 + 0.2), expect.closeTo(0.5 - 0.2 + 0.5),
  ]); // prettier-ignore
  expect(words.map(({ confidence }) => confidence)).toEqual([
    expect.closeTo(0.5), expect.closeTo(1),
  ]); // prettier-ignore
});

/** A model that passes over what is said after its first word, and hears it or not when it is read alone. */
function passedOver(
  found: string,
  { first = 'thanks goodbye', beginsS = [0.2, 3.2], cutAfter = false, voicedS = 4 } = {},
) {
  const track = new AudioTrack();
  track.push(new Float32Array(64_000).fill(0.1));
  const voiced = new VoicedStretches();
  voiced.add(0, 16_000 * voicedS);
  const given: number[][] = [];
  const model = {
    ...quickModel(),
    goesOn: true,
    read: (_: Float32Array, _language: string, { given: known = [] }: Given = {}) => {
      given.push([...known]);
      const result = resultOf(given.length === 1 ? first : found);
      const timestamps = given.length === 1 ? beginsS : result.timestamps;
      return { ...result, timestamps, ids: result.tokens.map((_, index) => [index + 7]) };
    },
  };
  const whole = { from: 0, to: 60_000, cutBefore: false, cutAfter, heardTo: 60_000 };
  const reading = new PieceReading(new PieceReader(model, track, voiced), whole);
  const words = new PartialWords();
  while (!reading.started || reading.nextMs(atEase) !== undefined) reading.step(atEase, words, '');
  return { given, ...reading.done(words) };
}

test('speech that a reading passed over is read again, and what is found stands in its place', () => {
  const { piece, wordless, given } = passedOver('see you on friday then my dear old friend');
  expect(piece.text).toBe('thanks see you on friday then my dear old friend goodbye');
  expect(wordless).toEqual([]);
  expect(given[1]).toEqual([7]); // the word before it is given as known
});

test('speech for which no reading finds words is told as wordless, after two attempts', () => {
  const { piece, wordless, given } = passedOver('');
  expect(piece.text).toBe('thanks goodbye');
  expect(given).toHaveLength(3);
  expect(wordless).toMatchObject([{ after: 1 }]);
});

test('speech behind the last word before a cut is left to the next piece, if it is a little', () => {
  const left = passedOver('', { beginsS: [0.2, 1.2], cutAfter: true });
  expect(left).toMatchObject({ wordless: [], given: [[]], piece: { text: 'thanks goodbye' } });
  // "goodbye" is over when it can be, and not where the audio ends.
  const overS = left.seam!.at / 16_000;
  expect(overS).toBeLessThan(2);
  expect(left.piece.words[1]!.end).toBeCloseTo(overS);
  const much = passedOver('', { first: 'thanks', beginsS: [0.2], cutAfter: true });
  expect(much.wordless).toMatchObject([{ after: 1 }]);
  expect(much.seam).toMatchObject({ at: 60_000 });
});

test('a word that is found again where the next one begins is the same', () => {
  const { piece } = passedOver('all goodbye', { beginsS: [0.2, 1.5], voicedS: 2 });
  expect(piece.text).toBe('thanks all goodbye');
});

const known = (start: number, sign: number) => ({
  word: 'so',
  start,
  end: start + 0.1,
  confidence: 1,
  ids: [sign],
});

test('a piece that contradicts the words before its seam is read without them', () => {
  const track = new AudioTrack();
  track.push(new Float32Array(64_000).fill(0.1));
  const given: number[][] = [];
  const model = {
    ...quickModel(),
    goesOn: true,
    read: (_: Float32Array, _language: string, { given: known = [] }: Given = {}) => {
      given.push([...known]);
      return { ...resultOf('good morning'), contradicted: known.length > 0 };
    },
  };
  const reader = new PieceReader(model, track);
  reader.seam = { at: 20_000, known: [known(0.625, 4), known(0.9, 5)] };
  const reading = new PieceReading(reader, { ...cut, from: 19_000, cutBefore: true });
  reading.step(atEase, new PartialWords(), '');
  expect(given).toEqual([[4, 5], []]);
  expect(reading.done(new PartialWords()).piece.words[0]?.start).toBeGreaterThanOrEqual(1.25);
});

type TwoPieces = {
  pauseS?: number;
  load?: LoadLevel;
  contradicts?: boolean;
  kind?: Pick<PieceModel, 'goesOn' | 'takesEarlier' | 'partialEveryS'>;
  judge?: ReadingWishes['judge'];
};

/** Two pieces of a model that goes on after known words, with a pause between them. */
function twoPieces({
  pauseS = 0.5,
  load = atEase,
  contradicts = false,
  kind = { goesOn: true },
  judge,
}: TwoPieces = {}) {
  const track = new AudioTrack();
  track.push(new Float32Array(96_000).fill(0.1));
  const asked: { given: number[]; samples: number }[] = [];
  const model = {
    ...quickModel(),
    ...kind,
    read: (samples: Float32Array, _language: string, { given = [] }: Given = {}) => {
      asked.push({ given: [...given], samples: samples.length });
      const result = resultOf(asked.length === 1 ? 'thank you' : 'goodbye');
      const timestamps = given.length > 0 ? [2] : result.timestamps;
      const ids = result.tokens.map((_, index) => [index + 7]);
      return { ...result, timestamps, ids, contradicted: contradicts && given.length > 0 };
    },
  };
  const reader = new PieceReader(model, track, undefined, { languages: [], judge });
  const from = 24_000 + pauseS * 16_000;
  const pieces = [cut, { ...cut, from, to: from + 16_000, heardTo: from + 16_000 }];
  const read = pieces.map((piece) => {
    const reading = new PieceReading(reader, piece);
    reading.step(load, new PartialWords(), '');
    const done = reading.done(new PartialWords());
    reader.earlier = done.earlier;
    return done.piece;
  });
  return { asked, read, from: from / 16_000 };
}

test('speech after a short pause is read with the words before it, and tells only its own', () => {
  const { asked, read, from } = twoPieces();
  expect(asked[1]?.given).toEqual([7, 8]);
  // From the first known word, half a second in, over the pause to the end.
  expect(asked[1]?.samples).toBeGreaterThan(asked[0]!.samples + 16_000);
  expect(read.map(({ text }) => text)).toEqual(['thank you', 'goodbye']);
  expect(read[1]?.words[0]?.start).toBeGreaterThanOrEqual(from - 0.1);
});

test.each([
  ['after a long pause', { pauseS: 1.2 }],
  ['under load', { load: pressed }],
])('%s a piece is read alone', (_, about) => {
  const { asked } = twoPieces(about);
  expect(asked.map(({ given }) => given)).toEqual([[], []]);
  expect(asked[1]?.samples).toBe(asked[0]?.samples);
});

test('a model that reads pieces by themselves may take the words before a pause, unless it chooses the language by sound', () => {
  const kind = { goesOn: false, takesEarlier: true, partialEveryS: 2 };
  const { asked, read } = twoPieces({ kind });
  expect(asked[1]?.given).toEqual([7, 8]);
  expect(read.map(({ text }) => text)).toEqual(['thank you', 'goodbye']);
  const givenIn = (about: TwoPieces) =>
    twoPieces({ kind, ...about }).asked.map(({ given }) => given);
  expect(givenIn({ judge: () => 'es' })).toEqual([[], []]);
  expect(givenIn({ load: { ...atEase, needed: 0.2 } })).toEqual([[], [7, 8]]);
  expect(givenIn({ load: { ...atEase, needed: 0.3 } })).toEqual([[], []]);
});

test('a piece that contradicts the words before the pause is read alone', () => {
  const { asked, read, from } = twoPieces({ contradicts: true });
  expect(asked.map(({ given }) => given)).toEqual([[], [7, 8], []]);
  expect(asked[2]?.samples).toBe(asked[0]?.samples);
  expect(read[1]?.words[0]?.start).toBeCloseTo(from - 0.2 + 0.2);
});

/** A piece of 3 s behind a seam with four seconds of known words, by a model that writes on while it knows some. */
function strayingPiece(
  stray: Partial<PieceResult>,
  about: { from?: number; to?: number; load?: LoadLevel; straysAfter?: number } = {},
) {
  const track = new AudioTrack();
  track.push(new Float32Array(160_000).fill(0.1));
  const asked: number[][] = [];
  const model = {
    ...quickModel(),
    goesOn: true,
    read: (_: Float32Array, _language: string, { given = [] }: Given = {}) => {
      asked.push([...given]);
      const calm = { ...resultOf('good morning'), ids: [[7], [8]] };
      return given.length > (about.straysAfter ?? Infinity) ? { ...calm, ...stray } : calm;
    },
  };
  const reader = new PieceReader(model, track);
  reader.seam = { at: 80_000, known: [known(1, 1), known(2, 2), known(3, 3), known(4.2, 4)] };
  const from = about.from ?? 80_000;
  const to = about.to ?? 128_000;
  const piece = { from, to, cutBefore: true, cutAfter: to < 128_000, heardTo: 128_000 };
  const reading = new PieceReading(reader, piece);
  reading.step(about.load ?? atEase, new PartialWords(), '');
  const { piece: read, seam } = reading.done(new PartialWords());
  return { asked, text: read.text, seam };
}

test('behind a cut a piece is read with more of the words before where it is short and there is time', () => {
  expect(strayingPiece({}).asked).toEqual([[2, 3, 4]]);
  expect(strayingPiece({}, { load: pressed }).asked).toEqual([[3, 4]]);
  // Nothing more of a long piece is read at once.
  expect(strayingPiece({}, { from: 0 }).asked).toEqual([[3, 4]]);
});

const again = Array.from({ length: 18 }, (_, index) => [index % 6]);
test.each<[string, Partial<PieceResult>]>([
  [
    'writes words at one moment',
    { tokens: [' and', ' it', ' is', ' flat'], timestamps: [1, 1, 1.02, 1.02] },
  ],
  ['does not end', { unended: true }],
  [
    'says the same three times',
    { tokens: again.map(() => 's'), ids: again, timestamps: again.map((_, at) => at / 9) },
  ],
])('a model that %s is told fewer of the words before, and then none', (_, stray) => {
  const one = strayingPiece(stray, { straysAfter: 2 });
  expect(one).toMatchObject({
    asked: [
      [2, 3, 4],
      [3, 4],
    ],
    text: 'good morning',
  });
  const none = strayingPiece(stray, { straysAfter: 0 });
  expect(none).toMatchObject({ asked: [[2, 3, 4], [3, 4], []], text: 'good morning' });
});

test('words at one moment are none, whatever the model is told; those before them stay', () => {
  const tokens = [' good', ' and', ' it', ' is', ' flat', ' to'];
  const ids = tokens.map((_, index) => [index]);
  const stray = { tokens, ids, timestamps: [0.2, 1, 1, 1, 1.02, 1.5] };
  const { asked, text } = strayingPiece({ ...stray, text: '' }, { straysAfter: -1 });
  expect(asked).toEqual([[2, 3, 4], [3, 4], []]);
  expect(text).toBe('good');
});

test('digits that are left to a short piece are no loop: they were said before it, too', () => {
  const tokens = [' two', ' two', ' two', ' two', ' two', ' six'];
  const ids = tokens.map((_, index) => [index]);
  const text = 'two two two two two six';
  const digits = { tokens, ids, text, timestamps: tokens.map((_, at) => 3.5 + 0.35 * at) };
  expect(strayingPiece(digits, { from: 120_000, straysAfter: 0 }).text).toBe(text);
});

test('a piece that is cut before its seam has no words, and the next one goes on there', () => {
  const { text, seam } = strayingPiece({}, { from: 72_000, to: 76_000 });
  expect(text).toBe('');
  expect(seam).toMatchObject({ at: 80_000, known: [{ start: 2 }, { start: 3 }, { start: 4.2 }] });
});

/** The words that a reader shows early while speech goes on, by a model that gives its words these times. */
function glanceOf(text: string, timestamps: number[], about: { goesOn: boolean; seconds: number }) {
  const track = new AudioTrack();
  track.push(new Float32Array(16_000 * about.seconds).fill(0.1));
  const model = {
    ...quickModel(),
    goesOn: about.goesOn,
    read: () => ({ ...resultOf(text), timestamps }),
  };
  const reader = new PieceReader(model, track);
  const starts = (open: { pieceFrom: number; cutBefore: boolean }) =>
    reader
      .glance(open, 16_000 * about.seconds, 0.4, { hint: '', draft: [] })
      .timed?.map(({ start }) => start);
  return { reader, starts };
}

test('a word that is shown early begins with the voice, not in the margin before it', () => {
  const { starts } = glanceOf('good morning', [0, 0.7], { goesOn: false, seconds: 2 });
  expect(starts({ pieceFrom: 16_000, cutBefore: false })).toEqual([
    expect.closeTo(0.9),
    expect.closeTo(1.3),
  ]);
});

test('no word begins before the stream does, shown early or told', () => {
  const { reader, starts } = glanceOf('good morning', [0, 0.7], { goesOn: true, seconds: 2 });
  expect(starts({ pieceFrom: 0, cutBefore: false })).toEqual([0, expect.closeTo(0.7)]);
  const whole = { from: 0, to: 32_000, cutBefore: false, cutAfter: false, heardTo: 32_000 };
  const reading = new PieceReading(reader, whole);
  reading.step(pressed, new PartialWords(), '');
  const [first, second] = reading.done(new PartialWords()).piece.words;
  expect(first).toMatchObject({ start: 0 });
  expect(first!.end).toBeGreaterThan(0);
  expect(second!.start).toBeCloseTo(0.5);
});

test('behind a seam the words that are shown early begin where the seam is, however far before the cut', () => {
  const about = { goesOn: true, seconds: 4 };
  const { reader, starts } = glanceOf('that is right', [0.1, 0.7, 1.2], about);
  reader.seam = { at: 20_000, known: [known(1, 1)] };
  expect(starts({ pieceFrom: 48_000, cutBefore: true })).toEqual([
    expect.closeTo(1.25),
    expect.closeTo(1.7),
    expect.closeTo(2.2),
  ]);
});

test('an answer is expected of pieces that end behind the question or just before it, and of no other', () => {
  const track = new AudioTrack();
  track.push(new Float32Array(64_000).fill(0.1));
  const wishes: (ReadingWishes | undefined)[] = [];
  const model = {
    ...quickModel(),
    read: (_samples: Float32Array, _language: string, about?: ReadingWishes) => {
      wishes.push(about);
      return resultOf('one two');
    },
  };
  const reader = new PieceReader(model, track);
  const expectedOf = (from: number, to: number) => {
    new PieceReading(reader, { ...cut, from, to, heardTo: to }).step(
      { needed: 0, latenessMs: 0, togetherMs: 0 },
      new PartialWords(),
      '',
    );
    return wishes.at(-1)?.expects;
  };
  reader.expect('digits', 16_000);
  reader.expect(undefined, 40_000);
  expect(expectedOf(0, 6_000)).toBeUndefined();
  // A quick answer ended 0.06 s before its question was known.
  expect(expectedOf(0, 15_000)).toBe('digits');
  expect(expectedOf(17_000, 30_000)).toBe('digits');
  expect(expectedOf(41_000, 60_000)).toBeUndefined();
  // The expectation in force stays when older ones are forgotten.
  reader.dropBefore(20_000);
  expect(expectedOf(17_000, 30_000)).toBe('digits');
});
