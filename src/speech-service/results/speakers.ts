import type { Utterance } from '../../protocol/addons.ts';

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
