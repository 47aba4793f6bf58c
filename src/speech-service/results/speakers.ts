import type { Utterance, Word } from '../../protocol/addons.ts';

/** Who spoke from when to when, by the engine's own numbers. */
export type SpeakerTurn = { start: number; end: number; speaker: number };

/** Utterances cut where the speaker changes, each with its speaker. An utterance without words has one speaker. */
export function cutAtSpeakers(
  utterances: readonly Utterance[],
  turns: readonly SpeakerTurn[],
): Utterance[] {
  if (turns.length === 0) return utterances.map(withoutSpeaker);
  return utterances.flatMap((utterance) => {
    const runs: { speaker: number; words: Word[] }[] = [];
    for (const word of utterance.words) {
      const speaker = speakerAt(turns, word.start, word.end);
      const last = runs.at(-1);
      if (last?.speaker === speaker) last.words.push(word);
      else runs.push({ speaker, words: [word] });
    }
    if (runs.length < 2) {
      const speaker = runs[0]?.speaker ?? speakerAt(turns, utterance.start, utterance.end);
      return [{ ...utterance, speaker }];
    }
    return runs.map(({ speaker, words }, i) => pieceOf(utterance, speaker, words, i, runs.length));
  });
}

/** Speakers as numbers from 0 by their first appearance. */
export function numberedSpeakers(utterances: readonly Utterance[]): Utterance[] {
  const numbers = new Map<number, number>();
  return utterances.map((utterance) => {
    if (utterance.speaker === undefined) return utterance;
    const number = numbers.get(utterance.speaker) ?? numbers.size;
    numbers.set(utterance.speaker, number);
    return { ...utterance, speaker: number };
  });
}

export function withoutSpeaker({ speaker: _, ...utterance }: Utterance): Utterance {
  return utterance;
}

/** The speaker of most of the span; between two turns the nearer one. */
function speakerAt(turns: readonly SpeakerTurn[], start: number, end: number): number {
  let best = { speaker: 0, overlap: -Infinity };
  for (const turn of turns) {
    // Negative where they do not meet: the distance between them.
    const overlap = Math.min(end, turn.end) - Math.max(start, turn.start);
    if (overlap > best.overlap) best = { speaker: turn.speaker, overlap };
  }
  return best.speaker;
}

function pieceOf(
  utterance: Utterance,
  speaker: number,
  words: readonly Word[],
  index: number,
  count: number,
): Utterance {
  const [first, ...rest] = words;
  const own = first ? [{ ...first, word: first.word.trimStart() }, ...rest] : [];
  const confidence = words.reduce((sum, word) => sum + word.confidence, 0) / words.length;
  return {
    ...utterance,
    start: index === 0 ? utterance.start : (first?.start ?? utterance.start),
    end: index === count - 1 ? utterance.end : (words.at(-1)?.end ?? utterance.end),
    confidence: Math.round(confidence * 1e3) / 1e3,
    words: own,
    text: own
      .map((word) => word.word)
      .join('')
      .trim(),
    speaker,
  };
}
