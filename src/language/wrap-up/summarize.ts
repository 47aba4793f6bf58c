import type { SummarizationType } from '../../protocol/addon-configs.ts';
import { wordsIn, type Clause } from '../summary/clauses.ts';
import {
  budgets,
  clausesWorthTelling,
  extractOf,
  isTellable,
  toldSentences,
} from '../summary/extract.ts';
import { shorter } from '../summary/terse.ts';
import { behindThey } from '../summary/third-person.ts';
import type { SpokenTurn } from '../types.ts';
import { besideRecord } from './beside-record.ts';
import { saysItWorks } from './endings.ts';
import type { ToldLine } from './told-line.ts';
import { withValues } from '../values/with-values.ts';
import { entitiesOfTurns } from '../values/of-turns.ts';
import { written } from './written-day.ts';
import { likeness } from './done.ts';
import { withDays } from './told-days.ts';
import { labelOf } from './number-label.ts';
import { subjectNamed, withAsked, withThing } from './told-nouns.ts';
import { toldAbroad } from './told-abroad.ts';
import { recordOf } from './record.ts';
import type { CallRecordDraft, PromiseField, RecordContext } from './record-draft.ts';

/** The summary of a call that contains nothing worth recording. */
const nothingToTell = 'Short call, nothing to summarise.';
/** A call with more turns than this has several matters, so the record's lines are not all that a reader wants. */
const shortCallTurns = 16;

/** The call in one of three forms, from its record. */
export function summarize(
  turns: readonly SpokenTurn[],
  type: SummarizationType,
  context?: RecordContext,
): string {
  return toldFrom(recordOf(turns, context ?? withoutDay(turns)), turns, type);
}

/** A longer conversation is told without the numbers that were named: to search all of it would take too long. */
const maxTurnsSearched = 2_000;

/** Everything that is known of a conversation whose day is not: its entities but for dates. */
export function withoutDay(turns: readonly SpokenTurn[], language = 'en'): RecordContext {
  if (turns.length > maxTurnsSearched || (language === 'en' && !isTellable(turns)))
    return { language };
  const about = { day: '1970-01-01', language };
  const entities = entitiesOfTurns(turns, about, language);
  return {
    language,
    entities: entities.filter(({ entity_type }) => !/^D(?:ATE|OB)/.test(entity_type)),
  };
}

export function toldFrom(
  record: CallRecordDraft,
  turns: readonly SpokenTurn[],
  type: SummarizationType,
): string {
  if (turns.length === 0) return '';
  if (record.language !== undefined) return toldAbroad(record, record.language, type);
  if (!record.isTold) return extractOf(turns, type);
  if (record.isWrongNumber) return nothingToTell;
  const caller = record.facts.find(({ kind }) => kind === 'name')?.value;
  const isShort = type === 'concise' && turns.length < 12;
  const first = caller === undefined || isShort ? [] : [`Caller: ${caller}.`];
  const lines = linesOf(record, turns, type, wordsIn(first.join(' '))).map((line) => withDays(line, record)); // prettier-ignore
  if (lines.length === 0) return nothingToTell;
  const sentences = [...first, ...withPronouns(lines.map(({ text }) => text))];
  return type === 'bullet_points'
    ? sentences.map((one) => `- ${one}`).join('\n')
    : sentences.join(' ');
}

/** The lines of the record, and where the call was longer than they are, its other facts between them. */
function linesOf(
  record: CallRecordDraft,
  turns: readonly SpokenTurn[],
  type: SummarizationType,
  used: number,
): ToldLine[] {
  const isShort = turns.length <= shortCallTurns;
  const lines = [...recordLines(record, turns), ...worksNow(record, turns)];
  const main = withinWords(isShort ? lines : lines.map(inFewerWords), budgets[type] - used - 4);
  const isEmpty = main.length === 0;
  if (!isEmpty && isShort && type === 'concise') return main;
  const left = budgets[type] - used - wordsOf(main);
  if (!isEmpty && isShort) {
    const more = besideRecord(turns, record, main, Math.min(left, wordsBeside));
    const used = wordsOf(more);
    return [
      ...main,
      ...more,
      ...withinWords(contactsOf(record, [...main, ...more]), left - used),
    ].toSorted((a, b) => a.turn - b.turn);
  }
  const isNew = (clause: Clause): boolean => isEmpty || (!isTold(clause, main) && !isNumberAgain(clause, main) && !isChoice(clause)); // prettier-ignore
  const notes = clausesWorthTelling(turns, left, toldShort, { isWanted: isNew, told: main.map(({ text }) => text) }); // prettier-ignore
  const texts = toldShort(notes);
  const more = notes.map(({ turn }, place) => ({ text: texts[place] ?? '', turn }));
  return [...main, ...more].toSorted((a, b) => a.turn - b.turn);
}

/** A short call is told by its record, with so many words beside it. */
const wordsBeside = 65;

function toldShort(notes: readonly Clause[]): string[] {
  return toldSentences(notes).map(shorter);
}

function inFewerWords(line: ToldLine): ToldLine {
  return { ...line, text: withoutReport(shorter(line.text)) };
}

const verbs: Readonly<Record<string, string>> = { have: 'has', are: 'is', were: 'was' };

/** "Customer reported that their internet keeps dropping" in fewer words: "Customer's internet keeps dropping". */
function withoutReport(told: string): string {
  return told
    .replace(/^Customer reported that their (?=\w)/, "Customer's ")
    .replace(/^Customer reported that they (have|are|were|had|got|\w+ed)\b(?! not)/, (_, verb: string) => `Customer ${verbs[verb] ?? verb}`); // prettier-ignore
}

/** "The confirmation code is HB7731" says nothing new where the reason has it already. */
function isNumberAgain({ text }: Clause, main: readonly ToldLine[]): boolean {
  const written = withValues(text);
  const numbers = written.match(/\b(?=[A-Z-]*\d)[A-Z\d-]{4,}\b/g) ?? [];
  const plain = (words: string): string => words.replace(/-/g, '');
  return (
    numbers.length > 0 &&
    wordsIn(written) <= numbers.length + 6 &&
    numbers.every((number) => main.some((line) => plain(line.text).includes(plain(number))))
  );
}

const times =
  /\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|\d{1,2}(?::\d\d| (?:a|p)\.?m\b)|morning|afternoon|\d{1,2}(?:st|nd|rd|th))\b/i;

/** "I have Wednesday at 4 or Friday at 9:15" is out of date once one of them was taken. */
function isChoice({ role, text }: Clause): boolean {
  const [one = '', other = '', ...more] = text.split(/,? or /i);
  return role === 'agent' && more.length === 0 && times.test(one) && times.test(other);
}

function isTold(clause: Clause, main: readonly ToldLine[]): boolean {
  const count = main.flatMap(({ text }) => /; they have \w+ ([\w ]+)\.$/.exec(text)?.[1] ?? [])[0];
  if (count !== undefined && clause.text.includes(count)) return true;
  return main.some(
    ({ text, turn, turns = [turn] }) => likeness(text, clause.text) >= (turns.includes(clause.turn) ? 0.3 : 0.6), // prettier-ignore
  );
}

function worksNow({ reason, outcome }: CallRecordDraft, turns: readonly SpokenTurn[]): ToldLine[] {
  const turn = outcome.turns.at(-1);
  if (reason === null || outcome.value !== 'resolved' || turn === undefined) return [];
  const said = turns[turn];
  return said?.role === 'customer' && saysItWorks(said.text) ? [{ text: 'Customer said that it works now.', turn }] : []; // prettier-ignore
}

function recordLines(
  { reason, done, promises, facts, day }: CallRecordDraft,
  said: readonly SpokenTurn[],
): ToldLine[] {
  const lines: ToldLine[] = [];
  if (reason !== null) {
    const numbers = facts.filter(({ kind, isCustomers, isOfCase }) => kind === 'number' && isCustomers && isOfCase === true); // prettier-ignore
    const [number] = numbers;
    const isPlain = number !== undefined && numbers.length === 1 && !reason.text.includes(number.value) && reason.text.endsWith('.'); // prettier-ignore
    const at = reason.text.search(contacts);
    const end = at < 0 ? reason.text.length - 1 : at;
    const label = said.length <= shortCallTurns ? labelOf(number?.turns[0] ?? 0, said) : '';
    // "My old number (VOD771283)": a code that nobody asked for would be taken for it.
    const isOther = label === '' && /\bnumber\b/i.test(reason.text) && !/\?\s*$/.test(said[(number?.turns[0] ?? 0) - 1]?.text ?? '?'); // prettier-ignore
    const text = isPlain && !isOther ? `${reason.text.slice(0, end)} (${label}${number.value})${reason.text.slice(end)}` : reason.text; // prettier-ignore
    lines.push({ text, turn: reason.turns[0] ?? 0, turns: reason.turns });
  }
  const actions = done
    .filter(({ text }) => !saysNothing.test(text))
    .map(({ text, turns }) => ({ text: `${withAsked(text, turns.at(-1) ?? 0, said)}.`, turn: turns.at(-1) ?? 0, turns })); // prettier-ignore
  const tellable = promises.filter(
    ({ what, until, said }) =>
      !/^hang up\b/.test(what) && ((until ?? said) !== undefined || !vague.test(what)),
  );
  const later = tellable.map((promise) => ({
    text: withThing(promiseLine({ ...promise, subject: subjectNamed(promise, said) }, actions, day), promise.turns.at(-1) ?? 0, said), // prettier-ignore
    turn: turnOf(promise, actions),
    turns: promise.turns,
  }));
  const deeds = [...actions, ...later].map((line) => withSum(line, said));
  return [...lines, ...deeds.toSorted((a, b) => a.turn - b.turn)];
}

const sumOfDeed = /\b(?:waiv|refund|credit|drop|remov|cover|charg|reimburs|tak)\w*\b.*, (?:and )?(?:that(?:'s| is| was)|which is) ([$£€]\d[\d,.]*\d)(?=[.!?]|$)/i; // prettier-ignore

/** "I'll waive the delivery fee, that's $9.95": the sum belongs to what is done with it. */
function withSum(line: ToldLine, said: readonly SpokenTurn[]): ToldLine {
  const sentence = withValues(said[line.turn]?.text ?? '').split(/(?<=[a-z\d]{2}[.!?]) /).find((one) => sumOfDeed.test(one)) ?? ''; // prettier-ignore
  const sum = sumOfDeed.exec(sentence)?.[1];
  const isOfSentence = sum !== undefined && likeness(line.text, sentence) >= 0.3;
  if (!isOfSentence || /[$£€]\d/.test(line.text)) return line;
  return { ...line, text: line.text.replace(/\.$/, ` (${sum}).`) };
}

const contactKinds = { address: 'address', email: 'email', phone: 'phone number' } as const;

/** Ways by which the customer wants to be reached, where no line has them. */
function contactsOf({ facts }: CallRecordDraft, lines: readonly ToldLine[]): ToldLine[] {
  return facts.flatMap(({ kind, value, turns, isCustomers }) => {
    if (kind !== 'address' && kind !== 'email' && kind !== 'phone') return [];
    // A second number corrects the first.
    if (kind === 'phone' && (lines.some(({ text }) => text.includes('phone number')) || facts.findLast((one) => one.kind === 'phone')?.value !== value)) return []; // prettier-ignore
    if (!isCustomers || lines.some(({ text }) => text.includes(value))) return [];
    return [{ text: `Customer gave the ${contactKinds[kind]} ${value}.`, turn: turns[0] ?? 0, turns }]; // prettier-ignore
  });
}

/** "It will be with you on Friday" stands behind what was ordered. */
function turnOf({ subject, turns }: PromiseField, actions: readonly ToldLine[]): number {
  const turn = turns.at(-1) ?? 0;
  if (!/^(?:It|They)$/.test(subject) || actions.some((one) => one.turn <= turn)) return turn;
  const sent = actions.find((one) => one.turn <= turn + 4 && /^Agent (?:order|sen[dt]|dispatch|ship|replac|plac)/.test(one.text)); // prettier-ignore
  return sent?.turn ?? turn;
}

/** "I've put that on" says nothing without the words before it. */
const saysNothing = /^Agent (?:put|took|got|did|made|sent|set|popped) (?:it|that|this|them)(?: (?:on|off|in|out|up|over|down|through|across|across|away|back))?$/i; // prettier-ignore
/** "I'll pass it on" names nothing that anybody waits for. */
const vague = /^(?:look|check|have a look)\b|^(?:pass|do|make|take|keep|put|see|note|mention|raise|handle|manage) (?:it|that|this|them)(?: (?:on|up|over|down|forward|in mind))?$|^make a note(?: of (?:it|that|this))?$|^(?:tell|ask) (?:him|her|them)$/i; // prettier-ignore
/** Earlier contacts, at the end of the reason. */
const contacts = /; (?:they have \w+ [\w ]+|it is their \w+ call)\.$/;

/** "Promised by Friday, 4 December." right behind what was done, else the whole promise. */
function promiseLine(
  { who, what, subject, until, isOn, ofDay, said }: PromiseField,
  done: readonly ToldLine[],
  today?: string,
): string {
  const day =
    until === undefined
      ? said === undefined
        ? ''
        : ` ${said}`
      : until === today
        ? said === undefined
          ? hasDay.test(what)
            ? ''
            : sameDay(ofDay)
          : ` ${said}`
        : `${/\b(?:before (?:noon|lunch|\d\S*)|first thing)$/i.test(what) || isOn === true ? ' on' : ' by'} ${written(until)}`;
  const rest = what.replace(/^\w+ ?/, '');
  const isOfDone = who === 'agent' && (until ?? said) !== undefined && rest !== '' && done.some(({ text }) => text.endsWith(`${rest}.`)); // prettier-ignore
  return isOfDone && isOn !== true
    ? `Promised${day.replace('the same', 'for the same')}.`
    : `${subject} will ${withDay(what.replace(/, (?=(?:before|after) \w+$)/, ' ').replace(/,? (?:after (?:that|this)|by then|afterwards)$/, ''), day)}.`;
}

/** The promise names its day in other words: "by the 30th at the latest". */
const hasDay = /\b(?:\d{1,2}(?:st|nd|rd|th)|at the latest|next (?:week|month)|(?:mon|tues|wednes|thurs|fri|satur|sun)day)\b/i; // prettier-ignore

function sameDay(part = 'day'): string {
  return part === 'minutes' ? ' within minutes' : ` the same ${part}`;
}

/** "The homework goes online tonight, so he doesn't fall behind": the day belongs to the first half. */
function withDay(what: string, day: string): string {
  const at = what.search(
    /,? so (?:that )?(?:he|she|it|they|you|nobody|the (?:customer|agent|company))\b|, and (?:it|they|he|she|that)\b/i,
  );
  const hasOwn = /\b(?:today|tonight|tomorrow|this (?:morning|afternoon|evening))\b/i.test(what.slice(0, Math.max(0, at))); // prettier-ignore
  return at < 0 || hasOwn ? `${what}${day}` : `${what.slice(0, at)}${day}${what.slice(at)}`;
}

function withinWords(lines: readonly ToldLine[], limit: number): ToldLine[] {
  const kept: ToldLine[] = [];
  for (const line of lines) {
    if (wordsOf([...kept, line]) > limit) continue;
    kept.push(line);
  }
  return kept;
}

function wordsOf(lines: readonly ToldLine[]): number {
  return lines.reduce((sum, { text }) => sum + wordsIn(text), 0);
}

const other = /\b(?:neighbours?|neighbors?|drivers?|couriers?|technicians?|engineers?|mechanics?|plumbers?|managers?|supervisors?|doctors?|colleagues?|teams?|son|daughter|wife|husband|partner|mother|father|mum|mom|dad|brother|sister|friends?|people|somebody|someone|he|she|(?:Mr|Mrs|Ms|Dr)\.?)\b/i; // prettier-ignore

/** Either could be "they": "Agent asked the customer to text, and the customer gets a code." */
const hasBoth = /^Agent asked the customer\b|, and the (?:customer|agent)\b(?!'s)/;

/** A sentence about the same person as the one before begins with "They". */
function withPronouns(sentences: readonly string[]): string[] {
  return sentences.map((sentence, place) => {
    const [, who = ''] = /^(Agent|Customer) (?!said|asked)/.exec(sentence) ?? [];
    const isSame = who !== '' && sentences[place - 1]?.startsWith(`${who} `) === true && sentences[place - 1]?.includes('"') === false; // prettier-ignore
    const before = sentences[place - 2];
    // "They" behind a sentence with somebody else would be taken for them.
    if (other.test(sentences[place - 1] ?? '') || hasBoth.test(sentences[place - 1] ?? '')) return sentence; // prettier-ignore
    // Three in a row would hide who it is.
    if (!isSame || (before?.startsWith(`${who} `) === true && place % 2 === 0)) return sentence;
    return sentence.replace(/^(?:Agent|Customer) ([\w']+)/, (_, verb: string) => `They ${behindThey(verb)}`); // prettier-ignore
  });
}
