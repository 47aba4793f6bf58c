import { expect, test } from 'vitest';
import { startLanguageRunner } from '../../../src/language/runner.ts';
import type { SentenceFeelings } from '../../../src/language/types.ts';

const utterance = (text: string, language = 'es') => ({
  start: 0, end: 4, confidence: 1, channel: 0, words: [], text, language,
}); // prettier-ignore

/** A model that hears anger in one word, and never ends with another. */
const feelings = (isThere = true): SentenceFeelings & { asked: string[] } => {
  const asked: string[] = [];
  return {
    asked,
    isThere: () => Promise.resolve(isThere),
    of(text) {
      asked.push(text);
      if (text.includes('slow')) return new Promise((resolve) => setTimeout(resolve, 40, undefined)); // prettier-ignore
      return Promise.resolve(text.includes('harto') ? 'negative' : 'neutral');
    },
  };
};
const labels = (block: { results: { sentiment: string }[] | null }) => block.results?.map(({ sentiment }) => sentiment); // prettier-ignore

test('sentences of another language get the label that a model heard', async () => {
  const model = feelings();
  await using runner = startLanguageRunner({ feelings: model });
  const block = await runner.run('sentiment', {
    utterance: utterance('Buenos días. Estoy harto.'),
  });
  expect(labels(block)).toEqual(['neutral', 'negative']);
  expect(block.not_covered).toEqual([
    'Spanish: emotions are not told; mixed feelings count as one of them',
  ]);
  const all = await runner.run('sentimentAll', {
    utterances: [utterance('Estoy harto.'), utterance('I am furious.', 'en'), utterance('Мне плохо.', 'ru')], // prettier-ignore
  });
  expect(labels(all)).toEqual(['negative', 'negative', 'unknown']);
  expect(all.not_covered).toContain('Russian: moods are not told in this language');
  expect(model.asked).not.toContain('I am furious.');
});

test('without the model moods are unknown, and the result says what would tell them', async () => {
  for (const own of [feelings(false), undefined]) {
    await using runner = startLanguageRunner({ feelings: own });
    const block = await runner.run('sentiment', { utterance: utterance('Estoy harto.') });
    expect(labels(block)).toEqual(['unknown']);
    expect(block.not_covered).toEqual([
      'Spanish: moods are unknown without a model (npx trunkline models pull sentence-encoder-multilingual)',
    ]);
  }
});

test('a model that is too slow leaves the rest unknown, and the answer comes in time', async () => {
  await using runner = startLanguageRunner({ feelings: feelings() });
  await runner.warm();
  const text = Array.from({ length: 400 }, (_, at) => `Frase slow ${at}.`).join(' ');
  const block = await runner.run('sentimentAll', { utterances: [utterance(text)] }, { deadlineMs: 1_000 }); // prettier-ignore
  expect(block.error).toBeNull();
  expect(labels(block)).toHaveLength(400);
  expect(new Set(labels(block))).toEqual(new Set(['unknown']));
  expect(block.not_covered).toContain('some moods are unknown: the model did not answer in time');
});
