import type { ExpectedAnswer } from '../expected-words.ts';
import type { ReadPiece } from './piece-reader.ts';

const digit = 'zero|oh|one|two|three|four|five|six|seven|eight|nine';
const teen = 'ten|eleven|twelve|thirteen|fourteen|fifteen|sixteen|seventeen|eighteen|nineteen';
const ten = 'twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety';
/**
 * One number as it is said: "four", "forty two", "4", "472". Figures are taken whole: repeated patterns could otherwise
 * divide a long row of them in any number of ways.
 */
const number = `(?:(?:${ten})(?:[ -](?:one|two|three|four|five|six|seven|eight|nine))?|${teen}|${digit}|\\d+(?!\\d))`;
const nato =
  'alpha|alfa|bravo|charlie|delta|echo|foxtrot|golf|hotel|india|juliett?|kilo|lima|mike|november|oscar|papa|quebec|romeo|sierra|tango|uniform|victor|whiske?y|x-?ray|yankee|zulu';
const month =
  'January|February|March|April|May|June|July|August|September|October|November|December';
const filler = '(?:[ ,.]*\\b(?:uh|um|er|erm|and|no wait|sorry))*';
const end = `${filler}[\\s,.…-]*$`;

const pattern = (source: string, flags = 'i') => new RegExp(source + end, flags);

/** Two numbers in a row, or figures that are no small number: an account, a phone, a card that is read out. */
const digitsAtEnd = pattern(
  `(?:\\b${number}[\\s,.-]+(?:and )?${number}|\\b\\d{3,}|\\d[,.-]\\d+|\\b(?:double|triple|plus|area code|hundred|thousand|million)(?: (?:${digit}))?)`,
);
/** Nothing but one number was said. */
const bareNumber = new RegExp(`^[\\s,.]*(?:(?:uh|um|and|it's|it is) )?${number}${end}`, 'i');
/** One number at the end of other words, which counts where a number is expected. */
const numberAtEnd = pattern(`\\b${number}`);
/** Letters that are spelled, and names that stand for them. */
const lettersAtEnd = pattern(
  `(?:\\b\\p{L}[\\s,.-]+\\b[b-hj-npq-z]|\\b[b-hj-npq-z][\\s,.-]+\\b\\p{L}` +
    `|\\b(?:\\p{L}|${nato})[\\s,-]+(?:${nato})|\\b(?:as in|like in|for) (?:${nato})|\\b\\p{L},? as in(?: \\p{L}+)?)`,
  'iu',
);
/** A code has both. */
const codeAtEnd = pattern(
  `\\b(?:[b-hj-npq-z]|${nato})[\\s,.-]+(?:(?:[b-hj-npq-z]|${nato})[\\s,.-]+)*(?:${number}[\\s,.-]*)+`,
);
/** Half an address of mail or web. */
const halfAddresses: readonly RegExp[] = [
  pattern(`\\b(?:dot|at|underscore|hyphen|at sign)`),
  pattern(
    `\\p{L}+(?: dot |\\.)\\p{L}+(?<!\\.(?:com|net|org|edu|gov|io|uk|de)|dot (?:com|net|org))`,
    'iu',
  ),
];
const halves: readonly RegExp[] = [
  digitsAtEnd,
  lettersAtEnd,
  ...halfAddresses,
  // A month without its day, a day without its month, an amount without its cents.
  pattern(`\\b(?:in|on|of|since|is|was)? ?(?:${month})`, ''),
  pattern(`\\b(?:the )?(?:\\p{L}+(?:th|first|second|third)|\\d+(?:st|nd|rd|th)) of`, 'iu'),
  pattern(`\\b(?:dollars|euros|pounds)[ ,]+and(?: ${number})?`),
  pattern(`\\b${number} point`),
  // The beginning of a sentence that is nothing without what it promises.
  pattern(
    `\\b(?:number|code|reference|e-?mail(?: address)?|address|surname|(?:last|first|full|family) name|zip|social|visa|card|iban)(?:,? it)? (?:is|are|was|would be|says)`,
  ),
];
/** "twenty three" is one number. */
const twoWords = new RegExp(
  `\\b(?:${ten})[ -](?:one|two|three|four|five|six|seven|eight|nine)\\b`,
  'gi',
);
/** A time of the day, a year and the name of a country end like a number or a spelling, and are over. */
const whole =
  /\b(?:[ap][ .]*m|u[ .]*(?:s|k)|(?:in|since|of|year|from|until) (?:19|20)\d\d)[\s,.]*$/i;
/** As many digits as the longest number that people read out: a card. */
const mostDigits = 16;

/**
 * True when somebody who says this is in the middle of a number, a spelling, a date or an address: more may come after a
 * pause. In other languages than English only figures count.
 */
export function isUnfinished(text: string, { expects }: { expects: boolean }): boolean {
  const said = text.trim().replace(twoWords, '42');
  if (digitsIn(said) >= mostDigits || whole.test(said)) return false;
  if (bareNumber.test(said) || (expects && numberAtEnd.test(said))) return true;
  return halves.some((half) => half.test(said));
}

/** The kind of answer that an unfinished text is in the middle of; undefined where more of it may be any words. */
export function answerAtEnd(text: string): ExpectedAnswer | undefined {
  const said = text.trim();
  if (codeAtEnd.test(said)) return 'code';
  if (digitsAtEnd.test(said) || bareNumber.test(said)) return 'digits';
  if (lettersAtEnd.test(said)) return 'code';
  return /\p{L}(?: dot |\.)\p{L}/iu.test(said) && halfAddresses.some((half) => half.test(said))
    ? 'email'
    : undefined;
}

/** Matches words after a pause that go on with the number or the spelling before it. */
const continuation = new RegExp(
  `^[\\s,.]*(?:(?:uh|um|er|erm|and|no wait|sorry)[\\s,.]+)*(?:${number}|[b-hj-z]|${nato}|double|triple|hundred|thousand|dash|dot|point|plus)(?![\\p{L}'’])`,
  'iu',
);

/** True if words after a pause go on with what is unfinished: behind a number only more of it does. */
export function goesOn(before: string, next: string): boolean {
  const kind = answerAtEnd(before);
  return kind === undefined || kind === 'email' || continuation.test(next);
}

const nameAtEnd = /\bname(?:'s| is)(?: \p{L}+){1,2}[\s,.]*$/iu;

/** The kind of answer that may follow what is over: a name is often spelled once it is said. */
export function answerAfter(text: string): ExpectedAnswer | undefined {
  return nameAtEnd.test(text.trim()) ? 'letters' : undefined;
}

const allDigits = new RegExp(`\\b(?:${digit}|${teen}|${ten})\\b|\\d`, 'gi');
const pairs = new RegExp(`^(?:${teen}|${ten})$`, 'i');

function digitsIn(text: string): number {
  let count = 0;
  for (const [word] of text.matchAll(allDigits)) count += pairs.test(word) ? 2 : 1;
  return count;
}

/** The piece without the full stop of its last word: more of its number may follow. */
export function withoutStop(piece: ReadPiece): ReadPiece {
  const last = piece.words.at(-1);
  if (!last || !/[^.]\.$/.test(last.word) || !piece.text.endsWith('.')) return piece;
  const words = [...piece.words.slice(0, -1), { ...last, word: last.word.slice(0, -1) }];
  return { ...piece, words, text: piece.text.slice(0, -1) };
}
