import { contentWords } from '../text/content.ts';
import type { CallStatement } from './statements.ts';
import { plainOf, retold, withoutEnd } from './told.ts';
import { actionGoingOn, actionOf, baseOf, isAction, isParticiple, pastOf } from './verbs.ts';

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
  /\b(?:yesterday|last (?:week|month|year|night|\w+day)|ago|earlier|previously|back in|on (?:mon|tues|wednes|thurs|fri|satur|sun)day)\b/i;
const negated = /^[^,]*\b(?:not|\w+n't|never|cannot|no (?:longer|more))\b/i;
const adverb = '(?:just|now|also|already|all|gone ahead and|been|fully|then|both) ';
const perfect = new RegExp(
  `^(?:\\w+, )?(?:and |so )?(?:i|we)(?:'ve| have) (?:${adverb})*(\\w+)\\b`,
  'i',
);
const goingOn = /^(?:i|we)(?:'m| am|'re| are) (?:just |now |also )*(\w+ing)\b/i;
const justPast = /^(?:i|we) (?:just|also|now) (\w+)\b/i;
const passive = new RegExp(
  `^(?:it|that|this|everything|(?:(?:your|the|that|this) (?:\\w+ ){0,4}?\\w+)|(?:that's you)|you)(?:'s|'re| is| are| has| have|) (?:${adverb})*((?:\\w+ed|gone|put|set|sent|done|taken|frozen|made|reset)\\b(?: (?:up|through|off|over|in|down)\\b)?)`,
  'i',
);
const finished =
  /^(?:(?:right|okay|ok|there|so)[,. ]+)*(?:done|all done|that's done|that's it done|there we go|there you go|all set|that's (?:all )?(?:gone|going) through|sorted|that's sorted|that's all sorted|that's been done|it's done)\b/i;
const meant =
  /^(?:let me|i'll|i will|we'll|i can|i'm going to) (?:just |now |quickly |go ahead and )*(\w+) (.+)$/i;
/** A call has at most this many actions in its record, but for the second half of a sentence. */
const maxActions = 40;
/** The words do not say what was done. */
const nothingNamed = /^Agent (?:did|sent|made|put) (?:it|that|this|them|so)$/;
/** "Done" may speak of what the agent set out to do at most this many statements before. */
const reach = 6;

/** The agent's actions in the call, by the agent's own words. Offers, questions and conditions are none. */
export function doneIn(statements: readonly CallStatement[]): DoneItem[] {
  const items: DoneItem[] = [];
  for (const [place, statement] of statements.entries()) {
    if (items.length >= maxActions) break;
    if (statement.role !== 'agent' || statement.isQuestion || statement.isConditional) continue;
    if (earlier.test(statement.text) || negated.test(statement.text)) continue;
    const own = ownActions(statement, place);
    const other = own.length > 0 ? undefined : (passiveAction(statements, place) ?? confirmed(statements, place)); // prettier-ignore
    for (const item of other === undefined ? own : [other])
      if (!nothingNamed.test(item.text) && !items.some((before) => isSame(before, item)))
        items.push(item);
  }
  return items;
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

function stemsOf(text: string): Set<string> {
  return new Set(
    contentWords(text)
      .map(({ stem }) => stem)
      .filter((stem) => !persons.test(stem)),
  );
}

/** "I've blocked the account and opened a dispute" are two. */
function ownActions(statement: CallStatement, place: number): DoneItem[] {
  const text = statement.text.replace(/^(?:no|yes|right|okay)[.,] /i, '');
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

/** "I've refunded it", "I'm cancelling that now", "I just sent you a link". */
function ownAction({ text, turn }: CallStatement, place: number): DoneItem | undefined {
  const plain = plainOf(text);
  const participle = perfect.exec(plain)?.[1];
  if (participle !== undefined) {
    if (noAction.has(participle.toLowerCase())) return undefined;
    const verb = actionOf(participle) ?? baseOf(participle) ?? (isParticiple(participle) ? participle.toLowerCase() : undefined); // prettier-ignore
    if (verb === undefined) return undefined;
    const told = retold(text.replace(/^\w+, (?=(?:i|we)\b)/i, ''), 'agent', 'Agent');
    const written = told?.replace(/^(?:Agent|The company) has (?:already |now |also |all |both )*(\w+)/, (_, word: string) => `Agent ${pastOf(word)}`); // prettier-ignore
    if (written === undefined || !written.startsWith('Agent ')) return undefined;
    return { text: withoutEnd(written), verb, place, turns: [turn] };
  }
  const doing = goingOn.exec(plain)?.[1];
  const base = doing === undefined ? undefined : actionGoingOn(doing);
  const past = justPast.exec(text)?.[1];
  const before = past === undefined ? undefined : actionOf(past);
  const verb = base ?? before;
  if (verb === undefined) return undefined;
  const told = retold(text, 'agent', 'Agent');
  return told === undefined ? undefined : { text: withoutEnd(told), verb, place, turns: [turn] };
}

/** "It is cancelled", "that's extended to Friday for you", "your card is now blocked". */
function passiveAction(statements: readonly CallStatement[], place: number): DoneItem | undefined {
  const statement = statements[place];
  if (statement === undefined) return undefined;
  const plain = plainOf(statement.text);
  const match = passive.exec(plain);
  const [participle = ''] = match?.[1]?.split(' ') ?? [];
  const verb = actionOf(participle);
  if (match === null || verb === undefined) return undefined;
  const thing = objectAsked(statements, place, verb);
  const subject = /^(?:it|that|this|everything)(?:'s| is| has)/i.test(plain) && !/^(?:that|this) \w+ (?:is|has)/i.test(plain); // prettier-ignore
  if (subject && thing !== undefined)
    return {
      text: `Agent ${pastOf(participle)} ${thing.text}`,
      verb,
      place,
      turns: [...new Set([thing.turn, statement.turn])],
    };
  const told = retold(statement.text, 'agent', 'Agent') ?? withoutEnd(statement.text);
  return { text: `Agent said: "${withoutEnd(told === statement.text ? told : statement.text)}"`, verb, place, turns: [statement.turn] }; // prettier-ignore
}

/** "Let me reset that for you." ... "Done." */
function confirmed(statements: readonly CallStatement[], place: number): DoneItem | undefined {
  const statement = statements[place];
  if (statement === undefined || !finished.test(statement.text)) return undefined;
  for (let at = place - 1; at >= Math.max(0, place - reach); at--) {
    const before = statements[at];
    if (before?.role !== 'agent' || before.isConditional) continue;
    const match = meant.exec(withoutEnd(plainOf(before.text)));
    const verb = match?.[1]?.toLowerCase();
    if (match === null || verb === undefined || !isAction(verb)) continue;
    const told = retold(`I will ${verb} ${match[2] ?? ''}.`, 'agent', 'Agent');
    const text = told?.replace(/^Agent will /, 'Agent agreed to ');
    if (text === undefined) continue;
    return { text: withoutEnd(text), verb, place, turns: [...new Set([before.turn, statement.turn])] }; // prettier-ignore
  }
  return undefined;
}

/** The thing that somebody named with this verb: "cancel my cleaning on Tuesday". */
function objectAsked(
  statements: readonly CallStatement[],
  place: number,
  verb: string,
): { text: string; turn: number } | undefined {
  const pattern = new RegExp(`\\b${verb} (?:just )?((?:my|our|the|a|an|this|that) [^,.;?!]+)`, 'i');
  for (let at = place - 1; at >= 0; at--) {
    const before = statements[at];
    if (before === undefined) continue;
    const said = pattern.exec(plainOf(before.text))?.[1];
    if (said === undefined || said.split(' ').length > 9) continue;
    const told = retold(`I want ${said}.`, before.role, 'Customer');
    const thing = told?.replace(/^Customer wants /, '').replace(/^their /, "the customer's ");
    if (thing !== undefined) return { text: withoutEnd(thing.replace(/ (?:because|as|since) .*$/, '')), turn: before.turn }; // prettier-ignore
  }
  return undefined;
}
