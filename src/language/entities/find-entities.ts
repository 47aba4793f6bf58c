import { entitiesAbroad } from '../abroad/find-abroad.ts';
import { isAbroad } from '../abroad/number-words.ts';
import type { EntitySpan } from '../types.ts';
import { findAddresses } from './postal-addresses.ts';
import { findRequested } from './by-request.ts';
import { findCodes } from './codes.ts';
import { findDates, findNumericDates } from './dates.ts';
import type { CueKind } from './cue-kinds.ts';
import { Doc } from './doc.ts';
import { findFirms } from './firms.ts';
import { findMoney, findPrices } from './money.ts';
import { findDoctors, findPeople } from './person-names.ts';
import { findLongPlaces, findPlaces, findUnknownNames } from './places.ts';
import { findTimes } from './times.ts';
import { requestedTypes } from './found-types.ts';
import { findWeb } from './web.ts';

/**
 * The entities of a text, in order and without overlap (README.md explains the labels). Structured items are found
 * first, so that their words are not taken for names; names follow, the surest first. `types` limits the answer, and
 * adds the kinds that are found only on request. In the languages of `abroad/` numbers, amounts, days and addresses are
 * found and no names; in all others only entities with a form of their own: web and mail addresses, money, figures. `around` may claim spans before and after the finders run. `asked`
 * holds the questions of the other party.
 */
export function findEntities(
  text: string,
  types?: readonly string[],
  language = 'en',
  around?: { first(doc: Doc): void; last(doc: Doc): void },
  asked: readonly CueKind[] = [],
): EntitySpan[] {
  if (isAbroad(language)) {
    const own = entitiesAbroad(text, { language }).map(spanOnly);
    const urls = urlsIn(text).filter(
      (url) => !own.some(({ start, end }) => start < url.end && url.start < end),
    );
    const found = [...own, ...urls].toSorted((one, other) => one.start - other.start);
    return types ? found.filter(({ type }) => types.includes(type)) : found;
  }
  const doc = new Doc(text, asked);
  around?.first(doc);
  findWeb(doc);
  findMoney(doc);
  findNumericDates(doc);
  if (language === 'en') findInEnglish(doc);
  else findCodes(doc);
  around?.last(doc);
  if (!types) return doc.spans();
  const wanted = new Set(types);
  if (requestedTypes.some((type) => wanted.has(type))) findRequested(doc, wanted);
  return doc.spans().filter((span) => wanted.has(span.type));
}

/** Web addresses are written alike in all languages. */
function urlsIn(text: string): EntitySpan[] {
  const doc = new Doc(text);
  findWeb(doc);
  return doc.spans().filter(({ type }) => type === 'URL');
}

function spanOnly({ type, text, start, end }: EntitySpan): EntitySpan {
  return { type, text, start, end };
}

function findInEnglish(doc: Doc): void {
  findDates(doc);
  findAddresses(doc);
  findCodes(doc);
  findTimes(doc);
  findPrices(doc);
  findDoctors(doc);
  findFirms(doc);
  findLongPlaces(doc);
  findPeople(doc);
  findPlaces(doc);
  findUnknownNames(doc);
}
