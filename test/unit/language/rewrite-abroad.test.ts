import { expect, test } from 'vitest';
import { performTask } from '../../../src/language/perform.ts';

const spoken = (text: string, language: string) => ({
  start: 0,
  end: 4,
  confidence: 1,
  channel: 0,
  text,
  language,
  words: text.split(' ').map((word, at) => ({ word, start: at, end: at + 1, confidence: 0.5 })),
});

test.each([
  ['es', 'llamo por el plan marivent de casa', 'Maribent', 'Llamo por el plan Maribent'],
  ['de', 'es geht um den tarif surfgut bitte', 'SurfGut', 'tarif SurfGut'],
  ['fr', 'je parle de la box lumyo ici', 'Lumio', 'box Lumio'],
])('custom vocabulary holds in %s as in English', (language, text, wanted, shown) => {
  const rewritten = performTask('rewrite', {
    utterance: spoken(text, language),
    realtime: { custom_vocabulary: true, custom_vocabulary_config: { vocabulary: [wanted], default_intensity: 0.6 } },
  }); // prettier-ignore
  expect(rewritten.text.toLowerCase()).toContain(shown.toLowerCase());
  expect(rewritten.text).toContain(wanted);
});

test('custom spelling holds in other languages as in English', () => {
  const rewritten = performTask('rewrite', {
    utterance: spoken('quiero hablar con guillermina ahora', 'es'),
    realtime: { custom_spelling: true, custom_spelling_config: { spelling_dictionary: { Wilhelmina: ['guillermina'] } } },
  }); // prettier-ignore
  expect(rewritten.text).toContain('Wilhelmina');
});
