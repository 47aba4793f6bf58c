import { piecesAt, type RunPiece } from '../entities/code-runs.ts';
import type { Doc } from '../entities/doc.ts';
import { spelledLetters, spellingEnd } from '../entities/spelled.ts';
import { isFiller, units } from '../text/numbers.ts';
import type { TextToken } from '../text/tokens.ts';
import type { EntitySpan, TextEdit } from '../types.ts';

type NumberSpan = Pick<EntitySpan, 'start' | 'end'>;

/** The rule for digits: a kind of number, or digits in a row that belong to no entity. */
type CodeForm = 'code' | 'bare' | 'CREDIT_CARD' | 'CREDIT_CARD_EXPIRATION' | 'SSN';

/** Fewer digits in a row without anything that says what they are stay words: "one two", "two, three times". */
const fewestBareDigits = 3;
/** Digits that are written in groups: an American card, an American social security number. */
const groups: Partial<Record<CodeForm, Readonly<Record<number, readonly number[]>>>> = {
  CREDIT_CARD: { 16: [4, 4, 4, 4], 15: [4, 6, 5] },
  SSN: { 9: [3, 2, 4] },
};

/**
 * The runs of digits and letters in a span, each in figures. Words between the runs, such as "no, wait", stay: the
 * transcript tells what was said, and the entity's value what was meant.
 */
export function writtenCode(doc: Doc, span: NumberSpan, form: CodeForm): TextEdit[] {
  const isEntity = form !== 'bare';
  const withLetters = isEntity && form !== 'SSN' && form !== 'CREDIT_CARD';
  return runsIn(doc, span, withLetters, isEntity).flatMap((pieces) => {
    const edit = editOf(doc, pieces, form);
    return edit !== undefined && (isEntity || isBareCode(doc, pieces)) ? [edit] : [];
  });
}

/** "212-555-0147", or "+1 212 555 0147" where the plus was said. */
export function writtenPhone(
  doc: Doc,
  span: NumberSpan,
  callingCode: string | undefined,
): TextEdit[] {
  const runs = runsIn(doc, span, false);
  return runs.flatMap((pieces) => {
    const edit = editOf(doc, pieces, 'code');
    if (edit === undefined) return [];
    const plus = runs.length === 1 ? plusBefore(doc, pieces, span) : undefined;
    if (plus !== undefined)
      return [{ ...edit, start: plus, text: `+${grouped(edit.text, groupsAbroad(edit.text))}` }];
    const isAmerican = callingCode === undefined || callingCode === '1';
    return [{ ...edit, text: isAmerican ? grouped(edit.text, groupsAtHome[edit.text.length], '-') : edit.text }]; // prettier-ignore
  });
}

const groupsAtHome: Readonly<Record<number, readonly number[]>> = {
  7: [3, 4],
  10: [3, 3, 4],
  11: [1, 3, 3, 4],
};

function groupsAbroad(digits: string): readonly number[] | undefined {
  return digits.startsWith('1') && digits.length === 11 ? [1, 3, 3, 4] : undefined;
}

/** The place of the plus, said or written, directly before the number. */
function plusBefore(
  doc: Doc,
  pieces: readonly RunPiece[],
  { start }: NumberSpan,
): number | undefined {
  const before = doc.tokens[(pieces[0]?.from ?? 0) - 1];
  if (before === undefined || before.start < start) return undefined;
  return before.text === '+' || before.lower === 'plus' ? before.start : undefined;
}

function grouped(digits: string, sizes: readonly number[] | undefined, mark = ' '): string {
  if (sizes === undefined || !/^\d+$/.test(digits)) return digits;
  const parts: string[] = [];
  let at = 0;
  for (const size of sizes) parts.push(digits.slice(at, (at += size)));
  return [...parts, digits.slice(at)].filter((part) => part !== '').join(mark);
}

function runsIn(
  doc: Doc,
  { start, end }: NumberSpan,
  withLetters: boolean,
  isEntity = true,
): RunPiece[][] {
  const runs: RunPiece[][] = [];
  for (let at = tokenFrom(doc, start); (doc.tokens[at]?.start ?? end) < end; at++) {
    const all = piecesAt(doc, at, withLetters);
    const inside = all.filter(({ to }) => (doc.tokens[to - 1]?.end ?? Infinity) <= end);
    for (const run of isEntity ? cutWhere(doc, inside, isThen) : cutWhere(doc, inside, isAside))
      runs.push(run);
    at = Math.max(at, (all.at(-1)?.to ?? 0) - 1);
  }
  return runs;
}

/** The first token that begins at the character or behind it. */
function tokenFrom({ tokens }: Doc, character: number): number {
  let low = 0;
  let high = tokens.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((tokens[middle]?.start ?? 0) < character) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** A run that is cut where such a word stands between two pieces: the word stays, and each side is written. */
function cutWhere(
  doc: Doc,
  pieces: readonly RunPiece[],
  cuts: (token: TextToken) => boolean,
): RunPiece[][] {
  const runs: RunPiece[][] = [];
  for (const piece of pieces) {
    const last = runs.at(-1)?.at(-1);
    if (last === undefined || doc.tokens.slice(last.to, piece.from).some(cuts)) runs.push([piece]);
    else runs.at(-1)?.push(piece);
  }
  return runs;
}

const isThen = ({ lower }: TextToken): boolean => lower === 'then' || lower === 'space';
const isAside = (token: TextToken): boolean => isThen(token) || isFiller(token);

function editOf(doc: Doc, pieces: readonly RunPiece[], form: CodeForm): TextEdit | undefined {
  const [first] = pieces;
  const last = pieces.at(-1);
  if (first === undefined || last === undefined || !isSpoken(doc, pieces)) return undefined;
  const text = textOf(doc, pieces);
  if (form === 'CREDIT_CARD_EXPIRATION')
    return /^(?:0[1-9]|1[0-2])(?:20)?\d\d$/.test(text) ? at(`${text.slice(0, 2)}/${text.slice(2)}`) : at(text); // prettier-ignore
  return at(grouped(text, groups[form]?.[text.length], form === 'SSN' ? '-' : ' '));

  function at(written: string): TextEdit {
    return {
      start: doc.tokens[first?.from ?? 0]?.start ?? 0,
      end: doc.tokens[(last?.to ?? 1) - 1]?.end ?? 0,
      text: written,
    };
  }
}

/** False for a number in figures. "4 7 2 9" in figures, digit by digit, was spoken so and is joined. */
function isSpoken(doc: Doc, pieces: readonly RunPiece[]): boolean {
  const tokens = pieces.flatMap(({ from, to }) => doc.tokens.slice(from, to));
  const isAllFigures = tokens.every(({ kind }) => kind === 'number');
  if (isAllFigures)
    return pieces.length >= fewestBareDigits && pieces.every(({ chars }) => chars.length === 1);
  // "f3 f4" was written so by the recogniser. A digit or a letter that stands alone was said alone.
  const isAlone = tokens.some(
    ({ kind, lower, spaced }, at) =>
      kind === 'word' && spaced && (lower.length > 1 || tokens[at + 1]?.spaced !== false),
  );
  const isGlued = tokens.every(({ spaced }, at) => at === 0 || !spaced);
  return pieces.length > 1
    ? isAlone && !isGlued
    : tokens.some(({ lower }) => units.has(lower) || /^(?:oh|double|triple)$/.test(lower) || lower.length > 3); // prettier-ignore
}

/** The pieces in a row, with the marks that somebody said between them. */
function textOf(doc: Doc, pieces: readonly RunPiece[]): string {
  let text = '';
  let before: RunPiece | undefined;
  for (const piece of pieces) {
    const gap = before === undefined ? [] : doc.tokens.slice(before.to, piece.from);
    for (const { lower, text: mark } of gap) text += spokenMarks[lower] ?? (/^[/_]$/.test(mark) ? mark : ''); // prettier-ignore
    text += piece.chars;
    before = piece;
  }
  return text;
}

const spokenMarks: Readonly<Record<string, string>> = {
  dash: '-', hyphen: '-', slash: '/', stroke: '/', underscore: '_',
}; // prettier-ignore

/** Scales make an amount of the digits before them, and a unit a count. */
const counts =
  /^(?:hundred|thousand|million|billion|percent|%|am|pm|o'clock|dollars?|pounds?|euros?|cents?|times|years?|months?|weeks?|days?|hours?|minutes?|seconds?|people|point)$/;

/** True for three digits or more, one by one, that nobody counts ("one, two, three") and no word makes an amount. */
function isBareCode(doc: Doc, pieces: readonly RunPiece[]): boolean {
  const chars = pieces.map((piece) => piece.chars).join('');
  if (chars.length < fewestBareDigits) return false;
  const said = pieces.map(({ from }) => doc.word(from)).join(' ');
  const isDigitByDigit = pieces.every(({ chars: own, from, to }) => own.length === 1 || (to - from === 2 && /^(?:double|triple)$/.test(doc.word(from)))); // prettier-ignore
  if (
    !isDigitByDigit ||
    /^(?:o|oh)(?: (?:o|oh))*$/.test(said) ||
    '123456789'.startsWith(chars) ||
    '987654321'.startsWith(chars)
  )
    return false;
  return !counts.test(doc.word(pieces.at(-1)?.to ?? 0)) && doc.word((pieces[0]?.from ?? 0) - 1) !== 'point'; // prettier-ignore
}

/** Letters of a spelled name as "S-H-A-W-N". */
export function writtenSpelling(doc: Doc): TextEdit[] {
  const edits: TextEdit[] = [];
  for (let at = 0; at < doc.tokens.length; at++) {
    const end = spellingEnd(doc, at);
    if (end === 0) continue;
    const letters = doc.tokens.slice(at, end).filter(({ kind }) => kind === 'word');
    edits.push({
      start: letters[0]?.start ?? 0,
      end: letters.at(-1)?.end ?? 0,
      text: spelledLetters(doc, at).join('-').toUpperCase(),
    });
    at = end - 1;
  }
  return edits;
}
