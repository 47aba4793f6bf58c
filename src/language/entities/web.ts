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

/** Mail and web addresses, written, spoken, or half of each. */
export function findWeb(doc: Doc): void {
  for (let i = 0; i < doc.tokens.length; i++) {
    if (doc.isTaken(i)) continue;
    const word = doc.word(i);
    if (word === '@' || word === 'at') claimEmail(doc, i);
  }
  for (let i = 0; i < doc.tokens.length; i++) {
    if (doc.isTaken(i)) continue;
    const word = doc.word(i);
    if (word === 'http' || word === 'https' || /^w{3}$/.test(word) || isSpelledWww(doc, i))
      claimUrl(doc, i, i);
    else if ((word === '.' && isGlued(doc, i)) || word === 'dot') claimBareUrl(doc, i);
  }
}

function claimEmail(doc: Doc, at: number): void {
  const domain = domainEnd(doc, at + 1);
  if (domain === 0) return;
  const from = localStart(doc, at);
  if (from < at && (doc.word(at) === '@' || isSaidAsAddress(doc, from, at)))
    doc.claim('EMAIL_ADDRESS', from, domain);
}

const mailNames =
  /^(?:info|sales|support|orders|help|contact|billing|office|hello|admin|claims|service|accounts|enquiries|team|customercare|care|jobs|press|post|mail|returns|complaints|feedback|booking|bookings|reservations|payments|refunds)$/;

/** "laura at example.com" is an address; "have a look at example.com", "sign in at example.com" are not. */
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

/** Where a domain that begins at the token ends, or 0: one to three words, a dot, a known ending. */
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
    // Several words before the dot: only a few, and none of the small ones.
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

/** A mark with no space on either side. */
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

/** Back from the "at": joined by dots and dashes, or single letters and digits one after the other. */
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
      if (token.kind === 'mark' && (token.spaced || !glued)) break;
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
    if (from < at && !joined && !glued && !isSmall && hasWord && !continuesName(doc, i)) break;
    if (notNames.has(word) && !joined && !glued && !(isSmall && /^[a-z]$/.test(word) && from < at))
      break;
    if (notNames.has(word) && joined && /^(?:is|it's|my|email|address|at)$/.test(word)) break;
    from = i;
    if (!isSmall) hasWord = true;
    i -= 1;
  }
  return from;
}

/** "it's laura bennett at ...": words right behind the cue are all part of the address. */
function continuesName(doc: Doc, i: number): boolean {
  for (let at = i - 1; at >= Math.max(0, i - 2); at--) {
    const word = doc.word(at);
    if (/^(?:is|it's|email|address|to)$/.test(word)) return true;
    if (notNames.has(word)) return false;
  }
  return false;
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
  // Only at the last dot's own word: an earlier one finds the whole.
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

/** "/help", "slash help", also several. */
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
