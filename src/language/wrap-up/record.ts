import type { Party } from '../../protocol/events.ts';
import { isTellable } from '../summary/extract.ts';
import type { CallInsight, SpokenTurn } from '../types.ts';
import { doneIn } from './done.ts';
import { callerOf, factsOf, type CallFact } from './named-facts.ts';
import { moodOf, type Mood } from './mood.ts';
import { outcomeOf, type CallOutcome } from './outcome.ts';
import { promisesIn } from './promises.ts';
import { reasonOf } from './reason.ts';
import { withValues } from '../values/with-values.ts';
import { statementsOf } from './statements.ts';

/** A field of the record, with the turns that prove it. */
type ProvenText = { text: string; turns: number[] };
export type PromiseField = { who: Party; what: string; subject: string; until?: string; isOn?: boolean; turns: number[] }; // prettier-ignore

/** The record of a call. A field that nobody's words prove is empty. */
export type CallRecordDraft = {
  /** False where the roles or the language are not known: then nobody is named, and only facts are kept. */
  isTold: boolean;
  isWrongNumber: boolean;
  day?: string | undefined;
  reason: ProvenText | null;
  done: ProvenText[];
  outcome: CallOutcome;
  promises: PromiseField[];
  facts: CallFact[];
  mood: Mood | null;
};

const wrongNumber = /\b(?:wrong number|dialled? the wrong|misdialled?|wrong extension)\b/i;
/** In a call with more turns than this, the words "wrong number" do not mean that the caller misdialled. */
const shortCallTurns = 10;

export type RecordContext = {
  entities?: CallInsight['entities'];
  /** The day of the call, and the calling code of its country. */
  day?: string | undefined;
  callingCode?: string | undefined;
};

export function recordOf(
  turns: readonly SpokenTurn[],
  { entities = [], day, callingCode }: RecordContext = {},
): CallRecordDraft {
  const facts = factsOf(entities, turns, day);
  const empty: CallRecordDraft = {
    isTold: false,
    isWrongNumber: false,
    day,
    reason: null,
    done: [],
    outcome: { value: 'unknown', turns: [] },
    promises: [],
    facts,
    mood: null,
  };
  if (!isTellable(turns)) return empty;
  const isWrongNumber = turns.length <= shortCallTurns && turns.some(({ text }) => wrongNumber.test(text)); // prettier-ignore
  if (isWrongNumber) return { ...empty, isTold: true, isWrongNumber, facts: [] };
  const statements = statementsOf(turns);
  const done = doneIn(statements);
  const promises = promisesIn({ statements, done, day });
  const reason = reasonOf(statements);
  const figures = (text: string): string => withValues(text, callingCode);
  const caller = callerOf(turns);
  const name: CallFact[] =
    caller === undefined ? [] : [{ kind: 'name', text: caller.text, value: caller.name, turns: [caller.turn], isCustomers: true }]; // prettier-ignore
  return {
    isTold: true,
    isWrongNumber,
    day,
    reason:
      reason === undefined
        ? null
        : { text: figures(reason.text), turns: reason.turns ?? [reason.turn] },
    done: done.map(({ text, turns: proof }) => ({ text: figures(text), turns: proof })),
    outcome: outcomeOf({ statements, done, promises }),
    promises: promises.map(({ place: _place, ...promise }) => ({ ...promise, what: figures(promise.what) })), // prettier-ignore
    facts: [...name, ...facts],
    mood: moodOf(turns) ?? null,
  };
}
