import { commonWords } from '../data/common-words.ts';
import { ambiguousGivenNames, givenNames } from '../data/given-names.ts';
import {
  ambiguousOrganizations,
  medicalFacilityEndings,
  organizationEndings,
  organizations,
} from '../data/organizations.ts';
import {
  ambiguousCities,
  ambiguousCountries,
  cities,
  countries,
  landmarks,
  stateCodes,
  states,
} from '../data/place-names.ts';
import { surnames } from '../data/surnames.ts';
import { Phrases } from '../text/phrases.ts';
import type { Doc } from './doc.ts';

const setOf = (list: string): Set<string> => new Set(list.split(/\s+/).filter(Boolean));

export const given = setOf(givenNames);
export const ambiguousGiven = setOf(ambiguousGivenNames);
export const family = setOf(surnames);
const common = setOf(commonWords);
const cityPhrases = new Phrases(cities);
const cityWords = setOf(ambiguousCities);
const statePhrases = new Phrases(states);
const stateShort = setOf(stateCodes);
const countryPhrases = new Phrases(countries);
const countryWords = setOf(ambiguousCountries);
export const landmarkPhrases = new Phrases(landmarks);
export const organizationPhrases = new Phrases(organizations);
export const organizationWords = setOf(ambiguousOrganizations);
export const organizationEnds = new Phrases(organizationEndings);
export const medicalEnds = new Phrases(medicalFacilityEndings);

/** Days, months, numbers, products and titles. Their capitals do not mean a name. */
const otherCapitals = setOf(
  `monday tuesday wednesday thursday friday saturday sunday january february march april may june july august september
  october november december christmas easter thanksgiving halloween ramadan diwali hanukkah eid iphone ipad ipod macbook
  android windows wifi wi-fi bluetooth chrome safari firefox gmail outlook excel galaxy pixel kindle alexa siri internet
  english spanish french german italian portuguese chinese japanese korean arabic hindi polish dutch russian turkish
  american british canadian australian european indian mexican irish scottish welsh god jesus lord sir madam ma'am mr mrs ms miss
  dr doctor professor mister missus covid wordpress linux ethernet facetime messenger fibre fiber tv dvd usb ssn cvv pin id
  one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen seventeen eighteen nineteen
  twenty thirty forty fifty sixty seventy eighty ninety hundred thousand million first second third ok okay llc inc ltd am pm gb uk us eu gps sim sms`,
);

/** The word without its possessive ending. */
export function base(word: string): string {
  return word.endsWith("'s") ? word.slice(0, -2) : word;
}

const endings: [ending: string, replacements: string[]][] = [
  ['ies', ['y']],
  ['ied', ['y']],
  ['ier', ['y']],
  ['iest', ['y']],
  ['ily', ['y']],
  ['es', ['', 'e']],
  ['s', ['']],
  ['ed', ['', 'e']],
  ['ing', ['', 'e']],
  ['er', ['', 'e']],
  ['ers', ['', 'e']],
  ['est', ['', 'e']],
  ['ly', ['', 'le']],
  ['ness', ['']],
  ['ment', ['']],
  ['able', ['', 'e']],
  ['al', ['', 'e']],
  ['y', ['', 'e']],
  ['ful', ['']],
  ['less', ['']],
  ['ion', ['', 'e']],
  ['ions', ['', 'e']],
];

const cache = new Map<string, boolean>();

/** True for an everyday word, with or without an ending. */
export function isCommon(word: string): boolean {
  const known = cache.get(word);
  if (known !== undefined) return known;
  const result = isCommonNow(word);
  if (cache.size > 20_000) cache.clear();
  cache.set(word, result);
  return result;
}

function isCommonNow(word: string): boolean {
  if (common.has(word) || otherCapitals.has(word) || word.length < 2) return true;
  if (/'(?:s|ll|re|ve|d|m|t)$/.test(word) && common.has(word.replace(/'\w+$/, ''))) return true;
  if (
    /^(?:un|re|dis|non|pre|over|mis)/.test(word) &&
    word.length > 6 &&
    isCommonNow(word.replace(/^(?:un|re|dis|non|pre|over|mis)/, ''))
  )
    return true;
  // "andy" must not count as "and" with an ending.
  if (given.has(word)) return false;
  for (const [ending, replacements] of endings) {
    if (!word.endsWith(ending) || word.length - ending.length < 3) continue;
    const stem = word.slice(0, -ending.length);
    for (const replacement of replacements) if (common.has(stem + replacement)) return true;
    // Doubled consonants: running, stopped.
    if (stem.length > 3 && stem.at(-1) === stem.at(-2) && common.has(stem.slice(0, -1)))
      return true;
  }
  return false;
}

/** True if the word itself is in the list of everyday words, without removing an ending. */
export function isPlainWord(word: string): boolean {
  return common.has(word);
}

export function isOtherCapital(word: string): boolean {
  return otherCapitals.has(word);
}

const placePrepositions =
  /^(?:in|near|from|outside|to|around|at|visiting|leaving|via|through|into|for|towards?|reach|between|of|inside)$/;
const firmPlacePrepositions = /^(?:in|near|from|outside|around|into|to)$/;

/**
 * The end of a town's name that begins at the token, or 0. Names that are also words depend on the words around them.
 */
export function cityEnd(doc: Doc, i: number): number {
  const end = cityPhrases.match(doc.tokens, i);
  if (end === 0 || !doc.isFree(i, end) || !casedAs(doc, i)) return 0;
  const word = base(doc.word(i));
  if (end > i + 1) return end;
  const isAmbiguous = cityWords.has(word) || isCommon(word) || given.has(word) || family.has(word);
  if (!isAmbiguous) return end;
  const after = doc.word(end) === ',' ? end + 1 : end;
  if (stateEnd(doc, after, true) > 0 || countryPhrases.match(doc.tokens, after) > 0) return end;
  const before = doc.word(i - 1);
  if (given.has(word) && !isCommon(word))
    return firmPlacePrepositions.test(before) && !isPersonVerb(doc, i) ? end : 0;
  if (family.has(word) && !isCommon(word) && !cityWords.has(word))
    return placePrepositions.test(before) || doc.isNameCased(i) ? end : 0;
  if (isCommon(word)) {
    if (doc.hasCase) return doc.isNameCased(i) && placePrepositions.test(before) ? end : 0;
    if (
      /^(?:mobile|orange|surprise|independence|normal|enterprise|commerce|split|deal|wells|bend|fez|sparks|reading|nice|bury|mesa|ripon|dover)$/.test(
        word,
      ) &&
      !/^(?:live|lives|living|born|based|moved|moving|store|branch|office|house|flat|shop)$/.test(
        doc.word(i - 2),
      )
    )
      return 0;
    return /^(?:in|from|near)$/.test(before) && closesClause(doc, end) ? end : 0;
  }
  return placePrepositions.test(before) || doc.isNameCased(i) ? end : 0;
}

/** True for people in phrases such as "talk to austin" or "from victoria in billing". */
function isPersonVerb(doc: Doc, i: number): boolean {
  const verb = `${doc.word(i - 2)} ${doc.word(i - 1)}`;
  return /^(?:talk|talked|speak|spoke|spoken|speaking|talking|listen|said|gave|sent|told|explained|email|message|letter|call|hear|heard) (?:to|with|from)$/.test(
    verb,
  );
}

const ambiguousStates = setOf(
  'georgia virginia kent norfolk surrey essex sussex devon victoria montana dakota alberta suffolk dorset hampshire indiana maine galicia normandy provence saxony',
);

export function stateEnd(doc: Doc, i: number, afterTown: boolean): number {
  const token = doc.tokens[i];
  if (!token) return 0;
  if (afterTown && stateShort.has(token.text) && doc.hasCase)
    return doc.word(i + 1) === '.' && false ? i + 2 : i + 1;
  if (
    afterTown &&
    /^[A-Z]$/.test(token.text) &&
    doc.word(i + 1) === '.' &&
    /^[A-Z]$/.test(doc.tokens[i + 2]?.text ?? '') &&
    stateShort.has(token.text + (doc.tokens[i + 2]?.text ?? ''))
  )
    return doc.word(i + 3) === '.' ? i + 4 : i + 3;
  if (afterTown && (token.lower === 'washington' || token.lower === 'georgia'))
    return casedAs(doc, i) ? i + 1 : 0;
  if (afterTown && token.lower === 'new' && doc.word(i + 1) === 'york')
    return casedAs(doc, i) ? i + 2 : 0;
  const end = statePhrases.match(doc.tokens, i);
  if (end === 0 || !doc.isFree(i, end) || !casedAs(doc, i)) return 0;
  const word = base(token.lower);
  if (end > i + 1 || afterTown || !ambiguousStates.has(word)) return end;
  return placePrepositions.test(doc.word(i - 1)) && !isPersonVerb(doc, i) ? end : 0;
}

export function countryEnd(doc: Doc, i: number): number {
  const token = doc.tokens[i];
  if (!token) return 0;
  if (/^(?:US|UK|USA|UAE|EU)$/.test(token.text)) return token.text === 'EU' ? 0 : i + 1;
  if (
    /^[us]$/.test(token.lower) &&
    doc.word(i + 1) === '.' &&
    /^[ks]$/.test(doc.word(i + 2)) &&
    token.text === 'U'
  )
    return doc.word(i + 3) === '.' ? i + 4 : i + 3;
  const end = countryPhrases.match(doc.tokens, i);
  if (end === 0 || !doc.isFree(i, end) || !casedAs(doc, i)) return 0;
  const word = base(token.lower);
  if (end === i + 1 && countryWords.has(word))
    return placePrepositions.test(doc.word(i - 1)) ? end : 0;
  // The article of "the united states" is not part of the name.
  return end;
}

/** True if the token may be a name: in a text that uses capitals, a name has one. */
export function casedAs(doc: Doc, i: number): boolean {
  return !doc.hasCase || (doc.tokens[i]?.capital ?? false);
}

const closers =
  /^(?:and|but|or|so|because|when|where|which|that|who|if|now|today|tomorrow|yesterday|with|at|on|for|by|since|then|please|this|last|next|is|was|are|were|isn't|has|had|i|we|he|she|they|you|it|my|our|to|about|after|before|until|not|too|as|right|branch|store|office|area)$/;

export function closesClause(doc: Doc, end: number): boolean {
  const token = doc.tokens[end];
  return !token || token.kind === 'mark' || closers.test(token.lower);
}
