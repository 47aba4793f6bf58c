import type { RecognisedWord } from '../recogniser.ts';

export type Token = { text: string; start: number; end?: number; logProbability?: number };

/**
 * Words from sub-word tokens: a token that begins with a space (or its sign ▁) begins a word.
 * Languages written without spaces arrive as one token per sign, each its own word.
 */
export function wordsFromTokens(
  tokens: readonly Token[],
  options: { endOfAudioS: number; longestTokenS: number; agreedConfidence: number },
): RecognisedWord[] {
  const words: (RecognisedWord & { logs: number[] })[] = [];
  for (const [index, token] of tokens.entries()) {
    const text = token.text.replaceAll('▁', ' ');
    const bare = text.trim();
    const next = tokens[index + 1]?.start ?? options.endOfAudioS;
    const end = token.end ?? Math.min(next, token.start + options.longestTokenS);
    const previous = words.at(-1);
    const begins = text.startsWith(' ') || !previous || unspaced(bare) || unspaced(previous.word);
    if (begins && bare !== '' && !/^[\p{P}]+$/u.test(bare)) {
      words.push({ word: bare, start: token.start, end, confidence: 0, logs: [] });
    } else if (previous) {
      previous.word += bare;
      previous.end = Math.max(previous.end, end);
    }
    if (token.logProbability !== undefined) words.at(-1)?.logs.push(token.logProbability);
  }
  return words.map(({ logs, ...word }) => ({
    ...word,
    confidence: logs.length === 0 ? options.agreedConfidence : Math.exp(mean(logs)),
  }));
}

function unspaced(text: string): boolean {
  return /^[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}]/u.test(text);
}

function mean(list: number[]): number {
  return list.reduce((sum, one) => sum + one, 0) / list.length;
}
