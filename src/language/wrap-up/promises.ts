import type { Party } from '../../protocol/events.ts';
import { deadlineOf, type DueDay } from './deadline.ts';
import { likeness, objectAsked, type DoneItem } from './done.ts';
import { saysTransfer } from './endings.ts';
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
  /** "On Monday", and not before it. */
  isOn?: boolean;
  /** The part of the day that was named: "evening". */
  ofDay?: string;
  /** "Within five days": the words for the time, where the day of the call is not known. */
  said?: string;
  /** The promise with those words where they stood. */
  whole?: string;
  place: number;
  turns: number[];
};

const adverb =
  '(?:just|also|then|personally|now|gladly|certainly|definitely|probably|always|myself) ';
const own = new RegExp(`^(?:\\w+, )?(?:i|we)(?:'ll| will|(?:'m|'re| am| are) (?:just |also |then )?going to) (?:${adverb})*(\\w+)(?: (\\w+))?(?: (\\w+))?`, 'i'); // prettier-ignore
const other = new RegExp(
  `^((?:he|she|they|somebody|someone)|(?:(?:the|our|an?|your|my|his|her) (?:[\\w-]+ ){0,3}?[\\w-]+)|(?:(?:mr|mrs|ms|dr|doctor)\\.? \\w+))(?:'ll| will| should)(?: now| also| then)* (.+)$`,
  'i',
);
const received = /^you(?:'ll| will| should) (?:also |then )?(get|receive|have|hear|see) (.+)$/i;
/** "You get it back within two days", "the card arrives in a week": with a time behind it the present tells what will be. */
const present = /^(?:(you) (?=(?:get|receive)\b)|((?:it|that|they|(?:the|your|our) (?:[\w-]+ ){0,3}?[\w-]+)) (arrives?|comes?|lands?|goes out|ships?|gets (?:to|there)) )/i; // prettier-ignore
/** Money that comes back to the customer. */
const theirMoney = /^(?:your|the) (?:money|refund|credit|deposit|payment)(?: back)?\b/i;
const arrives = /^(it|that|this|they|those|(?:(?:the|your|our) (?:[\w-]+ ){0,3}?[\w-]+))(?:'ll| will| should) (.+)$/i; // prettier-ignore
const takes = /^(it|that|the (?:refund|money|payment|transfer|delivery|repair)|your (?:refund|money)) takes (.+)$/i; // prettier-ignore

/** Verbs after "I will" that speak of the call itself, of a state, or of nothing that anybody waits for. */
const ofTheCall =
  'check look see need try explain tell ask say repeat read spell confirm start assume know want hear understand wait hold bear think remember miss stay keep love hate apologise apologize admit find leave transfer connect pop have listen stop guess do take be walk talk guide search pull give let go';
const notKept = new Set(ofTheCall.split(' '));
/** Some of these verbs are promises with the right words behind them. */
const stillKept =
  /^(?:(?:be|get|keep) (?:in touch|back|there|you posted|you updated)|take (?:it|them|that) (?:to|back)|go (?:to|in)|give (?:you|him|her|them|us) (?:a (?:ring|call|bell|shout|refund|credit|discount)|your|the money)|have (?:him|her|them|someone|somebody|the|a|it)|ask (?!you\b|for your|to)|find (?:out|it)|let (?:you|him|her|them|us) know|confirm (?:it|that|this) (?:by|in)|leave (?:it|them|him|her|a) (?:at|with|for|note|message)|pop (?:in|it|a|the)|check (?:with)|look into|do (?:that|it|so) (?:by|on|tomorrow|tonight|this)|drop|keep (?:you|an eye)|think about|check (?:what|how|whether|which|who) .*\b(?:in the meantime|later|at home|tonight|tomorrow)|talk to (?:him|her|them|my|the|our) |tell (?:him|her|them|my|the|our)\b|(?:get|be) back to you)/i;
/** Kept only if a day is named beside them. */
const withDay = /^(?:be (?:delivered|sent|shipped|paid|refunded|ready|with|at|on|in|out|back|here|there|over|done|fixed|credited|posted)|arrive|land|come|reach|show|appear|get (?:to|there)|go out|take)\b/i; // prettier-ignore
const uncertain =
  /\b(?:maybe|perhaps|would|could|might|may|hopefully|i think|i hope|probably not|not sure)\b/i;
const declines = /^(?:(?:oh|um|well|er|uh)[, ]+)*(?:no\b(?! problem| worries)|nah\b|don't\b|i'd (?:rather|prefer)|actually,? (?:no|i'd)|forget it|not (?:now|today)|(?:can|could) you (?:just )?(?:email|e-mail|text|post) (?:it|that|them)(?: (?:instead|to me))?\?)/i; // prettier-ignore
/** A call has at most this many promises in its record. */
const maxPromises = 24;

type Context = { statements: readonly CallStatement[]; done: readonly DoneItem[]; day?: string | undefined }; // prettier-ignore

/** Promises in the words of the one who will keep them, or of the agent for the company. */
export function promisesIn({ statements, done, day }: Context): PromiseItem[] {
  if (day !== undefined) return promisesOf({ statements, done, day }).map(withHours);
  return promisesOf({ statements, done, day: someDay }).map(asSaid);
}

/** "Within two hours" says more than the day. */
function withHours({ said, whole: _whole, ...item }: PromiseItem): PromiseItem {
  return said !== undefined && /\bhours?\b/i.test(said) ? { ...item, said: within(said) } : item; // prettier-ignore
}

function asSaid({
  until: _until,
  isOn: _isOn,
  ofDay: _ofDay,
  whole,
  said,
  ...item
}: PromiseItem): PromiseItem {
  if (whole !== undefined) return { ...item, what: whole };
  return { ...item, ...(said === undefined ? {} : { said }) };
}

/** Times are found from a day on. Where that of the call is not known, their words are kept and no date is told. */
const someDay = '2001-01-01';

function promisesOf({ statements, done, day }: Context & { day: string }): PromiseItem[] {
  const items: PromiseItem[] = [];
  for (const [place, statement] of statements.entries()) {
    if (items.length === maxPromises) break;
    const { role, isQuestion, isConditional, text } = statement;
    if (isQuestion || isConditional || (role !== 'agent' && role !== 'customer')) continue;
    if (role === 'agent' && saysTransfer(text)) continue;
    const said = withoutEnd(plainOf(text)).replace(
      /^(?:no|yes|yeah|right|okay|well|then)[.,] (?=\w)/i,
      '',
    );
    const clean = withWill(said, day);
    if (uncertain.test(clean) || /\b(?:won't|not|never)\b/i.test(clean)) continue;
    if (isDeclined(statements, place)) continue;
    const due = dueOf(items, done, { ...statement, text: clean }, place, day);
    if (due !== undefined) {
      Object.assign(due.item, { ...due.time, whole: undefined, turns: [...new Set([...due.item.turns, statement.turn])] }); // prettier-ignore
      continue;
    }
    const corrected = correctedDay(clean, role, day);
    const late = items.findLast(({ who, until }) => who === 'agent' && until !== undefined);
    if (corrected !== undefined && late !== undefined && place - late.place <= 4) {
      Object.assign(late, { ...corrected, whole: undefined, turns: [...new Set([...late.turns, statement.turn])] }); // prettier-ignore
      continue;
    }
    const same = items.findLast(({ who }) => who === role);
    if (same !== undefined && place - same.place <= 10 && again.test(clean)) continue;
    const item = ofSpeaker(statements, place, clean, day) ?? (role === 'agent' ? ofCompany(statement, clean, place, day, done) : undefined); // prettier-ignore
    if (item !== undefined) add(items, item, done);
  }
  return items;
}

/** Verbs with which people promise something: "I send it tomorrow" can only be "I'll send it tomorrow". */
const promising = 'send|email|text|post|mail|call|ring|phone|book|order|arrange|drop|bring|deliver|refund|credit|pop|get|let'; // prettier-ignore
const withoutWill = new RegExp(`^(i|we|you) (?:just |also |then )?(?=(?:${promising}|receive)\\b)`, 'i'); // prettier-ignore
const misheardWill = new RegExp(`^(?:i all|all|aisle|isle) (?=(?:${promising})\\b)`, 'i');
const barelyBe = /^((?:he|she|they|it|someone|somebody|(?:the|our|your|an?) [\w-]+)) be (?=\w)/i;
const habit = /\b(?:usually|always|normally|every|often|never|can|used to|each)\b/i;

/** Recognisers lose the "'ll" of "I'll", or hear another word: what is left is no English, or has a day to come. */
function withWill(said: string, day: string | undefined): string {
  if (misheardWill.test(said)) return said.replace(misheardWill, "I'll ");
  if (barelyBe.test(said)) return said.replace(barelyBe, '$1 will be ');
  if (habit.test(said)) return said;
  const now = present.exec(said);
  if (
    now !== null &&
    !/ (?:will|should|would|can|could|may|might|must)$/i.test(now[2] ?? '') &&
    deadlineOf(said, day) !== undefined
  ) {
    const [all, you, subject = '', verb = ''] = now;
    const infinitive = verb.replace(/^goes/i, 'go').replace(/^gets/i, 'get').replace(/s$/i, '');
    return you === undefined ? `${subject} will ${infinitive} ${said.slice(all.length)}` : said.replace(/^you /i, 'you will '); // prettier-ignore
  }
  if (!withoutWill.test(said)) return said;
  const found = deadlineOf(said, day);
  return found === undefined ? said : said.replace(withoutWill, '$1 will ');
}

const paying = /^(?:refund|process|return|credit|send|reverse|pay|put|issue)\b/i;
const paid = /^(?:(?:the|your) (?:money|refund|credit|deposit|payment)|(?:it|that|this|they))(?:'ll| will| should)(?: then| all)? (?:be (?:back )?(?:on|in|with)|reach|show|appear|arrive|land|get to|come|go)\b/i; // prettier-ignore

/** "You'll have it on Friday", of a thing that was to arrive later. */
const arrived = /^you(?:'ll| will| should) (?:then )?(?:have|get|receive) (?:it|them) (.+)$/i;
const comes = /^(?:arrive|come|land|ship|go out|reach)\b/i;

/**
 * "It takes three weeks" and "the refund will be on your account within five days" tell the time of the promise before,
 * where that had none.
 */
function dueOf(
  items: readonly PromiseItem[],
  done: readonly DoneItem[],
  { role, turn, text: clean }: CallStatement,
  place: number,
  day: string,
): { item: PromiseItem; time: Pick<PromiseItem, 'until' | 'said'> } | undefined {
  if (role !== 'agent') return undefined;
  const item = items.findLast(({ who, subject }) => who === 'agent' && subject === 'Agent');
  const had = arrived.exec(clean)?.[1];
  const sent = had === undefined ? undefined : items.findLast(({ who, subject, what }) => who === 'agent' && !/^(?:Agent|The customer)$/.test(subject) && comes.test(what)); // prettier-ignore
  const then = had === undefined ? undefined : deadlineOf(had, day);
  if (sent !== undefined && then !== undefined && then.text === had && place - sent.place <= 10)
    return { item: sent, time: { until: then.until, said: then.text } };
  if (item === undefined || item.until !== undefined) return undefined;
  // A deed after the promise has that time instead.
  if (done.some((one) => one.place > item.place && one.place < place)) return undefined;
  const lasts = takes.exec(clean)?.[2];
  const isPaid = paid.test(clean) && paying.test(item.what) && (/^(?:the|your) /i.test(clean) || item.turns.includes(turn)); // prettier-ignore
  if (lasts === undefined ? !isPaid || place - item.place > 6 : place - item.place > 4) return undefined; // prettier-ignore
  const found = deadlineOf(lasts === undefined ? clean : `it takes ${lasts}`, day);
  return found === undefined ? undefined : { item, time: { until: found.until, said: within(found.text) } }; // prettier-ignore
}

/** The time of "it takes about three weeks", as it stands behind a promise. */
function within(said: string): string {
  return said.replace(/^(?:it )?takes?(?: (?:about|around|up to|at most|between))? /i, 'within ');
}

/** "I'll get that over to you" repeats a promise in other words. */
const again = /^(?:i|we)(?:'ll| will) (?:get|have|send|do|sort|put) (?:that|it|this|them|those)(?: (?:over|out|across|off|through|done|sorted|to you|for you|now|right))*$/i; // prettier-ignore

/** "Then it will be Friday": the day of the promise before it was wrong. */
function correctedDay(
  clean: string,
  role: string,
  day: string | undefined,
): Pick<PromiseItem, 'until' | 'said'> | undefined {
  const words = /^(?:(?:oh|then|so|okay|actually|no|sorry)[, ]+)*(?:then )?(?:it|that|they)(?:'ll| will) (?:then )?be (?:on )?(.{3,40}?)(?:, (?:i'm )?sorry| then| instead)?$/i.exec(clean)?.[1]; // prettier-ignore
  const found = words === undefined || role !== 'agent' ? undefined : deadlineOf(words, day);
  return found !== undefined && found.start === 0 && found.text.length === words?.length ? { until: found.until, said: found.text } : undefined; // prettier-ignore
}

/** "I'll get another one out to you" is kept once it is ordered. */
const supplies = /^(?:order|send|place|dispatch|ship|replace|resend|post)$/;

function add(items: PromiseItem[], item: PromiseItem, done: readonly DoneItem[]): void {
  const [verb = ''] = item.what.split(' ');
  // The agent carried it out before the call was over.
  const isDone = item.who === 'agent' && done.some((one) => one.place > item.place && one.verb === verb && likeness(one.text, item.what) >= 0.5); // prettier-ignore
  const isOrdered = item.who === 'agent' && verb === 'get' && done.some((one) => one.place > item.place && one.place - item.place <= 8 && supplies.test(one.verb)); // prettier-ignore
  if (isDone || isOrdered) return;
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
  statements: readonly CallStatement[],
  place: number,
  clean: string,
  day: string | undefined,
): PromiseItem | undefined {
  const { role = '', turn = 0 } = statements[place] ?? {};
  const match = own.exec(clean);
  if (match === null) return undefined;
  const verb = match[1]?.toLowerCase() ?? '';
  const rest = clean.slice(match[0].length - [match[1], match[2], match[3]].filter(Boolean).join(' ').length); // prettier-ignore
  if (notKept.has(verb) && !stillKept.test(rest)) return undefined;
  const told = retold(`${clean}.`.replace(/^\w+, (?=(?:i|we)\b)/i, '').replace(/('m| am|'re| are) (?:just |also |then )?going to/i, ' will'), role, 'Agent'); // prettier-ignore
  const words = told === undefined ? undefined : /^(?:Agent|The company|They) will (.+)$/.exec(withoutEnd(told))?.[1]; // prettier-ignore
  if (words === undefined) return undefined;
  const who = role === 'agent' ? 'agent' : 'customer';
  const what = asWritten(words, who);
  return named(dated({ who, what, subject: nameOf(who), place, turns: [turn] }, day), statements);
}

/** Without the small words of speech, and the customer's own promise with "they" for the customer. */
function asWritten(words: string, who: Party): string {
  const text = words
    .replace(/^(?:also|then|just) /i, '')
    .replace(/,? (?:whatever happens|for sure|no problem|then|as well|and everything)$/i, '');
  if (who !== 'customer') return text;
  return text
    .replace(/\bthe customer's\b/g, 'their')
    .replace(/\bthe customer is\b/g, 'they are')
    .replace(/\bthe customer has\b/g, 'they have')
    .replace(
      /\bthe customer (knows|gets|needs|wants|hears|finds|sees)\b/g,
      (_, verb: string) => `they ${verb.slice(0, -1)}`,
    ) // prettier-ignore
    .replace(/\bthe customer (?=(?:can|had|got|was)\b)/g, 'they ');
}

/** "I'll send it on Monday" with the thing that the sentences before named: "send the reading". */
function named(item: PromiseItem, statements: readonly CallStatement[]): PromiseItem {
  const [, verb = '', , rest = ''] = /^(\w+) (it|them|that|those)\b(.*)$/.exec(item.what) ?? [];
  if (verb === '') return item;
  const thing = objectAsked(statements, item.place, verb, { reach: 8, words: 5 });
  if (thing === undefined) return item;
  const text =
    item.who === 'customer' ? thing.text.replace(/^the customer's\b/, 'their') : thing.text;
  return { ...item, what: `${verb} ${text}${rest}`, turns: [...new Set([thing.turn, ...item.turns])] }; // prettier-ignore
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
    if (/^have$/i.test(verb) && found === undefined) return undefined;
    if (/^see$/i.test(verb) && !/\bon your (?:next )?(?:bill|statement|invoice|account|card|pay)/i.test(rest)) return undefined; // prettier-ignore
    // "You will have your money by Friday" is what the refund means, and no deed of its own.
    const paid = theirMoney.test(rest) ? done.findLast((one) => one.place < place && /^(?:refund|process|return|credit|send|reverse|pay|put|issue)$/.test(one.verb)) : undefined; // prettier-ignore
    if (paid !== undefined)
      return ofAction(paid, { ...base, turns: [...new Set([...paid.turns, turn])] }, found);
    const recent = done.findLast((one) => one.place < place && place - one.place <= 3);
    if (/^(?:it|that|them)\b/i.test(rest) && recent !== undefined && found !== undefined)
      return ofAction(recent, { ...base, turns: [...new Set([...recent.turns, turn])] }, found);
    const told = retold(`You will ${/^have$/i.test(verb) && theirMoney.test(rest) ? 'get' : verb} ${rest}.`, 'agent', 'Agent'); // prettier-ignore
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
  const isPerson = person !== null && persons.test(subject);
  const isThing = !isPerson && (person === null || /^(?:it|that|this|they)$/i.test(subject) || withDay.test(rest)); // prettier-ignore
  // A state is no promise: "your last day will be the thirtieth".
  if ((isThing || /^be\b/i.test(rest)) && !withDay.test(rest)) return undefined;
  const found = deadlineOf(clean, day);
  if (isThing && found === undefined) return undefined;
  const told = retold(`${subject} will ${rest}.`, 'agent', 'Agent') ?? `${subject} will ${rest}.`;
  const [, name = '', what = ''] = /^(.+?) will (.+)$/.exec(withoutEnd(told)) ?? [];
  if (what === '') return undefined;
  return dated({ ...base, what, subject: name.slice(0, 1).toUpperCase() + name.slice(1) }, day, found); // prettier-ignore
}

/** Those who come, call or decide. */
const persons =
  /^(?:he|she|somebody|someone|(?:mr|mrs|ms|dr|doctor)\b.*|(?:\S+ )*(?:technician|engineer|mechanic|plumber|electrician|surveyor|adjuster|courier|driver|manager|supervisor|doctor|nurse|colleague|team|department|office|specialist|advisor|adviser|accountant|inspector|agent|representative|guy|crew|company|desk))$/i;

/** "You'll have it by Friday": the thing is what the agent has just done. */
function ofAction(
  { text }: DoneItem,
  base: Pick<PromiseItem, 'who' | 'place' | 'turns'>,
  found: DueDay | undefined,
): PromiseItem {
  const [, past = '', rest = ''] = /^Agent (\w+)(.*)$/.exec(text) ?? [];
  const verb = baseOf(past);
  const named = verb === undefined ? { what: 'have it', subject: 'The customer' } : { what: `${verb}${rest}`, subject: 'Agent' }; // prettier-ignore
  return {
    ...base,
    ...named,
    ...(found === undefined ? {} : { until: found.until, said: within(found.text) }),
  };
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
  return {
    ...item,
    what: kept.replace(/,? then$/i, '').replace(/[,\s]+$/, ''),
    until: found.until,
    said: found.text,
    whole: item.what,
    ...(onDay.test(found.text) ? { isOn: true } : {}),
    ...(partOfDay(found.text) ?? {}),
  };
}

/** "This evening" and "in a few minutes" say more than the day does. */
function partOfDay(said: string): { ofDay: string } | undefined {
  if (/\bin (?:a few|a couple of|some) (?:minutes|moments)\b/i.test(said))
    return { ofDay: 'minutes' };
  const part = /\b(?:this (morning|afternoon|evening)|tonight)\b/i.exec(said);
  return part === null ? undefined : { ofDay: part[1]?.toLowerCase() ?? 'evening' };
}

const onDay = /^(?:on )?(?:(?:next |this )?(?:mon|tues|wednes|thurs|fri|satur|sun)day|tomorrow|the \S+(?:st|nd|rd|th))\b(?!.*\b(?:latest|before))/i; // prettier-ignore

function nameOf(who: Party): string {
  return who === 'agent' ? 'Agent' : 'Customer';
}
