import type { Utterance, Word } from '../../protocol/addons.ts';
import type { TextEdit } from '../types.ts';
import { writtenEdits } from './written.ts';

type PlacedWord = Word & { from: number; to: number };

/**
 * An utterance as a reader of captions sees it: "four, seven, two" is one word 472, which begins and ends with the spoken
 * words. Everything else stays, and an utterance whose words do not make up its text stays whole.
 */
export function writtenUtterance(utterance: Utterance): Utterance {
  const { text, language, words } = utterance;
  const edits = writtenEdits(text, { language });
  const placed = edits.length === 0 ? undefined : placedWords(text, words);
  if (!placed) return utterance;
  return { ...utterance, words: edits.reduceRight(withEdit(text), placed).map(asWord), text: applied(text, edits) }; // prettier-ignore
}

function placedWords(text: string, words: readonly Word[]): PlacedWord[] | undefined {
  const placed: PlacedWord[] = [];
  let at = 0;
  for (const word of words) {
    const said = word.word.trim();
    const from = text.indexOf(said, at);
    if (said === '' || from < 0 || text.slice(at, from).trim() !== '') return undefined;
    at = from + said.length;
    placed.push({ ...word, from, to: at });
  }
  return text.slice(at).trim() === '' ? placed : undefined;
}

/** Joins the words that an edit touches. Marks before and behind the edit stay on the new word. */
function withEdit(text: string) {
  return (words: PlacedWord[], { start, end, text: written }: TextEdit): PlacedWord[] => {
    const first = words.findIndex(({ to }) => to > start);
    const last = words.findLastIndex(({ from }) => from < end);
    const [begin, finish] = [words[first], words[last]];
    if (!begin || !finish || last < first) return words;
    const space = /^\s*/.exec(begin.word)?.[0] ?? '';
    const joined = {
      ...begin,
      word: space + text.slice(begin.from, start) + written + text.slice(end, finish.to),
      end: finish.end,
      confidence: Math.min(...words.slice(first, last + 1).map(({ confidence }) => confidence)),
      to: finish.to,
    };
    return [...words.slice(0, first), joined, ...words.slice(last + 1)];
  };
}

function asWord({ word, start, end, confidence }: PlacedWord): Word {
  return { word, start, end, confidence };
}

function applied(text: string, edits: readonly TextEdit[]): string {
  return edits.reduceRight(
    (all, { start, end, text: written }) => all.slice(0, start) + written + all.slice(end),
    text,
  );
}
