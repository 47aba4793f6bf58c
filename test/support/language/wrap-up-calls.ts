import { readFileSync } from 'node:fs';
import type { SpokenTurn } from '../../../src/language/types.ts';
import { entitiesOfTurns } from '../../../src/language/values/of-turns.ts';
import { recordOf } from '../../../src/language/wrap-up/record.ts';
import type { CallRecordDraft } from '../../../src/language/wrap-up/record-draft.ts';
import { contentWords } from '../../../src/language/text/content.ts';
import { baseOf } from '../../../src/language/wrap-up/verbs.ts';
import { Counts } from './language-scores.ts';

/** The first two parts hold thirty calls each, the other two ten each. `abroad` holds eight in each of six languages. */
export type WrapUpPart = 'first' | 'second' | 'third' | 'fourth' | 'fifth' | 'abroad';

/**
 * Calls whose wrap-up is known. A word group `a|b & c` is met by a text with one word of each side of the ampersand;
 * a field may be wanted several times.
 */
export type WrapUpCall = {
  id: string;
  kind: string;
  day: string;
  turns: SpokenTurn[];
  reason?: string;
  done: string[];
  outcome: string[];
  promises: { who: string; words: string; until: string[] }[];
  facts: { kind: string; value: string }[];
};

export function wrapUpCalls(half: WrapUpPart): WrapUpCall[] {
  const path = new URL(`../../fixtures/language/wrap-up-${half}.txt`, import.meta.url);
  return readFileSync(path, 'utf8').trim().split(/\n\n+/).map(callOf);
}

function callOf(block: string): WrapUpCall {
  const [head = '', ...rest] = block.split('\n');
  const [, id = '', kind = '', day = ''] = /^# (\w+) (.+), (\d{4}-\d{2}-\d{2})$/.exec(head) ?? [];
  const call: WrapUpCall = { id, kind, day, turns: [], done: [], outcome: [], promises: [], facts: [] }; // prettier-ignore
  for (const line of rest) {
    const [, field = '', value = ''] = /^(\w+): (.*)$/.exec(line) ?? [];
    const start = call.turns.length * 4;
    if (field === 'A') call.turns.push({ role: 'agent', text: value, start, end: start + 3 });
    if (field === 'C') call.turns.push({ role: 'customer', text: value, start, end: start + 3 });
    if (field === 'reason') call.reason = value;
    if (field === 'done') call.done.push(value);
    if (field === 'outcome') call.outcome = value.split('|');
    if (field === 'promise') {
      const [who = '', words = '', until = ''] = value.split('; ');
      call.promises.push({ who, words, until: until.split('|') });
    }
    if (field === 'fact') {
      const at = value.indexOf(' ');
      call.facts.push({ kind: value.slice(0, at), value: value.slice(at + 1) });
    }
  }
  return call;
}

function contextOf({ id, day }: WrapUpCall): { day: string; callingCode: string } {
  return { day, callingCode: id.startsWith('b') ? '44' : '1' };
}

/** The language of a call, with which its id begins where it is not English. */
export function languageOfCall({ id }: Pick<WrapUpCall, 'id'>): string {
  return /^(?:es|fr|de|it|pt|nl)(?=\d)/.exec(id)?.[0] ?? 'en';
}

export const languagesOfCalls = ['es', 'fr', 'de', 'it', 'pt', 'nl'] as const;

/** Calls in other languages: rules were tuned on three of a language; two were written when the rules were done. */
export function callsAbroad(half: 'seen' | 'unseen' | 'later'): WrapUpCall[] {
  return wrapUpCalls('abroad').filter(({ id }) => {
    const number = Number(id.slice(2));
    return half === (number <= 3 ? 'seen' : number <= 6 ? 'unseen' : 'later');
  });
}

export function recordOfCall(call: WrapUpCall): CallRecordDraft {
  const about = contextOf(call);
  const language = languageOfCall(call);
  const entities = entitiesOfTurns(call.turns, about, language);
  return recordOf(call.turns, { entities, language, ...about });
}

type WrapUpScore = {
  reason: Counts;
  done: Counts;
  outcome: Counts;
  promises: Counts;
  facts: Counts;
  withoutSource: string[];
  wrongNames: string[];
  lines: string[];
};

export function scoreWrapUps(calls: readonly WrapUpCall[]): WrapUpScore {
  const score: WrapUpScore = {
    reason: new Counts(),
    done: new Counts(),
    outcome: new Counts(),
    promises: new Counts(),
    facts: new Counts(),
    withoutSource: [],
    wrongNames: [],
    lines: [],
  };
  for (const call of calls) scoreCall(call, score);
  return score;
}

/** True if the text has one word of each group. */
function meets(text: string, words: string): boolean {
  const lower = text.toLowerCase();
  return words
    .split(' & ')
    .every((group) => group.split('|').some((word) => lower.includes(word.toLowerCase())));
}

function scoreCall(call: WrapUpCall, score: WrapUpScore): void {
  const record = recordOfCall(call);
  const miss = (what: string): void => void score.lines.push(`${call.id} ${what}`);
  const reasons = record.reason === null ? [] : [record.reason];
  match(call.reason === undefined ? [] : [call.reason], reasons, (want, has) => meets(has.text, want), score.reason, (w) => { miss(`reason missed: ${w}`); }, (has) => { miss(`reason extra: ${has.text}`); }); // prettier-ignore
  match(call.done, record.done, (want, has) => meets(has.text, want), score.done, (w) => { miss(`done missed: ${w}`); }, (has) => { miss(`done extra: ${has.text}`); }); // prettier-ignore
  match([call.outcome], [record.outcome.value], (want, has) => want.includes(has), score.outcome, (w) => { miss(`outcome wanted: ${w.join('|')}, is ${record.outcome.value}`); }, () => undefined); // prettier-ignore
  match(
    call.promises,
    record.promises,
    (want, has) =>
      want.who === has.who &&
      meets(`${has.subject} ${has.what}`, want.words) &&
      (want.until.includes('-') ? has.until === undefined : want.until.includes(has.until ?? '')),
    score.promises,
    (w) => { miss(`promise missed: ${w.who} ${w.words} ${w.until.join('|')}`); }, // prettier-ignore
    (has) => { miss(`promise extra: ${has.who}: ${has.subject} will ${has.what} ${has.until ?? '-'}`); }, // prettier-ignore
  );
  const plain = (text: string): string => text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');
  match(call.facts, record.facts, (want, has) => want.kind === has.kind && plain(has.value).startsWith(plain(want.value)), score.facts, (w) => { miss(`fact missed: ${w.kind} ${w.value}`); }, (has) => { miss(`fact extra: ${has.kind} ${has.value}`); }); // prettier-ignore
  const told = [...reasons, ...record.done, ...record.promises.map(({ what, turns }) => ({ text: what, turns }))]; // prettier-ignore
  for (const { text, turns } of told)
    if (!isProven(text, turns, call)) score.withoutSource.push(`${call.id} ${text}`);
  for (const { turns, text } of record.facts)
    if (!turns.some((turn) => call.turns[turn]?.text.includes(text.split(' ')[0] ?? text) === true))
      score.withoutSource.push(`${call.id} ${text}`);
  const wanted = call.facts.filter(({ kind }) => kind === 'name').map(({ value }) => value);
  for (const { kind, value } of record.facts)
    if (kind === 'name' && !wanted.includes(value)) score.wrongNames.push(`${call.id} ${value}`);
}

/** Words that a record adds: who it speaks of, and the verbs with which it tells. */
const added =
  /^(?:agent|customer|custom|compan\w*|themsel\w*|ask\w*|report\w*|want\w*|need\w*|agr\w*)$/;

/** True if every word of the text was said in the turns that are given as its proof. */
function isProven(text: string, turns: readonly number[], call: WrapUpCall): boolean {
  const said = turns.map((turn) => call.turns[turn]?.text ?? '').join(' ');
  // In other languages a record quotes.
  if (languageOfCall(call) !== 'en') return said.includes(text);
  const begins = new Set(
    said
      .toLowerCase()
      .match(/\p{L}[\p{L}']*/gu)
      ?.map((word) => word.slice(0, 4)),
  );
  // The verb may stand in another form than it was said in: "take" for "taken".
  const [first, ...rest] = contentWords(text).filter(({ stem }) => !added.test(stem));
  return (
    turns.length > 0 &&
    rest.every(({ word }) => begins.has(word.slice(0, 4))) &&
    (first === undefined || baseOf(first.word) !== undefined || begins.has(first.word.slice(0, 4)))
  );
}

function match<Want, Has>(
  wanted: readonly Want[],
  found: readonly Has[],
  fits: (want: Want, has: Has) => boolean,
  counts: Counts,
  missed: (want: Want) => void,
  extra: (has: Has) => void,
): void {
  const used = new Set<Has>();
  for (const want of wanted) {
    const hit = found.find((has) => !used.has(has) && fits(want, has));
    if (hit === undefined) {
      counts.missed += 1;
      missed(want);
    } else {
      used.add(hit);
      counts.hits += 1;
    }
  }
  for (const has of found)
    if (!used.has(has)) {
      counts.extra += 1;
      extra(has);
    }
}
