import { round3 } from '../../lib/round.ts';
import type { Utterance, Word } from '../../protocol/addons.ts';

/**
 * Changes the text of an utterance and derives its words again from the new text. Words outside a change keep their
 * times; words inside a change share its time by length.
 */
export function rewriteWords(utterance: Utterance, change: (text: string) => string): Utterance {
  const text = change(utterance.text);
  if (text === utterance.text) return utterance;
  return { ...utterance, text, words: alignWords(utterance.words, text) };
}

/**
 * Cuts the text into words, each with the space before it as in live results, and takes the times from the old words.
 */
export function alignWords(words: readonly Word[], text: string): Word[] {
  const pieces = text.match(/\s*\S+/g) ?? [];
  const [head, tail] = commonEnds(words, pieces);
  const oldMiddle = words.slice(head, words.length - tail);
  const newMiddle = pieces.slice(head, pieces.length - tail);
  const keep = (piece: string, word: Word | undefined): Word => ({
    ...(word ?? { start: 0, end: 0, confidence: 0 }),
    word: piece,
  });
  return [
    ...pieces.slice(0, head).map((piece, i) => keep(piece, words[i])),
    ...spread(newMiddle, oldMiddle, words[head - 1]?.end ?? words[0]?.start ?? 0),
    ...pieces
      .slice(pieces.length - tail)
      .map((piece, i) => keep(piece, words[words.length - tail + i])),
  ];
}

function commonEnds(words: readonly Word[], pieces: readonly string[]): [number, number] {
  const same = (word: Word | undefined, piece: string | undefined): boolean =>
    word !== undefined && piece !== undefined && word.word.trim() === piece.trim();
  let head = 0;
  while (head < Math.min(words.length, pieces.length) && same(words[head], pieces[head])) head += 1;
  let tail = 0;
  const room = Math.min(words.length, pieces.length) - head;
  while (tail < room && same(words.at(-1 - tail), pieces.at(-1 - tail))) tail += 1;
  return [head, tail];
}

function spread(pieces: readonly string[], old: readonly Word[], at: number): Word[] {
  // The number of words is unchanged, so only spellings changed and every time stays.
  if (pieces.length === old.length)
    return pieces.map((piece, i) => ({ ...(old[i] as Word), word: piece }));
  const start = old[0]?.start ?? at;
  const end = old.at(-1)?.end ?? start;
  const confidence = old.length ? old.reduce((sum, w) => sum + w.confidence, 0) / old.length : 0;
  const total = pieces.reduce((sum, piece) => sum + piece.length, 0) || 1;
  let used = 0;
  return pieces.map((piece) => {
    const from = start + ((end - start) * used) / total;
    used += piece.length;
    const to = start + ((end - start) * used) / total;
    return { word: piece, start: round3(from), end: round3(to), confidence: round3(confidence) };
  });
}
