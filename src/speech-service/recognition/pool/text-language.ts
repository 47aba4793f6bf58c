import type { TextLanguage } from './language-choice.ts';

/** Too little to tell one language from another. */
const leastLetters = 8;

/** Detection from the text, for models that do not say. Loaded only where there is something to detect. */
export async function loadTextLanguage(): Promise<TextLanguage> {
  const { eld } = await import('eld/small');
  return (text, among) => {
    if (text.replace(/[^\p{L}]/gu, '').length < leastLetters) return '';
    const scores = eld.detect(text).getScores();
    let best = '';
    for (const language of among)
      if ((scores[language] ?? 0) > (scores[best] ?? 0)) best = language;
    return best;
  };
}

export const noTextLanguage: TextLanguage = () => '';
