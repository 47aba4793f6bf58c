import type { DoneItem } from './done.ts';
import { endingOf, saysItWorks, saysTransfer } from './endings.ts';
import type { PromiseItem } from './promises.ts';
import type { CallStatement } from './statements.ts';

export type CallOutcome = { value: 'resolved' | 'open' | 'unknown'; turns: number[] };

/** A promise with these words means that the matter itself is not settled yet. */
const pending =
  /\b(?:call|ring|phone|bell|decide|decision|review|investigat\w*|get back|come back|be in touch|contact|let the customer know|technician|engineer|mechanic|surveyor|adjuster|write|quote|sign|find out|look into|escalat\w*|ask|repair|fix\w*|be ready|be back(?! (?:on|in) the customer's (?:card|account))|when (?:it|everything|they|the \w+)(?:'s| is) (?:back|fixed|ready|done|sorted|up)|van|arrange)\b|^(?:he|she|someone|somebody|an?|the|our) (?:[\w'-]+ )*?(?:be (?:there|out|with)|come|bring|visit|go back)\b/i;
const visit = /\b(?:technician|engineer|mechanic|plumber|electrician|courier|surveyor|repair|adjuster|claim|dispute|investigation|case|(?:arranged|booked|scheduled) (?:a|the) visit)\b/i; // prettier-ignore
const content =
  /\b(?:that's (?:all|everything|it|great|perfect|brilliant|wonderful)|that is (?:all|everything)|that was (?:all|it|easy)|perfect|wonderful|brilliant|great|lovely|thank you|thanks|cheers|ta\b|super|fantastic|smashing|ace|sound|sweet|nice one|you're a star)\b/i;

type OutcomeFacts = {
  statements: readonly CallStatement[];
  done: readonly DoneItem[];
  promises: readonly PromiseItem[];
};

/** Tells whether the customer's matter was settled in the call, and the turns that show it. */
export function outcomeOf({ statements, done, promises }: OutcomeFacts): CallOutcome {
  const customer = statements.filter(({ role }) => role === 'customer');
  const agent = statements.filter(({ role }) => role === 'agent');
  const transferred = agent.findLast(({ text }) => saysTransfer(text));
  if (transferred !== undefined && done.length === 0) return open([transferred.turn]);
  const worked = customer.findLast(({ text }) => saysItWorks(text));
  if (worked !== undefined) return { value: 'resolved', turns: [worked.turn] };
  const waits = promises.find(({ who, what, subject }) => who === 'agent' && pending.test(`${subject} ${what}`)); // prettier-ignore
  if (waits !== undefined) return open(waits.turns);
  const visits = done.find(({ text }) => visit.test(text));
  if (visits !== undefined) return open(visits.turns);
  const last = done.at(-1);
  const refused = agent.findLast(({ text }) => endingOf(text, 'agent') === 'refusal');
  if (refused !== undefined && (last === undefined || Math.max(...last.turns) < refused.turn))
    return open([refused.turn]);
  if (last !== undefined) return { value: 'resolved', turns: last.turns };
  const thinks = customer.findLast(({ text }) => endingOf(text, 'customer') === 'undecided');
  if (thinks !== undefined) return open([thinks.turn]);
  if (promises.some(({ who }) => who === 'agent')) {
    const first = promises.find(({ who }) => who === 'agent');
    return open(first?.turns ?? []);
  }
  const glad = customer.slice(-4).findLast(({ text }) => content.test(text));
  return glad === undefined ? { value: 'unknown', turns: [] } : { value: 'resolved', turns: [glad.turn] }; // prettier-ignore
}

function open(turns: number[]): CallOutcome {
  return { value: 'open', turns };
}
