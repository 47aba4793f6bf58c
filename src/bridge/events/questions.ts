import type { Role } from '../../protocol/events.ts';

/** Turns of one call that are remembered as the question of an answer to come. */
export const maxTurnsRemembered = 12;
/** Turns that an answer can be about: the question, and what was said between the pieces of the answer. */
const turnsBefore = 4;
/** An answer comes within this time of its question, in seconds; a long number takes a while to be read. */
const reachS = 60;
/** Who answers at once begins before the other has ended. */
const overlapS = 0.5;
/** "Okay, go on" is no question. */
const nodWords = 3;

/** A turn as a question: its numbers are nobody's business there. */
export type AskedTurn = { speaker: string; text: string; start: number; end: number };

type BareAnswer = { speaker: string; role: Role; start: number; end: number };

/** What the parties of one call said last: the question tells what a bare number is. Only the leg's own journal keeps it, beside the audio. */
export class Questions {
  #turns: AskedTurn[] = [];

  add({ speaker, text, start, end }: AskedTurn): void {
    this.#turns.push({ speaker, text: withoutNumbers(text), start, end });
    this.#turns = this.#turns.slice(-maxTurnsRemembered);
  }

  /** The turns of the other party before the answer ended, in order of time. In a mixed leg everybody has one channel. */
  before({ speaker, role, start, end }: BareAnswer): string[] {
    return this.#turns
      .filter((turn) => role === 'mixed' || turn.speaker !== speaker)
      .filter((turn) => turn.start < end && turn.end > start - reachS)
      .toSorted((a, b) => a.start - b.start)
      .slice(-turnsBefore)
      .map(({ text }) => text);
  }

  /** Whether the other party said more than "mm-hm" between two finals of a speaker: the number before is over then. */
  isBetween(speaker: string, before: { end: number }, next: { start: number }): boolean {
    return this.#turns.some(
      (turn) =>
        turn.speaker !== speaker &&
        turn.start >= before.end - overlapS &&
        turn.start < next.start &&
        (turn.text.includes('?') || turn.text.trim().split(/\s+/).length > nodWords),
    );
  }

  /** For the journal of the leg whose turns they are: a restart must not forget what was asked. */
  of(legId: string): AskedTurn[] {
    return this.#turns.filter(({ speaker }) => speaker.startsWith(legId));
  }
}

/** Counts of digits ("the three digits on the back") stay: they say what is asked. */
function withoutNumbers(text: string): string {
  return text
    .slice(-300)
    .replace(/\d{2,}/g, ' ')
    .replace(/(?:\b(?:zero|oh|one|two|three|four|five|six|seven|eight|nine)\b[\s,.-]*){2,}/gi, ' ');
}
