/** The words around a word of the lexicon. */
type Around = {
  words: readonly string[];
  i: number;
  before: string;
  next: string;
};

/** Words of the lexicon. Each group has the surroundings in which its words name something and judge nothing. */
const exemptions: readonly [words: string, isExempt: (around: Around) => boolean][] = [
  ['like likes', () => true],
  ['sweet cool fine', ({ next }) => /^(?:potato|corn|bag|box|water)$/.test(next)],
  ['fair', ({ next }) => /^(?:use|usage|trade|price)$/.test(next)],
  [
    'perfect great good excellent lovely brilliant wonderful nice',
    ({ before, next }) =>
      /^(?:the|a)$/.test(before) &&
      /^(?:condition|reason|time|day|fit|size|number|idea)$/.test(next),
  ],
  [
    'bad poor',
    ({ words, i, next }) =>
      /^(?:line|connection|reception|signal|weather|credit|sector|debt)$/.test(next) ||
      /^(?:line|connection|reception|signal|weather)$/.test(words[i - 2] ?? ''),
  ],
  ['cold hot', ({ next }) => /^(?:water|tap|air|drinks?)$/.test(next)],
  ['mental', ({ next }) => next === 'health'],
  ['stress', ({ next }) => next === 'test'],
  ['panic', ({ next }) => /^(?:button|alarm)$/.test(next)],
  ['pain', ({ next }) => next !== 'in'],
  ['treat', ({ next }) => !/^[.!]?$/.test(next)],
  [
    'bull pants weak',
    ({ before, next }) =>
      /^(?:signal|two|pair|of)$/.test(next) || before === 'the' || before === 'of',
  ],
  ['waste', ({ next }) => /^(?:bin|bins|collection|water|disposal|pipe|management)$/.test(next)],
  ['love hope fun', ({ before, next }) => /^(?:to|fund)$/.test(next) && before !== 'i'],
  ['legend solid', ({ next }) => /^(?:green|red|blue|orange|white|amber|wood|light)$/.test(next)],
  ['smooth warm', ({ next }) => /^(?:water|up|start)$/.test(next)],
  ['mad', ({ before }) => before !== 'so' && before !== 'really'],
  [
    'lawyer solicitor ombudsman sue',
    ({ words }) => !["i'll", 'going', 'gonna', 'will', 'hear'].some((word) => words.includes(word)),
  ],
];

const exemptionOf = new Map(
  exemptions.flatMap(([words, isExempt]) =>
    words.split(' ').map((word) => [word, isExempt] as const),
  ),
);

/** True for good or bad words that name a thing here and judge nothing. Phrases always judge. */
export function isExempt(words: readonly string[], i: number, end: number): boolean {
  if (end - i > 1) return false;
  const around = { words, i, before: words[i - 1] ?? '', next: words[end] ?? '' };
  return exemptionOf.get(words[i] ?? '')?.(around) ?? false;
}
