import { findEntities } from '../entities/find.ts';
import { alignWords } from '../rewrite/words.ts';
import type { Word } from '../types.ts';

export type RedactionForm = 'MARKER' | 'MASK';

/** What one conversation's redaction remembers between utterances. Plain data: it travels and can be stored. */
export type RedactionState = { numbers: Record<string, Record<string, number>> };

export type RedactInput = {
  id?: string;
  text: string;
  words?: Word[];
  /** Presets and single types; empty means everything that is found. */
  entityTypes: string[];
  form: RedactionForm;
  state?: RedactionState;
  /** True: a final may be kept back while its tail could be the head of a longer number. */
  mayHold?: boolean;
  /** True: nothing more came in time, let go what is held. */
  flush?: boolean;
};

export type Redacted = { id?: string; text: string; words: Word[] };

export type RedactOutput = { released: Redacted[]; held: boolean; state: RedactionState };

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
