import { isAbroad } from '../abroad/number-words.ts';
import { isTellable } from '../summary/extract.ts';
import type { SpokenTurn } from '../types.ts';
import { doneIn } from './done.ts';
import { callerOf, factsOf, type CallFact } from './named-facts.ts';
import { moodOf } from './mood.ts';
import { outcomeOf } from './outcome.ts';
import { promisesIn } from './promises.ts';
import { reasonOf } from './reason.ts';
import { recordAbroad } from './record-abroad.ts';
import type { CallRecordDraft, RecordContext } from './record-draft.ts';
import { withValues } from '../values/with-values.ts';
import { statementsOf } from './statements.ts';

const wrongNumber = /\b(?:wrong number|dialled? the wrong|misdialled?|wrong extension)\b/i;
/** In a call with more turns than this, the words "wrong number" do not mean that the caller misdialled. */
const shortCallTurns = 10;

export function recordOf(
  turns: readonly SpokenTurn[],
  { entities = [], day, callingCode, language = 'en' }: RecordContext = {},
): CallRecordDraft {
  if (isAbroad(language)) return recordAbroad(turns, language, { entities, day });
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
