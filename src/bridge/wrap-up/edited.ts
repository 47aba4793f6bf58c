import { digestOf } from '../../lib/digest.ts';
import {
  wrapUpFields,
  type WrapUp,
  type WrapUpField,
  type WrapUpOrder,
} from '../../protocol/wrap-up.ts';

/** The record after an order, and the fields that it changed. Pure. */
export function edited(
  before: WrapUp,
  { wrap_up: order }: WrapUpOrder,
): { after: WrapUp; changed: WrapUpField[] } {
  const after: WrapUp = {
    ...before,
    ...(order.reason === undefined ? {} : { reason: order.reason && proven(order.reason) }),
    ...(order.done === undefined ? {} : { done: order.done.map(proven) }),
    ...(order.outcome === undefined ? {} : { outcome: proven(order.outcome) }),
    ...(order.facts === undefined ? {} : { facts: order.facts.map(proven) }),
    ...(order.disposition === undefined ? {} : chosen(order.disposition)),
    ...(order.mood === undefined ? {} : { mood: order.mood }),
    ...(order.promises === undefined ? {} : { promises: withIds(order.promises) }),
  };
  const isConfirmed = before.disposition_by !== after.disposition_by;
  const changed = wrapUpFields.filter((field) => JSON.stringify(sorted(before[field])) !== JSON.stringify(sorted(after[field])) || (field === 'disposition' && isConfirmed)); // prettier-ignore
  return { after, changed };
}

/** A person's choice, also where it is what was suggested. None takes the suggestion away. */
function chosen(disposition: string | null): Pick<WrapUp, 'disposition' | 'disposition_by'> {
  return { disposition, disposition_by: disposition === null ? undefined : 'person' };
}

/** The ids of utterances that an order names, for a check that the call has them. */
export function proofOf({ reason, done, outcome, promises, facts, mood }: WrapUp): string[] {
  return [reason, ...done, outcome, ...promises, ...facts, mood].flatMap(
    (field) => field?.utterance_ids ?? [],
  );
}

function proven<Field extends { utterance_ids?: string[] | undefined }>(
  field: Field,
): Field & { utterance_ids: string[] } {
  return { ...field, utterance_ids: field.utterance_ids ?? [] };
}

/** A promise without an id gets one from its words, so that the same order again makes no other task. */
function withIds(promises: NonNullable<WrapUpOrder['wrap_up']['promises']>): WrapUp['promises'] {
  const taken = new Set<string>();
  return promises.map(({ id, who, what, until, utterance_ids: proof = [] }) => {
    let own = id ?? `p${digestOf(JSON.stringify([who, what])).slice(0, 12)}`;
    for (let copy = 2; taken.has(own); copy++) own = `${own.slice(0, 20)}_${copy}`;
    taken.add(own);
    return { id: own, who, what, until, utterance_ids: proof };
  });
}

/** The value with its keys in order: JSON of a request has them in any order. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (typeof value !== 'object' || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .toSorted(([a], [b]) => (a < b ? -1 : 1))
      .map(([key, one]) => [key, sorted(one)]),
  );
}
