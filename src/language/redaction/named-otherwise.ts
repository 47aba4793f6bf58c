import { runAt } from '../entities/code-runs.ts';
import type { Doc } from '../entities/doc.ts';

/**
 * Things that may have a number which is no secret, in a question and beside a number: "which floor", "my flight is".
 * Words that a question for a card is misheard as are not among them: data, gate and rate for date, car for card, limit
 * for digit, exit for expiry.
 */
export const numberedThings = [
  // Money.
  'prices?|costs?|charges?|charged|fees?|bill(?:ed)?|rent|incomes?|salary|wages?|budget|discount|refund(?:ed)?|invoices?|balance|totals?|amounts?|sum|worth|(?<!verification )values?|comes? to|came to|dollars|deposit|premium|deductible|co-?pay|tax(?:es)?|penalty|loan|mortgage|debt|paid|pays?|owes?|owed|spent|spend',
  // Orders and cases.
  'orders?|ordered|p ?o number|case|policy|claim|booking|booked|reservation|confirmation|tracking|parcel|package|shipment|employee|job|staff|reference|tickets?|docket|receipt',
  // Places.
  'zip|post ?code|postal|rooms?|apartment|flat|suite|units?|floor|extension|house|street|avenue|address|building|seats?|platform|terminal|deck|bay|locker|department|aisle|shelf|cabin|pier|zone|ward|district|table|hall|level|branch|lot|gate number',
  // Ways and vehicles.
  'flight|train|bus|tram|taxi|cab|route|highway|truck|engine|miles?|mileage|kilomet\\w+|distance|speed',
  // Measures.
  'sizes?|shoe|temperature|heating|thermostat|degrees|pressure|meter|reading|weigh\\w*|weight|height|length|width|depth|volume|frequency|dos(?:e|age)|calories|pulse|percent(?:age)?|scores?|points|grade|quantity|count|square|age|aged|ages|voltage|capacity|scale|display|oven|fridge|freezer|boiler|thermo\\w+|humidity|maximum|minimum|average|difference|interest',
  // Parts of a whole, and things that are counted.
  'versions?|model|plan|offer|bid|ratio|agent|week|channel|station|pages?|chapter|step|option|error|item|people|guests|party|employees|son|daughter|child|mother|father|dad|mom|mum|husband|wife|brother|sister|aunt|uncle|cousin|nephew|niece|boss|neighbou?r|colleague|friend|baby|dog|cat|grand\\w+|nights|copies|items|pieces|boxes|stamps|minutes|hours|days|weeks|bedrooms|prescription|units',
  // Days.
  'birthday|born|appointment|anniversary|wedding|holiday|meeting|exam|concert|game|match|lesson|class|trip|vacation|surgery|check-?in|check-?out|pick-?up|delivery|departure|arrival|deadline',
].join('|');

const things = new RegExp(`^(?:${numberedThings})$`);
/** Words of a sentence about something else: "he turned twenty one", "it was about nine thirty". */
const tellings =
  /^(?:turned|turns|changed|switched|waited|waiting|departs?|departed|leaves|arrives?|arrived|happened|bought|moved|since|lives?|living|lived|about|around|nearly|almost|roughly|approximately|drove|earns?|earned|took|lasted|returned|received|sent|used|counted|measured|measures|stayed|starts?|started|opens?|opened|closes?|closed|lands?|landed|boards?|built)$/;
/** Directly before a number: "half past ten", "under twelve". */
const compared = /^(?:past|after|before|under|over|above|below|between|than|approximately|minus)$/;
/** Before "code": one of these has nothing to do with a card. */
const otherCode = /^(?:zip|post|postal|area|error|promo|discount|booking|order|country|dress|bar)$/;
/** A word behind it: "nine thirty when I called", "two hundred and fifty of them", "four twelve Oak Avenue". */
const namesBehind =
  /^(?:when|twice|altogether|avenue|street|road|lane|drive|boulevard|total|tonight|tomorrow|yesterday|screen|queue|last|next|ago|old|tall|long|wide|away|left)$/;
/** "The three twenty model" */
const kindsBehind = /^(?:model|plan|version|bus|train|tram|flight|route|highway|series)$/;
/** A plural is counted: "two hundred guests". */
const counted =
  /^(?!(?:yes|thanks|this|his|was|is|as|us|does|says|reads|plus|expires|runs|numbers|figures|digits|goes|ends|less|its|cards)$)[a-z]{3,}[^su\W]s$/;
/** Somebody else does something: "they owe me", "we were two hundred". */
const others = /^(?:he|she|they|we)(?:'(?:re|s|d|ve))?$/;
const reads =
  /^(?:have|has|had|got|gave|give|given|said|say|see|read|wrote|put|printed|need|want|asked|can|could|don't)$/;
/** A sentence with one of these words may speak of a card. */
const ofCard =
  /^(?:same|cards?|visa|mastercard|amex|code|cvv|cvc|csc|security|digits?|numbers|back|front|reverse|signature|valid|good|until|till|thru|through|expir\w*|exp|runs?|ends?|ending|rest|social|ssn|strip\w*|magnetic|plastic|side|bottom|top|printed|date|month|year)$/;

/** Words behind a number that tell nothing of it. */
const empty =
  /^(?:and|then|okay|ok|yes|yeah|sure|no|it's|its|it|is|that's|that|this|what|be|will|let|me|look|looks|like|says|say|said|reads|shows|here|there|i|i've|i'm|have|got|think|believe|guess|the|a|an|second|moment|sec|just|right|well|great|perfect|thanks|thank|you|correct|all|alright|please|slash|dash|my|in|on|at|of|or|if|so|am|are|was|were|do|did|don't|can|but|sorry|wait|again|repeat|off|down|up|see|know|sir|madam|ma'am|miss|hope|maybe|anyway|though|or|for|to|too|won|ate|oh|um|uh|er|mm|hm|one|[^\p{L}]+)$/u;
/** A sentence that goes on for this many words behind a number does not give the number as an answer. */
const leastBehind = 2;

/** A name stands at most this many tokens before its number. */
const reachBefore = 6;
const reachBehind = 3;

type NamedRun = { from: number; to: number; pieces?: readonly { chars: string }[] };

/** True if words beside a number say that it is something else than a secret: an amount, an order, a flight. */
export function isNamedOtherwise(doc: Doc, run: NamedRun): boolean {
  const { from, to } = run;
  const before = wordsFrom(doc, from - 1, -1, reachBefore);
  const behind = wordsFrom(doc, to, 1, reachBehind);
  const isOfCard = (word: string, at: number): boolean =>
    ofCard.test(word) && !(word === 'code' && otherCode.test(before[at + 1] ?? ''));
  if (before.some(isOfCard) || behind.some((word) => ofCard.test(word))) return false;
  if (before.some((word) => things.test(word))) return true;
  // "It starts with four one one one": only a thing that has such a number explains it.
  if (isReadOut(run)) return false;
  return (
    compared.test(before[0] ?? '') ||
    isTimeOrAge(run, before) ||
    kindsBehind.test(behind[0] ?? '') ||
    (behind[0] === 'out' && behind[1] === 'of') ||
    before.some((word) => tellings.test(word)) ||
    before.some((word, at) => others.test(word) && at > 0 && !reads.test(before[at - 1] ?? '')) ||
    counted.test(behind[0] ?? '') ||
    (behind[0] === 'of' && /^(?:them|these|those|us|you)$/.test(behind[1] ?? '')) ||
    behind.some((word) => namesBehind.test(word)) ||
    isAmidst(doc, run)
  );
}

/** "At ten forty", "I am thirty one" and "it was two thousand nineteen". */
function isTimeOrAge({ pieces = [] }: NamedRun, before: readonly string[]): boolean {
  const [first = '', second] = pieces.map(({ chars }) => Number(chars));
  const chars = pieces.map((piece) => piece.chars).join('');
  if (before[0] === 'at' && second !== undefined && pieces.length === 2)
    return Number(first) >= 1 && Number(first) <= 12 && second >= 10 && second <= 59;
  if (before[0] === "i'm" || (before[0] === 'am' && before[1] === 'i'))
    return pieces.length === 1 && /^[1-9]\d$/.test(chars);
  return before[0] === 'was' && /^(?:19[5-9]\d|20[01]\d)$/.test(chars) && pieces.length <= 2;
}

/** True for four digits or more that are said one by one: a part of a card, and no count, time or amount. */
export function isReadOut({ pieces = [] }: Pick<NamedRun, 'pieces'>): boolean {
  return pieces.length >= 4 && pieces.every(({ chars }) => chars.length === 1);
}

/** True for a number of a sentence that goes on. A secret is said digit by digit, and a new clause begins behind it. */
function isAmidst(doc: Doc, { from, to, pieces = [] }: NamedRun): boolean {
  const all = wordsFrom(doc, to, 1, reachAmidst);
  const comma = all.indexOf(',');
  const behind = comma < 0 ? all : all.slice(0, comma);
  const isMore = behind.some((word, at) => ofCard.test(word) || runAt(doc, to + at, false));
  const isListed = pieces.length > 2 && pieces.every(({ chars }) => chars.length === 1);
  if (isMore || isListed || from === 0) return false;
  return behind.filter((word) => !empty.test(word)).length >= leastBehind;
}

const reachAmidst = 8;

/** The words of the same sentence on one side of a number, the nearest first. */
function wordsFrom(doc: Doc, from: number, step: 1 | -1, most: number): string[] {
  const words: string[] = [];
  for (let at = from; words.length < most && at >= 0 && at < doc.tokens.length; at += step) {
    const word = doc.word(at);
    if (/^[.!?;]$/.test(word)) break;
    words.push(word);
  }
  return words;
}
