import type { Role } from '../../protocol/events.ts';

/** At most this many turns of one call are remembered as possible questions for a later answer. */
export const maxTurnsRemembered = 12;
/**
 * At most this many turns are used for one answer: the question, and the words said between the parts of the answer.
 */
const turnsBefore = 4;
/** An answer comes within this many seconds of its question. Reading out a long number takes a while. */
const reachS = 60;
/** A quick answer may begin this many seconds before the question ends. */
const overlapS = 0.5;
/** A turn with at most this many words, such as "Okay, go on", is no question. */
const nodWords = 3;

/** A turn as a possible question. Its numbers are removed, because a question is understood without them. */
export type AskedTurn = { speaker: string; text: string; start: number; end: number };

type BareAnswer = { speaker: string; role: Role; start: number; end: number };

/**
 * The last turns of the parties of a call. They tell what a bare number means: the answer to which question. The turns
 * are stored only in the leg's own journal, beside the audio.
 */
export class Questions {
  #turns: AskedTurn[] = [];

  add({ speaker, text, start, end }: AskedTurn): void {
    this.#turns.push({ speaker, text: withoutNumbers(text), start, end });
    this.#turns = this.#turns.slice(-maxTurnsRemembered);
  }

  /**
   * The turns of the other party before the end of the answer, in order of time. On a mixed leg all parties share one
   * channel.
   */
  before({ speaker, role, start, end }: BareAnswer): string[] {
    return this.#turns
      .filter((turn) => role === 'mixed' || turn.speaker !== speaker)
      .filter((turn) => turn.start < end && turn.end > start - reachS)
      .toSorted((a, b) => a.start - b.start)
      .slice(-turnsBefore)
      .map(({ text }) => text);
  }

  /**
   * True if the other party said more than "mm-hm" between two finals of a speaker. The number before it is then
   * complete.
   */
  isBetween(speaker: string, before: { end: number }, next: { start: number }): boolean {
    return this.#turns.some(
      (turn) =>
        turn.speaker !== speaker &&
        turn.start >= before.end - overlapS &&
        turn.start < next.start &&
        (turn.text.includes('?') || turn.text.trim().split(/\s+/).length > nodWords),
    );
  }

  /** True if the other party has said something that began after this second. */
  isSince(speaker: string, second: number): boolean {
    return this.#turns.some((turn) => turn.speaker !== speaker && turn.start >= second - overlapS);
  }

  /** The remembered turns of a leg, for its journal: a restart must not forget the question. */
  of(legId: string): AskedTurn[] {
    return this.#turns.filter(({ speaker }) => speaker.startsWith(legId));
  }
}

/** Removes numbers. Counts of digits ("the three digits on the back") stay, because they show what is asked for. */
function withoutNumbers(text: string): string {
  return text
    .slice(-300)
    .replace(/\d{2,}/g, ' ')
    .replace(/(?:\b(?:zero|oh|one|two|three|four|five|six|seven|eight|nine)\b[\s,.-]*){2,}/gi, ' ');
}
