import type { LanguageAbroad } from '../abroad/number-words.ts';
import type { Party } from '../../protocol/events.ts';
import type { CallInsight } from '../types.ts';
import type { Mood } from './mood.ts';
import type { CallFact } from './named-facts.ts';
import type { CallOutcome } from './outcome.ts';

/** A field of the record, with the turns that prove it. */
type ProvenText = { text: string; turns: number[] };
export type PromiseField = { who: Party; what: string; subject: string; until?: string; isOn?: boolean; ofDay?: string; said?: string; turns: number[] }; // prettier-ignore

/** The record of a call. A field that nobody's words prove is empty. */
export type CallRecordDraft = {
  /** False where the roles or the language are not known: then nobody is named, and only facts are kept. */
  isTold: boolean;
  isWrongNumber: boolean;
  /** The language of its words, if it is one of `abroad/`. */
  language?: LanguageAbroad;
  day?: string | undefined;
  reason: ProvenText | null;
  done: ProvenText[];
  outcome: CallOutcome;
  promises: PromiseField[];
  facts: CallFact[];
  mood: Mood | null;
};

export type RecordContext = {
  entities?: CallInsight['entities'];
  /** The day of the call, and the calling code of its country. */
  day?: string | undefined;
  callingCode?: string | undefined;
  /** The language of most of the words. Without it they are English. */
  language?: string | undefined;
};
