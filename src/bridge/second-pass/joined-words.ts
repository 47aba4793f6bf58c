import type { Spoken } from '../../speech-client/jobs-api.ts';

/** A stretch of the live call with its speaker's number. A number means one speaker throughout the call. */
export type LiveTurn = { start: number; end: number; speaker: number };

/** The words of one piece, in seconds of the piece. */
export type PieceWords = { startS: number; endS: number; spoken: readonly Spoken[] };

/**
 * Joins the words of a recording that was recognised in pieces, in seconds of the recording. Each piece numbers its
 * voices anew. A voice gets the live call's number of the speaker with whom it shares the most time. Any other voice
 * gets a new number, because nothing shows whether it is also a voice of another piece. Pure.
 */
export function joinedWords(pieces: readonly PieceWords[], live: readonly LiveTurn[]): Spoken[] {
  if (pieces.length < 2) return pieces.flatMap(({ spoken }) => [...spoken]);
  let nextNumber = 1 + Math.max(-1, ...live.map(({ speaker }) => speaker));
  return pieces.flatMap(({ startS, endS, spoken }) => {
    const moved = spoken.map((one) => ({
      ...one,
      start: Math.min(endS, one.start + startS),
      end: Math.min(endS, one.end + startS),
    }));
    const meanwhile = live.filter(({ start, end }) => start < endS && end > startS);
    const numbers = knownVoices(moved, meanwhile);
    for (const { speaker } of moved)
      if (speaker !== undefined && !numbers.has(speaker)) numbers.set(speaker, nextNumber++);
    return moved.map((one) =>
      one.speaker === undefined
        ? one
        : { ...one, speaker: numbers.get(one.speaker) ?? one.speaker },
    );
  });
}

/**
 * Maps the voices of a piece to their numbers in the live call. The pairs that share the most time are chosen first.
 */
function knownVoices(spoken: readonly Spoken[], live: readonly LiveTurn[]): Map<number, number> {
  const together = new Map<string, { voice: number; number: number; seconds: number }>();
  for (const { speaker: voice, start, end } of spoken) {
    if (voice === undefined) continue;
    for (const turn of live) {
      const seconds = Math.min(end, turn.end) - Math.max(start, turn.start);
      if (seconds <= 0) continue;
      const pair = { voice, number: turn.speaker, seconds: 0 };
      const known = together.get(`${voice} ${turn.speaker}`) ?? pair;
      together.set(`${voice} ${turn.speaker}`, { ...known, seconds: known.seconds + seconds });
    }
  }
  const numbers = new Map<number, number>();
  const given = new Set<number>();
  for (const { voice, number } of [...together.values()].sort((a, b) => b.seconds - a.seconds)) {
    if (numbers.has(voice) || given.has(number)) continue;
    numbers.set(voice, number);
    given.add(number);
  }
  return numbers;
}
