import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { loadConversation } from '../../src/player/conversation.ts';
import { normalisedWords, wordErrors } from '../support/recognition/word-errors.ts';

const shown = new URL('../../.github/page.txt', import.meta.url);
/** The recogniser of the picture is a real one: it may miss a word, and not a sentence. */
const errorsAllowed = 0.1;

test("the README's picture shows a run of the built-in call: its words are those of the script", async () => {
  const lines = (await readFile(shown, 'utf8')).trim().split('\n');
  const said = lines.map((line) => {
    const [, name = '', text = ''] = /^(Customer|Agent)?: (.+)$/.exec(line) ?? [];
    return { name, text };
  });
  expect(said.every(({ text }) => text !== '')).toBe(true);
  const { turns } = await loadConversation();
  let errors = 0;
  let words = 0;
  // By party: where both speak at once, either may stand first.
  for (const leg of ['customer', 'agent'] as const) {
    const truth = normalisedWords(
      turns
        .filter((turn) => turn.leg === leg)
        .map(({ text }) => text)
        .join(' '),
    );
    const own = said.filter(({ name }) => name.toLowerCase() === leg);
    const heard = normalisedWords(own.map(({ text }) => text).join(' '), truth);
    errors += wordErrors(truth, heard);
    words += truth.length;
  }
  expect(words).toBeGreaterThan(80);
  expect(errors / words).toBeLessThanOrEqual(errorsAllowed);
});
