import { expect, test } from 'vitest';
import { beamSearch } from '../../../../src/hearing/decoder/beam-search.ts';
import { logProbabilitiesOf } from '../../../../src/hearing/decoder/log-probabilities.ts';
import { TokenTable } from '../../../../src/hearing/making/token-table.ts';
import { VocabularyBias } from '../../../../src/hearing/decoder/vocabulary-bias.ts';

const tokens = [
  '</s>',
  '▁Tr',
  'unk',
  'line',
  's',
  '▁Ann',
  '▁Smith',
  '▁Sally',
  '▁S',
  'a',
  ',',
  '▁is',
];
const table = TokenTable.read(
  tokens
    .map((token, index) => `${Buffer.from(token).toString('base64')} ${String(index)}\n`)
    .join(''),
);
const likely = -1;

/** The sum of all changes after some tokens. */
function bonusOf(words: string[], said: string[], logProbability = likely): number {
  const bias = new VocabularyBias(
    words.map((text) => ({ text, weight: 1 })),
    table,
  );
  let state = bias.start;
  let sum = 0;
  for (const token of said) {
    const { state: next, change } = bias.after(state, tokens.indexOf(token), logProbability);
    state = next;
    sum += change;
  }
  return sum;
}

const bytes = (text: string) => Buffer.byteLength(text);

test('a bonus grows with the bytes of an entry and stays when the entry is complete', () => {
  expect(bonusOf(['Trunkline'], ['▁Tr'])).toBe(bytes('▁Tr'));
  expect(bonusOf(['Trunkline'], ['▁Tr', 'unk', 'line'])).toBe(bytes('▁Trunkline'));
  expect(bonusOf(['Trunkline'], ['▁Tr', 'unk', 'line', '▁is'])).toBe(bytes('▁Trunkline'));
  expect(bonusOf(['Trunkline'], ['▁Tr', 'unk', 'line', ',', '</s>'])).toBe(bytes('▁Trunkline'));
});

test('all of it is taken back when the text becomes another word', () => {
  expect(bonusOf(['Trunkline'], ['▁Tr', 'unk', 's'])).toBe(0);
  expect(bonusOf(['Trunkline'], ['▁Tr', '▁is'])).toBe(0);
  expect(bonusOf(['Trunkline'], ['▁Tr', '</s>'])).toBe(0);
});

test('an entry is a whole word: a longer word that begins like it keeps nothing', () => {
  expect(bonusOf(['Ann'], ['▁Ann', 'a'])).toBe(0);
  expect(bonusOf(['Ann'], ['▁Ann', ','])).toBe(bytes('▁Ann'));
});

test('an entry inside a longer one keeps its bonus when the longer one is not said', () => {
  const words = ['Ann', 'Ann Smith'];
  expect(bonusOf(words, ['▁Ann', '▁Smith'])).toBe(bytes('▁Ann▁Smith'));
  expect(bonusOf(words, ['▁Ann', '▁S', 'a'])).toBe(bytes('▁Ann'));
  expect(bonusOf(words, ['▁Ann', '▁Sally'])).toBe(bytes('▁Ann'));
});

test('another entry may begin where one was left', () => {
  expect(bonusOf(['Trunkline', 'Smith'], ['▁Tr', '▁Smith'])).toBe(bytes('▁Smith'));
});

test('a word that the audio does not support gets no bonus', () => {
  expect(bonusOf(['Trunkline'], ['▁Tr'], -12)).toBe(0);
  expect(bonusOf([' ', ''], ['▁Tr'])).toBe(0);
});

test('a beam finds a name whose first token is far from the likeliest', () => {
  const words = [{ text: 'Trunkline', weight: 1 }];
  const after: Record<string, Record<string, number>> = {
    '': { '▁Ann': 0.5, '▁is': 0.2, '▁Sally': 0.1, '▁Smith': 0.1, '▁S': 0.09, '▁Tr': 0.01 },
    '▁Tr': { s: 0.9, unk: 0.1 },
    '▁Trunk': { line: 0.5, '</s>': 0.5 },
  };
  const heard = (bias?: VocabularyBias) => {
    let beams = [''];
    const said = (text: string) =>
      logProbabilitiesOf(
        Float32Array.from(tokens, (token) => Math.log((after[text] ?? { '</s>': 1 })[token] ?? 0)),
      );
    const steps = {
      first: () => said(''),
      next(chosen: readonly { parent: number; token: number }[]) {
        beams = chosen.map(({ parent, token }) => beams[parent]! + tokens[token]!);
        return beams.map(said);
      },
    };
    return table.text(beamSearch(steps, { width: 4, mostTokens: 10, endToken: 0, bias }).tokens);
  };
  expect(heard()).toBe(' Ann</s>');
  expect(heard(new VocabularyBias(words, table))).toBe(' Trunkline</s>');
});
