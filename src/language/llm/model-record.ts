import { z } from 'zod';
import { digestOf } from '../../lib/digest.ts';
import type { WrapUp, WrapUpPromise } from '../../protocol/wrap-up.ts';
import { contentWords } from '../text/content.ts';
import type { SpokenTurn } from '../types.ts';
import { baseOf } from '../wrap-up/verbs.ts';
import { askAbout, type Asked } from './ask.ts';
import type { LlmProvider } from './provider.ts';

/*
 * A second opinion on the record of a call. A model may word a field better than rules do, but nothing of it is believed:
 * a field is kept only if it quotes what was said, and if its names and figures stand in what it quotes.
 */

const Quote = z.object({ turn: z.int().min(0), quote: z.string().max(500) });
const Proof = z.array(Quote).max(10);
const Told = z.object({ text: z.string().max(2_000), quotes: Proof });
const Day = z.string().max(40).nullish();

const RecordAnswer = z.object({
  reason: Told.nullish(),
  done: z.array(Told).max(60).default([]),
  promises: z
    .array(
      z.object({
        who: z.enum(['agent', 'customer']),
        what: z.string().max(2_000),
        until: Day,
        quotes: Proof,
      }),
    ) // prettier-ignore
    .max(60)
    .default([]),
  outcome: z.object({ value: z.enum(['resolved', 'open', 'unknown']), quotes: Proof }).nullish(),
});
type RecordAnswer = z.infer<typeof RecordAnswer>;

const task =
  'Write the record of the call. Turns are numbered. "reason": why there was a call, as "Customer reported that ...". ' +
  '"done": what the agent did in the call, each as "Agent refunded ...". "promises": what somebody will do after it, ' +
  'each beginning with the verb, with the day as YYYY-MM-DD or null. "outcome": resolved, open or unknown. An offer or a ' +
  'condition is neither done nor promised. Every field has "quotes": words copied exactly from a turn, with its number. ' +
  'A field that no words prove is left out. Name nobody but as in the quotes.';
const form =
  '{"reason": {"text": string, "quotes": [{"turn": number, "quote": string}]}, "done": [the same], "promises": [{"who": "agent" or "customer", "what": string, "until": string or null, "quotes": [...]}], "outcome": {"value": string, "quotes": [...]}}';

/** Asks the model for the record. The answer is still a stranger's text. */
export function recordBy(
  llm: LlmProvider,
  turns: readonly SpokenTurn[],
  signal?: AbortSignal,
): Promise<Asked<RecordAnswer>> {
  return askAbout(llm, {
    task,
    form,
    text: turns.map((turn, at) => `${at} ${turn.role}: ${turn.text.trim()}`).join('\n'),
    schema: RecordAnswer,
    ...(signal ? { signal } : {}),
  });
}

/** True where it is known who is who. Of other calls nobody may tell who did what. */
export function hasKnownParties(turns: readonly SpokenTurn[]): boolean {
  return turns.length > 0 && turns.every(({ role }) => role === 'agent' || role === 'customer');
}

const longestText = 300;
const mostEntries = 60;
const leastQuote = 8;

type Proven = { utterance_ids: string[]; said: string; roles: Set<string> };

/**
 * The record of the rules with the fields of the model that what was said proves. A field of the model about the same
 * utterances takes the place of the rules' words; the rules' day and the id of a promise stay.
 */
export function withSecondOpinion(
  rules: WrapUp,
  answer: RecordAnswer,
  turns: readonly SpokenTurn[],
): WrapUp {
  const days = new Set([...rules.facts.flatMap(({ kind, value }) => (kind === 'date' ? [value] : [])), ...rules.promises.flatMap(({ until }) => until ?? [])]); // prettier-ignore
  const check = (text: string, quotes: RecordAnswer['done'][number]['quotes'], by?: string) => provenBy(text, quotes, turns, rules, by); // prettier-ignore
  const reason = answer.reason ?? undefined;
  const why = reason === undefined ? undefined : check(reason.text, reason.quotes);
  const done = answer.done.flatMap(({ text, quotes }) => {
    const proof = /^Agent \p{Ll}/u.test(text) ? check(text, quotes, 'agent') : undefined;
    return proof === undefined ? [] : [{ text: plain(text), utterance_ids: proof.utterance_ids }];
  });
  const promises = answer.promises.flatMap(({ who, what, until, quotes }): WrapUpPromise[] => {
    const proof = check(what, quotes, who);
    if (proof === undefined) return [];
    const words = plain(what);
    const key = JSON.stringify([who, words, proof.utterance_ids]);
    return [
      {
        id: `p${digestOf(key).slice(0, 12)}`,
        who,
        what: words,
        until: until != null && days.has(until) ? until : null,
        utterance_ids: proof.utterance_ids,
      },
    ];
  });
  const end = answer.outcome ?? undefined;
  const ended = end === undefined || end.value === 'unknown' || rules.outcome.value !== 'unknown' ? undefined : check('', end.quotes); // prettier-ignore
  return {
    ...rules,
    reason: why === undefined || reason === undefined ? rules.reason : { text: sentence(reason.text), utterance_ids: why.utterance_ids }, // prettier-ignore
    done: merged(rules.done, done),
    promises: merged(rules.promises, promises, (before, now) => ({ ...now, id: before.id, until: before.until ?? now.until })), // prettier-ignore
    outcome: ended === undefined || end === undefined ? rules.outcome : { value: end.value, utterance_ids: ended.utterance_ids }, // prettier-ignore
  };
}

/** Each entry of the rules stays, in the model's words where it has the same proof; the model's others follow. */
function merged<Entry extends { utterance_ids: string[] }>(
  rules: readonly Entry[],
  model: readonly Entry[],
  joined: (before: Entry, now: Entry) => Entry = (_, now) => now,
): Entry[] {
  const used = new Set<Entry>();
  const same = (one: Entry, other: Entry): boolean => one.utterance_ids.at(-1) === other.utterance_ids.at(-1); // prettier-ignore
  const kept = rules.map((before) => {
    // Two of the rules' entries in one utterance are told apart better by the rules.
    const isAlone = rules.filter((one) => same(one, before)).length === 1;
    const alike = model.filter((one) => same(one, before));
    for (const one of alike) used.add(one);
    const [now] = alike;
    return isAlone && alike.length === 1 && now !== undefined ? joined(before, now) : before;
  });
  return [...kept, ...model.filter((one) => !used.has(one))].slice(0, mostEntries);
}

/** The utterances that prove a text, or undefined where a quote was not said, or the text holds what no quote holds. */
function provenBy(
  text: string,
  quotes: readonly { turn: number; quote: string }[],
  turns: readonly SpokenTurn[],
  rules: WrapUp,
  by?: string,
): Proven | undefined {
  const proof: Proven = { utterance_ids: [], said: '', roles: new Set() };
  for (const { turn: at, quote } of quotes) {
    const turn = turns[at];
    const words = lettersOf(quote);
    if (turn?.utterance_id === undefined || words.length < leastQuote) return undefined;
    if (!` ${lettersOf(turn.text)} `.includes(` ${words} `)) return undefined;
    if (!proof.utterance_ids.includes(turn.utterance_id)) proof.utterance_ids.push(turn.utterance_id); // prettier-ignore
    proof.said += ` ${turn.text}`;
    proof.roles.add(turn.role);
  }
  if (proof.utterance_ids.length === 0 || (by !== undefined && !proof.roles.has(by))) return undefined; // prettier-ignore
  return isSaid(text, proof, rules) ? proof : undefined;
}

/** Words of a record that nobody has to have said. */
const ofRecords = /^(?:agent|customer|they|their|the|an?|it|its|this|that|he|she|promised)$/i;
const marks = /[<>{}[\]\p{Cc}]|https?:|www\./u;

/** A word of the text stands in what was said, in this or another form. One of four may be the writer's own. */
function areSaid(text: string, said: string): boolean {
  const begins = new Set(said.split(' ').map((word) => word.slice(0, 4)));
  const words = contentWords(text).filter(({ stem }) => !/^(?:report|want|need|ask|company|promis)/.test(stem)); // prettier-ignore
  const own = words.filter(({ word }) => !begins.has(word.slice(0, 4)));
  const verb = /^Agent (\p{Ll}+)/u.exec(text)?.[1];
  const forms = verb === undefined ? [] : [verb, baseOf(verb) ?? verb];
  const isDone = verb === undefined || forms.some((form) => said.includes(` ${form.slice(0, 3)}`));
  return isDone && own.length <= Math.min(1, Math.floor(words.length / 4));
}

/** True if each name and each figure of the text stands in what was said, or is the value of a fact that was said. */
function isSaid(text: string, { said, utterance_ids: ids }: Proven, rules: WrapUp): boolean {
  if (text.length > longestText || marks.test(text)) return false;
  const values = rules.facts.filter((fact) => fact.utterance_ids.some((id) => ids.includes(id))).map(({ value }) => value); // prettier-ignore
  const known = ` ${lettersOf([said, ...values].join(' '))} `;
  if (!areSaid(text, known)) return false;
  const figures = text.match(/\d[\d.,]*/g) ?? [];
  const amounts = new Set(values.map(asNumber));
  if (!figures.every((figure) => known.includes(` ${lettersOf(figure)} `) || amounts.has(asNumber(figure)))) return false; // prettier-ignore
  const names = text.match(/\p{Lu}[\p{L}'’-]*/gu) ?? [];
  return names.every((name) => ofRecords.test(name) || known.includes(` ${lettersOf(name.replace(/['’]s$/, ''))} `)); // prettier-ignore
}

function asNumber(figure: string): number | string {
  const number = Number(figure.replace(/[.,]$/, '').replace(/,(?=\d{3})/g, ''));
  return Number.isNaN(number) ? figure : number;
}

function lettersOf(text: string): string {
  return text.toLowerCase().normalize('NFKC').replace(/[^\p{L}\p{N}]+/gu, ' ').trim(); // prettier-ignore
}

function plain(text: string): string {
  return text
    .trim()
    .replace(/\s+/g, ' ')
    .replace(/[.\s]+$/, '');
}

function sentence(text: string): string {
  return `${plain(text)}.`;
}
