import { cardinalAt, smallAt } from '../text/numbers.ts';
import type { Doc } from './doc.ts';
import { cityEnd, stateEnd, countryEnd } from './gazetteer.ts';

const streetTypes = new Set(
  'street st avenue ave av road rd lane ln drive dr court ct boulevard blvd way place pl terrace circle close crescent parkway pkwy highway hwy square row gardens mews loop trail alley walk grove rise view heights wharf quay villas vale plaza pike strasse straße rue'.split(
    ' ',
  ),
);
const secondTypes = new Set(
  'north south east west northeast northwest southeast southwest n s e w ne nw se sw'.split(' '),
);
const unitWords = new Set(
  'apartment apt unit suite flat floor room ste building number no'.split(' '),
);
const notStreet = new Set(
  "is it's its my the a an to in at on for of minutes hours days weeks years months times percent people dollars and or but not that i you we they he she was were are am pm o'clock from with by per other more gigs bit only just all down up out than as this if so off get got have had then no yes about after before".split(
    ' ',
  ),
);
const bareStreets = new Set(
  'broadway kingsway piccadilly strand whitehall headrow bund embankment parkway shambles'.split(
    ' ',
  ),
);

/** Finds a house number and street, with the flat, town, state and post code that may follow. */
export function findAddresses(doc: Doc): void {
  for (let i = 0; i < doc.tokens.length; i++) {
    if (doc.isTaken(i)) continue;
    const box = boxEnd(doc, i);
    const street = box > 0 ? box : streetEnd(doc, i);
    if (street === 0) continue;
    const from = box > 0 ? i : withUnitBefore(doc, i);
    const afterUnit = withUnitBehind(doc, street);
    const whole = withTown(doc, afterUnit);
    if (whole > afterUnit) doc.claim('LOCATION_ADDRESS', from, whole);
    else doc.claim(box > 0 ? 'LOCATION_ADDRESS' : 'LOCATION_ADDRESS_STREET', from, afterUnit);
    i = Math.max(i, whole - 1);
  }
}

/** Matches a number, one to four words and a kind of street: "48 Orchard Lane", "two twenty one whitmore avenue". */
function streetEnd(doc: Doc, i: number): number {
  const number = houseNumber(doc, i);
  if (number === 0) return 0;
  let at = number;
  for (let words = 0; words < 5; words++) {
    const token = doc.tokens[at];
    if (!token || doc.isTaken(at)) return 0;
    if (token.text === '.' && words > 0) {
      at += 1;
      words -= 1;
      continue;
    }
    if (token.kind === 'number') {
      // "120 5th Avenue", "400 West 42nd Street"
      const isOrdinal = /^(?:st|nd|rd|th)$/.test(doc.word(at + 1));
      if (!isOrdinal) return 0;
      at += 2;
      continue;
    }
    if (token.kind === 'mark') {
      // "house 5, Linden Road"
      if (words > 0 || token.text !== ',' || !/^(?:house|number)$/.test(doc.word(i - 1))) return 0;
      at += 1;
      continue;
    }
    // "22 The Avenue"
    if (words === 0 && token.text === 'The' && doc.hasCase && streetTypes.has(doc.word(at + 1)))
      return withDirection(doc, at + 2);
    if (words > 0 && isStreetType(doc, at, words)) return withDirection(doc, at + 1);
    if (words === 0 && bareStreets.has(token.lower)) return at + 1;
    if (notStreet.has(token.lower)) return 0;
    at += 1;
  }
  return 0;
}

function isStreetType(doc: Doc, at: number, words: number): boolean {
  const word = doc.word(at);
  if (!streetTypes.has(word)) return false;
  // In "nine st andrews crescent", "st" means Saint: another word and a kind of street follow.
  if ((word === 'st' || word === 'dr') && words === 0) return false;
  // "The other way" and "either way" are no streets.
  return !(
    word === 'way' && /^(?:long|other|same|wrong|right|either|any|each)$/.test(doc.word(at - 1))
  );
}

function withDirection(doc: Doc, end: number): number {
  let at = end;
  if (
    doc.word(at) === '.' &&
    !(doc.tokens[at]?.spaced ?? true) &&
    doc.tokens[at + 1]?.capital === true &&
    doc.word(at - 1).length <= 4
  )
    at += 1;
  return secondTypes.has(doc.word(at)) &&
    doc.word(at).length > 0 &&
    !(doc.word(at).length === 1 && !doc.isNameCased(at))
    ? at + 1
    : at === end
      ? end
      : end;
}

function houseNumber(doc: Doc, i: number): number {
  const token = doc.tokens[i];
  if (!token) return 0;
  const before = doc.tokens[i - 1];
  if (before && /[$£€#]/.test(before.text) && !token.spaced) return 0;
  if (token.kind === 'number') {
    if (token.text.length > 6) return 0;
    let next = i + 1;
    // "1 0 4 Elm Street", "12-14", "17b"
    while (doc.tokens[next]?.kind === 'number' && next < i + 5) next += 1;
    const glued = doc.tokens[next];
    if (glued && !glued.spaced && glued.kind === 'word' && glued.text.length === 1) next += 1;
    if (glued?.text === '-' && !glued.spaced && doc.tokens[next + 1]?.kind === 'number') next += 2;
    return next;
  }
  const whole = cardinalAt(doc.tokens, i);
  if (!whole) return 0;
  let next = whole.next;
  for (let more = 0; more < 3; more++) {
    const small = smallAt(doc.tokens, next);
    if (small) next = small.next;
    else if (doc.word(next) === 'oh' && smallAt(doc.tokens, next + 1)) next += 1;
    else if (doc.word(next) === 'hundred') next += 1;
    else break;
  }
  return next;
}

function boxEnd(doc: Doc, i: number): number {
  let at = i;
  if (doc.word(at) === 'po' || (doc.word(at) === 'post' && doc.word(at + 1) === 'office'))
    at += doc.word(at) === 'po' ? 1 : 2;
  else if (doc.word(at) === 'p' && /^[.o]$/.test(doc.word(at + 1))) {
    at += 1;
    while (/^[.o]$/.test(doc.word(at)) && at < i + 5) at += 1;
  } else return 0;
  if (doc.word(at) !== 'box') return 0;
  const number = houseNumber(doc, at + 1);
  return number;
}

function withUnitBefore(doc: Doc, i: number): number {
  let at = i - 1;
  if (doc.word(at) === ',') at -= 1;
  const isLabel = (token: number): boolean =>
    doc.tokens[token]?.kind === 'number' ||
    smallAt(doc.tokens, token) !== undefined ||
    /^[a-z]$/.test(doc.word(token));
  let start = at;
  while (start > i - 5 && isLabel(start)) start -= 1;
  const isUnit = /^(?:flat|apartment|apt|unit|suite)$/.test(doc.word(start)) && start < at;
  return isUnit && doc.isFree(start, i) ? start : i;
}

function withUnitBehind(doc: Doc, end: number): number {
  let at = end;
  if (
    doc.word(at) === '.' &&
    !(doc.tokens[at]?.spaced ?? true) &&
    streetTypes.has(doc.word(at - 1)) &&
    doc.word(at - 1).length <= 4
  )
    at += 1;
  if (doc.word(at) === ',') at += 1;
  if (doc.word(at) === '#' && doc.tokens[at + 1]?.kind === 'number') return at + 2;
  if (!unitWords.has(doc.word(at)) || doc.isTaken(at)) return end;
  if (/^(?:number|no|room|building|floor)$/.test(doc.word(at))) return end;
  let stop = at + 1;
  if (doc.word(stop) === '.' || doc.word(stop) === 'number') stop += 1;
  const small = smallAt(doc.tokens, stop);
  if (small) {
    stop = small.next;
    const letter = doc.tokens[stop];
    return letter &&
      /^[a-z]$/.test(letter.lower) &&
      letter.lower !== 'i' &&
      (!letter.spaced || doc.word(stop) !== 'a')
      ? stop + 1
      : stop;
  }
  return /^[a-z]$/.test(doc.word(stop)) && doc.word(stop) !== 'a' ? stop + 1 : end;
}

/** Extends an address over the town, state, post code and country that follow. */
function withTown(doc: Doc, end: number): number {
  let stop = end;
  let at = end;
  for (let part = 0; part < 5; part++) {
    if (doc.word(at) === '.' && !(doc.tokens[at]?.spaced ?? true) && doc.word(at + 1) === ',')
      at += 1;
    if (doc.word(at) === ',') at += 1;
    if (doc.word(at) === 'in' && part === 0) at += 1;
    const next =
      cityEnd(doc, at) ||
      stateEnd(doc, at, true) ||
      postcodeEnd(doc, at) ||
      (part > 0 ? countryEnd(doc, at) : 0) ||
      unknownTown(doc, at, part);
    if (next === 0 || !doc.isFree(at, next)) break;
    stop = next;
    at = next;
  }
  return stop;
}

/** Matches an unknown capitalised name after the street's comma if a state or a post code follows. */
function unknownTown(doc: Doc, at: number, part: number): number {
  if (part > 0 || doc.word(at - 1) !== ',') return 0;
  let next = at;
  while (next < at + 3 && doc.isNameCased(next)) next += 1;
  if (next === at) return 0;
  const after = doc.word(next) === ',' ? next + 1 : next;
  const isTown = stateEnd(doc, after, true) > 0 || postcodeEnd(doc, after) > 0;
  return isTown || next >= doc.tokens.length - 1 ? next : 0;
}

function postcodeEnd(doc: Doc, at: number): number {
  const token = doc.tokens[at];
  if (token?.kind === 'number') {
    if (token.text.length === 5) {
      const isPlusFour = doc.word(at + 1) === '-' && doc.tokens[at + 2]?.text.length === 4;
      return isPlusFour ? at + 3 : at + 1;
    }
    return token.text.length === 4 &&
      doc.word(at + 1) !== '' &&
      /^[A-Z]{2}$/.test(doc.tokens[at + 1]?.text ?? '')
      ? at + 2
      : 0;
  }
  // A post code such as M14 5TQ, EH3 9QG, SW1A 1AA or K1A 0B1: letters and digits without a space, one space between
  // the halves.
  const rest = doc.text.slice(token?.start ?? doc.text.length, (token?.start ?? 0) + 9);
  const match = /^(?:[A-Z]{1,2}\d[A-Z\d]? ?\d[A-Z]{2}|[A-Z]\d[A-Z] ?\d[A-Z]\d)\b/.exec(rest);
  if (match && token) {
    const stop = token.start + match[0].length;
    let i = at;
    while ((doc.tokens[i]?.end ?? Infinity) <= stop) i += 1;
    return i;
  }
  // Matches five digits said one by one.
  let i = at;
  while (i < at + 5 && (smallAt(doc.tokens, i)?.value ?? 10) < 10) i += 1;
  return i === at + 5 ? i : 0;
}
