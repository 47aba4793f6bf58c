import { expect, test } from 'vitest';
import type {
  MoonshineReader,
  ReadText,
} from '../../../../src/hearing/decoder/moonshine-reader.ts';
import { TokenTable } from '../../../../src/hearing/making/token-table.ts';
import { DecodedModel } from '../../../../src/hearing/offline/decoded-model.ts';

const table = TokenTable.read(`${Buffer.from('▁four').toString('base64')} 0\n`);
const audio = new Float32Array(16_000);

/** The text of one reading. `sureness` is the log-probability of each token. */
type ScriptedReading = { text: string; sureness?: number };

function modelOf(texts: readonly ScriptedReading[]) {
  const waiting = [...texts];
  const biased: boolean[] = [];
  const reader = {
    table,
    encode: () => ({}),
    read: (_: unknown, { bias }: { bias?: unknown }): ReadText => {
      const { text, sureness = -0.01 } = waiting.shift()!;
      biased.push(bias !== undefined);
      const tokens = text.split(/(?= )/).map((word, start) => ({
        text: word,
        ids: [start],
        start,
        logProbability: sureness,
        shared: 1,
      }));
      return { text, tokens, meanLogProbability: sureness, givenLogProbability: 0, ended: true };
    },
  };
  return { model: new DecodedModel(reader as unknown as MoonshineReader, ['en']), biased };
}

test('an expected answer is looked for under any load, and in no text of a partial', () => {
  const misheard = { text: 'For the room.' };
  const live = modelOf([misheard, { text: 'Four, two.' }]);
  expect(live.model.read(audio, 'en', { expects: 'digits', hurried: true }).text).toBe(
    'Four, two.',
  );
  expect(live.biased).toEqual([false, true]);
  const partial = modelOf([misheard]);
  const glance = { expects: 'digits', hurried: true, open: true } as const;
  expect(partial.model.read(audio, 'en', glance).text).toBe('For the room.');
});

test('an answer is not given up for a later reading that is none', () => {
  const doubt = { sureness: -0.3 };
  const { model } = modelOf([
    { text: 'Four o it.', ...doubt },
    { text: 'Four, oh, eight.', ...doubt },
    { text: 'For O.', ...doubt },
    { text: 'Floor, oh.', ...doubt },
  ]);
  const first = model.read(audio, 'en', { expects: 'digits' });
  expect(model.doubts(first)).toBe(true);
  expect(model.readTogether(first, [audio, audio]).text).toBe('Four, oh, eight.');
});

test('a later reading with another answer counts', () => {
  const doubt = { sureness: -0.3 };
  const { model } = modelOf([
    { text: 'Four, eight.', ...doubt },
    { text: 'Four, oh, eight.', ...doubt },
  ]);
  const first = model.read(audio, 'en', { expects: 'digits' });
  expect(model.readTogether(first, [audio, audio]).text).toBe('Four, oh, eight.');
});
