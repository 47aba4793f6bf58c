import {
  entityPresets,
  expandEntityTypes,
  unknownEntityType,
} from '../../protocol/entity-types.ts';
import { foundTypes } from '../entities/types.ts';

/**
 * Why texts cannot be redacted of an entity type or preset, as a person is told it; undefined for one that works.
 * A name that means nothing, or a type that nothing here finds, would leave every text as it is while the call
 * says that it is redacted: whoever takes such a name from outside refuses it.
 */
export function redactionProblem(name: string): string | undefined {
  const unknown = unknownEntityType(name);
  if (unknown !== undefined) return unknown;
  if (Object.hasOwn(entityPresets, name) || foundTypes.includes(name)) return undefined;
  return 'is an entity type of the interface that is not found here: no text would be redacted of it';
}

/**
 * A text has the most specific label only: a first name alone is NAME_GIVEN, a street without its town no
 * LOCATION_ADDRESS. Who asks for names to be taken out means those too. Presets are not widened: their contents are
 * the interface's.
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

/** The single types behind a list of presets and types; undefined when the list is empty: everything then. */
export function wantedTypes(names: readonly string[]): Set<string> | undefined {
  if (names.length === 0) return undefined;
  const wide = names.flatMap((name) => [
    name,
    ...(Object.hasOwn(narrower, name) ? (narrower[name] ?? []) : []),
  ]);
  return new Set(expandEntityTypes(wide));
}
