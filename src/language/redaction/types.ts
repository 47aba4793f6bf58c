import type { Word } from '../types.ts';

/** MARKER: `[NAME_1]`, the same entity always the same number. MASK: one `#` per character, spaces kept. */
export type RedactionForm = 'MARKER' | 'MASK';

/** An utterance that waits because its end could be the head of a card number. */
export type Held = { id?: string; text: string; words: Word[] };

/**
 * What one speaker's redaction remembers between utterances. Plain data, but it holds what was taken out: it lives
 * as long as the call and is never sent.
 */
export type RedactionState = {
  numbers: Record<string, Record<string, number>>;
  /** The end of what was released last, where a number that goes on may have begun. */
  tail?: string;
  /** A number may come in more than two pieces: all that wait, in order. */
  held?: Held[];
};

export type RedactInput = {
  id?: string;
  text: string;
  words?: Word[];
  /** Presets and single types; empty means everything that is found. */
  entityTypes: string[];
  form: RedactionForm;
  state?: RedactionState;
  /** True: a final may be kept back while its tail could be the head of a card number. */
  mayHold?: boolean;
  /** True: what is held is let go; `text` is not looked at. For the hold's end and the call's. */
  flush?: boolean;
  /** True: a text that will be replaced. Digits at its end are covered, nothing is remembered. */
  partial?: boolean;
};

/** A part of the utterance as it was given, and what stands for it now. */
export type Covered = { start: number; end: number; shown: string };

export type Redacted = { id?: string; text: string; words: Word[]; covered: Covered[] };

export type RedactOutput = {
  /** In the order in which they came; empty when the utterance is held. */
  released: Redacted[];
  held: boolean;
  /** How long to wait for the next utterance before calling with `flush`; 0 when nothing is held. */
  holdMs: number;
  state: RedactionState;
};
