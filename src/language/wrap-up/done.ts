import { contentWords } from '../text/content.ts';
import type { CallStatement } from './statements.ts';
import { plainOf, retold, withoutEnd } from './told.ts';
import { withValues } from '../values/with-values.ts';
import {
  actionGoingOn,
  actionOf,
  baseOf,
  isAction,
  isParticiple,
  participleOf,
  pastOf,
  pastOfBase,
} from './verbs.ts';

/** Something that was done in the call, with the turns that prove it. `verb` is its infinitive. */
export type DoneItem = { text: string; verb: string; place: number; turns: number[] };

/** Participles after "I have" that tell no action for the customer. */
const noAction = new Set(
  'looked checked seen had received tried been noticed heard understood found talked spoken asked got needed wanted known said told thought called worked managed decided lost missed explained mentioned finished stopped reached'.split(
    ' ',
  ),
);
/** The action was before the call. */
const earlier =
  /\b(?:yesterday|last (?:week|month|year|night|\w+day)|ago|earlier|previously|back in (?=\d|the |january|february|march|april|may|june|july|august|september|october|november|december|spring|summer|autumn|winter)|on (?:mon|tues|wednes|thurs|fri|satur|sun)day)\b/i;
const negated = /^[^,]*\b(?:not|\w+n't|never|cannot|no (?:longer|more))\b/i;
/** One of several that the customer may choose: an offer. */
const alternative = /\bor (?:i|we) (?:can|could)\b/i;
const adverb = '(?:just|now|also|already|all|gone ahead and|been|fully|then|both) ';
const perfect = new RegExp(
  `^(?:\\w+, )?(?:and |so )?(?:i|we)(?:'ve| have) (?:${adverb})*(\\w+)\\b`,
  'i',
);
const goingOn = /^(?:i|we)(?:'m| am|'re| are) (?:just |now |also )*(\w+ing)\b/i;
const simplePast = /^(?:i|we) ((?:just|also|now) )?(\w+)\b/i;
/** These are no sure sign of the past where no adverb stands before them, or an agent says them of other things. */
const unsureAlone = new Set(
  'put set cut reset let took made got had noted ordered paid'.split(' '),
);
const passive = new RegExp(
  `^(it|that|this|everything|(?:(?:your|the|that|this) (?:[\\w-]+ ){0,4}?[\\w-]+)|that's (?:you|your(?: [\\w-]+){1,3}?)|you|[a-z]+(?='s been| has been))(?:'s|'re| is| are| has| have|) (?:${adverb})*((?:\\w+ed|gone|put|set|sent|done|taken|frozen|made|reset)\\b(?: (?:up|through|off|over|in|down)\\b)?)(.*)$`,
  'i',
);
/** The words tell a state of before, a wish or a reason, not what the agent has done. */
const noState =
  /\b(?:was|were|will|would|can|could|should|might|must|may|used to|to be|needs?|gets?)\b/i;
const finished =
  /^(?:(?:right|okay|ok|there|so)[,. ]+)*(?:done|all done|that's (?:all |now )?done|that's it done|there we go|there you go|all set|that's (?:all )?(?:gone|going) through|sorted|that's sorted|that's all sorted|that's been done|it's done)\b/i;
const meant =
  /^(?:let me|i'll|i will|we'll|i can|i'm going to) (?:just |now |quickly |go ahead and )*(\w+) (.+)$/i;
/** A call has at most this many actions in its record, but for the second half of a sentence. */
const maxActions = 40;
/** "Get another one out to you" is something that an agent does. */
const isGot = /\b(?:out|over|across|off) to you\b|\b(?:booked|sent|sorted|moved|changed)\b/i;
/** The words do not say what was done. */
const nothingNamed =
  /^Agent (?:did|sent|made|put|added|printed|noted|found|checked) (?:it|that|this|them|so)$/;
/** "Done" may speak of what the agent set out to do at most this many statements before. */
const reach = 6;

/** The agent's actions in the call, by the agent's own words. Offers, questions and conditions are none. */
export function doneIn(statements: readonly CallStatement[]): DoneItem[] {
  const items: DoneItem[] = [];
  for (const [place, statement] of statements.entries()) {
    if (items.length >= maxActions) break;
    if (statement.role !== 'agent' || statement.isQuestion || statement.isConditional) continue;
    if (earlier.test(statement.text) || negated.test(statement.text)) continue;
    if (alternative.test(statement.text)) continue;
    const own = hasFailed(statement, statements[place + 1]) ? [] : ownActions(statement, place).map((item) => completed(item, statements)); // prettier-ignore
    const other = own.length > 0 ? undefined : (passiveAction(statements, place) ?? confirmed(statements, place)); // prettier-ignore
    for (const item of other === undefined ? own : [other])
      if (!nothingNamed.test(item.text) && !items.some((before) => isSame(before, item)))
        items.push(withNumber(item, statements, items));
  }
  return items;
}

/** "I've sent the form, but it was rejected." */
export function hasFailed({ turn }: CallStatement, next: CallStatement | undefined): boolean {
  return next?.turn === turn && next.role === 'agent' && failed.test(next.text);
}

const failed =
  /^(?:(?:and|but|only|however) )*(?:it|that|this|they|the \w+)(?:'s| is| was| has| were| have|'re)? (?:now |just |been |already |come back )*(?:expired|declined|rejected|refused|failed|bounced|invalid|did(?:n't| not)|has(?:n't| not)|won't|not (?:work|go|gone|let|tak)\w*)\b/i;

/** "I'm resubmitting it" goes on until the agent says that it is done. */
function completed(item: DoneItem, statements: readonly CallStatement[]): DoneItem {
  if (!item.text.startsWith('Agent is ')) return item;
  const said = statements.slice(item.place + 1, item.place + 1 + reach * 2).find(({ role, text }) => role === 'agent' && finished.test(text)); // prettier-ignore
  if (said === undefined) return item;
  const text = item.text.replace(/^Agent is \w+ing\b/, `Agent ${pastOfBase(item.verb)}`);
  return { ...item, text, turns: [...new Set([...item.turns, said.turn])] };
}

const itsNumber = /^(?:(?:the|your) )?((?:[a-z]+ )?(?:reference|number|code))(?: number)?(?: is|:|'s|) ((?:[A-Z]+[- ]?)?\d[\d -]*\d)[.]?$/i; // prettier-ignore

/** "I've opened a claim. The claim number is 20576." is one line of the record. */
function withNumber(
  item: DoneItem,
  statements: readonly CallStatement[],
  before: readonly DoneItem[],
): DoneItem {
  const here = statements[item.place];
  const next = statements[item.place + 1];
  if (here === undefined || next?.turn !== here.turn || /\d{3}/.test(item.text)) return item;
  const [, kind = '', number = ''] = itsNumber.exec(withValues(next.text)) ?? [];
  const figures = number.replace(/ /g, '');
  if (number === '' || before.some(({ text }) => text.includes(figures))) return item;
  return { ...item, text: `${item.text} (${kind.toLowerCase()} ${figures})` }; // prettier-ignore
}

function isSame(a: DoneItem, b: DoneItem): boolean {
  return a.verb === b.verb && likeness(a.text, b.text) >= 0.5;
}

/** The share of the shorter text's content words that the other has too. */
export function likeness(a: string, b: string): number {
  const one = stemsOf(a);
  const other = stemsOf(b);
  const least = Math.min(one.size, other.size);
  return least === 0 ? 0 : [...one].filter((stem) => other.has(stem)).length / least;
}

const persons = /^(?:agent|custom|customer|compan\w*)$/;

export function stemsOf(text: string): Set<string> {
  return new Set(
    contentWords(text)
      .map(({ stem }) => stem)
      .filter((stem) => !persons.test(stem)),
  );
}

/** "I've blocked the account and opened a dispute" are two. */
function ownActions(statement: CallStatement, place: number): DoneItem[] {
  const text = asDeed(
    statement.text.replace(/^(?:no|yes|right|okay)[.,] |\bgone ahead and /gi, ''),
  );
  const has = /^((?:i|we)(?:'ve| have)) .+? and (?:also )?(\w+) /i.exec(text);
  const second = has?.[2];
  const pieces =
    has === null || second === undefined || actionOf(second) === undefined || /^(?:set|reset|put|cut)$/.test(second) // prettier-ignore
      ? [text]
      : twoActions(text, has[1] ?? '', second);
  return pieces.flatMap((piece) => ownAction({ ...statement, text: piece }, place) ?? []);
}

function twoActions(text: string, lead: string, second: string): string[] {
  const at = text.search(new RegExp(` and (?:also )?${second} `, 'i'));
  return [`${text.slice(0, at)}.`, `${lead} ${text.slice(at).replace(/^ and (?:also )?/i, '')}`];
}

/** The words behind a verb that show a deed for the customer. */
const forThem =
  /\b(?:for you|just now|(?:off|on|onto|to|into|from) your|back to you)\b|, (?:the )?reference\b/i;
const misheard: readonly (readonly [RegExp, (base: string) => boolean])[] = [
  [/^(i|we)(?:'d (?=\w+ (?:that|it|this|them|those)\b)| (?!'))(?:just |now )?(\w+) (?=(?:that|it|this|those|them|the|your|an?|another|you)\b)/i, isAction],
  [/^(i|we)(?:'ve| have) (?:just |now |all )?(\w+) (?=\w)/i, isAction],
]; // prettier-ignore

/**
 * "I've cancelled it" as recognisers write it: "I'd cancel it for you", "I've cancel it", "Cancelled it". Words behind
 * the verb must show a deed where the verb alone does not.
 */
function asDeed(text: string): string {
  if (/\b(?:if|but|would|need|have to|usually|always)\b/i.test(text)) return text;
  const spent = /^(i|we)(?:'ve| have)? (?:just )?spent (?=.* back to (?:you|your)\b)/i;
  if (spent.test(text)) return text.replace(spent, '$1 have sent ');
  for (const [place, [pattern, isVerb]] of misheard.entries()) {
    const [, who = '', base = ''] = pattern.exec(text) ?? [];
    const verb = base.toLowerCase();
    if (base === '' || !isVerb(verb) || participleOf(verb) === verb) continue;
    if (place === 0 && !forThem.test(text)) continue;
    return text.replace(pattern, `${who} have ${participleOf(verb)} `);
  }
  const [, alone = ''] = /^(?:all |just )?(\w+) (?:that|it|this|them|you|your)\b/i.exec(text) ?? [];
  const verb = actionOf(alone);
  return verb !== undefined && participleOf(verb) !== verb
    ? `I have ${text.slice(0, 1).toLowerCase()}${text.slice(1)}`
    : text;
}

/** "I've refunded it", "I'm cancelling that now", "I just sent you a link". */
function ownAction({ text, turn }: CallStatement, place: number): DoneItem | undefined {
  const plain = plainOf(text);
  const participle = perfect.exec(plain)?.[1];
  if (participle !== undefined) {
    // "We've been cut off" tells of somebody else's deed.
    if (/^\S+(?: have)? (?:\w+ )?been\b/i.test(plain)) return undefined;
    if (noAction.has(participle.toLowerCase())) return undefined;
    const verb = actionOf(participle) ?? baseOf(participle) ?? (isParticiple(participle) ? participle.toLowerCase() : undefined); // prettier-ignore
    if (verb === undefined) return undefined;
    const told = retold(text.replace(/^\w+, (?=(?:i|we)\b)/i, ''), 'agent', 'Agent');
    const written = told?.replace(/^(?:Agent|The company) has (?:already |now |also |all |both )*(\w+)/, (_, word: string) => `Agent ${pastOf(word)}`); // prettier-ignore
    if (written === undefined || !written.startsWith('Agent ')) return undefined;
    return { text: tidied(written), verb, place, turns: [turn] };
  }
  const doing = goingOn.exec(plain)?.[1];
  const base = doing === undefined ? undefined : actionGoingOn(doing);
  const [, just, past = ''] = simplePast.exec(plain) ?? simplePast.exec(text) ?? [];
  const isPast = just !== undefined || forThem.test(text) || !unsureAlone.has(past.toLowerCase());
  const before = isPast ? actionOf(past) : undefined;
  const verb = base ?? before;
  if (verb === undefined) return undefined;
  const told = retold(text, 'agent', 'Agent')?.replace(
    /^(?:Agent|The company) (?:is|are) (?:now |also )*(?=\w+ing\b)/,
    'Agent is ',
  );
  return told?.startsWith('Agent ') !== true
    ? undefined
    : { text: tidied(told), verb, place, turns: [turn] };
}

/** Leaves out the time, the reason and the next words behind the action itself. */
function tidied(told: string): string {
  const text = withoutEnd(told)
    .replace(/,? so (?:that )?(?:nothing|nobody|no one|you|it|they|we|the customer|everything)\b.*$/i, '')
    .replace(/,? (?:right now|right away|just now|(?<!\b(?:for|of|until|till|by|from) )(?:now|today)|at once|straight away)$/i, '')
    .replace(/,? (?:and )?(?:give it (?:another|a) (?:go|try)|have another go|try (?:it )?(?:again|now))\b.*$/i, '')
    .replace(/(?:,|,? and) (?:the|your) (?:case |claim |ticket |report )?(?:reference|number|confirmation)(?: number)?(?: is)? ((?:[A-Z]+ ?)?\d[\d ]*)$/i, (_, number: string) => ` (reference ${number.replace(/ /g, '')})`); // prettier-ignore
  return withoutEnd(text).replace(/( (?:claim|case|complaint|ticket|order|dispute)),? (reference|number) ((?:[A-Z]+ ?)?\d[\d ]*)$/i, (_, what: string, kind: string, number: string) => `${what} (${kind} ${number.replace(/ /g, '')})`); // prettier-ignore
}

/** "It is cancelled", "that's extended to Friday for you", "your card is now blocked". */
function passiveAction(statements: readonly CallStatement[], place: number): DoneItem | undefined {
  const statement = statements[place];
  if (statement === undefined) return undefined;
  const plain = plainOf(statement.text);
  const match = passive.exec(plain);
  const [participle = ''] = match?.[2]?.split(' ') ?? [];
  const verb = actionOf(participle);
  // "Your discount ended in October" is nobody's deed.
  if (/^(?:your|the|that|this) [^,]*? (?:ended|started|stopped|changed|expired|opened|closed|dropped|increased|moved|failed|arrived|passed|happened)\b/i.test(plain) && !/(?:'s|\b(?:is|are|has|have|been|now|all|just))\b[^,]* \w+ed\b/i.test(plain)) return undefined; // prettier-ignore
  if (match === null || verb === undefined || noState.test(match[1] ?? '')) return undefined;
  const thing = objectAsked(statements, place, verb);
  const subject = /^(?:it|that|this|everything)(?:'s| is| has)/i.test(plain) && !/^(?:that|this) \w+ (?:is|has)/i.test(plain); // prettier-ignore
  if (subject && thing !== undefined)
    return {
      text: `Agent ${pastOf(participle)} ${thing.text}`,
      verb,
      place,
      turns: [...new Set([thing.turn, statement.turn])],
    };
  const text = asAction(match[1] ?? '', match[2] ?? '', match[3] ?? '');
  return text === undefined ? undefined : { text, verb, place, turns: [statement.turn] };
}

/** "Your card is now blocked" as "Agent blocked the customer's card". */
function asAction(subject: string, participle: string, rest: string): string | undefined {
  const [word = '', ...particles] = participle.split(' ');
  const object = subject.replace(/^that's /i, '').replace(/^(?:that|this) (?=\w)/i, 'the ');
  const named = /^[a-z]+$/i.test(object) && !/^(?:it|you|that|this|everything)$/i.test(object) ? `the ${object.toLowerCase()}` : object; // prettier-ignore
  const thing = /^(?:that|this|everything)$/i.test(named) ? 'it' : named;
  const detail = /^, ((?:\w+ )?(?:lots?|payments?|instal?lments?|nights?|places?|tickets?) .+)$/i.exec(rest)?.[1]; // prettier-ignore
  const after = rest.replace(/^[, ]*(?:nobody|nothing|no one|so|and|there|it|they|you)\b.*$/i, '');
  const isShort = thing.split(' ').length <= 4 || particles.length === 0;
  const words =
    thing === 'it' && detail !== undefined
      ? [pastOf(word), ...particles, detail].join(' ')
      : isShort
        ? [pastOf(word), lowered(thing), ...particles].join(' ')
        : [pastOf(word), ...particles, lowered(thing)].join(' ');
  const told = retold(
    `I have ${words}${words.endsWith(detail ?? '\n') ? '' : after}.`,
    'agent',
    'Agent',
  )?.replace(/^Agent has /, 'Agent ');
  return told === undefined ? undefined : tidied(told);
}

function lowered(thing: string): string {
  return thing.replace(/^(?:The|Your|That|This|It|You|My|Our)\b/, (word) => word.toLowerCase());
}

/** "Let me reset that for you." ... "Done." */
function confirmed(statements: readonly CallStatement[], place: number): DoneItem | undefined {
  const statement = statements[place];
  if (statement === undefined || !finished.test(statement.text)) return undefined;
  const next = statements[place + 1];
  // "That's gone through for you, a replacement has been ordered": the words behind say what was done.
  if (next?.turn === statement.turn && passiveAction(statements, place + 1) !== undefined)
    return undefined;
  const asked = requested(statements, place);
  if (asked !== undefined) return asked;
  for (let at = place - 1; at >= Math.max(0, place - reach); at--) {
    const before = statements[at];
    if (before?.role !== 'agent' || before.isConditional) continue;
    const match = meant.exec(withoutEnd(plainOf(before.text)));
    const verb = match?.[1]?.toLowerCase();
    if (match === null || verb === undefined) continue;
    if (!isAction(verb) && !(verb === 'get' && isGot.test(match[2] ?? ''))) continue;
    const told = retold(`I will ${verb} ${match[2] ?? ''}.`, 'agent', 'Agent');
    const text = told?.replace(/^Agent will /, 'Agent agreed to ');
    if (text === undefined) continue;
    return { text: withoutEnd(text), verb, place, turns: [...new Set([before.turn, statement.turn])] }; // prettier-ignore
  }
  return undefined;
}

const ordered =
  /^(?:(?:can|could|would|will) you|please) (?:please |just )*(\w+) ([^,]+?)(?:,? and (?:i|we)\b.*)?$/i;

/** "Could you take me off the list?" ... "That's done for you." */
function requested(statements: readonly CallStatement[], place: number): DoneItem | undefined {
  const last = statements.slice(0, place).findLastIndex(({ role }) => role === 'customer');
  if (place - last > 2) return undefined;
  const at = statements.findLastIndex((one, index) => index <= last && one.turn === statements[last]?.turn && ordered.test(withoutEnd(plainOf(one.text)))); // prettier-ignore
  const before = statements[at];
  if (before === undefined) return undefined;
  const order = ordered.exec(withoutEnd(plainOf(before.text)));
  const verb = order?.[1]?.toLowerCase();
  if (order === null || verb === undefined || !isAction(verb)) return undefined;
  const told = retold(`I want you to ${verb} ${order[2] ?? ''}.`, 'customer', 'Customer');
  const what = told?.replace(/^Customer wants the company to \w+/, '').replace(/\bthem\b/, 'the customer').replace(/\btheir\b/g, "the customer's"); // prettier-ignore
  const turn = statements[place]?.turn ?? before.turn;
  return what === undefined
    ? undefined
    : { text: tidied(`Agent ${pastOfBase(verb)}${what}`), verb, place, turns: [before.turn, turn] };
}

/** The thing that somebody named with this verb: "cancel my cleaning on Tuesday". */
export function objectAsked(
  statements: readonly CallStatement[],
  place: number,
  verb: string,
  { reach: back, words }: { reach: number; words: number } = { reach: place, words: 9 },
): { text: string; turn: number } | undefined {
  const pattern = new RegExp(`\\b${verb} (?:just )?(?:(?:us|me|you|him|her|them) )?((?:my|our|your|the|a|an|this|that) [^,.;?!]+)`, 'i'); // prettier-ignore
  for (let at = place - 1; at >= Math.max(0, place - back); at--) {
    const before = statements[at];
    if (before === undefined) continue;
    const said = pattern.exec(plainOf(before.text))?.[1];
    if (said === undefined || said.split(' ').length > words) continue;
    const told = retold(`I want ${said}.`, before.role, 'Customer');
    const thing = told?.replace(/^Customer wants /, '').replace(/^their /, "the customer's ");
    const text = thing === undefined ? '' : withoutEnd(thing.replace(words < 9 ? / (?:because|as|since|by|on|with|if|when|before|within|tomorrow|today|in) .*$/ : / (?:because|as|since) .*$/, '')); // prettier-ignore
    if (text !== '') return { text, turn: before.turn };
  }
  return undefined;
}
