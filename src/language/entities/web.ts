import { isFiller, smallAt } from '../text/numbers.ts';
import type { Doc } from './doc.ts';
import { family, given, isCommon } from './gazetteer.ts';

const topLevel = new Set(
  'com org net edu gov io co uk us ca de fr es it nl eu info biz app dev ai me tv example test invalid ie au nz jp in ch at be se no dk fi pl pt br mx za online shop store site cloud tech'.split(
    ' ',
  ),
);
const joiners = new Set([
  'dot',
  'point',
  'period',
  'underscore',
  'dash',
  'hyphen',
  'plus',
  '.',
  '_',
  '-',
  '+',
]);
const notNames = new Set(
  "is it's its my the a an and or to at on email mail address e that's that this me us you your our his her their by for of with um uh er so yeah yes okay ok go visit see website site page under from use using send sent write check was as im i'm called called: i lower case all just well sure reach contact no we he she they can in here if".split(
    ' ',
  ),
);

/** Finds mail and web addresses, written, spoken or mixed. */
export function findWeb(doc: Doc): void {
  claimEmails(doc, false);
  for (let i = 0; i < doc.tokens.length; i++) {
    if (doc.isTaken(i)) continue;
    const word = doc.word(i);
    if (word === 'http' || word === 'https' || /^w{3}$/.test(word) || isSpelledWww(doc, i))
      claimUrl(doc, i, i);
    else if ((word === '.' && isGlued(doc, i)) || word === 'dot') claimBareUrl(doc, i);
  }
}

/**
 * Claims mail addresses. With `isWide`, all words before the "at" belong to the address, up to a word of the sentence.
 */
export function claimEmails(doc: Doc, isWide: boolean): void {
  for (let i = 0; i < doc.tokens.length; i++)
    if (!doc.isTaken(i) && /^(?:@|at)$/.test(doc.word(i))) claimEmail(doc, i, isWide);
}

function claimEmail(doc: Doc, at: number, isWide: boolean): void {
  const domain = domainEnd(doc, isWide && doc.word(at + 1) === 'the' ? at + 2 : at + 1);
  if (domain === 0) return;
  const close = localStart(doc, at);
  // Some ordinary words are also names of mailboxes: "write to contact at ...".
  const near = isWide && close === at && mailNames.test(doc.word(at - 1)) ? at - 1 : close;
  if (near === at) return;
  const isAddress =
    doc.word(at) === '@' ||
    (isWide ? !isPhrase.test(doc.word(at - 1)) : isSaidAsAddress(doc, near, at));
  if (isAddress) doc.claim('EMAIL_ADDRESS', isWide ? wideStart(doc, near) : near, domain);
}

/** "have a look at", "sign in at", "I ordered at": a web address follows, not the host of a mail address. */
const isPhrase =
  /^(?:look|looking|looked|sign|signed|log|logged|in|on|up|shop|shopped|shopping|buy|bought|order|ordered|arrive|arrived|available|find|found|visit|meet|work|working|works|account|register|registered|apply|online|us|me|him|her|them|it|is|are|was|out)$/;

/**
 * The start of the words, letters and "j for john" that stand, without marks between, before the certain part of an
 * address.
 */
function wideStart(doc: Doc, near: number): number {
  let from = near;
  for (let steps = 0; steps < 12 && from > 0; steps++) {
    const token = doc.tokens[from - 1];
    if (!token || token.kind === 'mark' || doc.isTaken(from - 1)) break;
    const spelled = spelledStart(doc, from) || spelledStart(doc, from - 1);
    const isPair = token.lower === 'and' && /^[a-z]$/.test(doc.word(from - 2));
    if (spelled > 0) from = spelled - 1;
    else if (isPair && /^[a-z]$/.test(doc.word(from))) from -= 2;
    else if (token.lower === 'the') return from - 1;
    else if (notNames.has(token.lower) && !joiners.has(doc.word(from))) break;
    else from -= 1;
  }
  return from;
}

const mailNames =
  /^(?:info|sales|support|orders|help|contact|billing|office|hello|admin|claims|service|accounts|enquiries|team|customercare|care|jobs|press|post|mail|returns|complaints|feedback|booking|bookings|reservations|payments|refunds)$/;

/**
 * True if the words before "at" belong to a mail address: "laura at example.com", but not "have a look at example.com".
 */
function isSaidAsAddress(doc: Doc, from: number, at: number): boolean {
  if (doc.word(at + 1) === 'www') return false;
  for (let i = from; i < at; i++) {
    const token = doc.tokens[i];
    if (
      !token ||
      joiners.has(token.lower) ||
      token.kind === 'number' ||
      /^[b-hj-z]$/.test(token.lower)
    )
      return true;
    if (smallAt(doc.tokens, i)) return true;
  }
  const word = doc.word(at - 1);
  if (mailNames.test(word)) return true;
  if (isCommon(word)) return false;
  return given.has(word) || family.has(word) || !isCommon(word);
}

/** The end of a domain that begins at the token, or 0. A domain has one to three words, a dot and a known ending. */
function domainEnd(doc: Doc, start: number): number {
  let at = start;
  while (isFiller(doc.tokens[at]) || (at > start && doc.word(at) === ',')) at += 1;
  let words = 0;
  let end = 0;
  while (at < doc.tokens.length && words < 8) {
    const token = doc.tokens[at];
    if (!token || token.kind === 'mark') break;
    words += 1;
    const next = dotAfter(doc, at + 1);
    const isLast = end > 0 || words > 1;
    if (isLast && topLevel.has(token.lower) && previousIsDot(doc, at)) end = at + 1;
    if (next > 0) {
      at = next;
      continue;
    }
    const hyphen = hyphenAfter(doc, at + 1);
    if (hyphen > 0) {
      at = hyphen;
      continue;
    }
    if (end > 0) break;
    // Several words before the dot count only if there are at most three and none is a small word such as "the".
    if (words > 3 || notNames.has(token.lower) || doc.tokens[at + 1]?.kind === 'mark') break;
    at += 1;
  }
  return end;
}

function previousIsDot(doc: Doc, at: number): boolean {
  let i = at - 1;
  while (isFiller(doc.tokens[i])) i -= 1;
  return (
    doc.word(i) === 'dot' ||
    doc.word(i) === 'point' ||
    (doc.word(i) === '.' && !(doc.tokens[at]?.spaced ?? true))
  );
}

function dotAfter(doc: Doc, at: number): number {
  let i = at;
  while (isFiller(doc.tokens[i]) || (doc.word(i) === ',' && doc.word(i + 1) === 'dot')) i += 1;
  if (doc.word(i) === 'dot' || doc.word(i) === 'point') {
    i += 1;
    while (isFiller(doc.tokens[i]) || doc.word(i) === ',') i += 1;
    return i;
  }
  return isGlued(doc, i) && doc.word(i) === '.' ? i + 1 : 0;
}

function hyphenAfter(doc: Doc, at: number): number {
  const word = doc.word(at);
  if (word === 'dash' || word === 'hyphen') return at + 1;
  return (word === '-' || word === '_') && isGlued(doc, at) ? at + 1 : 0;
}

/** True for a mark without a space on either side. */
function isGlued(doc: Doc, at: number): boolean {
  const token = doc.tokens[at];
  const next = doc.tokens[at + 1];
  return (
    token !== undefined &&
    next !== undefined &&
    !token.spaced &&
    !next.spaced &&
    next.kind !== 'mark'
  );
}

/**
 * The start of the mailbox, searched backwards from the "at": words joined by dots and dashes, or single letters and
 * digits.
 */
function localStart(doc: Doc, at: number): number {
  let from = at;
  let i = at - 1;
  let hasWord = false;
  for (let steps = 0; i >= 0 && steps < 40; steps++) {
    if (doc.isTaken(i)) break;
    const token = doc.tokens[i];
    if (!token) break;
    const word = token.lower;
    const after = doc.tokens[i + 1];
    const glued = after !== undefined && !after.spaced && i + 1 <= at;
    if (joiners.has(word)) {
      if (token.kind === 'mark' && (token.spaced || !glued) && !isFirstName(doc, i)) break;
      i -= 1;
      hasWord = false;
      continue;
    }
    if (isFiller(token) || word === ',') {
      i -= 1;
      continue;
    }
    if (token.kind === 'mark') break;
    const joined =
      from < at &&
      (joiners.has(doc.word(i + 1)) ||
        (isFiller(doc.tokens[i + 1]) && joiners.has(doc.word(i + 2))));
    const isSmall =
      token.kind === 'number' ||
      /^[a-z]$/.test(word) ||
      smallAt(doc.tokens, i) !== undefined ||
      word === 'oh' ||
      word === 'double';
    // The "e" of "e mail" is not part of an address. The last letter of "l e e at" is.
    const isLetter = isSmall && /^[a-z]$/.test(word);
    if (from < at && !joined && !glued && !isSmall && hasWord && !continuesName(doc, i)) break;
    if (
      notNames.has(word) &&
      !joined &&
      !glued &&
      !(isLetter && (from < at || /^[a-z]$/.test(doc.word(i - 1))))
    )
      break;
    if (notNames.has(word) && joined && /^(?:is|it's|my|email|address|at)$/.test(word)) break;
    from = i;
    if (!isSmall) hasWord = true;
    i -= 1;
  }
  return from;
}

/** True for the mark in "write to susan. Osborne at ...", where a recogniser ends a sentence at the dot. */
function isFirstName(doc: Doc, mark: number): boolean {
  return (
    doc.word(mark) === '.' && given.has(doc.word(mark - 1)) && notNames.has(doc.word(mark - 2))
  );
}

/** True if the token continues a name after a cue: in "it's laura bennett at ..." both words belong to the address. */
function continuesName(doc: Doc, i: number): boolean {
  for (let at = i - 1; at >= Math.max(0, i - 2); at--) {
    const word = doc.word(at);
    if (/^(?:is|it's|email|address|to)$/.test(word)) return true;
    if (notNames.has(word)) return false;
  }
  return false;
}

/** For the last word of "j for john" or "n as in nancy": the start of the phrase plus one. 0 for any other token. */
function spelledStart(doc: Doc, i: number): number {
  const at = doc.word(i - 1) === 'in' && doc.word(i - 2) === 'as' ? i - 3 : i - 2;
  const letter = doc.word(at);
  const isSpelled = at < i - 2 || /^(?:for|as|like)$/.test(doc.word(i - 1));
  return isSpelled && /^[a-z]$/.test(letter) && doc.word(i).startsWith(letter) ? at + 1 : 0;
}

function isSpelledWww(doc: Doc, i: number): boolean {
  return (
    (doc.word(i) === 'w' && doc.word(i + 1) === 'w' && doc.word(i + 2) === 'w') ||
    (doc.word(i) === 'triple' && doc.word(i + 1) === 'w')
  );
}

function claimUrl(doc: Doc, from: number, at: number): void {
  let i = at + 1;
  if (doc.word(at) === 'w') i = at + 3;
  if (doc.word(at) === 'triple') i = at + 2;
  if (/^https?$/.test(doc.word(at))) {
    while (i < doc.tokens.length && /^[:/]$/.test(doc.word(i))) i += 1;
    if (doc.word(i) === 'www') i += 1;
  }
  const afterDot = dotAfter(doc, i);
  const end = domainEnd(doc, afterDot > 0 ? afterDot : i);
  if (end > 0) doc.claim('URL', from, pathEnd(doc, end));
}

function claimBareUrl(doc: Doc, dot: number): void {
  // Only the word of the last dot is searched. An earlier word would find the same path again.
  let from = dot - 1;
  while (isFiller(doc.tokens[from])) from -= 1;
  if (doc.tokens[from]?.kind !== 'word' || doc.isTaken(from) || notNames.has(doc.word(from)))
    return;
  const isSpoken = doc.word(dot) === 'dot';
  for (let steps = 0; steps < 3; steps++) {
    const mark = doc.word(from - 1);
    if ((mark === '-' && isGlued(doc, from - 1)) || mark === 'dash' || mark === 'hyphen') from -= 2;
    else if (isSpoken && steps < 2 && isNamePart(doc, from - 1)) from -= 1;
    else break;
  }
  const end = domainEnd(doc, from);
  if (end > dot + 1) doc.claim('URL', from, pathEnd(doc, end));
}

function isNamePart(doc: Doc, i: number): boolean {
  const token = doc.tokens[i];
  return (
    token?.kind === 'word' &&
    !doc.isTaken(i) &&
    !notNames.has(token.lower) &&
    !/^(?:online|through|via|into|onto|out|our|open|type|try|go|went|like|get|found|called|link|check)$/.test(
      token.lower,
    )
  );
}

/** The end of a path, which may have several steps: "/help", "slash help". */
function pathEnd(doc: Doc, start: number): number {
  let end = start;
  for (let steps = 0; steps < 12; steps++) {
    const word = doc.word(end);
    const next = doc.tokens[end + 1];
    if (word === 'slash' && next && next.kind !== 'mark') end += 2;
    else if (word === '/' && !(doc.tokens[end]?.spaced ?? true))
      end += next && !next.spaced && next.kind !== 'mark' ? 2 : 1;
    else if (end > start && /^[-_.=?&]$/.test(word) && isGlued(doc, end)) end += 2;
    else break;
  }
  return Math.min(end, doc.tokens.length);
}
