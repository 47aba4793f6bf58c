import type { CustomVocabularyConfig } from '../protocol/addon-configs.ts';

/** An expected word or name. `weight` is the bonus for each of its bytes, in nats. */
export type ExpectedWord = { text: string; weight: number };

/**
 * The kind of answer that a question asks for. If the speaker says something else, the words are read as without an
 * expectation.
 */
export type { ExpectedAnswer } from '../protocol/session-hints.ts';

const defaultIntensity = 0.5;
/** The weight at full intensity. With a higher one, common words of a long list would appear everywhere. */
const fullWeight = 2;
const fullWeightOfMany = 1.2;
const many = 50;
/** At most this many entries and spoken forms influence decoding. The correction of finals uses all of them. */
const most = 1_000;
const longest = 60;

/** The expected words of a vocabulary: every value and every spoken form of it. */
export function expectedWords(
  config: CustomVocabularyConfig | undefined,
  languages: readonly string[],
): ExpectedWord[] {
  if (config === undefined) return [];
  const full = config.vocabulary.length > many ? fullWeightOfMany : fullWeight;
  return config.vocabulary
    .flatMap((item) => {
      const { value, intensity, pronunciations, language } =
        typeof item === 'string' ? { value: item } : item;
      if (language && languages.length > 0 && !languages.includes(language)) return [];
      const strength = intensity ?? config.default_intensity ?? defaultIntensity;
      const weight = full * Math.min(1, Math.max(0, strength));
      return [value, ...(pronunciations ?? [])].map((text) => ({ text, weight }));
    })
    .filter(({ text, weight }) => weight > 0 && text.length <= longest)
    .slice(0, most);
}
