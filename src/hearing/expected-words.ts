import type { CustomVocabularyConfig } from '../protocol/addon-configs.ts';

/** A word or a name that is expected. `weight` is the bonus of each of its bytes, in nats. */
export type ExpectedWord = { text: string; weight: number };

/**
 * The kind of answer that a question asks for. A speaker may say something else; then the words are read as without an
 * expectation.
 */
export type ExpectedAnswer = 'digits';

const defaultIntensity = 0.5;
/** The weight at full intensity. In a long list common words would be heard everywhere. */
const fullWeight = 2;
const fullWeightOfMany = 1.2;
const many = 50;
/**
 * At most this many entries and spoken forms take part in decoding. The texts of finals are corrected by all of them.
 */
const most = 1_000;
const longest = 60;

/** The expected words of a session's or a job's vocabulary: every value and every way of saying it. */
export function expectedWords(
  config: CustomVocabularyConfig | null | undefined,
  languages: readonly string[],
): ExpectedWord[] {
  if (!config) return [];
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
