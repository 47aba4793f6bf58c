import type { CallFacts } from '../bridge/streams.ts';
import { directionOf } from './parameters.ts';
import { withoutUndefined } from '../lib/without-undefined.ts';

// Facts about a phone call from the carriers' status callbacks, in one form.

/** A longer text is not taken for a telephone number or an address of a person. */
const longestParty = 300;

/** The words that the carriers use for a call that is over. */
const over = new Set([
  'busy', 'canceled', 'cancelled', 'cancel', 'completed', 'failed', 'no-answer', 'rejected', 'timeout', 'unanswered',
]); // prettier-ignore

type SaidFacts = {
  from?: string | undefined;
  to?: string | undefined;
  direction?: string | undefined;
  /** The state of the call in the carrier's own word, or true if the call is over. */
  status?: string | boolean | undefined;
};

export function callFacts({ from, to, direction: spelt, status }: SaidFacts): CallFacts {
  const isOver = typeof status === 'string' ? over.has(status.toLowerCase()) : status === true;
  return {
    ...withoutUndefined({
      from: party(from),
      to: party(to),
      direction: directionOf(spelt?.toLowerCase()),
    }),
    ...(isOver ? { isOver } : {}),
  };
}

function party(text: string | undefined): string | undefined {
  return text !== '' && (text?.length ?? 0) <= longestParty ? text : undefined;
}

/**
 * Reads the fields that most carriers post in their forms. `CallStatus` describes the call itself, never a call that it
 * dialled.
 */
export function formFacts({
  From: from,
  To: to,
  Direction: direction,
  CallStatus: status,
}: Readonly<Record<string, string>>): CallFacts {
  return callFacts({ from, to, direction, status });
}
