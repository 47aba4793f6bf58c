import { findEntities } from '../entities/find-entities.ts';
import { wordsIn } from '../summary/clauses.ts';
import { plainWord } from '../text/doubt.ts';
import { deadlineOf } from './deadline.ts';
import { heardNumber } from './heard-numbers.ts';
import { labelOf } from './number-label.ts';
import type { CallInsight, SpokenTurn } from '../types.ts';

type ValuedEntity = CallInsight['entities'][number];

type FactKind = 'name' | 'number' | 'amount' | 'date' | 'time' | 'phone' | 'email' | 'address'; // prettier-ignore
export type CallFact = { kind: FactKind; text: string; value: string; currency?: string; turns: number[]; isCustomers: boolean; isOfCase?: boolean }; // prettier-ignore

const kinds: Readonly<Record<string, FactKind>> = {
  MONEY: 'amount',
  DATE: 'date',
  TIME: 'time',
  PHONE_NUMBER: 'phone',
  EMAIL_ADDRESS: 'email',
  NUMERICAL_PII: 'number',
  ACCOUNT_NUMBER: 'number',
  VEHICLE_ID: 'number',
  LOCATION_ADDRESS: 'address',
  LOCATION_ADDRESS_STREET: 'address',
};
const maxFacts = 60;
/** Answers are looked at in so many first turns. */
const mostTurnsAsked = 200;
/** A value that is named again and again is proven by its first places. */
const maxProofs = 20;
const maxCharacters = 300;
const figure = /\d/;

/** Entities with a value, each value once, with the turns that named it. Names are not taken from here. */
export function factsOf(
  entities: readonly ValuedEntity[],
  turns: readonly SpokenTurn[],
  day?: string,
): CallFact[] {
  const facts: CallFact[] = [];
  for (const { entity_type, text, value, currency, role, start } of entities) {
    // A weekday is nobody's birthday, even where somebody spoke of one.
    const listed = kinds[entity_type === 'DOB' && weekday.test(text) ? 'DATE' : entity_type];
    const turn = turnAt(turns, role, start);
    const kind = listed === 'phone' && value?.startsWith('+') !== true && asksForOther(turn, turns) ? 'number' : listed; // prettier-ignore
    const said = value ?? (kind === 'date' ? deadlineOf(text, day)?.until : undefined);
    if (kind === undefined || said === undefined || said === '') continue;
    if (said.length > maxCharacters || text.length > maxCharacters) continue;
    if (kind === 'number' && (!figure.test(said) || said.length < 3)) continue;
    if (turn < 0) continue;
    const words = turns[turn]?.text ?? '';
    const meant = kind === 'date' ? asMeant(said, text, words, turns[turn - 1]) : kind === 'time' ? inTheEvening(said, text, words) : said; // prettier-ignore
    const same = facts.find((fact) => fact.kind === kind && fact.value === meant);
    if (same !== undefined) {
      if (!same.turns.includes(turn) && same.turns.length < maxProofs) same.turns.push(turn);
      continue;
    }
    const isOfCase = kind === 'number' && !ofThing.test(words) && !ofThing.test(turns[turn - 1]?.text ?? ''); // prettier-ignore
    facts.push({ kind, text, value: meant, ...(currency === undefined ? {} : { currency }), turns: [turn], isCustomers: role === 'customer', ...(isOfCase ? { isOfCase } : {}) }); // prettier-ignore
    if (facts.length === maxFacts) break;
  }
  return withoutParts(withHeard(facts, turns));
}

/** "What's the prescription number?" No telephone number answers that. */
function asksForOther(turn: number, turns: readonly SpokenTurn[]): boolean {
  const label = labelOf(turn, turns);
  return label !== '' && label !== 'phone number ';
}

/** Adds the numbers of answers in which a figure was heard as another word. */
function withHeard(facts: readonly CallFact[], turns: readonly SpokenTurn[]): CallFact[] {
  const all = [...facts];
  for (const [place, turn] of turns.slice(0, mostTurnsAsked).entries()) {
    const heard = heardNumber(turn, turns[place - 1]);
    if (heard === undefined || all.length >= maxFacts) continue;
    const here = all.filter(({ turns: at }) => at.includes(place));
    if (here.some(({ kind, value }) => kind !== 'number' || value === heard.value)) continue;
    const known = all.find(({ kind, value }) => kind === 'number' && value === heard.value);
    if (known !== undefined) continue;
    // Pieces of it that only this turn told are no numbers of their own.
    for (const piece of here)
      if (
        piece.turns.length === 1 &&
        heard.value.endsWith(piece.value.replace(/\D/g, '').slice(-3))
      )
        all.splice(all.indexOf(piece), 1);
    all.push({ kind: 'number', text: heard.text, value: heard.value, turns: [place], isCustomers: turn.role === 'customer', isOfCase: true }); // prettier-ignore
  }
  return all;
}

/** A number of a car or a thing, and not of the customer's case. */
const ofThing =
  /\b(?:plates?|registration|vin|vehicle)\b|\bof the (?:other|van|car|truck|lorry|driver)\b/i;

const weekday = /^(?:on )?(?:mon|tues|wednes|thurs|fri|satur|sun)day$/i;
const past =
  /\b(?:was|were|had|been|did|hit|went|came|made|took|paid|ordered|happened|arrived|missed|since|delivered|liked|posted|repaired|signed|switched|called|spoke|told|should have (?:been|\w+ed)|meant to|last)\b/i;
/** "Your man mended our oven on Monday": somebody did something, and no wish or plan stands before the day. */
const deedOfPast =
  /\b(?:i|we|he|she|they|it|you|who|(?:my|our|your|the|his|her) [a-z]+(?: [a-z]+)?) (?!(?:want|need|hop|plann|wish|lik|intend|decid|schedul|tri|agree|ask|promis|suppos|book|mov|chang|expect|arrang|prefer|offer)\w*\b)(?:[a-z]{2,}ed|bought|broke|brought|fell|flew|found|gave|got|left|lost|met|rang|sent|slept|stood|wrote)\b(?! to\b)[^,;:]{0,40}$/i;
const dayOfMonth = /^(?:on )?the [a-z]+(?:[ -][a-z]+)?$|^(?:on )?the \d{1,2}(?:st|nd|rd|th)$/i;

/** "Ten o'clock tonight" is 22:00. */
function inTheEvening(value: string, text: string, turn: string): string {
  const behind = turn.slice(turn.indexOf(text) + text.length);
  const hour = Number(value.slice(0, 2));
  const isLate = /^,? (?:tonight|this (?:afternoon|evening))\b/i.test(behind) && hour >= 1 && hour < 12; // prettier-ignore
  return isLate ? `${hour + 12}${value.slice(2)}` : value;
}

/** A recogniser may end the question with a full stop. */
const asksPast = /\bwhen (?:was|were|did|had)\b[^?.]*[?.]\s*$/i;

/**
 * A bare weekday or day of a month in a sentence that speaks of the past is the last one: "somebody hit my car on
 * Sunday". So it is in a short answer to "When was that?".
 */
function asMeant(value: string, text: string, turn: string, asked: SpokenTurn | undefined): string {
  const isOfMonth = dayOfMonth.test(text);
  if (!weekday.test(text) && !isOfMonth) return value;
  const sentence = turn.split(/[.?!]\s/).find((one) => one.toLowerCase().includes(text.toLowerCase())) ?? turn; // prettier-ignore
  const isAnswer = asksPast.test(asked?.text ?? '') && wordsIn(sentence) <= 6;
  if (
    (!isAnswer && !past.test(sentence) && !deedOfPast.test(sentence.slice(0, sentence.toLowerCase().indexOf(text.toLowerCase())))) || // prettier-ignore
    /\b(?:will|'ll|going to|would|could)\b/i.test(sentence)
  )
    return value;
  // "Booked for Saturday" was said of a day to come.
  if (new RegExp(`\\b(?:for|until|till|by|next|to|as of) (?:the )?${text.replace(/[^\p{L}\p{N} ]/gu, '.')}`, 'i').test(sentence)) return value; // prettier-ignore
  const meant = new Date(value);
  if (isOfMonth) meant.setUTCMonth(meant.getUTCMonth() - 1);
  else meant.setUTCDate(meant.getUTCDate() - 7);
  const isSameDay = !isOfMonth || meant.getUTCDate() === new Date(value).getUTCDate();
  return isSameDay ? meant.toISOString().slice(0, 10) : value;
}

/** A number that was said in pieces and then whole stands whole. */
function withoutParts(facts: CallFact[]): CallFact[] {
  return facts.filter(
    (fact) =>
      !facts.some(
        (other) =>
          other !== fact &&
          other.kind === fact.kind &&
          (fact.kind === 'number' || fact.kind === 'address') &&
          other.value.length > fact.value.length &&
          other.value.includes(fact.value),
      ),
  );
}

function turnAt(turns: readonly SpokenTurn[], role: string, start: number): number {
  const exact = turns.findIndex((turn) => turn.role === role && turn.start <= start && start < turn.end); // prettier-ignore
  return exact >= 0
    ? exact
    : turns.findLastIndex((turn) => turn.role === role && turn.start <= start + 0.001);
}

const introduces =
  /(?:\bmy (?:full )?name(?:'s| is)|\bthis is|\bit's|\bit is|\bi'm|\bi am|\bunder(?: the name(?: of)?)?|\bname of)\s*$/i;
const asksName =
  /\b(?:your (?:full )?name|who am i|who's calling|who is calling|whom am i|the name on|name please|what name)\b/i;

/** A caller tells the name in so many first turns. */
const mostTurnsRead = 30;

/** The caller's name, taken only from the caller's own words, because an agent may name anybody. */
export function callerOf(
  turns: readonly SpokenTurn[],
): { name: string; text: string; turn: number } | undefined {
  for (const [place, turn] of turns.slice(0, mostTurnsRead).entries()) {
    if (turn.role !== 'customer') continue;
    const before = turns[place - 1];
    const isAsked = before?.role === 'agent' && asksName.test(before.text);
    for (const span of findEntities(turn.text)) {
      if (span.type !== 'NAME') continue;
      const start = turn.text.slice(0, span.start);
      const isFirst = wordsIn(start) <= 3 && isAsked;
      const speaks = /^,?\s*(?:speaking|here|calling)\b/i.test(turn.text.slice(span.end));
      if (!introduces.test(start) && !isFirst && !speaks) continue;
      if (!isHeardRight(span.text, turns, place)) continue;
      const name = span.text.replace(/(^|[\s-])\p{Ll}/gu, (letter) => letter.toUpperCase());
      return { name, text: span.text, turn: place };
    }
  }
  return undefined;
}

/**
 * True unless the recogniser was not sure of a word of the name and nobody confirmed it: the agent's own words repeat it,
 * or the caller spells it. A wrong name in a record is worse than none.
 */
function isHeardRight(name: string, turns: readonly SpokenTurn[], place: number): boolean {
  const doubtful = new Set(turns[place]?.doubtful ?? []);
  const words = name.split(/[\s-]+/).map(plainWord);
  return words.every((word) => !doubtful.has(word) || isConfirmed(word, turns, place));
}

function isConfirmed(word: string, turns: readonly SpokenTurn[], place: number): boolean {
  return turns.slice(0, mostTurnsRead).some(({ role, text, doubtful }, at) => {
    if (role === 'agent')
      return text.split(/\s+/).map(plainWord).includes(word) && doubtful?.includes(word) !== true;
    if (at < place) return false;
    const spelled = text.match(/\b\p{L}(?:[\s,.-]+\p{L}\b){2,}/gu) ?? [];
    return spelled.some((letters) => plainWord(letters) === word);
  });
}
