import type { CallScope } from '../../assist/rule-set.ts';
import type { CallRecord } from '../records/call-record.ts';

/** The facts of a call that scopes of playbooks ask for. */
export function scopeOf({ direction, carrier, to, metadata, language }: CallRecord): CallScope {
  return {
    direction: direction ?? null,
    carrier,
    to: to ?? null,
    metadata,
    language: language ?? null,
  };
}
