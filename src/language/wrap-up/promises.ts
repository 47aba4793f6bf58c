import type { Party } from '../../protocol/events.ts';
import { deadlineOf, type DueDay } from './deadline.ts';
import { likeness, type DoneItem } from './done.ts';
import type { CallStatement } from './statements.ts';
import { baseOf } from './verbs.ts';
import { plainOf, retold, withoutEnd } from './told.ts';

/** Something that somebody said will happen after the call. */
export type PromiseItem = {
  who: Party;
  /** "send the customer a new card": what follows "will". */
  what: string;
  /** The one who will do so, as the sentence names them: "Agent", "The technician". */
  subject: string;
  until?: string;
  place: number;
  turns: number[];
};

const adverb =
  '(?:just|also|then|personally|now|gladly|certainly|definitely|probably|always|myself) ';
const own = new RegExp(`^(?:\\w+, )?(?:i|we)(?:'ll| will|'m going to| am going to) (?:${adverb})*(\\w+)(?: (\\w+))?(?: (\\w+))?`, 'i'); // prettier-ignore
const other = new RegExp(
  `^((?:he|she|they|somebody|someone)|(?:(?:the|our|an?|your|my|his|her) (?:[\\w-]+ ){0,3}?[\\w-]+)|(?:(?:mr|mrs|ms|dr|doctor)\\.? \\w+))(?:'ll| will| should)(?: now| also| then)* (.+)$`,
  'i',
);
const received = /^you(?:'ll| will| should) (?:also |then )?(get|receive|have|hear) (.+)$/i;
const arrives = /^(it|that|this|they|those|(?:(?:the|your|our) (?:[\w-]+ ){0,3}?[\w-]+))(?:'ll| will| should) (.+)$/i; // prettier-ignore
const takes = /^(it|that|the (?:refund|money|payment|transfer|delivery|repair)|your (?:refund|money)) takes (.+)$/i; // prettier-ignore

/** Verbs after "I will" that speak of the call itself, of a state, or of nothing that anybody waits for. */
const ofTheCall =
  'check look see need try explain tell ask say repeat read spell confirm start assume know want hear understand wait hold bear think remember miss stay keep love hate apologise apologize admit find leave transfer connect pop have listen stop guess do take be walk talk guide search pull give let go';
const notKept = new Set(ofTheCall.split(' '));
/** Some of these verbs are promises with the right words behind them. */
const stillKept =
  /^(?:(?:be|get|keep) (?:in touch|back|there|you posted|you updated)|take (?:it|them|that) (?:to|back)|go (?:to|in)|give (?:you|him|her|them|us) (?:a (?:ring|call|bell|shout|refund|credit|discount)|your|the money)|have (?:him|her|them|someone|somebody|the|a|it)|ask (?!you\b|for your|to)|find (?:out|it)|let (?:you|him|her|them|us) know|confirm (?:it|that|this) (?:by|in)|leave (?:it|them|him|her|a) (?:at|with|for|note|message)|pop (?:in|it|a|the)|check (?:with)|look into|do (?:that|it|so) (?:by|on|tomorrow|tonight|this)|drop|keep (?:you|an eye)|think about)/i;
/** Kept only if a day is named beside them. */
const withDay = /^(?:be (?:delivered|sent|shipped|paid|refunded|ready|with|at|on|in|back|here|there|done|fixed|credited|posted)|arrive|land|come|reach|show|appear|get (?:to|there)|go out|take)\b/i; // prettier-ignore
const uncertain =
  /\b(?:maybe|perhaps|would|could|might|may|hopefully|i think|i hope|probably not|not sure)\b/i;
const declines = /^(?:(?:oh|um|well|er|uh)[, ]+)*(?:no\b(?! problem| worries)|nah\b|don't\b|i'd (?:rather|prefer)|actually,? (?:no|i'd)|forget it|not (?:now|today))/i; // prettier-ignore
/** A call has at most this many promises in its record. */
const maxPromises = 24;

type Context = { statements: readonly CallStatement[]; done: readonly DoneItem[]; day?: string | undefined }; // prettier-ignore

/** Promises in the words of the one who will keep them, or of the agent for the company. */
export function promisesIn({ statements, done, day }: Context): PromiseItem[] {
  const items: PromiseItem[] = [];
  for (const [place, statement] of statements.entries()) {
    if (items.length === maxPromises) break;
    const { role, isQuestion, isConditional, text } = statement;
    if (isQuestion || isConditional || (role !== 'agent' && role !== 'customer')) continue;
    const clean = withoutEnd(plainOf(text));
    if (uncertain.test(clean) || /\b(?:won't|not|never)\b/i.test(clean)) continue;
    if (isDeclined(statements, place)) continue;
    const item = ofSpeaker(statement, clean, place, day) ?? (role === 'agent' ? ofCompany(statement, clean, place, day, done) : undefined); // prettier-ignore
    if (item !== undefined) add(items, item, done);
  }
  return items;
}

function add(items: PromiseItem[], item: PromiseItem, done: readonly DoneItem[]): void {
  const [verb = ''] = item.what.split(' ');
  // The agent carried it out before the call was over.
  const isDone = item.who === 'agent' && done.some((one) => one.place > item.place && one.verb === verb && likeness(one.text, item.what) >= 0.5); // prettier-ignore
  if (isDone) return;
  const at = items.findIndex((one) => one.who === item.who && one.subject === item.subject && (one.what.split(' ')[0] === verb || likeness(one.what, item.what) >= 0.75) && likeness(one.what, item.what) >= 0.5); // prettier-ignore
  const before = items[at];
  if (before === undefined) items.push(item);
  // The later words stand: people repeat a promise with its day.
  else items[at] = { ...(item.until === undefined && before.until !== undefined ? before : item), turns: [...new Set([...before.turns, ...item.turns])] }; // prettier-ignore
}

/** The other party's next words decline it. */
function isDeclined(statements: readonly CallStatement[], place: number): boolean {
  const statement = statements[place];
  const next = statements.slice(place + 1).find(({ turn }) => turn !== statement?.turn);
  return next !== undefined && next.role !== statement?.role && declines.test(next.text);
}

function ofSpeaker(
  { role, turn }: CallStatement,
  clean: string,
  place: number,
  day: string | undefined,
): PromiseItem | undefined {
  const match = own.exec(clean);
  if (match === null) return undefined;
  const verb = match[1]?.toLowerCase() ?? '';
  const rest = clean.slice(match[0].length - [match[1], match[2], match[3]].filter(Boolean).join(' ').length); // prettier-ignore
  if (notKept.has(verb) && !stillKept.test(rest)) return undefined;
  const told = retold(`${clean}.`.replace(/^\w+, (?=(?:i|we)\b)/i, '').replace(/('m| am|'re| are) going to/i, ' will'), role, 'Agent'); // prettier-ignore
  const what = told === undefined ? undefined : /^(?:Agent|The company|They) will (.+)$/.exec(withoutEnd(told))?.[1]; // prettier-ignore
  if (what === undefined) return undefined;
  const who = role === 'agent' ? 'agent' : 'customer';
  return dated({ who, what, subject: nameOf(who), place, turns: [turn] }, day);
}

function ofCompany(
  { turn }: CallStatement,
  clean: string,
  place: number,
  day: string | undefined,
  done: readonly DoneItem[],
): PromiseItem | undefined {
  const base = { who: 'agent' as const, place, turns: [turn] };
  const get = received.exec(clean);
  if (get !== null) {
    const [, verb = '', rest = ''] = get;
    if (/^(?:to|no|any)\b/i.test(rest)) return undefined;
    const found = deadlineOf(clean, day);
    if (verb.toLowerCase() === 'have' && found === undefined) return undefined;
    const recent = done.findLast((one) => one.place < place && place - one.place <= 3);
    if (/^(?:it|that|them)\b/i.test(rest) && recent !== undefined)
      return ofAction(recent, { ...base, turns: [...new Set([...recent.turns, turn])] }, found);
    const told = retold(`You will ${verb} ${rest}.`, 'agent', 'Agent');
    const what =
      told === undefined ? undefined : /^The customer will (.+)$/.exec(withoutEnd(told))?.[1];
    return what === undefined ? undefined : dated({ ...base, what, subject: 'The customer' }, day, found); // prettier-ignore
  }
  const lasts = takes.exec(clean);
  if (lasts !== null) {
    const found = deadlineOf(`it takes ${lasts[2] ?? ''}`, day);
    const recent = done.findLast((one) => one.place < place && place - one.place <= 3);
    if (found === undefined || recent === undefined) return undefined;
    return ofAction(recent, { ...base, turns: [...new Set([...recent.turns, turn])] }, found);
  }
  const thing = arrives.exec(clean);
  const person = other.exec(clean);
  const [, subject = '', rest = ''] = person ?? thing ?? [];
  if (rest === '' || /^(?:need|have to|want|cost|stay|remain|continue|not|help|work|keep|be (?:charged|able|fine|good|okay|available|free|\w+ (?:dollars|pounds)))\b/i.test(rest)) return undefined; // prettier-ignore
  const isThing = person === null || /^(?:it|that|this|they)$/i.test(subject) || withDay.test(rest);
  if (isThing && !withDay.test(rest)) return undefined;
  const found = deadlineOf(clean, day);
  if (isThing && found === undefined) return undefined;
  const told = retold(`${subject} will ${rest}.`, 'agent', 'Agent') ?? `${subject} will ${rest}.`;
  const [, name = '', what = ''] = /^(.+?) will (.+)$/.exec(withoutEnd(told)) ?? [];
  if (what === '') return undefined;
  return dated({ ...base, what, subject: name.slice(0, 1).toUpperCase() + name.slice(1) }, day, found); // prettier-ignore
}

/** "You'll have it by Friday": the thing is what the agent has just done. */
function ofAction(
  { text }: DoneItem,
  base: Pick<PromiseItem, 'who' | 'place' | 'turns'>,
  found: DueDay | undefined,
): PromiseItem {
  const [, past = '', rest = ''] = /^Agent (\w+)(.*)$/.exec(text) ?? [];
  const verb = baseOf(past);
  const named = verb === undefined ? { what: 'have it', subject: 'The customer' } : { what: `${verb}${rest}`, subject: 'Agent' }; // prettier-ignore
  return { ...base, ...named, ...(found === undefined ? {} : { until: found.until }) };
}

/** The promise with its day, and without the words that told the day. */
function dated(
  item: Omit<PromiseItem, 'until'>,
  day: string | undefined,
  found = deadlineOf(item.what, day),
): PromiseItem {
  if (found === undefined) return item;
  const what = item.what.replace(found.text, ' ').replace(/\s+/g, ' ').replace(/\s+([,.])/g, '$1').trim(); // prettier-ignore
  const kept = what.split(' ').length > 1 || !/^(?:be|have|do)$/.test(what) ? what : item.what;
  return { ...item, what: kept.replace(/[,\s]+$/, ''), until: found.until };
}

function nameOf(who: Party): string {
  return who === 'agent' ? 'Agent' : 'Customer';
}
