import { contentWords } from '../text/content.ts';
import { likeness } from './done.ts';
import type { CallStatement } from './statements.ts';
import { inMidSentence, plainOf, retold, withoutEnd } from './told.ts';

/** Why there was a call, as one sentence, with the turn that says so. */
type Reason = { text: string; turn: number; turns?: number[] };

const purpose =
  /^(?:i'm|i am|we're|we are|just|i was|it's) ?(?:calling|ringing|phoning|here)?(?: you)? ?(?:to|because|about|regarding|as|for)\b|\b(?:calling|ringing|phoning) (?:to|because|about|regarding|as|for)\b/i;
const wish =
  /\b(?:i|we)(?:'d|'re| would| just| really| also)* (?:looking (?:for|to)|after|hoping|like|want|wanted|need|needed|love|wish|prefer)\b|\b(?:i was hoping|i'm (?:looking|trying|after|hoping|interested)|i am (?:looking|trying|interested)|can i|could i|may i|can you|could you|i have a question|i've got a question|make a complaint|complain)\b/i;
const trouble =
  /\b(?:drop\w*|stop\w*|broke\w*|fault\w*|missing|wrong|never|didn't|doesn't|haven't|hasn't|isn't|aren't|wasn't|(?:did|does|has|have|is|are|was) not|can't|cannot|no longer|not work\w*|error|lost|stolen|pinched|nicked|late|damag\w*|fail\w*|problem|trouble|issue|mistake|leak\w*|flood\w*|too (?:high|much)|reject\w*|den(?:y|ied)|declined|refused|expire\w*|delay\w*|charged|twice|scratch\w*|crack\w*|snapped|slow|cut off|locked|cancel\w*|down|overdue|runs? out|waiting|still|no (?:internet|signal|heating|hot water|picture|sound|sign)|packed in|hit|nobody|owe|gone out|taken|bill|don't (?:know|recogni[sz]e)|wasn't me)\b/i;
const outbound =
  /\b(?:i'm|i am|we're|just) (?:calling|ringing|phoning) (?:to|about|because|regarding|from .* (?:to|about))\b/i;
const greeting = /\b(?:how are you|my name is|this is|date of birth)\b|\b(?:here|speaking)\.?$/i;
/** Turns in which a party tells why it calls. */
const openingTurns = 6;

export function reasonOf(statements: readonly CallStatement[]): Reason | undefined {
  const reason = matterOf(statements);
  if (reason === undefined) return undefined;
  const again = contactsOf(statements, reason.text);
  if (again === undefined) return reason;
  const text = `${withoutEnd(reason.text)}; ${again.text}.`;
  return { ...reason, text, turns: [...new Set([reason.turn, again.turn])] };
}

const times =
  /^(?:and |so |but )?(?:i've|i have|i|we've|we have|we) (?:now |already )?(called|rung|rang|phoned|emailed|e-mailed|written|complained)(?: (?:you|you guys|in|up|about (?:it|this|that)))* ((?:two|three|four|five|six|seven|eight|nine|ten|\d{1,2}) times|twice|several times|many times|again and again)\b/i;
const nth =
  /^(?:and |so |but )?(?:this|it)(?: is|'s) (?:now |already )?(?:the|my) (second|third|fourth|fifth|sixth|tenth) (?:time (?:i(?:'ve| have)? ?(?:called|call|rung|phoned|rang|am calling|'m calling)|we(?:'ve| have)? (?:called|rung))|call)\b/i;

/** The customer's own words about earlier contacts: a reader of the record wants to know. */
function contactsOf(
  statements: readonly CallStatement[],
  told: string,
): { text: string; turn: number } | undefined {
  for (const { role, text, turn } of statements) {
    if (role !== 'customer') continue;
    const plain = plainOf(text);
    const [, verb = '', count = ''] = times.exec(plain) ?? [];
    if (count !== '') {
      if (told.includes(count)) return undefined;
      const past = /^(?:rang|rung)$/i.test(verb) ? 'rung' : verb.toLowerCase();
      return { text: `they have ${past} ${count.toLowerCase()}`, turn };
    }
    const place = nth.exec(plain)?.[1];
    if (place !== undefined) return told.includes(place) ? undefined : { text: `it is their ${place.toLowerCase()} call`, turn }; // prettier-ignore
  }
  return undefined;
}

function matterOf(statements: readonly CallStatement[]): Reason | undefined {
  const byAgent = statements
    .filter(({ role, turn }) => role === 'agent' && turn < 4)
    .find(({ text }) => outbound.test(text));
  if (byAgent !== undefined) {
    const text = toldReason(byAgent, 'Agent');
    if (text !== undefined) return { text, turn: byAgent.turn };
  }
  const own = statements.filter(({ role }) => role === 'customer');
  const turns = [...new Set(own.map(({ turn }) => turn))].slice(0, openingTurns);
  let best: { statement: CallStatement; score: number } | undefined;
  for (const [order, statement] of own.entries()) {
    const place = turns.indexOf(statement.turn);
    if (place < 0) break;
    const first = own.findIndex(({ turn }) => turn === statement.turn);
    const isNews = /\blet you know(?: that)?\.$/i.test(own[order - 1]?.text ?? '');
    const score =
      scoreOf(statement.text) +
      (isNews ? 2 : 0) -
      place * 0.9 -
      (order - first) * 0.3 +
      (place === 0 ? 0.8 : 0);
    if (score > 1 && score > (best?.score ?? 0)) best = { statement, score };
  }
  if (best === undefined) return undefined;
  const chosen = explained(own, best.statement);
  const text = toldReason(chosen, 'Customer');
  if (text === undefined) return undefined;
  const isSaid = /^(?:and )?(?:i|we) (?:\w+ )*?(?:to )?(?:report|tell you about) (?:it|that|this)\.$/i.test(best.statement.text); // prettier-ignore
  const detail = chosen === best.statement ? detailOf(own, chosen, text) : isSaid ? undefined : best.statement; // prettier-ignore
  return { text: withDetail(text, chosen, detail), turn: chosen.turn };
}

/** "It's still pink" says nothing without the sentence before: "my printer prints everything in pink". */
function explained(own: readonly CallStatement[], statement: CallStatement): CallStatement {
  if (!leansBack.test(statement.text) && !isOfIt(statement.text)) return statement;
  const place = own.indexOf(statement);
  const before = own.slice(0, place).filter(({ turn }) => turn === statement.turn || turn === statement.turn - 2); // prettier-ignore
  const first = before.find(({ text }) => namesMatter.test(text) && !leansBack.test(text) && !(greeting.test(text) && contentWords(text).length <= 3) && contentWords(text).length >= (isOfIt(statement.text) ? 1 : 2)); // prettier-ignore
  return first ?? statement;
}

/** "I want to report it" names nothing. */
function isOfIt(text: string): boolean {
  return /\b(?:i|we)\b.* (?:it|that|this|them)\.$/i.test(text) && contentWords(text).length <= 2;
}

/** "I want to make a complaint" does not say about what: the next sentence does. */
function detailOf(
  own: readonly CallStatement[],
  chosen: CallStatement,
  text: string,
): CallStatement | undefined {
  const next = own[own.indexOf(chosen) + 1];
  if (next === undefined) return undefined;
  // A complaint about somebody is nothing without what they did.
  if (/\bcomplain/i.test(chosen.text) && next.turn === chosen.turn && /^(?:he|she|they|it|nobody|somebody|your)\b/i.test(next.text)) return next; // prettier-ignore
  const isBare = ![trouble, wish, purpose].some((pattern) => pattern.test(chosen.text));
  const request = own.slice(own.indexOf(chosen) + 1).find(({ turn, text: said }) => turn === chosen.turn && asksTo.test(said)); // prettier-ignore
  if (request !== undefined && !wish.test(chosen.text)) return request;
  if (isBare && /^(?:it's|it is|they're|they are|but)\b/i.test(next.text)) return next;
  const isOpen =
    /\b(?:complaint|complain|question|problem|issue|query)\.$|^Customer called about\b/.test(text);
  return isOpen && contentWords(next.text).length >= 3 ? next : undefined;
}

const asksTo =
  /^(?:and |so |but )?(?:can|could|may) (?:i|we) (?!ask\b|speak\b|talk\b|help\b)([^,?]{3,60})\?$/i;

function withDetail(text: string, chosen: CallStatement, detail?: CallStatement): string {
  const asked = asksTo.exec(plainOf(detail?.text ?? ''))?.[1];
  const wanted =
    asked === undefined ? undefined : retold(`I want to ${asked}.`, 'customer', 'They');
  if (wanted !== undefined) return `${withoutEnd(text)}; ${inMidSentence(withoutEnd(ofThem(wanted)).replace(/^They want to /, 'they asked to '))}.`; // prettier-ignore
  if (detail === undefined || detail.isQuestion || detail.turn !== chosen.turn) return text;
  const more = plainOf(detail.text.replace(/^(?:and|but|so) /i, ''));
  if (likeness(chosen.text, more) >= 0.5) return text;
  const told = retold(more, 'customer', 'They') ?? (ofOneself.test(more) ? undefined : more);
  if (told === undefined || told.split(' ').length > 20) return text;
  const mark = /\b(?:complaint|complain|question|problem|issue|query)\.$/.test(text) ? ':' : ';';
  return `${withoutEnd(text)}${mark} ${inMidSentence(withoutEnd(ofThem(told)))}.`;
}

const ofOneself = /\b(?:i|i'm|i've|i'll|i'd|me|my|we|we're|we've|our|us|you|your)\b/i;
const leansBack =
  /^(?:(?:and|but|so|also) )?(?:it|that|this|he|she|they|there's still|there is still|i'm still|i am still|we're still|i've never|i have never|i'll|i will|nobody|none|(?:i|we) (?:just )?(?:don't|do not) want|(?:i|we) just want)\b/i;
const namesMatter = /\b(?:my|our|your|the|a|an|some|any)\b/i;

const onlyNumber = /^(?:(?:zero|oh|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|\w+teen|twenty|thirty|forty|fifty|sixty|seventy|eighty|ninety|hundred|thousand|double|triple|dash|stroke|[a-z]|\d+)(?:[ ,.-]+|$))+$/i; // prettier-ignore

function lowerFirst(text: string): string {
  return text.slice(0, 1).toLowerCase() + text.slice(1);
}

function scoreOf(text: string): number {
  const words = contentWords(text).length;
  if (words === 0 || text.split(' ').length < 3) return 0;
  // A number that was asked for, and a name with who that is.
  if (onlyNumber.test(text) || /^(?:this is|my name(?:'s| is)) \p{Lu}/u.test(lowerFirst(text.replace(opening, '')))) return 0; // prettier-ignore
  return (
    (purpose.test(text) ? 2.5 : 0) +
    (wish.test(text) ? 2 : 0) +
    (trouble.test(text) ? 2.2 : 0) +
    Math.min(words, 6) * 0.25 -
    (greeting.test(text) && words <= 3 ? 2 : 0) -
    (/^(?:i'll|i will|we'll|we will)\b/i.test(text) ||
    (/\blet you know\b/i.test(text) && !news.test(text))
      ? 2
      : 0) -
    // The sentence does not say what it is about.
    (/^(?:it|that|this|he|she|they)(?:'s|'ll| is| was| has)?\b/i.test(text) ? 1 : 0)
  );
}

/** Wishes by their first words, and how a record tells them. */
const wishes: readonly (readonly [RegExp, string])[] = [
  [/^Customer (?:would like|wants?|wanted|would love|wishes|was hoping|is hoping|is looking|is trying) to /, 'Customer wanted to '],
  [/^Customer (?:would like|wants?|would love) /, 'Customer wanted '],
  [/^Customer needs? /, 'Customer needed '],
  [/^Customer is looking for /, 'Customer was looking for '],
  [/^Customer is interested in /, 'Customer was interested in '],
  [/^Customer has a question about /, 'Customer asked about '],
  [/^(Customer|Agent) is (?:calling|ringing|phoning) (?:from .{1,40}? )?to /, '$1 called to '],
  [/^(Customer|Agent) is (?:calling|ringing|phoning) (?:because|as) /, '$1 called because '],
  [/^(Customer|Agent) is (?:calling|ringing|phoning) (?:about|regarding) /, '$1 called about '],
]; // prettier-ignore

const news =
  /^(?:i|we)(?: just)? (?:wanted to|'d like to|want to) let you know (?:that (?=\w)|(?=(?:(?:my|our|the) (?:\w+ ){1,3}?|i|we|there|he|she|it)(?:is|was|will|has|have|needs?|won't|can't|isn't|am|are)\b))/i;
const introduction =
  /^(?:my name(?:'s| is)|this is|it's|i'm) (?:\p{Lu}[\p{L}'-]+ ?){1,3}(?:(?:from|with|at) [^,]{2,40})?(?:, | and )(?=(?:i|we|my|our)\b)/iu;
/** "Gareth, Joyce Whitlock here": whom the caller greets, and who calls. */
const greeted =
  /^(?:\p{Lu}\p{Ll}+, )?(?:\p{Lu}[\p{L}'-]+ ){1,3}(?:here|speaking|calling)(?: from [^,.]{2,40})?[,.] (?=\p{L})/u;
const opening =
  /^(?:(?:hello|hi|hey|hiya|yeah|yes|right|so|listen|well|good morning|morning|evening|oh|um|er|uh|okay|the thing is|basically|actually|it's just|only)[,. ]+)+/i;

function toldReason(statement: CallStatement, who: 'Customer' | 'Agent'): string | undefined {
  const role = who === 'Customer' ? 'customer' : 'agent';
  // A name that was misheard stands before the wish: "Faye turns, I need to shut off my internet".
  const wished = statement.text.replace(
    /^[^,.]{2,25}, (?=I (?:need|want|would like|have to|wanted)\b)/,
    '',
  );
  let said = plainOf(
    wished.replace(opening, '').replace(greeted, '').replace(introduction, '').replace(news, ''),
  ).replace(/^(?:just|only) (?=ringing|calling)/i, '');
  if (/^(?:ringing|calling|phoning)\b/i.test(said))
    said = `I'm ${said.slice(0, 1).toLowerCase()}${said.slice(1)}`;
  said = said.slice(0, 1).toUpperCase() + said.slice(1);
  const request = /^(?:can|could|may) (?:i|we) (.+)$/i.exec(withoutEnd(said))?.[1];
  if (request !== undefined) {
    const told = retold(`I want to ${request.replace(/^have\b/, 'have')}.`, role, who);
    if (told !== undefined) return told.replace(/^Customer wants to /, 'Customer asked to ');
  }
  const about = /^(?:it's|it is|this is) (?:all )?(?:about|regarding) (.+)$/i.exec(
    withoutEnd(said),
  )?.[1];
  if (about !== undefined) said = `I'm calling about ${about}.`;
  const polite = /^please (?:just )?(.+)$/i.exec(withoutEnd(wished.replace(opening, '').replace(greeted, '')))?.[1]; // prettier-ignore
  const order = /^(?:can|could|would|will) you (.+)$/i.exec(withoutEnd(said))?.[1] ?? polite;
  if (order !== undefined) {
    const told = retold(`I want you to ${order}.`, role, who);
    if (told !== undefined) return ofThem(told.replace(/^Customer wants the company to /, 'Customer asked the company to ')); // prettier-ignore
  }
  const both = askedBehind(said, statement, who);
  if (both !== undefined) return both;
  if (said.endsWith('?') || statement.isQuestion) return `${who} asked: "${withoutEnd(said)}?"`;
  const told = retold(said, role, who);
  if (told === undefined) {
    const isOwn = ofOneself.test(said);
    return isOwn
      ? `${who} said: "${withoutEnd(said)}."`
      : `${who} reported that ${inMidSentence(withoutEnd(said))}.`;
  }
  for (const [pattern, written] of wishes)
    if (pattern.test(told)) return `${withoutEnd(told.replace(pattern, written))}.`;
  const clause = retold(said, role, 'They');
  if (clause === undefined) return `${withoutEnd(told)}.`;
  return `${who} reported that ${inMidSentence(withoutEnd(ofThem(clause)))}.`;
}

const behind = /^([^?]{10,}), (?:(?:so|and|but) )?(?:can|could|may) (?:i|we) ([^,?]{3,60})\?$/i;

/** "I've a room with you, only we'll be three, could we have the family room?" */
function askedBehind(
  said: string,
  statement: CallStatement,
  who: 'Customer' | 'Agent',
): string | undefined {
  const [, matter = '', asked = ''] = behind.exec(said) ?? [];
  if (matter === '' || who !== 'Customer') return undefined;
  const first = toldReason({ ...statement, text: `${matter}.`, isQuestion: false }, who);
  const wanted = retold(`I want to ${asked}.`, 'customer', 'They');
  if (first === undefined || wanted === undefined || first.includes('"')) return undefined;
  return `${withoutEnd(first)}; ${inMidSentence(withoutEnd(ofThem(wanted)).replace(/^They want to /, 'they asked to '))}.`;
}

const plural: Readonly<Record<string, string>> = { "doesn't": "don't", "hasn't": "haven't", "isn't": "aren't", "wasn't": "weren't" }; // prettier-ignore

/** The record has named the customer just before: "reported that their statement is wrong". */
function ofThem(clause: string): string {
  return clause
    .replace(/\bthe customer's\b/g, 'their')
    .replace(/\bthe customer has\b/g, 'they have')
    .replace(/\bthe customer is\b/g, 'they are')
    .replace(/\bthe customer was\b/g, 'they were')
    .replace(
      /\bthe customer (doesn't|hasn't|isn't|wasn't|needs|wants|thinks|knows|gets|works|lives|pays)\b/g,
      (_, verb: string) => `they ${plural[verb] ?? verb.slice(0, -1)}`,
    ) // prettier-ignore
    .replace(
      /\bthe customer(?= (?:[a-z]+ed|bought|had|got|paid|sent|told|made|will|would|can|could|did|can't|didn't|couldn't)\b)/g,
      'they',
    )
    .replace(/\bthe customer\b/g, 'them');
}
