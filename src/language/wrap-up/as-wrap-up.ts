import { digestOf } from '../../lib/digest.ts';
import type { WrapUp, WrapUpPromise } from '../../protocol/wrap-up.ts';
import type { SpokenTurn } from '../types.ts';
import type { CallRecordDraft, PromiseField } from './record-draft.ts';

/** The record as others read it: turns by their ids. A field without the id of its proof is left out. */
export function wrapUpFrom(record: CallRecordDraft, turns: readonly SpokenTurn[]): WrapUp {
  const ids = (places: readonly number[]): string[] => [
    ...new Set(places.flatMap((place) => turns[place]?.utterance_id ?? [])),
  ];
  const { reason, done, outcome, promises, facts, mood } = record;
  const isProven = ({ utterance_ids: proof }: { utterance_ids: string[] }): boolean => proof.length > 0; // prettier-ignore
  const why = reason === null ? null : { text: reason.text, utterance_ids: ids(reason.turns) };
  return {
    reason: why !== null && isProven(why) ? why : null,
    done: done.map(({ text, turns: at }) => ({ text, utterance_ids: ids(at) })).filter(isProven),
    outcome: { value: outcome.value, utterance_ids: ids(outcome.turns) },
    promises: promises.map((promise) => promiseFrom(promise, ids(promise.turns))).filter(isProven),
    facts: facts
      .map(({ kind, text, value, currency, turns: at }) => ({
        kind,
        text,
        value,
        ...(currency === undefined ? {} : { currency }),
        utterance_ids: ids(at),
      })) // prettier-ignore
      .filter(isProven),
    disposition: null,
    mood: mood === null ? null : { from: mood.from, to: mood.to, utterance_ids: ids(mood.turns) },
  };
}

function promiseFrom({ who, what, subject, until }: PromiseField, proof: string[]): WrapUpPromise {
  const isOwn = subject === 'Agent' || subject === 'Customer';
  const words = isOwn ? what : `${subject} will ${what}`;
  const key = JSON.stringify([who, words, proof]);
  return {
    id: `p${digestOf(key).slice(0, 12)}`,
    who,
    what: words,
    until: until ?? null,
    utterance_ids: proof,
  };
}
