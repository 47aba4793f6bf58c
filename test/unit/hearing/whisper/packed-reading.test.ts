import { expect, test } from 'vitest';
import { HeardLanguage } from '../../../../src/hearing/engine/heard-language.ts';
import { type RecogniserEvent, windowSamples } from '../../../../src/hearing/recogniser.ts';
import { PackedReading } from '../../../../src/hearing/whisper/packed-reading.ts';
import type { WindowText } from '../../../../src/hearing/whisper/whisper-reader.ts';

const rate = 16_000;
const blockS = windowSamples / rate;

type WindowSaid = Partial<WindowText> & { words?: [word: string, start: number][] };

type PackedAbout = { language?: HeardLanguage; heard?: string[]; codeSwitching?: boolean };

/** A reader that writes these texts, window by window, and hears these languages. */
function packed(
  texts: WindowSaid[],
  { language, heard = [], codeSwitching = false }: PackedAbout = {},
) {
  const events: RecogniserEvent[] = [];
  const windows: { seconds: number; asked: string }[] = [];
  let lastS = 0;
  let untaken: boolean[] = [];
  let speaks = false;
  const reading = new PackedReading(
    {
      language: language ?? 'es',
      codeSwitching,
      voice: {
        push: () => untaken.push(speaks),
        take: (each) => {
          const all = untaken;
          untaken = [];
          for (const voiced of all) each(voiced, (position += windowSamples));
        },
      },
      reader: {
        encode: (samples) => {
          lastS = samples.length / rate;
          return { audio: {}, seconds: lastS };
        },
        languagesOf: () => {
          const code = heard.shift() ?? 'es';
          return new Map([
            [code, Math.log(0.9)],
            ['cy', Math.log(0.1)],
          ]);
        },
        read: (_, wishes) => {
          windows.push({ seconds: lastS, asked: wishes?.languageOf?.(new Map()) ?? '' });
          const { words = [], ...about } = texts.shift() ?? {};
          const tokens = words.map(([word, start]) => ({
            text: ` ${word}`,
            ids: [],
            start,
            logProbability: -0.1,
            shared: 1,
          }));
          return {
            text: words.map(([word]) => word).join(' '),
            tokens,
            noSpeech: 0,
            repetition: 1,
            mean: -0.1,
            ended: true,
            language: '',
            distribution: new Map(),
            givenMean: 0,
            ...about,
          };
        },
      },
    },
    { endpointingS: 0.5, maximumDurationS: 30 },
    (event) => events.push(event),
  );
  let position = 0;
  /** A voice, or quiet, for some seconds. Everything that becomes due is read. */
  const goOn = (seconds: number, voiced: boolean) => {
    speaks = voiced;
    for (let at = 0; at < seconds; at += blockS) {
      reading.push(Float32Array.from({ length: windowSamples }, (_, i) => Math.sin(i) / 4));
      reading.listen();
      while (reading.urgency()) reading.step();
    }
  };
  return {
    events,
    windows,
    speak: (seconds: number) => goOn(seconds, true),
    pause: (seconds: number) => goOn(seconds, false),
    end: () => {
      reading.finish();
      while (reading.urgency()) reading.step();
    },
    finals: () => events.flatMap((event) => (event.type === 'final' ? [event.utterance] : [])),
    decided: () =>
      events.flatMap((event) => {
        if (event.type === 'final') return [event.decidedS];
        return event.type === 'progress' ? [event.at] : [];
      }),
  };
}

test('utterances share a window, and each gets its own words, in order and once', () => {
  const call = packed([{ words: [['Buenos', 0.4], ['días.', 1.2], ['¿Qué', 2.9], ['tal?', 3.5]] }]); // prettier-ignore
  call.speak(2);
  call.pause(5);
  call.speak(2);
  call.pause(1);
  expect(call.finals(), 'nothing is told before the window is read').toEqual([]);
  call.end();
  expect(call.windows).toHaveLength(1);
  expect(call.windows[0]?.seconds).toBeLessThan(6);
  expect(call.finals().map(({ text, language, index }) => [text, language, index])).toEqual([
    ['Buenos días.', 'es', 0],
    ['¿Qué tal?', 'es', 1],
  ]);
  expect(call.finals()[1]?.start).toBeGreaterThan(6.5);
  expect(call.decided(), 'what is decided only grows').toEqual(
    call.decided().toSorted((a, b) => a - b),
  );
  expect(call.events.at(-1)).toEqual({ type: 'finished' });
});

test('a window whose text goes round is read again utterance by utterance', () => {
  const call = packed([
    { words: [['la', 0.4], ['la', 0.6]], repetition: 5 },
    { words: [['uno', 0.4], ['más', 1.2]] },
    { words: [['dos', 0.4], ['más', 1.2]] },
  ]); // prettier-ignore
  for (const _ of [1, 2]) {
    call.speak(2);
    call.pause(1);
  }
  call.end();
  expect(call.finals().map(({ text }) => text)).toEqual(['uno más', 'dos más']);
  expect(call.windows).toHaveLength(3);
});

test('speech that the model passed over is read alone, and told as wordless if it stays so', () => {
  const first: [string, number][] = [['Hola,', 0.4], ['buenos', 1], ['días', 1.5]]; // prettier-ignore
  const call = packed([
    { words: first },
    {
      words: [
        ['adiós', 0.5],
        ['señor', 1],
      ],
    },
    { words: [] },
  ]);
  call.speak(2);
  call.pause(1);
  call.speak(2);
  call.pause(1);
  call.end();
  expect(call.finals().map(({ text }) => text)).toEqual(['Hola, buenos días', 'adiós señor']);
  const silent = packed([{ words: first }, { words: [] }]);
  silent.speak(2);
  silent.pause(1);
  silent.speak(2);
  silent.pause(1);
  silent.end();
  expect(silent.finals()).toHaveLength(1);
  expect(silent.events.filter(({ type }) => type === 'wordless')).toHaveLength(1);
});

test('noise that the detector takes for a voice has no words', () => {
  const call = packed([{ words: [['Subtítulos', 0.4]], mean: -1.3 }]);
  call.speak(4);
  call.pause(1);
  call.end();
  expect(call.finals()).toEqual([]);
  expect(call.decided().at(-1)).toBeGreaterThan(4.5);
});

test('the language is found by its sound and then kept', () => {
  const language = new HeardLanguage([], false);
  const call = packed([{ words: [['Bonjour', 0.4], ['monsieur', 1.2]] }], { language, heard: ['fr'] }); // prettier-ignore
  call.speak(2);
  call.pause(1);
  call.end();
  expect([call.windows[0]?.asked, call.finals()[0]?.language]).toEqual(['fr', 'fr']);
});

test('with code switching a window holds one language', () => {
  const language = new HeardLanguage(['fr', 'en'], true);
  const call = packed(
    [{ words: [['Bonjour', 0.4], ['monsieur', 1.2]] }, { words: [['Good', 0.4], ['morning', 1.2]] }],
    { language, heard: ['fr', 'en'], codeSwitching: true },
  ); // prettier-ignore
  for (const _ of [1, 2]) {
    call.speak(2);
    call.pause(1);
  }
  call.end();
  expect(call.finals().map((one) => [one.text, one.language])).toEqual([
    ['Bonjour monsieur', 'fr'],
    ['Good morning', 'en'],
  ]);
});

test('long speech fills windows of half a minute, and speech that waits too long is read', () => {
  const call = packed([]);
  for (let sentence = 0; sentence < 8; sentence++) {
    call.speak(9);
    call.pause(1);
  }
  expect(call.windows.length).toBeGreaterThan(1);
  for (const { seconds } of call.windows) expect(seconds).toBeLessThanOrEqual(28);
  const lonely = packed([
    {
      words: [
        ['Hola', 0.4],
        ['señor', 1],
      ],
    },
  ]);
  lonely.speak(2);
  lonely.pause(65);
  expect(lonely.finals()).toHaveLength(1);
});
