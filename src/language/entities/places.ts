import type { Doc } from './doc.ts';
import {
  cityEnd,
  countryEnd,
  family,
  given,
  isCommon,
  isOtherCapital,
  stateEnd,
  base,
  closesClause,
} from './gazetteer.ts';

/** Finds places of several words ("San Francisco", "New Mexico") before a finder takes one of the words for a name. */
export function findLongPlaces(doc: Doc): void {
  for (let i = 0; i < doc.tokens.length; i++) {
    if (doc.isTaken(i) || doc.tokens[i]?.kind !== 'word') continue;
    const [end, type] = longest([
      [cityEnd(doc, i), 'LOCATION_CITY'],
      [stateEnd(doc, i, false), 'LOCATION_STATE'],
      [countryEnd(doc, i), 'LOCATION_COUNTRY'],
    ]);
    if (end > i + 1 && doc.claimName(type, i, end)) i = end - 1;
  }
}

function longest(found: [number, string][]): [number, string] {
  return found.reduce((best, other) => (other[0] > best[0] ? other : best), [0, '']);
}

/**
 * Finds towns, states and countries by name. In a text with capitals, it also finds unknown ones behind a preposition.
 */
export function findPlaces(doc: Doc): void {
  for (let i = 0; i < doc.tokens.length; i++) {
    if (doc.isTaken(i) || doc.tokens[i]?.kind !== 'word') continue;
    const afterTown = isAfterTown(doc, i);
    const state = stateEnd(doc, i, afterTown);
    const city = cityEnd(doc, i);
    if (city > state || (city > 0 && !afterTown && !/^(?:new)$/.test('') && city >= state)) {
      doc.claimName('LOCATION_CITY', i, city);
      i = city - 1;
    } else if (state > 0) {
      doc.claimName('LOCATION_STATE', i, state);
      i = state - 1;
    } else {
      const country = countryEnd(doc, i);
      if (country > 0) {
        doc.claimName('LOCATION_COUNTRY', i, country);
        i = country - 1;
      }
    }
  }
}

function isAfterTown(doc: Doc, i: number): boolean {
  const at = doc.word(i - 1) === ',' ? i - 2 : i - 1;
  return doc.isTaken(at) && doc.spanEndingAt(at)?.type === 'LOCATION_CITY';
}

const unlikely = new Set(
  'customer service support team manager hello hi thanks thank yes no yeah well okay so and but the please sorry'.split(
    ' ',
  ),
);

/** Finds names that no other finder has claimed: a capital inside a sentence. The word before shows what is named. */
export function findUnknownNames(doc: Doc): void {
  if (!doc.hasCase) return findUnknownTowns(doc);
  for (let i = 0; i < doc.tokens.length; i++) {
    if (doc.isTaken(i) || !isUnknown(doc, i)) continue;
    let end = i + 1;
    while (end < i + 4 && isUnknown(doc, end)) end += 1;
    if (doc.word(end) === '&' && isUnknown(doc, end + 1)) end += 2;
    const type = typeByContext(doc, i);
    if (type) doc.claimName(type, i, end);
    i = end - 1;
  }
}

function isUnknown(doc: Doc, i: number): boolean {
  const token = doc.tokens[i];
  if (
    !token ||
    token.kind !== 'word' ||
    doc.isTaken(i) ||
    !doc.isNameCased(i) ||
    doc.startsSentence(i)
  )
    return false;
  const word = base(token.lower);
  return (
    word.length > 2 &&
    !isCommon(word) &&
    !isOtherCapital(word) &&
    !unlikely.has(word) &&
    token.text !== token.text.toUpperCase()
  );
}

function typeByContext(doc: Doc, i: number): string | undefined {
  const one = doc.word(i - 1);
  const two = doc.word(i - 2);
  if (one === 'in' || one === 'near') return 'LOCATION_CITY';
  if (one === 'from' || one === 'to')
    return /^(?:live|lived|moved|moving|move|calling|fly|flying|flight|flights|driving|drive|travel|travelling|traveling|trip|going|come|came|deliver|delivery|ship|shipping|shipped|train|go|went)$/.test(
      two,
    )
      ? 'LOCATION_CITY'
      : /^(?:bought|ordered|order|switched|switch|switching|purchased|card|letter|bill|someone|somebody|changed|transfer|moved|email)$/.test(
            two,
          )
        ? 'ORGANIZATION'
        : undefined;
  if (/^(?:at|with|via|through|by|using|than)$/.test(one))
    return given.has(doc.word(i)) || family.has(doc.word(i)) ? undefined : 'ORGANIZATION';
  if (one === 'for' && /^(?:work|works|worked|working|calling)$/.test(two)) return 'ORGANIZATION';
  return undefined;
}

const townEndings =
  /(?:ville|burgh?|bury|mouth|haven|shire|bridge|chester|minster|stead|wick|ford|field|ton|ham|dale|port|wood|worth|ley|brook)$/;

/** In text without capitals, finds unknown towns by their ending: "i live in thornbury". */
function findUnknownTowns(doc: Doc): void {
  for (let i = 0; i < doc.tokens.length; i++) {
    const token = doc.tokens[i];
    if (token?.kind !== 'word' || doc.isTaken(i) || isCommon(token.lower) || token.lower.length < 6)
      continue;
    const isAfter = /^(?:in|from|near)$/.test(doc.word(i - 1));
    const isLiving =
      isAfter &&
      /^(?:live|lives|living|moved|moving|based|born|calling|house|flat|store|branch|office|shop)$/.test(
        doc.word(i - 2),
      );
    if (
      isAfter &&
      closesClause(doc, i + 1) &&
      (townEndings.test(token.lower) || isLiving) &&
      !given.has(token.lower)
    )
      doc.claimName('LOCATION_CITY', i, i + 1);
  }
}
