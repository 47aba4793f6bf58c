import { cardinalAt, isFiller, smallAt, units } from '../text/numbers.ts';
import type { Doc } from './doc.ts';

/**
 * Finds runs of digits and letters that form one code, written or spoken: "ZX-448201", "double four, oh one", "k for
 * kilo, three, nine, b as in bravo", "plus four four seven seven". A spoken correction replaces what it corrects: "four
 * seven two, no wait, four seven three" is 473.
 */
export type RunPiece = { chars: string; from: number; to: number; isDigits: boolean };

export type Run = {
  from: number;
  to: number;
  chars: string;
  digits: number;
  letters: number;
  pieces: RunPiece[];
};

const nato = new Set(
  (
    'alpha alfa bravo charlie delta echo foxtrot golf hotel india juliet juliett kilo lima mike november oscar ' +
    'papa quebec romeo sierra tango uniform victor whiskey whisky xray yankee zulu'
  ).split(' '),
);

/** Words in capitals that belong to no code. */
const plainCapitals = new Set(
  'am pm id ok tv pin ssn cvv cvc usa us uk eu iban sim usb hd dvd pdf faq ceo hr it atm gps app sms vat irs dmv po no my the is and for to of a i'.split(
    ' ',
  ),
);

const softMarks = new Set([',', '-', '–', '/', '#', '(', ')', '+', '.', '…', '_', ':']);
const softWords = new Set('dash hyphen slash then space stroke underscore'.split(' '));

const longestRun = 48;
const mostCorrections = 4;

export function runAt(doc: Doc, start: number, withLetters: boolean): Run | undefined {
  let pieces = piecesAt(doc, start, withLetters);
  for (let corrections = 0; corrections < mostCorrections; corrections++) {
    const last = pieces.at(-1);
    if (!last || pieces.length >= longestRun) break;
    const at = correctionEnd(doc, last.to);
    const again = at === 0 ? [] : piecesAt(doc, at, withLetters, last);
    if (again.length === 0) break;
    pieces = corrected(pieces, again);
  }
  return runOf(pieces);
}

/** The digits and letters that begin at the token, as they were said. A correction ends them. */
export function piecesAt(
  doc: Doc,
  start: number,
  withLetters: boolean,
  before?: RunPiece,
): RunPiece[] {
  const pieces: RunPiece[] = [];
  let at = start;
  while (pieces.length < longestRun) {
    const piece = pieceAt(doc, at, withLetters, pieces.at(-1) ?? before);
    if (!piece) break;
    pieces.push(piece);
    at = afterSoft(doc, piece, withLetters);
  }
  return pieces;
}

export function runOf(pieces: RunPiece[]): Run | undefined {
  const first = pieces[0];
  const last = pieces.at(-1);
  if (!first || !last) return undefined;
  const chars = charsOf(pieces);
  const digits = chars.replace(/\D/g, '').length;
  return { from: first.from, to: last.to, chars, digits, letters: chars.length - digits, pieces };
}

function afterSoft(doc: Doc, piece: RunPiece, withLetters: boolean): number {
  let at = piece.to;
  for (let skipped = 0; skipped < 5; skipped++) {
    const token = doc.tokens[at];
    if (!token || doc.isTaken(at)) break;
    const hesitated = hesitationEnd(doc, at);
    if (hesitated > 0) {
      at = hesitated;
      continue;
    }
    if (token.kind === 'mark' && softMarks.has(token.text)) {
      // A full stop and a space end a sentence, but recognisers also write them between single digits.
      const isEnd = /[.:…]/.test(token.text) && doc.tokens[at + 1]?.spaced;
      const next = isEnd ? pieceAt(doc, at + 1, withLetters, piece) : undefined;
      // "Romeo N. 4275" goes on, too.
      const isCode = !piece.isDigits && next?.isDigits === true && next.chars.length >= 3;
      if (isEnd && !(piece.chars.length === 1 && (next?.chars.length === 1 || isCode))) break;
    } else if (!isFiller(token) && !softWords.has(token.lower) && !isLikeFiller(doc, piece, at))
      break;
    at += 1;
  }
  return at;
}

/** Words that a recogniser makes of a hesitation between digits that are listed: "nine, two, but seven, four, three". */
const likeFillers = /^(?:but|that)$/;

/** True between at least two listed digits before the word, and three behind it. */
function isLikeFiller(doc: Doc, piece: RunPiece, at: number): boolean {
  if (!likeFillers.test(doc.word(at)) || piece.chars.length !== 1 || !piece.isDigits) return false;
  return listedFrom(doc, piece.to - 1, -1) >= 2 && listedFrom(doc, at + 1, 1) >= 3;
}

/** The number of single digits in a row, with or without marks between them. */
function listedFrom(doc: Doc, start: number, step: 1 | -1): number {
  let count = 0;
  for (let at = start; count < 3; at += step) {
    if (/^(?:\d|oh)$/.test(doc.word(at)) || units.has(doc.word(at))) count += 1;
    else if (!/^[.,]$/.test(doc.word(at))) break;
  }
  return count;
}

const ends = /^[.?…]$/;

/** The end of a sentence that is nothing but a hesitation, with the full stop before it (". Uh?"), or 0. */
function hesitationEnd(doc: Doc, start: number): number {
  if (!ends.test(doc.word(start))) return 0;
  let at = start + 1;
  while (isFiller(doc.tokens[at]) || likeFillers.test(doc.word(at))) at += 1;
  return at > start + 1 && ends.test(doc.word(at)) ? at + 1 : 0;
}

/** A correction has at most this many words: "no, sorry, it's". */
const longestCorrection = 8;

/** The end of a spoken correction that begins at the token ("no wait", "sorry, I mean"), or 0. */
function correctionEnd(doc: Doc, start: number): number {
  let isCorrection = false;
  let at = start;
  while (at < start + longestCorrection) {
    const token = doc.tokens[at];
    if (!token || doc.isTaken(at)) return 0;
    const next = doc.word(at + 1);
    if (/^(?:no|nope|wait|sorry|actually|correction|oops|pardon|rather)$/.test(token.lower)) {
      isCorrection = true;
      at += 1;
    } else if (
      (token.lower === 'i' && next === 'mean') ||
      (token.lower === 'scratch' && next === 'that') ||
      (token.lower === 'make' && next === 'that') ||
      (token.lower === 'excuse' && next === 'me') ||
      (token.lower === 'my' && /^(?:bad|mistake)$/.test(next))
    ) {
      isCorrection = true;
      at += 2;
    } else if (
      isFiller(token) ||
      /^(?:[,.…–-]|it's|that's|it|that|is|a|i|was|not)$/.test(token.lower)
    )
      at += 1;
    else break;
  }
  return isCorrection ? at : 0;
}

/** Lengths of complete numbers: bank codes, phone numbers and cards. */
const wholeLengths = new Set([9, 10, 11, 15, 16]);

/** Replaces the part of the end that the correction most likely means. */
function corrected(pieces: readonly RunPiece[], again: readonly RunPiece[]): RunPiece[] {
  const [first, ...others] = again;
  if (!first) return [...pieces];
  const kept: RunPiece[] = [];
  let left = keptBefore(charsOf(pieces), charsOf(again));
  let from = first.from;
  for (const piece of pieces) {
    const chars = piece.chars.slice(0, left);
    left -= chars.length;
    if (chars !== '') kept.push({ ...piece, chars });
    if (chars.length < piece.chars.length)
      from = Math.min(from, chars === '' ? piece.from : piece.to);
  }
  return [...kept, { ...first, from }, ...others];
}

/** The number of characters before a correction that stay. */
function keptBefore(said: string, again: string): number {
  const goesOn = wholeLengths.has(said.length - 1 + again.length);
  const end = said.length - again.length;
  // The speaker repeats one digit and continues with the rest of the number.
  if (end <= 0) return goesOn && again.length > said.length ? said.length - 1 : 0;
  if (again.length === 1 || wholeLengths.has(said.length)) return end;
  const same = Array.from(again).filter((char, i) => said[end + i] === char).length;
  return same * 2 < again.length && goesOn ? said.length - 1 : end;
}

function charsOf(pieces: readonly RunPiece[]): string {
  return pieces.map(({ chars }) => chars).join('');
}

function pieceAt(
  doc: Doc,
  i: number,
  withLetters: boolean,
  before: RunPiece | undefined,
): RunPiece | undefined {
  const token = doc.tokens[i];
  if (!token || doc.isTaken(i) || token.kind === 'mark') return undefined;
  if (token.kind === 'number')
    return isBareNumber(doc, i) ? piece(token.text, i, i + 1) : undefined;
  const word = token.lower;
  if (word === 'double' || word === 'triple') {
    // A second "double" does not count: in a text of nothing else, the search would start again at every word.
    if (/^(?:double|triple)$/.test(doc.word(i + 1))) return undefined;
    const inner = pieceAt(doc, i + 1, withLetters, before);
    if (inner?.chars.length !== 1) return undefined;
    return { ...inner, chars: inner.chars.repeat(word === 'double' ? 2 : 3), from: i };
  }
  const number = numberPiece(doc, i, before);
  if (number) return number;
  return withLetters ? letterPiece(doc, i, before) : undefined;
}

function piece(chars: string, from: number, to: number): RunPiece {
  return { chars, from, to, isDigits: /^\d+$/.test(chars) };
}

/** True unless the number is a price, percentage, ordinal, time or measure. */
function isBareNumber(doc: Doc, i: number): boolean {
  const previous = doc.tokens[i - 1];
  const next = doc.tokens[i + 1];
  if (previous && /[$£€¥%]/.test(previous.text) && !doc.tokens[i]?.spaced) return false;
  if (next?.text === '%') return false;
  if (next && !next.spaced && next.kind === 'word' && next.text === next.lower)
    if (
      /^(?:am|pm|th|st|nd|rd|gb|mb|tb|kg|km|ml|mm|cm|mph|kwh|x|k|p|h|g|m|s|ft|hz|ghz|mbps)$/.test(
        next.lower,
      )
    )
      return false;
  // A decimal has one dot and at most four digits. A phone number with dots has more.
  if (next?.text === '.' && !next.spaced) {
    const fraction = doc.tokens[i + 2];
    if (fraction?.kind === 'number' && !fraction.spaced && doc.tokens[i + 3]?.text !== '.')
      if ((doc.tokens[i]?.text.length ?? 0) + fraction.text.length <= 4) return false;
  }
  return !(
    next?.text === ':' &&
    !next.spaced &&
    doc.tokens[i + 2]?.kind === 'number' &&
    !doc.tokens[i + 2]?.spaced
  );
}

/** In "oh, eight, seven" the digits are listed, and "oh" is the first of them. "Oh, two tickets" begins with a cry. */
function isListed(doc: Doc, comma: number): boolean {
  const isComma = (at: number) => doc.word(at) === ',';
  return (
    isComma(comma) &&
    isDigitWord(doc, comma + 1) &&
    isComma(comma + 2) &&
    isDigitWord(doc, comma + 3)
  );
}

function numberPiece(doc: Doc, i: number, before: RunPiece | undefined): RunPiece | undefined {
  const word = doc.word(i);
  if (word === 'oh' || word === 'o' || word === 'owe') {
    const digitNear =
      (before?.isDigits ?? false) || isDigitWord(doc, i + 1) || isListed(doc, i + 1);
    return digitNear ? piece('0', i, i + 1) : undefined;
  }
  const small = smallAt(doc.tokens, i);
  if (!small) return undefined;
  const next = doc.word(small.next);
  if (next === 'thousand' || next === 'million') {
    const whole = cardinalAt(doc.tokens, i);
    return whole && piece(String(whole.value), i, whole.next);
  }
  if (next === 'hundred' && small.value < 100) {
    // "eight hundred five five five" is a prefix; "two hundred (and) thirty" is one number.
    const follow = doc.word(small.next + 1);
    const rest = smallAt(doc.tokens, follow === 'and' ? small.next + 2 : small.next + 1);
    const joins = rest && rest.value < 100 && (follow === 'and' || rest.value >= 10);
    return joins
      ? piece(String(small.value * 100 + rest.value), i, rest.next)
      : piece(String(small.value * 100), i, small.next + 1);
  }
  return piece(String(small.value), i, small.next);
}

function isDigitWord(doc: Doc, i: number): boolean {
  const word = doc.word(i);
  return (
    units.has(word) ||
    doc.tokens[i]?.kind === 'number' ||
    /^(?:oh|o|double|triple|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|ten|eleven|twelve|\w+teen)$/.test(
      word,
    )
  );
}

function letterPiece(doc: Doc, i: number, before: RunPiece | undefined): RunPiece | undefined {
  const token = doc.tokens[i];
  if (!token) return undefined;
  const next = doc.tokens[i + 1];
  if (/^[a-z]$/.test(token.lower)) {
    const isWordToo = token.lower === 'a' || token.lower === 'i';
    const spelled = /^(?:as|for|like)$/.test(next?.lower ?? '') ? spelledEnd(doc, i) : 0;
    if (spelled > 0)
      return { chars: token.text.toUpperCase(), from: i, to: spelled, isDigits: false };
    // "I Juliet five six": a name of the alphabet and a digit follow.
    const spellsOn = nato.has(next?.lower ?? '') && isDigitWord(doc, i + 2);
    if (spellsOn) return { chars: token.text.toUpperCase(), from: i, to: i + 1, isDigits: false };
    if (isWordToo && !before && !/^[a-z]$/.test(next?.lower ?? '') && next?.spaced !== false)
      return undefined;
    if (
      isWordToo &&
      before &&
      !isDigitWord(doc, i + 1) &&
      !/^[a-z]$/.test(next?.lower ?? '') &&
      !(token.capital && token.lower === 'a')
    )
      return undefined;
    return { chars: token.text.toUpperCase(), from: i, to: i + 1, isDigits: false };
  }
  const isBesideLetter = /^[b-hj-z]$/.test(next?.lower ?? '') && isDigitWord(doc, past(doc, i + 2));
  if (
    nato.has(token.lower) &&
    (before || isDigitWord(doc, i + 1) || nato.has(next?.lower ?? '') || isBesideLetter)
  )
    return { chars: token.lower.slice(0, 1).toUpperCase(), from: i, to: i + 1, isDigits: false };
  const isCapitals =
    token.text.length >= 2 && token.text.length <= 12 && token.text === token.text.toUpperCase();
  const glued = before !== undefined && !token.spaced;
  if (isCapitals && doc.hasCase && (glued || !plainCapitals.has(token.lower)))
    return { chars: token.text, from: i, to: i + 1, isDigits: false };
  if (glued && token.text.length <= 4 && before.to === i && /^[a-z]+$/.test(token.lower))
    return { chars: token.text.toUpperCase(), from: i, to: i + 1, isDigits: false };
  return undefined;
}

function past(doc: Doc, i: number): number {
  return /^[.,]$/.test(doc.word(i)) ? i + 1 : i;
}

/** The end of a spelled letter such as "b as in bravo" or "k for kilo", or 0. */
function spelledEnd(doc: Doc, i: number): number {
  const at = doc.word(i + 1) === 'as' ? (doc.word(i + 2) === 'in' ? i + 3 : 0) : i + 2;
  const word = doc.tokens[at];
  if (at === 0 || word?.kind !== 'word') return 0;
  if (!word.lower.startsWith(doc.word(i))) return 0;
  // "x as in x-ray"
  const isCompound = doc.tokens[at + 1]?.text === '-' && doc.tokens[at + 2]?.kind === 'word';
  return isCompound && word.lower.length === 1 ? at + 3 : at + 1;
}

/** Words beside a number that say what it counts. Such a number is no secret. */
const counted =
  /^(?:minutes?|hours?|days?|weeks?|months?|years?|times|percent|people|persons?|dollars?|pounds?|euros?|cents?|pence|bucks|quid|miles?|units?|pages?|items?|boxes|points?|degrees?|kilometers?|feet|calls?|users?|customers|employees|o'clock|am|pm|of|seconds?|kids?|children|cards?|others?|more|numbers?|digits?|letters|tickets|seats|nights|rooms|meters|metres|kilos?|thousand|million)$/;

const dayParts = /^(?:morning|afternoon|evening)$/;

/** True if a word beside the run explains it: as an amount, a count, a time or a room number. */
export function isExplained(doc: Doc, run: Run): boolean {
  if (run.pieces.length > 2) return false;
  const before = doc.word(run.from - 1);
  if (
    /^[$£€¥]$/.test(before) ||
    /^(?:room|floor|page|chapter|version|option|step|channel|gate|apartment|suite|unit|extension|line)$/.test(
      before,
    )
  )
    return true;
  const next = doc.word(run.to);
  if (next === '%' || counted.test(next)) return true;
  // "ten in the morning", the minutes of "6:45", the year of "since 2018".
  if (next === 'in' && doc.word(run.to + 1) === 'the' && dayParts.test(doc.word(run.to + 2)))
    return true;
  if (before === ':' && run.digits === 2 && /^\d{1,2}$/.test(doc.word(run.from - 2))) return true;
  if (/^(?:in|since|from)$/.test(before) && /^(?:19[5-9]|20[0-2])\d$/.test(run.chars)) return true;
  // "nine a.m.", "ten p m"
  return /^[ap]$/.test(next) && /^(?:\.?|m)$/.test(doc.word(run.to + 1));
}
