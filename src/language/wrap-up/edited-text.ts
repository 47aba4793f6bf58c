import type { WrapUp } from '../../protocol/wrap-up.ts';
import { isAbroad } from '../abroad/number-words.ts';
import { toldAbroad } from './told-abroad.ts';
import { written } from './written-day.ts';

/** A record in sentences, where its fields are all that there is: somebody has edited it. */
export function textOfWrapUp(
  { reason, done, promises, facts, outcome, disposition, disposition_by: by }: WrapUp,
  isList = false,
  language = 'en',
): string {
  if (isAbroad(language)) return toldAbroad({ reason, done, promises, facts, outcome, disposition }, language, isList ? 'bullet_points' : 'general'); // prettier-ignore
  const caller = facts.find(({ kind }) => kind === 'name')?.value;
  const sentences = [
    ...(caller === undefined ? [] : [`Caller: ${caller}`]),
    ...(reason === null ? [] : [reason.text]),
    ...done.map(({ text }) => text),
    ...promises.map(promised),
    ...(disposition === null
      ? []
      : [`Disposition: ${disposition}${by === 'meaning' || by === 'words' ? ' (suggested)' : ''}`]),
  ].map((text) => (/[.?!]"?$/.test(text) ? text : `${text}.`));
  return isList ? sentences.map((one) => `- ${one}`).join('\n') : sentences.join(' ');
}

function promised({ who, what, until }: WrapUp['promises'][number]): string {
  const day = until === null ? '' : ` by ${written(until)}`;
  // A whole sentence names the one who will do it: "An adjuster will call the customer".
  const isSentence = /^\p{Lu}/u.test(what);
  const words = what.replace(/[.\s]+$/, '');
  return isSentence
    ? `${words}${day}`
    : `${who === 'agent' ? 'Agent' : 'Customer'} will ${words}${day}`;
}
