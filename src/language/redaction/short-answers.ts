import { isExplained, runAt } from '../entities/code-runs.ts';
import type { CueKind } from '../entities/cue-kinds.ts';
import { isMonthName } from '../entities/dates.ts';
import type { Doc } from '../entities/doc.ts';
import { dayAt, isFiller } from '../text/numbers.ts';
import { cardDateEnd, isMonthAndYear } from './careful.ts';
import { isNamedOtherwise } from './named-otherwise.ts';
import {
  asksForNumber,
  isAfterQuestion,
  isExplainedBy,
  isForSomethingElse,
  namesNumber,
  type Talk,
} from './card-talk.ts';

/**
 * Claims what may be the date or the code of a card in a short answer, whatever the recogniser made of the question
 * ("expires Wednesday" for "expires when") and of single digits ("for oh one", "seven off twenty eight"). A question
 * for something else explains the answer.
 */
export function claimShortAnswer(doc: Doc, wants: (type: string) => boolean, talk: Talk): void {
  const parts = partsOf(doc);
  if (parts.length > longestAnswer || isForSomethingElse(talk)) return;
  if (doc.asked.some((kind) => kind === 'cvv' || kind === 'expiry')) {
    for (const one of stretchesIn(doc, parts)) if (isPieceOfAnswer(one)) claim(doc, wants, one);
  } else if (!isExplainedBy(talk) && isAfterQuestion(talk) && !namesNumber(doc.text)) {
    const stretches = stretchesIn(doc, parts, true);
    const others = parts.filter(({ kind }) => kind === 'other').length;
    const fits = (one: DigitStretch): boolean => {
      if (one.isDay) return others === 0 && mayBeYear(one) && isAfterShortTurn(talk);
      if (others === 0 && isMisheardDate(one) && !asksForNumber(talk)) return true;
      if (talk.isOfCard && talk.turns.length > 0) return isLikeAnswer(one);
      const mayBeDate = one.hasMonth || others === 0;
      const isOther = !talk.isOfCard && asksForNumber(talk);
      if (mayBeDate && !isOther && isCardDate(doc, one)) return true;
      return talk.turns.length > 0 && others === 0 && isCode(one);
    };
    if (others <= strangeWords && stretches.every(({ isOpen }) => isOpen))
      for (const one of stretches) if (fits(one)) claim(doc, wants, one);
  }
}

/** An answer has at most this many words and numbers. */
const longestAnswer = 18;
/** A recogniser makes at most this many words of a bare answer up: "Tom, November 2028". */
const strangeWords = 1;
/** Between two numbers of one answer stand at most this many words: "seven slash two eight". */
const widestGap = 2;

/**
 * `like` is a word that is heard in place of a digit, `around` a word that people put around a number, and `other` any
 * other word.
 */
type AnswerPart = {
  kind: 'number' | 'like' | 'around' | 'other' | 'closed';
  from: number;
  to: number;
  /** Its digits, those of a month, too: "october" is 10. */
  chars: string;
  isMonth?: true;
  isOrdinal?: true;
  /** True if it was said digit by digit, or is written in figures. */
  isSpelled?: boolean;
};

type DigitStretch = {
  from: number;
  /** Its first number, behind words that may be digits. */
  first: number;
  to: number;
  chars: string;
  /** The words in it that are heard in place of digits. */
  likes: number;
  hasMonth: boolean;
  numbers: number;
  ordinals: number;
  isSpelled: boolean;
  /** False if words beside a number explain it. */
  isOpen: boolean;
  /** True for the day of a month: "October twenty eighth". */
  isDay: boolean;
};

const likeDigits =
  /^(?:for|to|too|won|ate|or|our|are|you're|your|you|ah|a|oh|o|owe|of|off|free|tree|sex|sick|sicks|mine|nigh|tan|nein|fife|heaven|hate|far|fort|so|though|go|know|low)$/;
const aroundNumbers =
  /^(?:and|then|okay|ok|yes|yeah|yep|yup|sure|no|wait|sorry|so|it's|its|it|is|that's|that|this|this's|would|be|will|let|me|let's|see|look|looking|looks|like|says|say|said|reads|shows|here|there|there's|i|i've|i'm|have|got|think|believe|guess|the|hold|on|second|moment|sec|just|right|well|great|perfect|thanks|thank|you|correct|all|alright|please|number|numbers|date|code|digits|dash|slash|flash|end|month|year|at|in|my|card|hi|hello|hm|hmm|mm|if|they|gotcha|repeat|again|hyphen|stroke)$/;

function partsOf(doc: Doc): AnswerPart[] {
  const parts: AnswerPart[] = [];
  for (let i = 0; i < doc.tokens.length && parts.length <= longestAnswer; i++) {
    const part = partAt(doc, i);
    if (part === undefined) continue;
    parts.push(part);
    i = part.to - 1;
  }
  return parts;
}

/** The part that begins at the token. Undefined for a mark or a filler. */
function partAt(doc: Doc, i: number): AnswerPart | undefined {
  const token = doc.tokens[i];
  if (token === undefined || token.kind === 'mark' || isFiller(token)) return undefined;
  const one = { from: i, to: i + 1, chars: '' };
  if (doc.isTaken(i)) return { ...one, kind: 'closed' };
  const run = runAt(doc, i, false);
  const day = dayAt(doc.tokens, i);
  if (day?.named === true)
    return { ...one, kind: 'number', to: day.next, chars: String(day.value), isOrdinal: true };
  if (run?.from === i && run.chars === '1' && namedOne.test(doc.word(i - 1)))
    return { ...one, kind: 'around' };
  if (run?.from === i) {
    // "Nine of twenty eight" is a date here; "of" explains the nine only where nobody waits for one.
    const isClosed =
      (isExplained(doc, run) && doc.word(run.to) !== 'of') || isNamedOtherwise(doc, run);
    const { to, chars, pieces } = run;
    const isSpelled = pieces.every(
      (piece) => piece.chars.length === 1 || /^\d+$/.test(doc.word(piece.from)),
    );
    return { ...one, kind: isClosed ? 'closed' : 'number', to, chars, isSpelled };
  }
  const word = token.lower;
  if (isMonthName(word) && isMonthHere(doc, i))
    return { ...one, kind: 'number', chars: monthDigits(word), isMonth: true };
  if (likeDigits.test(word)) return { ...one, kind: 'like' };
  return { ...one, kind: aroundNumbers.test(word) ? 'around' : 'other' };
}

/** "That one" and "the second one" count nothing. */
const namedOne = /^(?:that|this|the|which|other|new|old|only|next|first|second|third|\w+th)$/;

function monthDigits(name: string): string {
  const at = monthStarts.indexOf(name.slice(0, 3));
  return String(Math.max(0, at) / 3 + 1).padStart(2, '0');
}

const monthStarts = 'janfebmaraprmayjunjulaugsepoctnovdec';

/** "May" and "march" are months only where a number or "of" follows. */
function isMonthHere(doc: Doc, i: number): boolean {
  if (!/^(?:may|march)$/.test(doc.word(i))) return true;
  const next = /^[,.]$/.test(doc.word(i + 1)) ? i + 2 : i + 1;
  return doc.word(next) === 'of' || runAt(doc, next, false)?.from === next;
}

/** The numbers of an answer, with the few words between them, and with words beside them that may be digits. */
function stretchesIn(doc: Doc, parts: readonly AnswerPart[], withDays = false): DigitStretch[] {
  const stretches: DigitStretch[] = [];
  for (let i = 0; i < parts.length; i++) {
    const part = parts[i];
    if (part?.kind !== 'number') continue;
    let first = i;
    while (mayBeDigit(doc, parts, first - 1)) first -= 1;
    let last = i;
    for (let at = i + 1; at <= last + widestGap + 1; at++) {
      const kind = parts[at]?.kind;
      if (kind === undefined || kind === 'closed') break;
      if (kind === 'number') last = at;
    }
    while (parts[last + 1]?.kind === 'like') last += 1;
    const inside = parts.slice(first, last + 1);
    const stretch: DigitStretch = {
      from: parts[first]?.from ?? 0,
      first: part.from,
      to: parts[last]?.to ?? 0,
      chars: inside.map(({ chars }) => chars).join(''),
      likes: inside.filter(({ kind }) => kind === 'like').length,
      hasMonth: inside.some(({ isMonth }) => isMonth === true),
      numbers: inside.filter(({ kind }) => kind === 'number').length,
      ordinals: inside.filter(({ isOrdinal }) => isOrdinal).length,
      isSpelled: inside.every(({ kind, isSpelled }) => kind !== 'number' || isSpelled === true),
      isOpen: parts[first - 1]?.kind !== 'closed' && parts[last + 1]?.kind !== 'closed',
      isDay: false,
    };
    // "It arrived on March twenty sixth"
    const isTold =
      stretch.hasMonth && isNamedOtherwise(doc, { from: stretch.first, to: stretch.to });
    const isPlainDay = stretch.hasMonth && stretch.numbers === 2 && stretch.ordinals === 1;
    const isDay = isTold || (part.isOrdinal === true && isPlainDay);
    // "The ninth of June" is a day, unless the date of a card was asked for.
    if (!isDay || doc.asked.includes('expiry')) stretches.push(stretch);
    // "October twenty eighth" was 10/28.
    if (withDays && isPlainDay && !isTold) {
      if (stretches.at(-1) === stretch) stretches.pop();
      stretches.push({ ...stretch, isDay: true });
    }
    i = last;
  }
  return stretches;
}

/** Everyday words stand for a digit only where an answer begins: "of four twenty nine", but "the end of twenty nine". */
function mayBeDigit(doc: Doc, parts: readonly AnswerPart[], index: number): boolean {
  const part = parts[index];
  if (part?.kind !== 'like') return false;
  return (
    index === 0 ||
    !/^(?:of|off|so|a|are|our|you're|your|you|to|too|though|go|know|low)$/.test(doc.word(part.from))
  );
}

/** After a question for the date or the code, two digits are a piece of them. */
function isPieceOfAnswer({ chars, likes, numbers, ordinals }: DigitStretch): boolean {
  // An ordinal alone is no part of it: "the second one".
  if (chars.length > longestDate || ordinals === numbers) return false;
  return chars.length >= 2 || likes >= 2;
}

/** "0927", "09 of 2027" and, with a day in it, "09 01 2027". */
const longestDate = 8;

function isLikeAnswer(stretch: DigitStretch): boolean {
  const { chars, likes } = stretch;
  const digits = chars.length + (chars.length > 1 ? likes : 0);
  return digits >= shortestAnswer && (chars.length <= 4 || dateOf(stretch) !== undefined);
}

function isCardDate(doc: Doc, stretch: DigitStretch): boolean {
  if (cardDateEnd(doc, stretch.first) === stretch.to) return true;
  // "The third of April" is a day, and no card has one.
  return stretch.ordinals === 0 && dateOf(stretch) !== undefined;
}

/** The month and the year of a card, as four digits. In "six, twenty, twenty, seven" the year is 20 and 7. */
function dateOf({ chars, likes }: DigitStretch): string | undefined {
  const listed = chars.replace(/([234])0(?=[1-9]$)/, '$1');
  const found = [chars, listed].find((one) => one.length <= 6 && isMonthAndYear(evenly(one)));
  return found === undefined || likes > 1 ? undefined : evenly(found).replace(/20(?=..$)/, '');
}

/** "Four, three, twenty nine" was "oh three twenty nine": a zero is easily heard as another digit. */
function isMisheardDate({ chars, ordinals }: DigitStretch): boolean {
  const listed = chars.replace(/([23])0(?=[1-9]$)/, '$1');
  return ordinals === 0 && /^[1-9][1-9](?:2[4-9]|3\d)$/.test(listed);
}

/** The year of a card is easily heard as a day: "October twenty eighth". */
function mayBeYear({ chars }: DigitStretch): boolean {
  return /^(?:0[1-9]|1[0-2])(?:2[4-9]|3[01])$/.test(chars);
}

/** True where the two speak of a card, or behind a few words that nobody understood. */
function isAfterShortTurn({ turns, isOfCard }: Talk): boolean {
  const last = turns.at(-1);
  if (last === undefined || isOfCard) return isOfCard;
  return (last.match(/[\p{L}\p{N}']+/gu)?.length ?? 0) <= longestMisheard;
}

/** "When does it run out?" has five words. */
const longestMisheard = 6;

function evenly(chars: string): string {
  return chars.length % 2 === 0 ? chars : `0${chars}`;
}

/** The dates of cards in a text of few words, each as four digits. */
export function cardDatesIn(doc: Doc): { date: string; from: number; to: number }[] {
  const parts = partsOf(doc);
  if (parts.length > longestAnswer) return [];
  return stretchesIn(doc, parts).flatMap((stretch) => {
    const date = dateOf(stretch);
    return date === undefined ? [] : [{ date, from: stretch.first, to: stretch.to }];
  });
}

function isCode({ chars, isSpelled }: DigitStretch): boolean {
  return isSpelled && (chars.length === 3 || chars.length === 4);
}

function claim(
  doc: Doc,
  wants: (type: string) => boolean,
  { from, to, chars, hasMonth, isSpelled }: DigitStretch,
) {
  const isAsked = (kind: CueKind) => doc.asked.includes(kind);
  // Three digits one by one are rather a code: "four four one".
  const isShort = chars.length === 3 && (isAsked('cvv') || (isSpelled && !isAsked('expiry')));
  const isDate = hasMonth || (isMonthAndYear(chars) && !isShort);
  const isOfDate = isDate || chars.length > 4 || (isAsked('expiry') && !isAsked('cvv'));
  const isOfCard = isAsked('card') && !isAsked('cvv');
  const type = isOfDate ? 'CREDIT_CARD_EXPIRATION' : isOfCard ? 'CREDIT_CARD' : 'CVV';
  if (wants(type)) doc.claim(type, from, to);
}

/** Words in place of digits count from this many digits on: "for oh one". */
const shortestAnswer = 3;

/** Claims digits of a longer secret that was asked for where one of them was heard as another word. */
export function claimLikeDigits(doc: Doc, type: string): void {
  const parts = partsOf(doc);
  if (parts.length > longestAnswer) return;
  for (const { from, to, chars, likes } of stretchesIn(doc, parts))
    if (likes > 0 && chars.length > 1 && chars.length + likes >= shortestAnswer)
      doc.claim(type, from, to);
}
