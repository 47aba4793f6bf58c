import type { Utterance } from '../../protocol/addons.ts';
import type { RecognisedUtterance } from '../../hearing/recogniser.ts';

const rounded = (value: number): number => Math.round(value * 1e4) / 1e4;

/** Live text and every live word begin with exactly one space, so that the joined words give the text. */
export function utteranceOf(
  recognised: RecognisedUtterance,
  channel: number,
  language: string | undefined,
): Utterance {
  const words = recognised.words.map((word) => ({
    word: ` ${word.word.trim()}`,
    start: rounded(word.start),
    end: rounded(word.end),
    confidence: rounded(word.confidence),
  }));
  const text = recognised.text.trim().replace(/\s+/g, ' ');
  return {
    start: rounded(recognised.start),
    end: rounded(recognised.end),
    confidence: rounded(recognised.confidence),
    channel,
    words,
    text: text === '' ? '' : ` ${text}`,
    language: language ?? recognised.language,
  };
}
