import { entitiesAbroad } from '../abroad/find-abroad.ts';
import { namesAbroad } from '../abroad/names-abroad.ts';
import { plain, type LanguageAbroad } from '../abroad/number-words.ts';
import { splitSentences } from '../text/sentences.ts';
import type { SpokenTurn } from '../types.ts';
import { factsOf, type CallFact } from './named-facts.ts';
import { cuesAbroad } from './phrases-abroad.ts';
import type { CallRecordDraft, PromiseField, RecordContext } from './record-draft.ts';

/** A sentence that is longer than this is none that a person would write down. */
const maxCharacters = 300;
const maxPromises = 20;
const maxDone = 20;

type SentenceAbroad = { turn: number; role: string; text: string; plain: string };

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
  const isCustomer = ({ role }: SentenceAbroad): boolean => !isKnown || role === 'customer';
  const isAgent = ({ role }: SentenceAbroad): boolean => role === 'agent';
  const reason = sentences.find((one) => isCustomer(one) && cues.wants.test(one.plain));
  const done = sentences
    .filter((one) => isAgent(one) && !one.text.endsWith('?') && cues.did.test(one.plain))
    .slice(0, maxDone);
  const promises = sentences.flatMap((one): (PromiseField & { isPending: boolean })[] => {
    if (one.text.endsWith('?') || one === reason) return [];
    const isOfAgent = isAgent(one) && cues.agentWill.test(one.plain);
    const isOfCustomer = isKnown && isCustomer(one) && cues.customerWill.test(one.plain);
    if (!isOfAgent && !isOfCustomer) return [];
    const until = lastDay(one.text, language, day);
    return [
      {
        who: isOfAgent ? 'agent' : 'customer',
        what: withoutEnd(one.text),
        subject: isOfAgent ? 'Agent' : 'Customer',
        ...(until === undefined ? {} : { until }),
        turns: [one.turn],
        isPending: isOfAgent && cues.pending.test(one.plain),
      },
    ];
  });
  const settled = sentences.findLast((one) => isKnown && isCustomer(one) && cues.settled.test(one.plain)); // prettier-ignore
  const waits = promises.find(({ isPending }) => isPending);
  return {
    isTold: true,
    isWrongNumber: false,
    language,
    day,
    reason: reason === undefined ? null : { text: reason.text, turns: [reason.turn] },
    done: done.map(({ text, turn }) => ({ text: withoutEnd(text), turns: [turn] })),
    outcome: waits
      ? { value: 'open', turns: waits.turns }
      : settled
        ? { value: 'resolved', turns: [settled.turn] }
        : { value: 'unknown', turns: [] },
    promises: promises.slice(0, maxPromises).map(({ isPending: _isPending, ...promise }) => promise), // prettier-ignore
    facts: [...callerIn(sentences.filter(isCustomer), language), ...factsOf(entities, turns, day)],
    mood: null,
  };
}

const introduces = /\b(?:me llamo|mi nombre es|je m'appelle|mon nom est|je me nomme|ich heisse|mein name ist|mi chiamo|il mio nome e|chamo-me|me chamo|meu nome e|ik heet|mijn naam is)\s*$/; // prettier-ignore

/** The customer's own name, where they say it. */
function callerIn(sentences: readonly SentenceAbroad[], language: LanguageAbroad): CallFact[] {
  for (const { text, turn } of sentences)
    for (const { text: name, start } of namesAbroad(text, language))
      if (introduces.test(plain(text.slice(0, start)).replaceAll('’', "'")))
        return [{ kind: 'name', text: name, value: name, turns: [turn], isCustomers: true }];
  return [];
}

function sentencesOf(turns: readonly SpokenTurn[]): SentenceAbroad[] {
  return turns.flatMap(({ role, text }, turn) =>
    splitSentences(text)
      .map(({ start, end }) => text.slice(start, end))
      .filter((one) => one.length <= maxCharacters)
      .map((one) => ({ turn, role, text: one, plain: plain(one).replaceAll('’', "'") })),
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
