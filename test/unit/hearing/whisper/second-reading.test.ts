import { expect, test } from 'vitest';
import type { EngineSession } from '../../../../src/hearing/engine/engine.ts';
import type { RecogniserEvent } from '../../../../src/hearing/recogniser.ts';
import { maxHeldS, SecondReading } from '../../../../src/hearing/whisper/second-reading.ts';
import type { WindowText } from '../../../../src/hearing/whisper/whisper-reader.ts';

const rate = 16_000;
const arrival = { atMs: 0, live: false };

const unremarkable = {
  noSpeech: 0.01,
  repetition: 1,
  mean: -0.1,
  ended: true,
  language: '',
  distribution: new Map(),
  givenMean: 0,
};

/** A text of the second reader: a token for each word, half a second each, from 0.3 s of the window on. */
function textOf(text: string, about: Partial<WindowText> = {}): WindowText {
  const tokens = text
    .split(' ')
    .filter(Boolean)
    .map((word, index) => ({
      text: ` ${word}`,
      ids: [],
      start: 0.3 + index / 2,
      logProbability: -0.1,
      shared: 1,
    }));
  return { text, tokens, ...unremarkable, ...about };
}

/** A first reader that tells what the test tells it, and a second one that reads these texts, window by window. */
function twice(...texts: WindowText[]) {
  const events: RecogniserEvent[] = [];
  const windows: number[] = [];
  let tell: (event: RecogniserEvent) => void = () => undefined;
  const first: EngineSession = {
    settled: true,
    full: false,
    dueMs: undefined,
    firstReadingMs: 0,
    push: () => undefined,
    listen: () => undefined,
    finish: () => tell({ type: 'finished' }),
    urgency: () => undefined,
    step: () => undefined,
  };
  const reading = new SecondReading(
    (take) => {
      tell = take;
      return first;
    },
    {
      encode: (samples) => {
        windows.push(samples.length / rate);
        return { audio: {}, seconds: samples.length / rate };
      },
      read: () => texts.shift() ?? textOf(''),
      likelihoods: () => undefined,
    },
    (event) => events.push(event),
  );
  let index = 0;
  let heardS = 0;
  const hear = (seconds: number) => {
    for (; heardS < seconds; heardS++) {
      reading.push(new Float32Array(rate));
      reading.listen(arrival);
    }
  };
  return {
    reading,
    events,
    windows,
    hear,
    tell: (event: RecogniserEvent) => tell(event),
    /** The first reader hears these words, half a second each, and perhaps a voice until later. */
    say: (text: string, start: number, language = 'en', voiceS = 0) => {
      const words = text.split(' ').map((word, at) => ({
        word,
        start: start + at / 2,
        end: start + at / 2 + (word.endsWith(',') ? 0.2 : 0.4), // a pause behind a comma
        confidence: 0.8,
      }));
      const end = words.at(-1)?.end ?? start;
      hear(Math.ceil(end + 1));
      tell({ type: 'speech-start', at: start });
      tell({ type: 'speech-end', at: Math.max(end, voiceS) });
      const about = { start, end, confidence: 0.8, language, words };
      tell({
        type: 'final',
        utterance: { index: index++, text, ...about },
        decidedS: end,
      });
      tell({ type: 'progress', at: end });
    },
    /** Makes the steps that the loop would. */
    read: () => {
      while (reading.urgency(0)) reading.step(0);
    },
    finals: () => events.flatMap((event) => (event.type === 'final' ? event.utterance.text : [])),
  };
}

test('utterances wait until their window is read, and are told in order with its words', () => {
  const { say, read, reading, events, windows, finals } = twice(
    textOf('Hello there. How are you?'),
  );
  say('hello their', 1);
  say('how are you', 2.5);
  read();
  expect(finals(), 'the window is not full').toEqual([]);
  reading.finish(arrival);
  expect(reading.settled).toBe(false);
  read();
  expect(windows).toHaveLength(1);
  expect(finals()).toEqual(['Hello there.', 'How are you?']);
  expect(events.slice(-2).map(({ type }) => type)).toEqual(['progress', 'finished']);
  expect(reading.settled).toBe(true);
});

test('a full window is read at once, and no more audio is taken before', () => {
  const { say, read, reading, windows, finals } = twice(textOf('One.'), textOf('Two.'));
  const long = Array.from({ length: 40 }, () => 'word').join(' ');
  say(long, 1);
  expect(reading.full).toBe(false);
  say(long, 30);
  expect(reading.full).toBe(true);
  read();
  expect(reading.full).toBe(false);
  expect(windows).toHaveLength(1);
  expect(windows[0]).toBeLessThan(28);
  expect(finals()).toHaveLength(1);
});

test('speech does not wait for more when none comes', () => {
  const { say, hear, read, finals } = twice(textOf('Hello there.'));
  say('hello their', 1);
  hear(maxHeldS);
  read();
  expect(finals()).toEqual([]);
  hear(maxHeldS + 3);
  read();
  expect(finals()).toEqual(['Hello there.']);
});

test.each([
  ['hears no speech', textOf('you', { noSpeech: 0.8 })],
  ['writes nothing', textOf('')],
  ['repeats itself', textOf('to to to to', { repetition: 4 })],
])('where the second reader %s, the words of the first are told', (_, text) => {
  const { say, read, reading, finals } = twice(text);
  say('hello their', 1);
  say('how are you', 3);
  reading.finish(arrival);
  read();
  expect(finals()).toEqual(['hello their', 'how are you']);
});

test('another language is not read again, and keeps its place', () => {
  const { say, read, reading, windows, finals } = twice(textOf('Hello there. Good bye.'));
  say('hello their', 1);
  say('guten tag', 3, 'de');
  say('good buy', 5);
  reading.finish(arrival);
  read();
  expect(windows).toHaveLength(1);
  expect(finals()).toEqual(['Hello there.', 'guten tag', 'Good bye.']);
});

test('an utterance longer than a window is told once, with the words of both', () => {
  const words = Array.from({ length: 70 }, (_, index) => `w${index}${index === 40 ? ',' : ''}`);
  const cut = 41;
  const { say, read, reading, windows, finals } = twice(
    textOf(words.slice(0, cut).join(' ')),
    textOf(words.slice(cut).join(' ')),
  );
  say(words.join(' '), 1);
  reading.finish(arrival);
  read();
  expect(windows).toHaveLength(2);
  expect(finals()).toEqual([words.join(' ')]);
});

test('an utterance that begins before the speech of the one before ends is read from its first word on', () => {
  const { say, read, reading, windows } = twice(textOf('One.'), textOf('Two.'));
  const long = Array.from({ length: 40 }, () => 'word').join(' ');
  say(long, 1, 'en', 22);
  say(long, 21);
  reading.finish(arrival);
  read();
  expect(windows).toHaveLength(2);
  expect(windows[1]).toBeGreaterThan(20);
});

test('speech that the first left without words is told as wordless, unless the second has words there', () => {
  const { say, tell, hear, read, reading, events } = twice(textOf('Hello there my dear.'));
  hear(3);
  tell({ type: 'wordless', from: 1.9, to: 2.9 });
  say('hello there', 1);
  tell({ type: 'wordless', from: 5, to: 6 });
  reading.finish(arrival);
  read();
  expect(events.filter(({ type }) => type === 'wordless')).toEqual([
    { type: 'wordless', from: 5, to: 6 },
  ]);
});
