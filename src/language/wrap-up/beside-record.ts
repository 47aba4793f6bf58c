import { contentWords } from '../text/content.ts';
import { looksLikeQuestion, wordsIn } from '../summary/clauses.ts';
import { terse } from '../summary/terse.ts';
import type { SpokenTurn } from '../types.ts';
import { withValues } from '../values/with-values.ts';
import { hasFailed, stemsOf } from './done.ts';
import { endingOf } from './endings.ts';
import type { CallRecordDraft } from './record-draft.ts';
import { statementsOf, type CallStatement } from './statements.ts';
import { plainOf, retold, withoutEnd } from './told.ts';
import type { ToldLine } from './told-line.ts';

/*
 * Sentences that a reader of a short call wants beside its record: the rest of the customer's story, what the agent found, prices
 * that were agreed on, what the customer was asked to do, and how the call ended where nothing was done.
 */

type PlacedNote = ToldLine & { place: number; rank: number };
type RecordedCall = { turns: readonly SpokenTurn[]; statements: readonly CallStatement[]; record: CallRecordDraft; main: readonly ToldLine[] }; // prettier-ignore

/** A call with few turns may have endless ones. */
const mostStatements = 200;

/** The sentences that fit in so many words, those first that tell how the call ended. */
export function besideRecord(
  turns: readonly SpokenTurn[],
  record: CallRecordDraft,
  main: readonly ToldLine[],
  limit: number,
): ToldLine[] {
  const call = { turns, statements: statementsOf(turns).slice(0, mostStatements), record, main };
  const found: PlacedNote[] = [];
  for (const [place, statement] of call.statements.entries()) {
    const said = withoutEnd(statement.text).toLowerCase();
    if (found.some(({ turn, text }) => turn === statement.turn && text.toLowerCase().includes(said))) continue; // prettier-ignore
    const line = lineOf(call, place, statement);
    if (line !== undefined && !isTorn.test(line.text) && !isSpoken.test(line.text) && (line.rank === 1 || !isKnown(line, [...main, ...found])) && !isThere(line, [...main, ...found])) found.push({ ...line, place }); // prettier-ignore
  }
  const kept: PlacedNote[] = [];
  let left = limit;
  for (const line of found.toSorted((a, b) => a.rank - b.rank || a.place - b.place)) {
    if (wordsIn(line.text) > left) continue;
    left -= wordsIn(line.text);
    kept.push(line);
  }
  // "It's at the top right" is nothing without what was said just before it.
  const isWhole = ({ text, turn, place }: PlacedNote): boolean => {
    const before = call.statements[place - 1];
    if (!pointsBack.test(text) || isWhen.test(text)) return true;
    if (before?.turn !== turn) return [...main, ...kept].some((line) => (line.turns ?? [line.turn]).some((at) => at === turn - 1 || at === turn - 2)); // prettier-ignore
    return (
      kept.some((one) => one.place === place - 1) ||
      main.some((line) => shareTold(before.text, line.text) >= 0.4)
    );
  };
  const whole = kept.filter(isWhole).toSorted((a, b) => a.place - b.place);
  return whole.filter((line, at) => stands(line, [...main, ...whole.slice(0, at)]));
}

/** Half of a sentence: "It went up because.", "To hear that is everybody okay." */
const isTorn = /\b(?:because|and|but|the|an?|to|of|with|says|shows)[.]$|^(?:to|for|or|than)\b|\bAgent asked the customer .*\b(?:the agent (?:has|will)|i've|i'll)\b/i; // prettier-ignore

/** Half a sentence of somebody who thinks aloud, or words to the other: "In a one bedroom apartment", "Tell him that". */
const isSpoken = /^(?:because|in|of|at|with|like|not|no|so|or|and|but|about|tell|come|make|bring|give|take|put|let|wait|sorry|oh|well|dear)\b|\b(?:let (?:me|the (?:customer|agent))|hold on|hang on|one moment|is that|(?:but|and|so|just|please) (?:bring|send|call|ring|tell|come|keep|make sure))\b/i; // prettier-ignore

type RankedNote = Pick<PlacedNote, 'text' | 'turn' | 'turns' | 'rank'>;

function lineOf(
  call: RecordedCall,
  place: number,
  statement: CallStatement,
): RankedNote | undefined {
  const { role, turn } = statement;
  // The greeting comes before it.
  if (turn < (call.record.reason?.turns[0] ?? (role === 'agent' ? 2 : 0))) return undefined;
  const found =
    role === 'agent'
      ? (ending(call, statement) ?? failure(call, place, statement) ?? agreedPrice(call, place, statement) ?? quotedPrice(call, place, statement) ?? answer(call, place, statement) ?? request(call, place, statement) ?? condition(call, place, statement) ?? finding(call, place, statement)) // prettier-ignore
      : role === 'customer'
        ? (ending(call, statement) ?? when(call, place, statement) ?? story(call, place, statement))
        : undefined;
  return found === undefined ? undefined : { turn, ...found };
}

type NoteText = { text: string; rank: number; turns?: number[] };

const team = /\b(?:the|our) ((?:[\w&'-]+ ){0,3}(?:team|department|desk|line|office|branch|specialists?|section|unit))\b/i; // prettier-ignore

/** "I will transfer you now", "I can't refund them", "I need to think about it", where nothing else ended the call. */
function ending(
  { statements, record }: RecordedCall,
  { text, turn, role }: CallStatement,
): NoteText | undefined {
  const kind = endingOf(text, role);
  if (kind === undefined || record.outcome.value !== 'open') return undefined;
  if (kind === 'transfer') {
    const reply = statements.find((one) => one.role === 'customer' && one.turn > turn);
    if (/\b(?:can|could|would|if you|shall|want me)\b/i.test(text) || /^(?:no|don't|i'd rather)\b/i.test(reply?.text ?? '')) return undefined; // prettier-ignore
    const near = statements.findLast((one) => one.role === 'agent' && one.turn <= turn && one.turn >= turn - 2 && team.test(one.text)); // prettier-ignore
    const name = team.exec(near?.text ?? '')?.[1];
    const to = name === undefined ? '' : ` to the ${name}`;
    return { text: `Agent will transfer the customer${to} now.`, rank: 1, turns: [...new Set([near?.turn ?? turn, turn])] }; // prettier-ignore
  }
  if (kind === 'works' || (kind === 'refusal' && record.done.length > 0)) return undefined;
  if (record.promises.some(({ turns }) => turns.includes(turn))) return undefined;
  const told = role === 'agent' ? plainTold(clean(text)) : retold(clean(text), role, 'Customer');
  return told === undefined ? undefined : { text: told, rank: kind === 'refusal' ? 0 : 1 };
}

/** "I've entered the code. It has expired." */
function failure(
  { statements }: RecordedCall,
  place: number,
  statement: CallStatement,
): NoteText | undefined {
  const next = statements[place + 1];
  if (next === undefined || !hasFailed(statement, next) || !/^(?:i|we)(?:'ve| have| tried)\b/i.test(statement.text)) return undefined; // prettier-ignore
  const told = retold(statement.text, 'agent', 'Agent');
  const why = next.text.replace(/^(?:and|but|only|however) /i, '');
  return told === undefined || ofOneself.test(why) ? undefined : { text: `${withoutEnd(told)}, but ${why.slice(0, 1).toLowerCase()}${why.slice(1)}`, rank: 1 }; // prettier-ignore
}

const amount = /[$£€]\d|\b(?:a|per|each) (?:night|day|week|month|year)\b/;
/** A plain yes agrees to what was asked; these words agree to a price that was only named. */
const agrees =
  /^(?:(?:oh|well|right|um|er|mm)[, ]+)*(?:yes|yeah|yep|aye|okay|ok|sure|alright|all right|fine|perfect|great|lovely|go (?:ahead|on)|please do|do it|let's (?:do|take|go)|that(?:'s| is|'ll be) (?:fine|okay|ok|good|great|perfect|all right|alright|brilliant)|that(?: works|'d work|'ll do| sounds)|sounds (?:good|fine)|(?:i'll|we'll) (?:take|have))\b(?!.*\b(?:but|instead|too (?:much|dear|expensive)|think about|rather|not|that's (?:all|everything|it))\b)/i;
const takes = /\b(?:(?:take|do|have|add|book) (?:that|this|it|one)|go (?:ahead|on)|please|stick me|put me|that(?:'s| is) fine|that(?: works|'d work|'ll do))\b/i; // prettier-ignore
const asksForYes = /^(?:is that|shall|should|would you|do you want|want me|will that|does that|okay|all right)\b.*\?$/i; // prettier-ignore

/** "One more night would be $140." "Yes, that's fine." */
function agreedPrice(
  { statements }: RecordedCall,
  place: number,
  { text, turn, isConditional }: CallStatement,
): NoteText | undefined {
  const said = withValues(text);
  if (isConditional || !amount.test(said) || !/\b(?:is|are|be|costs?|'s)\b/.test(said) || /\bor\b|\?$/i.test(said)) return undefined; // prettier-ignore
  if (/^(?:you|i|we)\b/i.test(said)) return undefined;
  const between = statements.slice(place + 1).filter((one) => one.turn === turn);
  if (between.some((one) => /\b(?:or|can|could|will)\b|'ll\b/i.test(one.text))) return undefined;
  const next = statements.find((one) => one.turn > turn);
  if (next?.role !== 'customer' || next.isQuestion || !agrees.test(next.text)) return undefined;
  const isOffered = /\b(?:would|will|'ll|'d) be\b/i.test(text) || between.some((one) => asksForYes.test(one.text)); // prettier-ignore
  const isTaken = statements.some((one) => one.turn === next.turn && takes.test(one.text));
  if (!isOffered && !isTaken) return undefined;
  const told = plainTold(said.replace(/^that(?:'ll| will|'d| would) be/i, 'It is'));
  return told === undefined ? undefined : { text: `${withoutEnd(told)}; the customer agreed.`, rank: 1, turns: [turn, next.turn] }; // prettier-ignore
}

const money = /[$£€]\d|\b(?:dollars?|pounds?|euros?|grand|quid|bucks)\b/i;
const asksPrice = /\b(?:cost|price|prices|how much|quote|estimate|expensive|charge for)\b/i;

/** "What do they cost?" "Between nine and twelve thousand dollars": nobody agreed on it. */
function quotedPrice(
  { statements }: RecordedCall,
  place: number,
  { text, turn }: CallStatement,
): NoteText | undefined {
  if (!money.test(text) || text.endsWith('?') || /^(?:i|we)(?:'ve| have)\b/i.test(text)) return undefined; // prettier-ignore
  const questions = statements.filter((one) => one.turn === turn - 1 && one.role === 'customer');
  if (!questions.some((one) => asksPrice.test(one.text))) return undefined;
  if (statements.slice(0, place).some((one) => one.turn === turn && money.test(one.text))) return undefined; // prettier-ignore
  return {
    text: `Agent named the price: "${withoutEnd(text)}".`,
    rank: 1,
    turns: [turn - 1, turn],
  };
}

const asksMeasure = /^(?:and |so |but )*(?:how (?:long|much|many|soon)|when|what time)\b/i;

/** "Do I still have to pay for December?" "Yes, thirty five dollars." */
function answer(
  { turns, statements, main, record }: RecordedCall,
  place: number,
  { turn, isConditional }: CallStatement,
): NoteText | undefined {
  const question = statements[place - 1];
  if (isConditional || question?.turn !== turn - 1 || question.role !== 'customer' || !question.text.endsWith('?')) return undefined; // prettier-ignore
  // Statements have lost the "no" with which an answer begins.
  const said = /^[^.?!]+(?:[.!]|$)/.exec(turns[turn]?.text ?? '')?.[0].trim() ?? '';
  const isAnswer = /^(?:yes|no|not|yeah|nope|aye|yep)\b/i.test(said) || money.test(said) || asksMeasure.test(question.text) || pointsBack.test(said); // prettier-ignore
  if (record.promises.some((promise) => promise.turns.includes(turn)) && !money.test(said)) return undefined; // prettier-ignore
  if (!isAnswer || main.some((line) => (line.turns ?? [line.turn]).includes(turn) && shareTold(said, line.text) >= 0.5)) return undefined; // prettier-ignore
  if (contentWords(question.text).length < 1 || wordsIn(question.text) < 3 || (contentWords(said).length < 1 && !/\d/.test(said)) || wordsIn(said) < 2 || wordsIn(said) > 16) return undefined; // prettier-ignore
  // The reason of a call may be a question.
  const asked = main.some((line) => line.text.includes(withoutEnd(question.text))) ? '' : `Customer asked: "${question.text}" `; // prettier-ignore
  return { text: `${asked}Agent answered: "${said}"`, rank: asked === '' ? 1 : 4, turns: [question.turn, turn] }; // prettier-ignore
}

const ifThen = /^(?:if|once|when|unless|as soon as)\b.+?(?:,| )(?:i|we|you|they|he|she|it|somebody|someone)(?:'ll| will)\b|\b(?:i|we|they)(?:'ll| will)\b.+\b(?:if|once|when|as soon as)\b/i; // prettier-ignore
const askedBack = /\b(?:could|would|might|if you (?:want|like|prefer|wish|need)|if that's)\b/i;

/** "Once it's here we'll give you your postage back": told whole, with what it depends on. */
function condition(
  { statements }: RecordedCall,
  place: number,
  { text: said, turn, isConditional, isQuestion }: CallStatement,
): NoteText | undefined {
  if (!isConditional || isQuestion) return undefined;
  const next = statements[place + 1];
  // The comma behind the condition began a new statement.
  const isCut = /^(?:if|once|when|unless|as soon as)\b[^,]*$/i.test(said) && !ifThen.test(said) && next?.turn === turn; // prettier-ignore
  const text = isCut ? `${withoutEnd(said)}, ${next.text.replace(/^(?=They|We|You|He|She|It)./, (letter) => letter.toLowerCase())}` : said; // prettier-ignore
  if (!ifThen.test(text) || askedBack.test(text)) return undefined;
  if (wordsIn(text) > 20 || chatter.test(text)) return undefined;
  const told = /^(?:if|when|unless) you\b/i.test(text) ? undefined : plainTold(withValues(text));
  return { text: told?.replace(/\bthe customer the customer's\b/, 'the customer their') ?? `Agent said: "${text}"`, rank: 3 }; // prettier-ignore
}

/** Verbs of requests for the call itself, and of words that ask for nothing. */
const inCall = 'hold(?! (?:down|the (?!line)))|bear|wait|be able|try|take care|mind|have an?|let|go ahead|go on|tell|give (?:me|us|it)|say|see|look|listen|confirm|repeat|spell|read|explain|describe|check|remember|hear|stay|hang|excuse|pardon|enjoy|welcome|thank|worry|be (?:aware|careful|patient|safe)|do (?:it|that)|talk|speak|ask|help|find|type|accept|forgive|correct|rest assured|drive|rate|don\'t (?:worry|panic|hang|mention)|want|need|like|think|know'; // prettier-ignore
const asked = new RegExp(`^(?:(?:and|then|so|also|but) )?(?:please (?:just )?|(?:can|could|would|will) you (?:please |just )*)(?!(?:${inCall})\\b)([a-z]+ .+)$`, 'i'); // prettier-ignore
/** Verbs that begin an order without "please". */
const order = new RegExp(`^(?:(?:and|then|so|also) )?((?:send|bring|keep|get|email|e-mail|text|post|mail|call|ring|swap|leave|fill|sign|return|drop|have it|don't|do not|pull|press|push|plug|unplug|restart|turn|switch|charge|hold (?:the|down)|make sure|collect|cancel|show|visit|come (?:to|in|by)|go to|register|apply|log (?:in|on|out)|write|upload|download|avoid|bin|put|pay) (?!me\\b.*\\?)(?!(?:worry|panic|hang|mention)\\b).+)$`, 'i'); // prettier-ignore

const polite =
  /,? if (?:you (?:would|could|like|can|don't mind)|that's (?:okay|all right))(?=[.!?]*$)/i;

/** "Please send us photos of the damage": the customer's next step, or the advice that helped. */
function request(
  { statements, record }: RecordedCall,
  place: number,
  { text, isConditional }: CallStatement,
): NoteText | undefined {
  if (isConditional && !polite.test(text)) return undefined;
  const said = withoutEnd(clean(text)).replace(polite, '').replace(/,? (?:if you (?:would|could|like|can)|for (?:me|us)|would you|then)$/i, ''); // prettier-ignore
  const what = asked.exec(said)?.[1] ?? (text.endsWith('?') ? undefined : order.exec(said)?.[1]);
  if (what === undefined || /\b(?:your (?:\w+ )?(?:name|number|address|postcode|email|code|date of birth)|that again|or)\b/i.test(what)) return undefined; // prettier-ignore
  // "Try it again" is advice for the call itself. It counts where the customer says that it helped.
  const isAdvice = /^(?:pull|press|push|plug|unplug|restart|turn|switch|hold)\b/i.test(what);
  const helped = statements.slice(place + 1).some(({ role, text: later }) => role === 'customer' && endingOf(later, role) === 'works'); // prettier-ignore
  if (isAdvice && !(helped && record.done.length === 0)) return undefined;
  const negative = /^(?:don't|do not) (.+)$/i.exec(what)?.[1];
  const named = negative === undefined ? withObject(what, statements.slice(0, place)) : what;
  const told = retold(`I want you ${negative === undefined ? `to ${named.slice(0, 1).toLowerCase()}${named.slice(1)}` : `not to ${negative}`}.`, 'agent', 'Agent'); // prettier-ignore
  const line = told?.replace(/^Agent wants the customer /, 'Agent asked the customer ').replace(/\bthe customer's\b/g, 'their'); // prettier-ignore
  return line?.startsWith('Agent asked ') === true ? { text: line, rank: isAdvice ? 1 : 2 } : undefined; // prettier-ignore
}

const asksFor = /\b(?:see|got|have|find|need) ((?:an?|the|your) (?:(?:old|new|other|spare|black|white|red|blue|green) )?[a-z]+)\b[^?]*\?$/i; // prettier-ignore

/** "Can you see a lead at the back? Pull it out": what the question named. */
function withObject(what: string, before: readonly CallStatement[]): string {
  const question = before.slice(-2).findLast(({ isQuestion }) => isQuestion);
  const noun = asksFor.exec(question?.text ?? '')?.[1]?.replace(/^(?:an?|your) /i, 'the ');
  return noun === undefined ? what : what.replace(/^(\w+) it\b/i, `$1 ${noun}`);
}

/** Words of things that may come, depend on something or were only offered. */
const isOpen = /\b(?:if|unless|or|would|should|may|might|will|\w+'(?:ll|d)|gonna|going to|please|let's|don't|want|maybe|probably|usually)\b|\b(?:i|we|you|they|somebody|someone) (?:can|could)\b(?!'t)|\bcould be\b/i; // prettier-ignore
/** Deeds of the agent are in the record: "I've put that on", "that's all done for you". */
const ofDeed =
  /^(?:(?:right|so|okay|and|yes|yeah|lovely),? )*(?:(?:i|we)\b|i'|we'|that's (?:done|all|it|you|that|been|sorted|gone|no|not|fine|okay|good|right|correct|great|lovely|a |the one\b|very|so )|that (?:suits?|works?|helps?)\b)|, (?:that one|it (?:is|was))\b/i;
const chatter =
  /\b(?:nuisance|poor things?|shame|pity|understandable|frustrating|acceptable|ridiculous|terrible|awful|apologi[sz]e|apologies|nice|luck|pleasure|welcome|worry|worries|trouble|rest of your|good (?:day|evening|morning)|on the line|(?:one|a|this) moment|patience|take care|you(?:'re| are) (?:right|welcome|through)|bothered|fuming|speaking|calling|this call|goodbye|bye|loss|see you|happy to|glad|course you)\b|^(?:same|all the best|easy|anything|thanks?|cheers|no problem)\b/i;
const finite = /\b(?:is|are|was|were|has|have|had|does|do|did|says?|said|means?|needs?|costs?|goes|went|takes|came|comes?|got|gets?|works|suits|starts|ends|shows|keeps|broke|fell|lost|missed|pays?|can't|couldn't|isn't|wasn't|won't|doesn't|didn't|hasn't|aren't|weren't|[a-z]+ed)\b|\w's\b|\w're\b|\w've\b/i; // prettier-ignore

/** "They cost $18" needs what stands before it in the same breath. Undefined where that cannot be told. */
function leadOf(
  before: CallStatement | undefined,
  turn: number,
  line: string,
  main: readonly ToldLine[],
): string | undefined {
  if (!pointsBack.test(line) || before?.turn !== turn || contentWords(before.text).length < 2) return ''; // prettier-ignore
  if (main.some((one) => shareTold(before.text, one.text) >= 0.5)) return '';
  const text = clean(before.text);
  // It stands by itself.
  if (!ofDeed.test(text) && !isOpen.test(text) && finite.test(text)) return '';
  const told = plainTold(terse(withValues(text)));
  const isPlain = told !== undefined && !before.isQuestion && !before.isConditional && !isOpen.test(text) && finite.test(text) && !/^(?:i|let)\b/i.test(text); // prettier-ignore
  return isPlain ? `${withoutEnd(told)}. ` : undefined;
}

/** A statement of the agent about the matter: why it happened, what it costs, how long it holds. */
function finding(
  { statements, main, record }: RecordedCall,
  place: number,
  { text, turn, isQuestion, isConditional }: CallStatement,
): NoteText | undefined {
  if (isQuestion || isConditional) return undefined;
  const said = clean(text);
  if (wordsIn(said) < 4 || looksLikeQuestion(said) || isOpen.test(said) || ofDeed.test(said) || chatter.test(said) || !finite.test(said)) return undefined; // prettier-ignore
  // The promise has its day already.
  if (/^(?:it|that|the \w+) takes\b/i.test(said) && record.promises.some(({ until, turns }) => until !== undefined && turns.includes(turn))) return undefined; // prettier-ignore
  if (/\bthat (?:day|one|time|date)\b/i.test(said)) return undefined;
  const figures = withValues(said);
  const sum = /[$£€]\d[\d,.]*\d|[$£€]\d/.exec(figures)?.[0];
  if (sum !== undefined && main.some((line) => line.text.includes(sum))) return undefined;
  const told = plainTold(terse(figures));
  if (told === undefined) return undefined;
  const lead = leadOf(statements[place - 1], turn, told, main);
  return lead === undefined ? undefined : { text: `${lead}${told}`, rank: 2 };
}

const asksWhen = /\bwhen (?:was|were|did|had)\b[^?.]*[?.]\s*$/i;
const time = /\b(?:(?:mon|tues|wednes|thurs|fri|satur|sun)day|yesterday|today|this (?:morning|afternoon|evening)|last (?:night|week|month)|ago|o'clock|[ap]\.?m\.?|past|(?:january|february|march|april|may|june|july|august|september|october|november|december))\b/i; // prettier-ignore

/** "When did it happen?" "This morning, ten past eight." */
function when(
  { turns, statements }: RecordedCall,
  place: number,
  { text, turn, isQuestion }: CallStatement,
): NoteText | undefined {
  if (isQuestion || statements[place - 1]?.turn === turn) return undefined;
  if (!asksWhen.test(turns[turn - 1]?.text ?? '') || !time.test(text)) return undefined;
  const said = withValues(text).replace(/,? (?:it (?:says|was|said)|i think)(?=[.!]?$)/i, '');
  if (wordsIn(said) > 10 || ofOneself.test(said) || finite.test(said)) return undefined;
  return { text: `That was ${/^(?:this|yesterday|today|last|about|around|on|in|at|early|late)\b/i.test(said) ? said.slice(0, 1).toLowerCase() : said.slice(0, 1)}${said.slice(1)}`, rank: 2, turns: [turn - 1, turn] }; // prettier-ignore
}

/** At most so many turns of the customer tell what the call is about. */
const storyTurns = 3;
const ofMatter =
  /[$£€]\d|\b(?:because|since|says?|shows?|showing|keeps?|telling|asked|wanted|ordered|paid|cost|nobody|never|still|only|not|can't|couldn't|\w+n't|expired|broken?|wrong|late|error|guests?|need|need(?:ed|s)?|\w+ed)\b/i;

/** The rest of what the customer said of the matter: "It says my password has expired." */
function story(
  { statements, record }: RecordedCall,
  place: number,
  { text, turn, isQuestion, isConditional }: CallStatement,
): NoteText | undefined {
  // Words without trouble or wish are no reason, and yet all that was said: "Ruby has a temperature".
  const from = record.reason?.turns[0] ?? statements.find((one) => one.role === 'customer')?.turn;
  if (from === undefined || isQuestion || isConditional) return undefined;
  const turns = [...new Set(statements.filter((one) => one.role === 'customer' && one.turn >= from).map((one) => one.turn))]; // prettier-ignore
  const order = turns.indexOf(turn);
  if (order < 0 || order >= storyTurns) return undefined;
  const said = withValues(plainOf(clean(text)));
  if (wordsIn(said) < 3 || contentWords(said).length < (order === 0 || money.test(said) ? 1 : 2))
    return undefined;
  if (
    /^it's \p{Lu}|\blet you know\b|^(?:i|we)(?:'ve| have)? (?:looked|checked|have a question)\b/iu.test(
      said,
    )
  )
    return undefined;
  if (/^(?:\S+ ){0,3}(?:here|speaking)[.,]?|\b(?:my name|this is|please|thank|thanks|sorry|hello|hi|all (?:sick|of us)|i'll|we'll|i will|could do|would|i'd|that's (?:all|it|fine|great|good|very|a)|promise|i (?:guess|hope|understand|appreciate|know|see)|number|reference|email|address)\b/i.test(said)) return undefined; // prettier-ignore
  if (order > 0 && !ofMatter.test(said)) return undefined;
  // An answer of a few words stands only beside its question.
  if (order > 0 && !finite.test(said)) return undefined;
  const before = statements[place - 1];
  const short = finite.test(terse(said)) ? terse(said) : said;
  const told = retold(short, 'customer', 'Customer') ?? (ofOneself.test(short) ? undefined : short);
  if (told === undefined || (before?.role === 'agent' && /^(?:yes|no)\b/i.test(said)))
    return undefined;
  return { text: told.replace(/\bthe customer's\b/g, told.startsWith('Customer') ? 'their' : "the customer's"), rank: order === 0 ? 2 : 3 }; // prettier-ignore
}

const ofOneself = /\b(?:i|i'm|i've|i'll|i'd|me|my|mine|we|we're|we've|we'll|us|our|you|you're|you've|your)\b/i; // prettier-ignore

/** A statement of the agent in the third person, or as it was said where it names neither party. */
function plainTold(text: string): string | undefined {
  const told = retold(text, 'agent', 'Agent');
  if (told !== undefined) return told;
  return ofOneself.test(text) || /["“”]/.test(text) ? undefined : text;
}

const regret = /^(?:(?:oh|and|but|yeah|yes|no|right|well|okay),? )*(?:(?:i'm|i am|we're) (?:so |very |really )?sorry(?: about (?:that|this|it))?(?:,| but)+ |i'm afraid,? (?=\w+ \w))|,? (?:(?:i'm |i am )?(?:so |very )?sorry(?: about (?:that|this|it))?|i(?:'m| am) afraid|i apologi[sz]e)(?=[.!]?$)/gi; // prettier-ignore
const vocative =
  /^(?:(?:[Mm]r|[Mm]rs|[Mm]s)\.? )?\p{Lu}\p{Ll}+, (?=(?:you|your|the|it|that|there)\b)/u;
const lookedUp =
  /^(?:i|we) (?:can )?see (?:here )?(?=(one|an?|no|some|two|three|four|five|several)\b)/i;

/** Without regrets, and with "I can see a fault" as "There is a fault". */
function clean(text: string): string {
  const said = text
    .replace(regret, '')
    .replace(/^(?:no|yes)[.,] (?=\w)/i, '')
    .replace(vocative, '')
    .replace(/^(?:i|we) can see (?:that one|that|it), (?=\w)/i, '');
  const count = lookedUp.exec(said)?.[1] ?? '';
  const seen = said.replace(lookedUp, /^(?:two|three|four|five|several|some)$/i.test(count) ? 'There are ' : 'There is '); // prettier-ignore
  return seen.slice(0, 1).toUpperCase() + seen.slice(1);
}

function isThere({ text }: RankedNote, before: readonly ToldLine[]): boolean {
  return before.some((line) => line.text === text);
}

const denies = /^(?:\S+ ){1,2}(?:no|not|never|nothing|nobody|none|cannot|\w+n't)\b/i;

function isKnown(line: RankedNote, before: readonly ToldLine[]): boolean {
  return before.some(({ text, turn, turns = [turn] }) => {
    // "There are no refills left" is no "wanted a refill".
    const isOfTurn = turns.includes(line.turn);
    const sum = /[$£€]\d[\d,.]*\d/.exec(line.text)?.[0];
    if (sum !== undefined && !text.includes(sum)) return false;
    if (!isOfTurn && denies.test(line.text) && !denies.test(text)) return false;
    return shareTold(line.text, text) >= (isOfTurn ? 0.5 : 0.7);
  });
}

/** The share of a line's content that another has. */
function shareTold(line: string, other: string): number {
  const own = [...stemsOf(line)];
  const told = stemsOf(other);
  return own.length === 0 ? 0 : own.filter((stem) => told.has(stem)).length / own.length;
}

const pointsBack = /^(?:it|it's|that|that's|this|they|they're|he|he's|she|she's|there's no|one|the (?:first|second|other) one)\b/i; // prettier-ignore

/** An answer to "When was that?" */
const isWhen =
  /^That was (?:on|in|at|yesterday|today|last|this|about|around|early|late|\d|\p{Lu}\p{Ll}+day)/u;

/** "It is at the depot" needs the sentence before it. */
function stands({ text, turn }: ToldLine, before: readonly ToldLine[]): boolean {
  if (!pointsBack.test(text) || isWhen.test(text)) return true;
  return before.some((line) => line.turn <= turn && Math.max(line.turn, ...(line.turns ?? [])) >= turn - 1); // prettier-ignore
}
