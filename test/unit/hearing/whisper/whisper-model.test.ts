import { expect, test } from 'vitest';
import { WhisperModel } from '../../../../src/hearing/whisper/whisper-model.ts';
import type {
  EncodedWindow,
  WindowText,
  WindowWishes,
} from '../../../../src/hearing/whisper/whisper-reader.ts';

/** A text as the reader returns it, a token for each word. */
function windowText(text: string, about: Partial<WindowText> = {}): WindowText {
  const tokens = text.split(' ').map((word, index) => ({
    text: ` ${word}`, ids: [100 + index], start: index / 2, logProbability: -0.2, shared: 1,
  })); // prettier-ignore
  return {
    text, tokens, mean: -0.2, givenMean: -0.5, noSpeech: 0.1, repetition: 1, ended: true,
    language: 'es', distribution: new Map(), ...about,
  }; // prettier-ignore
}

/** A model whose reader answers with these texts, one after the other. */
function modelOf(...texts: WindowText[]) {
  const asked: { windowS: number | undefined; wishes: WindowWishes | undefined }[] = [];
  let windowS: number | undefined;
  const reader = {
    encode(samples: Float32Array, seconds?: number): EncodedWindow {
      windowS = seconds;
      return { audio: {}, seconds: samples.length / 16_000 };
    },
    read(_: EncodedWindow, wishes?: WindowWishes): WindowText {
      asked.push({ windowS, wishes });
      return texts[asked.length - 1] ?? windowText('');
    },
  };
  return { model: new WhisperModel(reader, ['es']), asked };
}

const seconds = (count: number) => new Float32Array(16_000 * count);

test('the known words before a pause begin the window, and the tokens of the text are told', () => {
  const { model, asked } = modelOf(windowText('para el correo'));
  const { text, ids, contradicted } = model.read(seconds(4), 'es', { given: [7, 8] });
  expect(asked[0]?.wishes?.given).toEqual([7, 8]);
  expect(asked[0]?.wishes?.languageOf?.(new Map())).toBe('es');
  expect({ text, ids }).toEqual({ text: 'para el correo', ids: [[100], [101], [102]] });
  expect(contradicted).not.toBe(true);
});

test('a mark behind the known words is not told with the next ones', () => {
  const text = () => modelOf(windowText(', para el correo.')).model;
  const read = text().read(seconds(4), 'es', { given: [7, 8] });
  expect(read.text).toBe('para el correo.');
  expect(read.tokens).toEqual([' para', ' el', ' correo.']);
  expect(read.ids).toEqual([[101], [102], [103]]);
  expect(read.timestamps).toHaveLength(3);
  expect(text().read(seconds(4), 'es').text).toBe(', para el correo.');
});

test.each([
  ['an unlikely text', windowText('gracias', { mean: -1.2 })],
  ['nothing', windowText('', { tokens: [] })],
  ['a sign that nobody speaks', windowText('gracias', { noSpeech: 0.6 })],
  ['words that the audio does not begin with', windowText('gracias', { givenMean: -8 })],
])('%s behind known words is contradicted, and has no word', (_, text) => {
  const { model } = modelOf(text);
  const read = model.read(seconds(4), 'es', { given: [7, 8] });
  expect(read.contradicted).toBe(true);
  expect(read.text).toBe('');
});

test('a loop is read again in the longest window, and then without the known words', () => {
  const loop = windowText('no sé no sé', { repetition: 3 });
  const { model, asked } = modelOf(loop, loop);
  expect(model.read(seconds(4), 'es', { given: [7, 8] }).contradicted).toBe(true);
  expect(asked.map(({ windowS }) => windowS)).toEqual([10, 30]);
});

test('without known words a single unsure word stays, and noise has none', () => {
  const unsure = modelOf(windowText('sí', { mean: -1.2 })).model.read(seconds(1), 'es');
  expect(unsure.text).toBe('sí');
  expect(unsure.contradicted).not.toBe(true);
  const noise = modelOf(windowText('gracias', { mean: -1.2 })).model.read(seconds(4), 'es');
  expect(noise.text).toBe('');
});
