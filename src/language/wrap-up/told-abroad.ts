import type { SummarizationType } from '../../protocol/addon-configs.ts';
import type { LanguageAbroad } from '../abroad/number-words.ts';
import type { CallFact } from './named-facts.ts';
import type { CallRecordDraft } from './record-draft.ts';
import { withoutEnd } from './record-abroad.ts';
import { tellingsAbroad } from './phrases-abroad.ts';

/** A concise summary has at most this many sentences of what was done and promised. */
const mostInShort = 2;
const mostFacts = 12;

type ToldRecord = {
  reason: { text: string } | null;
  done: readonly { text: string }[];
  promises: readonly { who: string; what: string; until?: string | null }[];
  facts: readonly { kind: CallFact['kind']; value: string; currency?: string | undefined }[];
  disposition?: string | null;
  outcome: { value: CallRecordDraft['outcome']['value'] };
};

/** The record in sentences of its language. What was said is quoted, and nothing is added to it. */
export function toldAbroad(
  { reason, done, promises, facts, outcome, disposition }: ToldRecord,
  language: LanguageAbroad,
  type: SummarizationType,
): string {
  const words = tellingsAbroad[language];
  const isShort = type === 'concise';
  const colon = language === 'fr' ? ' : ' : ': ';
  const quoted = (text: string): string => `${words.quotes[0]}${withoutEnd(text)}${words.quotes[1]}`; // prettier-ignore
  const names = facts.filter(({ kind }) => kind === 'name').map(({ value }) => value);
  const told = facts
    .filter(({ kind }) => kind !== 'name')
    .slice(0, mostFacts)
    .map(({ kind, value, currency }) => `${words.kinds[kind]} ${valueInWords(kind, value, currency, language)}`); // prettier-ignore
  const acts = [
    ...done.map(({ text }) => `${words.done}${colon}${quoted(text)}.`),
    ...promises.map(({ who, what, until }) => {
      const day = until == null ? '' : ` (${words.until}${colon}${dayInWords(until, language)})`; // prettier-ignore
      return `${who === 'agent' ? words.agentPromised : words.customerPromised}${colon}${quoted(what)}${day}.`;
    }),
  ];
  const isEmpty = reason === null && acts.length === 0 && told.length === 0 && names.length === 0;
  if (isEmpty) return words.nothing;
  const sentences = [
    ...(names[0] === undefined ? [] : [`${words.caller}${colon}${names[0]}.`]),
    reason === null ? words.noReason : `${words.reason}${colon}${quoted(reason.text)}.`,
    ...(isShort ? acts.slice(-mostInShort) : acts),
    ...(disposition == null ? [] : [`${words.disposition}${colon}${withoutEnd(disposition)}.`]),
    ...(outcome.value === 'unknown' ? [] : [words[outcome.value]]),
    ...(told.length === 0 || isShort ? [] : [`${words.named}${colon}${told.join('; ')}.`]),
  ];
  return type === 'bullet_points'
    ? sentences.map((one) => `- ${one}`).join('\n')
    : sentences.join(' ');
}

function valueInWords(kind: string, value: string, currency: string | undefined, language: LanguageAbroad): string {
  if (kind === 'date') return dayInWords(value, language);
  const amount = Number(value);
  if (kind !== 'amount' || !/^[A-Z]{3}$/.test(currency ?? '') || !Number.isFinite(amount)) return value;
  return new Intl.NumberFormat(language, { style: 'currency', currency: currency ?? '' }).format(amount).replaceAll(/[\u00A0\u202F]/g, ' ');
} // prettier-ignore

function dayInWords(day: string, language: LanguageAbroad): string {
  const date = new Date(day);
  if (!/^\d{4}-\d\d-\d\d$/.test(day) || Number.isNaN(date.getTime())) return day;
  return new Intl.DateTimeFormat(language, { dateStyle: 'full', timeZone: 'UTC' }).format(date);
}
