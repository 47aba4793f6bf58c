import { secretKinds } from '../entities/asked-secrets.ts';
import type { CueKind } from '../entities/cue-kinds.ts';
import { cueAbroad } from '../abroad/cues-abroad.ts';
import { isAbroad, type LanguageAbroad, plain } from '../abroad/number-words.ts';
import type { EntitySpan } from '../types.ts';
import { shortRows } from './number-rows.ts';

/** Words of a question for the date of a card, in small letters without accents. */
const datesOfCards: Record<LanguageAbroad, RegExp> = {
  es: /\b(?:caduc\w+|venc\w+|expir\w+|valid\w+ hasta|hasta cuando)\b/,
  fr: /\b(?:expir\w+|valab\w+|validite|valide jusqu\w*|date de fin)\b/,
  de: /\b(?:ablauf\w*|gultig\w*|verfall\w*|lauft\b.* ab)\b/,
  it: /\b(?:scad\w+|valid\w+|fino a quando)\b/,
  pt: /\b(?:valid\w+|venc\w+|expir\w+|caduc\w+)\b/,
  nl: /\b(?:verval\w*|verloop\w*|geldig\w*)\b/,
};
/** A question for a code without more words may be one for the code of a card. */
const codes: Record<LanguageAbroad, RegExp> = {
  es: /\bcodigo\b/,
  fr: /\bcode\b/,
  de: /\b(?:code|prufziffer|geheimzahl)\b/,
  it: /\bcodice\b/,
  pt: /\bcodigo\b/,
  nl: /\bcode\b/,
};
/** A question that names a code as that of something else has more words than this. */
const fewWords = 4;
/** A question is at the end of its turn. */
const longestTurn = 300;
/** The question, and a short word behind it. */
const turnsOfQuestion = 2;

/**
 * Short answers to a question for the date, the code or the number of a card, in other languages: "nueve tres siete".
 * A caller may also answer an English question in another language.
 */
export function shortAnswersAbroad(
  text: string,
  {
    turns,
    kinds,
    language = 'en',
  }: { turns: readonly string[]; kinds: readonly CueKind[]; language?: string | undefined },
): EntitySpan[] {
  const isAsked =
    kinds.some((kind) => secretKinds.has(kind)) ||
    (isAbroad(language) &&
      turns.slice(-turnsOfQuestion).some((turn) => asksForSecret(turn, language)));
  return isAsked ? shortRows(text, language) : [];
}

function asksForSecret(turn: string, language: LanguageAbroad): boolean {
  const words = plain(turn.slice(-longestTurn));
  if (datesOfCards[language].test(words)) return true;
  const isShort = (words.match(/\p{L}+/gu)?.length ?? 0) <= fewWords;
  if (isShort && codes[language].test(words)) return true;
  const cue = cueAbroad(words, '', language);
  return cue === 'cvv' || cue === 'card';
}
