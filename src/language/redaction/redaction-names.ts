import {
  entityPresets,
  expandEntityTypes,
  unknownEntityType,
} from '../../protocol/entity-types.ts';
import { foundTypes } from '../entities/found-types.ts';

/**
 * The reason, in a person's words, why texts cannot be redacted of an entity type or preset; undefined if they can. An
 * unknown name, or a type that no finder finds, would leave every text as it is although the call is reported as
 * redacted. Code that takes such a name from outside must therefore refuse it.
 */
export function redactionProblem(name: string): string | undefined {
  const unknown = unknownEntityType(name);
  if (unknown !== undefined) return unknown;
  if (Object.hasOwn(entityPresets, name) || foundTypes.includes(name)) return undefined;
  return 'is an entity type of the interface that is not found here: no text would be redacted of it';
}

/**
 * A text gets the most specific label only: a first name alone is NAME_GIVEN, a street without a town is no
 * LOCATION_ADDRESS. A request to remove names means those labels too. Presets are not widened, because the API defines
 * their contents.
 */
const narrower: Readonly<Record<string, readonly string[]>> = {
  NAME: ['NAME_FAMILY', 'NAME_GIVEN', 'NAME_MEDICAL_PROFESSIONAL'],
  ORGANIZATION: ['ORGANIZATION_MEDICAL_FACILITY'],
  LOCATION_ADDRESS: ['LOCATION_ADDRESS_STREET'],
  LOCATION: [
    'LOCATION_ADDRESS',
    'LOCATION_ADDRESS_STREET',
    'LOCATION_CITY',
    'LOCATION_COORDINATE',
    'LOCATION_COUNTRY',
    'LOCATION_STATE',
    'LOCATION_ZIP',
  ],
  DATE: ['DATE_INTERVAL', 'DOB'],
};

/** The single types behind a list of presets and types. Undefined if the list is empty, which means every type. */
export function wantedTypes(names: readonly string[]): Set<string> | undefined {
  if (names.length === 0) return undefined;
  const wide = names.flatMap((name) => [
    name,
    ...(Object.hasOwn(narrower, name) ? (narrower[name] ?? []) : []),
  ]);
  return new Set(expandEntityTypes(wide));
}

/** The words of the questions for secrets. A question that is misheard leaves its answer unexplained. */
const questionWords: Record<string, readonly string[]> = {
  CREDIT_CARD_EXPIRATION: ['expiry', 'expiration date'],
  CVV: ['security code', 'CVV'],
  SSN: ['social security number'],
};

/** The words that sessions of a redacted call should listen for. */
export function wordsOfQuestions(entityTypes: readonly string[]): string[] {
  if (entityTypes.length === 0) return [];
  const wanted = wantedTypes([...entityTypes]);
  return Object.entries(questionWords).flatMap(([type, words]) =>
    wanted === undefined || wanted.has(type) ? words : [],
  );
}
