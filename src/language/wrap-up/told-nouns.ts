import type { SpokenTurn } from '../types.ts';
import type { PromiseField } from './record-draft.ts';

/*
 * Words that name nothing outside of the call, with what they stand for: "he will call", "post them on". Only a noun
 * that stands alone in the sentence before is taken.
 */

const person = /\b(?:the|our|an?|my) ((?:[\w'-]+ ){0,2}?(?:technician|engineer|mechanic|plumber|electrician|surveyor|adjuster|courier|driver|manager|supervisor|doctor|nurse|colleague|team|department|specialist|advisor|adviser|accountant|inspector|solicitor|crew|lads))\b|\b((?:Mr|Mrs|Ms|Dr|Doctor)\.? \p{Lu}[\p{L}-]+)/gu; // prettier-ignore
/** Verbs of people, and not of things. */
const personal = /^(?:call|ring|phone|come|write|contact|email|text|visit|be in touch|review|check|get back|give|let|sort|fix|help|tell)\b/i; // prettier-ignore

/** The subject of a promise, "He" as "The technician". */
export function subjectNamed(
  { subject, what, turns }: PromiseField,
  said: readonly SpokenTurn[],
): string {
  if (!/^(?:He|She|They)$/.test(subject)) return subject;
  const last = turns.at(-1) ?? 0;
  const here = said[last]?.text ?? '';
  const at = here.search(new RegExp(`\\b${subject}(?:'ll| will| should)\\b`, 'i'));
  const texts = [said[last - 2]?.text ?? '', said[last - 1]?.text ?? '', at < 0 ? here : here.slice(0, at)]; // prettier-ignore
  const found = texts.flatMap((text) => [...text.matchAll(person)]).at(-1);
  const name = found?.[2] ?? (found?.[1] === undefined ? undefined : `The ${found[1]}`);
  if (name !== undefined && (personal.test(what) || subject !== 'They')) return name;
  // "They" of a summary is the agent or the customer.
  return subject === 'They' && personal.test(what) ? 'Somebody' : subject;
}

const handled = /^(Customer will (?:send|post|email|mail|bring|drop|fill|return|sign|print|scan|collect|fetch|upload)) (it|them)\b(.*)$/; // prettier-ignore
const thing = /\b(?:the|an?|my|your|our|this|that|one of the) ((?:(?!until|till|for|to|of|from|with|at|on|in|by|as|and|or)[a-z-]+ ){0,2}?[a-z-]{3,})(?=[.,;!?]|'s| (?:is|was|has|until|till|for|on|in|to|at|from|and|with|of|by|now|today|tomorrow|i|you|we|it|back|over|out|or)\b|$)/gi; // prettier-ignore
/** A question for these asks for words, and nobody hands them over. */
const nothing = /\b(?:number|name|address|email|postcode|code|date|time|day|morning|afternoon|evening|night|week|month|moment|minute|second|way|phone|reference|post|office|agent|customer|person|lot|bit|call|look|way|end|house|meantime|floor|branch|shop)$/i; // prettier-ignore

const isSent = /\b(?:e-?mail|text|send|post|mail) you\b/i;

/** "Customer will fill it in" with the thing that the sentence before named. */
export function withThing(text: string, at: number, said: readonly SpokenTurn[]): string {
  const [, lead = '', pronoun = '', rest = ''] = handled.exec(text) ?? [];
  if (lead === '') return text;
  const here = said[at]?.text ?? '';
  const place = here.search(new RegExp(`\\b${pronoun}\\b`, 'i'));
  const sentences = [said[at - 1]?.text ?? '', here.slice(0, Math.max(0, place))].flatMap((one) => one.split(/(?<=[.?!])\s+/)); // prettier-ignore
  for (const sentence of sentences.toReversed()) {
    const things = [...sentence.matchAll(thing)]
      .flatMap(([, noun]) => noun ?? [])
      .filter((noun) => !nothing.test(noun) && !rest.includes(noun) && !rest.includes(noun.split(' ').at(-1) ?? noun)); // prettier-ignore
    const fitting = things.filter((noun) => /(?<!s)s$/i.test(noun) === (pronoun === 'them'));
    // A thing that is on its way to the customer is not what they give back.
    if (/\bdrop$/.test(lead) && isSent.test(sentence)) return text;
    if (fitting.length === 1) return `${lead} the ${fitting[0] ?? ''}${rest}`;
    if (things.length > 0) return text;
  }
  return text;
}

const leaning = /^((?:Agent|They) .*\b(?:on|with|of|to|for)) (?:that|it)$/;
const asksAbout =
  /^(?:oh )?(?:and|what about|and what about|how about) ((?:the|my) [\w -]{3,30})\?$/i;

/** "And the court letter?" "I've put a stop on that.": what the question named. */
export function withAsked(text: string, at: number, said: readonly SpokenTurn[]): string {
  const lead = leaning.exec(text)?.[1];
  const noun = asksAbout.exec(said[at - 1]?.text.trim() ?? '')?.[1];
  if (lead === undefined || noun === undefined) return text;
  return `${lead} ${noun.toLowerCase().replace(/^my /, "the customer's ")}`;
}
