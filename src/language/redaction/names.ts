import { entityPresets, unknownEntityType } from '../../protocol/entity-types.ts';
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
