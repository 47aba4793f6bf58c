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
