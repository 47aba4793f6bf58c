import type { EntitySpan } from '../types.ts';
import { findAddresses } from './addresses.ts';
import { findRequested } from './by-request.ts';
import { findCodes } from './codes.ts';
import { findDates, findNumericDates } from './dates.ts';
import type { CueKind } from './cue-kinds.ts';
import { Doc } from './doc.ts';
import { findFirms } from './firms.ts';
import { findMoney, findPrices } from './money.ts';
import { findDoctors, findPeople } from './people.ts';
import { findLongPlaces, findPlaces, findUnknownNames } from './places.ts';
import { findTimes } from './times.ts';
import { requestedTypes } from './types.ts';
import { findWeb } from './web.ts';

/**
 * The entities of a text, in order, none over another (README.md says what each label means). The order of the finders is the order
 * of trust: structured items first, so that their pieces are not taken for names, then names from the surest on.
 * `types` narrows the answer, and adds the kinds that are found only where they are asked for by name. In other
 * languages than English only what its own form shows is found: addresses of mail and web, money, figures.
 * `around` claims what the finders are not to judge, before and after them. `asked` is what the other party wanted to know.
 */
export function findEntities(
  text: string,
  types?: readonly string[],
  language = 'en',
  around?: { first(doc: Doc): void; last(doc: Doc): void },
  asked: readonly CueKind[] = [],
): EntitySpan[] {
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
