import { sentimentExamples } from '../data/sentiment-examples.ts';

/** The direction in which the counted examples clearly lean. */
type Leaning = 'negative' | 'positive' | undefined;

type Label = 'negative' | 'neutral' | 'positive';
const labels: Record<string, Label> = { n: 'negative', x: 'neutral', p: 'positive' };

/** A label needs this lead over neutral, as a logarithm of likelihoods. Below it the sentence stays neutral. */
const clearly = 4;

/** Counts of each word and pair of words by label. The classifier is naive Bayes over presence. */
const counts = {
  negative: new Map<string, number>(),
  neutral: new Map<string, number>(),
  positive: new Map<string, number>(),
};
const totals = { negative: 0, neutral: 0, positive: 0 };
const known = new Set<string>();

for (const line of sentimentExamples.trim().split('\n')) {
  const label = labels[line.slice(0, 1)];
  if (!label) continue;
  totals[label] += 1;
  for (const feature of featuresOf(line.slice(2))) {
    known.add(feature);
    counts[label].set(feature, (counts[label].get(feature) ?? 0) + 1);
  }
}

function featuresOf(text: string): Set<string> {
  const words = text
    .toLowerCase()
    .replaceAll('’', "'")
    .replace(/[^a-z' !?]/g, ' ')
    .replace(/([!?])/g, ' $1 ')
    .trim()
    .split(/\s+/);
  return new Set(
    words.flatMap((word, i) => (i === 0 ? [word] : [word, `${words[i - 1] ?? ''} ${word}`])),
  );
}

export function leaningOf(text: string): Leaning {
  const features = [...featuresOf(text)].filter((feature) => known.has(feature));
  const weigh = (label: Label): number =>
    features.reduce(
      (sum, feature) =>
        sum + Math.log(((counts[label].get(feature) ?? 0) + 0.3) / (totals[label] + 0.6)),
      Math.log(totals[label]),
    );
  const neutral = weigh('neutral');
  const negative = weigh('negative') - neutral;
  const positive = weigh('positive') - neutral;
  if (negative > clearly && negative > positive) return 'negative';
  return positive > clearly + 1 ? 'positive' : undefined;
}
