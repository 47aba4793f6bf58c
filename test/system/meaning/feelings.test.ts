import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, expect, test } from 'vitest';
import { systemClock } from '../../../src/lib/clock.ts';
import { createLog } from '../../../src/lib/log.ts';
import { Feelings } from '../../../src/meaning/feelings.ts';
import { multilingualModelFolder } from '../../support/meaning/installed-model.ts';

const models = await multilingualModelFolder();
const feelings = new Feelings({ models: models ?? '' }, systemClock, createLog({ level: 'silent' })); // prettier-ignore
afterAll(() => feelings[Symbol.asyncDispose]());

const kinds = ['negative', 'neutral', 'positive'];
/** Sentences of calls in six languages, 150 each. Every other one was looked at while the weights were chosen. */
const rows = readFileSync(join(import.meta.dirname, '../../fixtures/language/sentiment-abroad.tsv'), 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => line.split('\t') as [language: string, label: string, text: string]); // prettier-ignore

/** The mean over the kinds. A sentence that is unknown counts as missed. */
function macroF1(told: readonly (readonly [wanted: string, got: string])[]): number {
  const scores = kinds.map((kind) => {
    const right = told.filter(([wanted, got]) => wanted === kind && got === kind).length;
    const all = told.filter(([wanted]) => wanted === kind).length + told.filter(([, got]) => got === kind).length; // prettier-ignore
    return (2 * right) / all;
  });
  return scores.reduce((sum, score) => sum + score, 0) / kinds.length;
}

test('no sentence that is only scored stands among the examples of moods', () => {
  const folder = join(import.meta.dirname, '../../../config/tools/feelings');
  for (const [language, , text] of rows)
    expect(readFileSync(join(folder, `${language}.txt`), 'utf8')).not.toContain(` ${text}\n`);
});

test.skipIf(!models).each(['es', 'fr', 'de', 'it', 'pt', 'nl'])(
  'the mood of sentences in %s is told right, or unknown',
  async (language) => {
    const told: [string, string][] = [];
    for (const [code, wanted, text] of rows)
      if (code === language) told.push([wanted, (await feelings.of(text, false))!]);
    expect(told.length).toBe(150);
    const [seen, unseen] = [0, 1].map((half) => macroF1(told.filter((_, at) => at % 2 === half)));
    const unknown = told.filter(([, got]) => got === 'unknown').length;
    console.log(`${language}: macro F1 ${macroF1(told).toFixed(3)} (seen ${seen!.toFixed(3)}, unseen ${unseen!.toFixed(3)}), ${unknown} unknown`); // prettier-ignore
    expect(macroF1(told)).toBeGreaterThanOrEqual(0.8);
  },
);
