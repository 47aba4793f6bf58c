import { units } from '../text/numbers.ts';
import { isFiller } from '../text/numbers.ts';
import { tokenize } from '../text/tokens.ts';

const marks: Readonly<Record<string, string>> = {
  dot: '.',
  point: '.',
  period: '.',
  at: '@',
  underscore: '_',
  dash: '-',
  hyphen: '-',
  minus: '-',
  plus: '+',
  slash: '/',
  colon: ':',
};

/** A spoken mail or web address as it is written, or undefined if the words make none. */
export function addressOf(text: string): string | undefined {
  const tokens = tokenize(text.trim());
  let address = '';
  for (let i = 0; i < tokens.length; i++) {
    const token = tokens[i];
    if (!token) break;
    const word = token.lower;
    if (isFiller(token) || (token.kind === 'mark' && word === ',')) continue;
    // "m as in mike": the word only tells the letter.
    if (word === 'as' && tokens[i + 1]?.lower === 'in' && /[a-z]$/.test(address)) {
      i += 2;
      continue;
    }
    const next = tokens[i + 1];
    if (
      /^(?:double|triple)$/.test(word) &&
      next !== undefined &&
      plainOf(next.lower).length === 1
    ) {
      address += plainOf(next.lower).repeat(word === 'double' ? 2 : 3);
      i += 1;
      continue;
    }
    const tens = tensOf(word);
    if (tens !== undefined) {
      const unit = units.get(next?.lower ?? '') ?? 0;
      address += String(tens + unit);
      if (unit > 0) i += 1;
      continue;
    }
    address += marks[word] ?? plainOf(word);
  }
  const plain = address.replace(/[.,!?]+$/, '');
  const isMail = /^[a-z0-9._%+-]+@[a-z0-9-]+(?:\.[a-z0-9-]+)+$/.test(plain);
  const isPage = /^(?:https?:\/\/)?[a-z0-9-]+(?:\.[a-z0-9-]+)+(?:[/?#]\S*)?$/.test(plain);
  return isMail || isPage ? plain : undefined;
}

function plainOf(word: string): string {
  if (word === 'oh') return '0';
  const unit = units.get(word);
  return unit === undefined ? word : String(unit);
}

const tensWords = 'ten twenty thirty forty fifty sixty seventy eighty ninety'.split(' ');
const teens = 'eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen'.split(
  ' ',
);

function tensOf(word: string): number | undefined {
  const ten = tensWords.indexOf(word);
  if (ten >= 0) return (ten + 1) * 10;
  const teen = teens.indexOf(word);
  return teen >= 0 ? teen + 11 : undefined;
}
