import { entitiesAbroad } from '../abroad/find-abroad.ts';
import { leadsToOwnName, namesAbroad } from '../abroad/names-abroad.ts';
import { plain, type LanguageAbroad } from '../abroad/number-words.ts';
import { splitSentences } from '../text/sentences.ts';
import type { SpokenTurn } from '../types.ts';
import { type CuesAbroad, cuesAbroad } from './record-cues.ts';
import { factsOf, type CallFact } from './named-facts.ts';

import type { CallRecordDraft, PromiseField, RecordContext } from './record-draft.ts';

/** A sentence that is longer than this is none that a person would write down. */
const maxCharacters = 300;
const maxPromises = 20;
const maxDone = 20;

/** The customer says in so many turns of theirs why they call. */
const turnsOfReason = 3;
/** A sentence with fewer words tells no reason by itself. */
const leastWordsOfReason = 6;
/** A sentence in which somebody says who they are, and hardly more. */
const mostWordsOfName = 8;
/** A name that answers a question for it. */
const bareName = /^(?:\p{L}+, )?(?:[dD]e |[dD]i |[eE]s |[éÉ] |[iI]st |[vV]an )?((?:\p{Lu}[\p{L}'’-]+)(?: (?:(?:de la|de|del|da|dos|di|von|van der|van|le|la) )?\p{Lu}[\p{L}'’-]+){0,2})[.!]?$/u; // prettier-ignore

type SentenceAbroad = {
  turn: number;
  role: string;
  text: string;
  /** In small letters, without accents and with them. */
  plain: string;
  lower: string;
};

/**
 * The record of a call in another language, thin but proven: sentences as they were said, chosen by the words of their
 * language, and values. Where the parties are not known, only the reason and the facts are kept.
 */
export function recordAbroad(
  turns: readonly SpokenTurn[],
  language: LanguageAbroad,
  { entities = [], day }: RecordContext = {},
): CallRecordDraft {
  const cues = cuesAbroad[language];
  const sentences = sentencesOf(turns);
  const isKnown = turns.some(({ role }) => role === 'agent' || role === 'customer');
  const ofAgent = sentences.filter(({ role }) => role === 'agent');
  const ofCustomer = sentences.filter(({ role }) => !isKnown || role === 'customer');
  const reason = reasonAmong(ofCustomer, cues);
  const done = ofAgent
    .filter((one) => !one.text.endsWith('?') && cues.did.test(one.lower))
    .slice(0, maxDone);
  const promises = sentences
    .filter((one) => !one.text.endsWith('?') && one !== reason && !done.includes(one))
    .flatMap((one) => promiseIn(one, cues, lastDay(one.text, language, day), day))
    .slice(0, maxPromises);
  return {
    isTold: true,
    isWrongNumber: false,
    language,
    day,
    reason: reason === undefined ? null : { text: reason.text, turns: [reason.turn] },
    done: done.map(({ text, turn }) => ({ text: withoutEnd(text), turns: [turn] })),
    outcome: outcomeAbroad({ promises, done, ofCustomer: isKnown ? ofCustomer : [] }, cues),
    promises: promises.map(({ isPending: _isPending, ...promise }) => promise),
    facts: [...callerIn({ ofCustomer, ofAgent }, language), ...factsOf(entities, turns, day)],
    mood: null,
  };
}

/**
 * The sentence in which the customer says why they call: the first that asks for something, or the first long one that
 * says more than their name, whichever comes earlier.
 */
function reasonAmong(
  ofCustomer: readonly SentenceAbroad[],
  cues: CuesAbroad,
): SentenceAbroad | undefined {
  const first = [...new Set(ofCustomer.map(({ turn }) => turn))].slice(0, turnsOfReason);
  const isTelling = ({ plain: said, text }: SentenceAbroad): boolean => {
    const words = said.split(/\s+/).length;
    if (words < leastWordsOfReason || (text.match(/\d/g)?.length ?? 0) > 4) return false;
    return words > mostWordsOfName || !cues.introduces.test(said);
  };
  const early = ofCustomer.find(
    (one) => first.includes(one.turn) && (cues.wants.test(one.plain) || isTelling(one)),
  );
  return early ?? ofCustomer.find((one) => cues.wants.test(one.plain));
}

type PromiseAbroad = PromiseField & { isPending: boolean };

/** The promise of a sentence, by its verb, or by a day to come in the words of an agent. */
function promiseIn(
  { role, plain: said, lower, text, turn }: SentenceAbroad,
  cues: CuesAbroad,
  until: string | undefined,
  day: string | undefined,
): PromiseAbroad[] {
  const isAhead = until !== undefined && day !== undefined && until >= day;
  const isOfAgent = role === 'agent' && !cues.needs.test(said) && (cues.agentWill.test(said) || (isAhead && until > day)); // prettier-ignore
  const isOfCustomer = role === 'customer' && (cues.customerWill.test(lower) || (cues.customerDoes.test(said) && (isAhead || cues.then.test(said)))); // prettier-ignore
  if (!isOfAgent && !isOfCustomer) return [];
  return [
    {
      who: isOfAgent ? 'agent' : 'customer',
      what: withoutEnd(text),
      subject: isOfAgent ? 'Agent' : 'Customer',
      ...(until === undefined ? {} : { until }),
      turns: [turn],
      isPending: isOfAgent && cues.pending.test(said),
    },
  ];
}

type HeardAbroad = {
  promises: readonly PromiseAbroad[];
  done: readonly SentenceAbroad[];
  ofCustomer: readonly SentenceAbroad[];
};

/** Open while somebody will call or come; resolved where the customer says so, or is content with what was done. */
function outcomeAbroad(
  { promises, done, ofCustomer }: HeardAbroad,
  cues: CuesAbroad,
): CallRecordDraft['outcome'] {
  const waits = promises.find(({ isPending }) => isPending);
  if (waits) return { value: 'open', turns: waits.turns };
  const settled = ofCustomer.findLast((one) => cues.settled.test(one.plain));
  if (settled) return { value: 'resolved', turns: [settled.turn] };
  const acted = done.at(-1);
  const content = acted && ofCustomer.findLast((one) => one.turn > acted.turn && cues.content.test(one.plain)); // prettier-ignore
  if (content) return { value: 'resolved', turns: [acted.turn, content.turn] };
  const promised = promises.find(({ who }) => who === 'agent');
  return promised ? { value: 'open', turns: promised.turns } : { value: 'unknown', turns: [] };
}

type Parties = { ofCustomer: readonly SentenceAbroad[]; ofAgent: readonly SentenceAbroad[] };

/** The customer's own name, where they say it by itself or when they are asked for it. */
function callerIn({ ofCustomer, ofAgent }: Parties, language: LanguageAbroad): CallFact[] {
  const cues = cuesAbroad[language];
  for (const { text, turn } of ofCustomer)
    for (const { text: name, start } of namesAbroad(text, language))
      if (isOwnName(text, start, language))
        return [{ kind: 'name', text: name, value: name, turns: [turn], isCustomers: true }];
  for (const { text, turn } of ofCustomer) {
    const asked = ofAgent.some((one) => one.turn === turn - 1 && one.text.endsWith('?') && cues.asksName.test(one.plain)); // prettier-ignore
    const name = asked ? bareName.exec(text)?.[1] : undefined;
    if (name !== undefined)
      return [{ kind: 'name', text: name, value: name, turns: [turn], isCustomers: true }];
  }
  return [];
}

/** Titles lead to names of others: "Frau Müller kennt mich". */
const titles = /(?<!\p{L})(?:señor(?:a|ita)?|don|doña|madame|monsieur|mademoiselle|frau|herrn?|signora?|signorina|senhora?|dona|mevrouw|meneer|docto\p{L}+|doutor\p{L}*|dottor\p{L}*|\p{L}{1,4}\.)\s+$/iu; // prettier-ignore

function isOwnName(text: string, start: number, language: LanguageAbroad): boolean {
  const before = text.slice(0, start);
  return !titles.test(before) && leadsToOwnName(before, language);
}

function sentencesOf(turns: readonly SpokenTurn[]): SentenceAbroad[] {
  return turns.flatMap(({ role, text }, turn) =>
    splitSentences(text)
      .map(({ start, end }) => text.slice(start, end))
      .filter((one) => one.length <= maxCharacters)
      .map((one) => {
        const lower = one.toLowerCase().replaceAll('’', "'");
        return { turn, role, text: one, plain: plain(lower), lower };
      }),
  );
}

/** The last day that the sentence names. */
function lastDay(text: string, language: LanguageAbroad, day?: string): string | undefined {
  return entitiesAbroad(text, { language, day })
    .filter(({ type, value }) => type === 'DATE' && /^\d{4}-\d\d-\d\d$/.test(value ?? ''))
    .map(({ value }) => value)
    .toSorted()
    .at(-1);
}

export function withoutEnd(text: string): string {
  return text.replace(/[.!?…\s]+$/u, '');
}
