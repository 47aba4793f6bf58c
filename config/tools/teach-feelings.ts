import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { sentimentExamples } from '../../src/language/data/sentiment-examples.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { createLog } from '../../src/lib/log.ts';
import { directionSize, numbersOf } from '../../src/meaning/directions.ts';
import { multilingual, SentenceMeaning } from '../../src/meaning/meaning.ts';

/*
 * Makes src/meaning/feeling-weights.json again: what tells bad, plain and good sentences apart by their directions, in
 * languages that no lexicon knows. The examples are those of the English scorer and the lists in `feelings/`. No sentence
 * of test/fixtures/language/sentiment-abroad.tsv may stand among them. TRUNKLINE_MODELS=... node config/tools/teach-feelings.ts
 */

const kinds = ['n', 'x', 'p'];
const [scale, freedom, steps, rate, momentum] = [6, 1, 3_000, 0.2, 0.9];
const folder = join(import.meta.dirname, 'feelings');

const texts = [sentimentExamples, ...readdirSync(folder).toSorted().map((file) => readFileSync(join(folder, file), 'utf8'))]; // prettier-ignore
const examples = texts
  .join('\n')
  .split('\n')
  .map((line) => ({ kind: kinds.indexOf(line.slice(0, 1)), text: line.slice(2).trim() }))
  .filter(({ kind, text }) => kind >= 0 && text !== '');

const log = createLog({ level: 'silent' });
await using meaning = new SentenceMeaning({ models: process.env['TRUNKLINE_MODELS'] }, systemClock, log, multilingual); // prettier-ignore
const inputs: { kind: number; numbers: Float32Array }[] = [];
for (const { kind, text } of examples) {
  const direction = await meaning.direction(text);
  if (direction === undefined) throw new Error('the model is not there: name its folder in TRUNKLINE_MODELS'); // prettier-ignore
  inputs.push({ kind, numbers: numbersOf(direction) });
}

// All directions of this model lie near one another. What they share is taken away, so that a few steps tell them apart.
const mean = new Float64Array(directionSize);
for (const { numbers } of inputs)
  for (let at = 0; at < directionSize; at++) mean[at]! += numbers[at]! / inputs.length;
const rows = inputs.map(({ kind, numbers }) => ({
  kind,
  numbers: Float64Array.from(numbers, (value, at) => (value - mean[at]!) * scale),
}));

const weights = kinds.map(() => new Float64Array(directionSize + 1));
const speeds = kinds.map(() => new Float64Array(directionSize + 1));
for (let step = 0; step < steps; step++) {
  const slopes = kinds.map(() => new Float64Array(directionSize + 1));
  for (const { kind, numbers } of rows) {
    const sums = weights.map((row) => numbers.reduce((sum, value, at) => sum + value * row[at]!, row[directionSize]!)); // prettier-ignore
    const most = Math.max(...sums);
    const shares = sums.map((sum) => Math.exp(sum - most));
    const all = shares.reduce((sum, share) => sum + share, 0);
    for (const [index, slope] of slopes.entries()) {
      const error = (shares[index]! / all - (index === kind ? 1 : 0)) / rows.length;
      for (let at = 0; at < directionSize; at++) slope[at]! += error * numbers[at]!;
      slope[directionSize]! += error;
    }
  }
  for (const [index, row] of weights.entries())
    for (let at = 0; at <= directionSize; at++) {
      const pull = at === directionSize ? 0 : row[at]! / (freedom * rows.length);
      speeds[index]![at] = momentum * speeds[index]![at]! - rate * (slopes[index]![at]! + pull);
      row[at]! += speeds[index]![at]!;
    }
}

// The reader multiplies a direction as it is.
const folded = weights.map((row) => {
  const shared = mean.reduce((sum, value, at) => sum + value * scale * row[at]!, 0);
  return [...Array.from(row.subarray(0, directionSize), (value) => value * scale), row[directionSize]! - shared]; // prettier-ignore
});
const bytes = Buffer.from(Float32Array.from(folded.flat()).buffer);
const made = { model: multilingual.model, examples: examples.length, weights: bytes.toString('base64') }; // prettier-ignore
writeFileSync(join(import.meta.dirname, '../../src/meaning/feeling-weights.json'), `${JSON.stringify(made, null, 2)}\n`); // prettier-ignore
