import { splitSentences } from '../../language/text/sentences.ts';
import type { Utterance, Word } from '../../protocol/addons.ts';

/** A turn: the time in which one voice speaks. */
export type VoiceTurn = { start: number; end: number; voice: number };

export type LiveTurns = {
  turns: VoiceTurn[];
  /** The second up to which the turns are known. Somebody may still be speaking after it. */
  knownS: number;
};

/** Makes turns from windows in order of time. Neighbouring windows of one voice become one turn. */
export function turnsOf(windows: readonly VoiceTurn[]): VoiceTurn[] {
  const turns: VoiceTurn[] = [];
  for (const window of windows) {
    const last = turns.at(-1);
    if (last && last.voice === window.voice && last.end >= window.start) last.end = window.end;
    else turns.push({ ...window });
  }
  return turns;
}

/** A channel has at most this many voices, so that no two channels share a number. */
const voicesOfChannel = 1_000;

/** The utterances of a file with their speakers. The turns are given per channel, in the same order. */
export function withSpeakersOf(
  channels: readonly number[],
  turns: readonly VoiceTurn[][],
  utterances: readonly Utterance[],
): Utterance[] {
  return channels.flatMap((channel, index) => {
    const own = utterances.filter((utterance) => utterance.channel === channel);
    return withSpeakers(own, turns[index] ?? []).map((utterance) => ({
      ...utterance,
      speaker: (utterance.speaker ?? 0) + index * voicesOfChannel,
    }));
  });
}

/**
 * Adds speakers to utterances. The recogniser cuts at pauses and ignores voices, so an utterance of two speakers is cut
 * where they change. Each word gets the voice that covers most of it; near a change, the end of a sentence and the
 * longer pause decide.
 */
export function withSpeakers(
  utterances: readonly Utterance[],
  turns: readonly VoiceTurn[],
): Utterance[] {
  if (turns.length === 0) return utterances.map((utterance) => ({ ...utterance, speaker: 0 }));
  return utterances.flatMap((utterance) => {
    const { words, text } = utterance;
    const isWhole = words.map(({ word }) => word).join('') === text;
    // If the words do not make up the text, the text cannot be divided with them.
    if (words.length < 2 || !isWhole) return [{ ...utterance, speaker: voiceOf(utterance, turns) }];
    return cutAtSpeakers(utterance, words, turns);
  });
}

function cutAtSpeakers(
  utterance: Utterance,
  words: readonly Word[],
  turns: readonly VoiceTurn[],
): Utterance[] {
  const runs: { speaker: number; words: Word[] }[] = [];
  const speakers = speakersOf(words, turns);
  for (const [index, word] of words.entries()) {
    const speaker = speakers[index] ?? 0;
    const last = runs.at(-1);
    if (last?.speaker === speaker) last.words.push(word);
    else runs.push({ speaker, words: [word] });
  }
  if (runs.length === 1) return [{ ...utterance, speaker: runs[0]?.speaker ?? 0 }];
  return runs.map((run, index) => {
    const [first, ...others] = run.words;
    const own = first ? [{ ...first, word: first.word.trimStart() }, ...others] : [];
    return {
      ...utterance,
      speaker: run.speaker,
      words: own,
      text: own.map(({ word }) => word).join(''),
      start: index === 0 ? utterance.start : (own[0]?.start ?? utterance.start),
      end: index === runs.length - 1 ? utterance.end : (own.at(-1)?.end ?? utterance.end),
      confidence: meanConfidence(own),
    };
  });
}

function speakersOf(words: readonly Word[], turns: readonly VoiceTurn[]): number[] {
  return changedAtPauses(
    words,
    words.map((word) => voiceOf(word, turns)),
  );
}

/**
 * A change of speakers is known to some tenths of a second, so the real change may be this many words and seconds away.
 */
const movedWords = 2;
const movedS = 0.8;
/** A longer pause than this counts no more. */
const longestPauseS = 0.5;
/** The value of an end of a sentence, and of a voice that changes just there, in seconds of pause. */
const sentenceEndS = 0.3;
const foundS = 0.1;

/**
 * The speakers of words, with each change moved to the place where a speaker most likely ended. Nothing is moved around
 * a speaker with fewer than three words between two others.
 */
function changedAtPauses(words: readonly Word[], found: readonly number[]): number[] {
  const speakers = [...found];
  for (let at = 1; at < words.length; at++) {
    const [before, after] = [speakers[at - 1] ?? 0, speakers[at] ?? 0];
    if (before === after) continue;
    let [first, last] = [at, at];
    while (at - first < movedWords && found[first - 2] === before) first--;
    while (last - at < movedWords && found[last + 1] === after) last++;
    if (at - first < movedWords || last - at < movedWords) continue;
    let best = { at, worth: worthOfChange(words, at) + foundS };
    for (let other = first; other <= last; other++) {
      const worth = worthOfChange(words, other);
      const isNear = Math.abs(timeOfChange(words, other) - timeOfChange(words, at)) <= movedS;
      if (isNear && worth > best.worth) best = { at: other, worth };
    }
    speakers.fill(after, Math.min(best.at, at), at);
    speakers.fill(before, at, Math.max(best.at, at));
    at = Math.max(best.at, at);
  }
  return speakers;
}

function worthOfChange(words: readonly Word[], at: number): number {
  const [before, after] = [words[at - 1], words[at]];
  const pauseS = (after?.start ?? 0) - (before?.end ?? 0);
  const isEnd = splitSentences(`${before?.word ?? ''} ${after?.word ?? ''}`).length > 1;
  return Math.max(0, Math.min(longestPauseS, pauseS)) + (isEnd ? sentenceEndS : 0);
}

function timeOfChange(words: readonly Word[], at: number): number {
  return ((words[at - 1]?.end ?? 0) + (words[at]?.start ?? 0)) / 2;
}

function meanConfidence(words: readonly Word[]): number {
  const sum = words.reduce((total, { confidence }) => total + confidence, 0);
  return Math.round((sum / Math.max(1, words.length)) * 1e4) / 1e4;
}

/** The voice that says most of an utterance. Each word counts for its own voice, by its length. */
export function speakerOf(utterance: Utterance, turns: readonly VoiceTurn[]): number {
  const seconds = new Map<number, number>();
  const speakers = speakersOf(utterance.words, turns);
  for (const [index, word] of utterance.words.entries()) {
    const voice = speakers[index] ?? 0;
    seconds.set(voice, (seconds.get(voice) ?? 0) + word.end - word.start);
  }
  const most = [...seconds].reduce((best, one) => (one[1] > best[1] ? one : best), [-1, -1]);
  return most[0] >= 0 ? most[0] : voiceOf(utterance, turns);
}

/** Numbers the voices in order of appearance in the utterances. */
export function inOrderOfAppearance(
  turns: readonly VoiceTurn[],
  utterances: readonly Utterance[],
): VoiceTurn[] {
  const numbers = new Map<number, number>();
  for (const { speaker = 0 } of withSpeakers(utterances, turns))
    if (!numbers.has(speaker)) numbers.set(speaker, numbers.size);
  // A voice without words comes last.
  for (const { voice } of turns) if (!numbers.has(voice)) numbers.set(voice, numbers.size);
  return turns.map((turn) => ({ ...turn, voice: numbers.get(turn.voice) ?? 0 }));
}

/** The voice that covers most of a span, or the nearest one if none covers it. */
function voiceOf(span: { start: number; end: number }, turns: readonly VoiceTurn[]): number {
  const first = firstEndingAfter(turns, span.start);
  const covered = new Map<number, number>();
  for (let at = first; at < turns.length; at++) {
    const turn = turns[at];
    if (!turn || turn.start >= span.end) break;
    const seconds = Math.min(turn.end, span.end) - Math.max(turn.start, span.start);
    covered.set(turn.voice, (covered.get(turn.voice) ?? 0) + seconds);
  }
  const most = [...covered].reduce((best, one) => (one[1] > best[1] ? one : best), [-1, 0]);
  if (most[0] >= 0) return most[0];
  const before = turns[first - 1];
  const after = turns[first];
  if (!before || !after) return (before ?? after)?.voice ?? 0;
  return span.start - before.end <= after.start - span.end ? before.voice : after.voice;
}

/** Finds the turn by binary search: two hours of talk have ten thousand turns and twenty thousand words. */
function firstEndingAfter(turns: readonly VoiceTurn[], time: number): number {
  let low = 0;
  let high = turns.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((turns[middle]?.end ?? 0) <= time) low = middle + 1;
    else high = middle;
  }
  return low;
}
