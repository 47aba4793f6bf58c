import { findEntities } from '../entities/find.ts';
import { alignWords } from '../rewrite/words.ts';
import type { RedactInput, RedactOutput } from './types.ts';

export type { RedactionState } from './types.ts';

export function redactStep(input: RedactInput): RedactOutput {
  const numbers = structuredClone(input.state?.numbers ?? {});
  const spans = findEntities(input.text, input.entityTypes.length ? input.entityTypes : undefined);
  let text = '';
  let at = 0;
  for (const span of spans) {
    text += input.text.slice(at, span.start);
    if (input.form === 'MASK') text += span.text.replace(/\S/gu, '#');
    else {
      const known = (numbers[span.type] ??= {});
      const number = (known[span.text] ??= Object.keys(known).length + 1);
      text += `[${span.type}_${number}]`;
    }
    at = span.end;
  }
  text += input.text.slice(at);
  const words = input.words ? alignWords(input.words, text) : [];
  const released = { ...(input.id === undefined ? {} : { id: input.id }), text, words };
  return { released: [released], held: false, state: { numbers } };
}
