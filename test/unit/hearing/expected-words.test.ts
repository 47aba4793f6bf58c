import { expect, test } from 'vitest';
import { expectedWords } from '../../../src/hearing/expected-words.ts';

test('values and the ways of saying them are expected, as much as the intensity says', () => {
  const config = {
    vocabulary: ['Trunkline', { value: 'Nguyen', pronunciations: ['new yen'], intensity: 1 }],
    default_intensity: 0.25,
  };
  expect(expectedWords(config, ['en'])).toEqual([
    { text: 'Trunkline', weight: 0.5 },
    { text: 'Nguyen', weight: 2 },
    { text: 'new yen', weight: 2 },
  ]);
});

test('an entry of another language, without intensity or of endless length is not expected', () => {
  const vocabulary = [
    { value: 'Rechnung', language: 'de' },
    { value: 'mute', intensity: 0 },
    'x'.repeat(100),
    { value: 'invoice', language: 'en' },
  ];
  expect(expectedWords({ vocabulary }, ['en']).map(({ text }) => text)).toEqual(['invoice']);
  expect(expectedWords(undefined, ['en'])).toEqual([]);
});

test('the entries of a long list weigh less, and no list is longer than a thousand', () => {
  const names = Array.from({ length: 3_000 }, (_, index) => `name ${String(index)}`);
  const expected = expectedWords({ vocabulary: names }, []);
  expect(expected).toHaveLength(1_000);
  expect(expected[0]!.weight).toBeCloseTo(0.6);
});
