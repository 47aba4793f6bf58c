import type { Word } from '../../protocol/addons.ts';
import { knownEntities } from './known.ts';
import {
  redactStep,
  type Covered,
  type CoveredSpan,
  type RedactedPiece,
  type RedactionForm,
  type RedactionState,
} from './redact.ts';

/** One utterance of a finished transcript. `voice` names the speaker: a number continues only in the same voice. */
export type TranscriptPiece = {
  voice: string;
  index: number;
  text: string;
  words: Word[];
  language?: string | undefined;
};

/**
 * State between the steps over one transcript: the numbers given to entities of all voices, and each voice's unfinished
 * end.
 */
export type TranscriptRedactionState = {
  numbers: RedactionState['numbers'];
  voices: Record<string, Omit<RedactionState, 'numbers'>>;
  /** The last turns: another voice may have asked for the number that comes next. */
  lastTurns?: AskingTurn[];
};

type AskingTurn = { voice: string; text: string };

/** At most this many turns are remembered, and at most this many of their last characters: a question ends a turn. */
const maxTurns = 8;
const maxTurnChars = 300;
/** A number is looked at with at most this many turns of other voices before it. */
const turnsBefore = 4;

export type RedactAllInput = {
  /** Pieces in order of time. */
  pieces: TranscriptPiece[];
  entityTypes: string[];
  form: RedactionForm;
  state?: TranscriptRedactionState | undefined;
  /** True if nothing follows these pieces, so everything held is released. */
  isLast: boolean;
};

export type RedactAllOutput = { pieces: RedactedPiece[]; state: TranscriptRedactionState };

/**
 * Redacts one batch of a finished transcript. Nobody waits for the words, so the end of a piece that could begin a
 * number is always held until its voice speaks again, even across two batches.
 */
export function redactAll(input: RedactAllInput): RedactAllOutput {
  const { entityTypes, form, isLast } = input;
  let numbers = input.state?.numbers ?? {};
  const voices = new Map(Object.entries(input.state?.voices ?? {}));
  let lastTurns = input.state?.lastTurns ?? [];
  const pieces: RedactedPiece[] = [];
  const step = (
    voice: string,
    more: {
      id?: string;
      text: string;
      words?: Word[];
      flush?: true;
      language?: string | undefined;
    },
  ) => {
    const state = { ...voices.get(voice), numbers };
    const asked = lastTurns
      .filter((turn) => turn.voice !== voice)
      .slice(-turnsBefore)
      .map((turn) => turn.text);
    const output = redactStep({ ...more, entityTypes, form, state, mayHold: true, asked });
    for (const { id, text, words, covered } of output.released)
      pieces.push({ index: Number(id), text, words, covered: shifted(covered) });
    const { numbers: used, ...open } = output.state;
    numbers = used;
    voices.set(voice, open);
  };
  for (const { voice, index, text, words, language } of input.pieces) {
    step(voice, { id: String(index), text, words, language });
    lastTurns = [...lastTurns, { voice, text: text.slice(-maxTurnChars) }].slice(-maxTurns);
  }
  if (isLast) for (const voice of [...voices.keys()]) step(voice, { text: '', flush: true });
  return { pieces, state: { numbers, voices: Object.fromEntries(voices), lastTurns } };
}

export type RedactKnownInput = {
  pieces: RedactedPiece[];
  numbers: RedactionState['numbers'];
  form: RedactionForm;
};

/**
 * Makes a second pass when the first has seen the whole transcript. A name that one sentence reveals is then removed
 * everywhere, also before that sentence and in other voices.
 */
export function redactKnown({ pieces, numbers, form }: RedactKnownInput): RedactedPiece[] {
  const known = knownEntities(numbers);
  return pieces.map((piece) => known.coverIn(piece, form));
}

/** Positions of the covered words in the redacted text. */
function shifted(covered: readonly Covered[]): CoveredSpan[] {
  let shift = 0;
  return covered.map(({ start, end, shown, type }) => {
    const from = start + shift;
    shift += shown.length - (end - start);
    return { start: from, end: from + shown.length, type };
  });
}
