import type { WrapUp } from '../../protocol/wrap-up.ts';
import { contentWords } from '../text/content.ts';

/*
 * A disposition of a call is chosen from a list that the installation writes: by the words that the call shares with a
 * disposition's sentences, and by the nearness of their meanings where somebody can tell it. In doubt there is none.
 */

/** A sentence of the installation for a disposition. */
export type DispositionLine = { name: string; text: string };

/** The parts of a call that tell its matter. A part that the call lacks is empty. */
export type CallMatter = { reason: string; opening: string; done: string };

/** The share of each part in the nearness of meanings. */
export const partShares: Readonly<Record<keyof CallMatter, number>> = { reason: 0.4, opening: 0.4, done: 0.2 }; // prettier-ignore

const told =
  /^(?:Customer|Agent) (?:reported that|said:|asked:|called (?:to|about|because)|wanted (?:to )?|needed (?:to )?|asked to|asked the company to|was (?:looking for|interested in)) ?/;
const spoken: Readonly<Record<string, string>> = { they: 'I', their: 'my', them: 'me' };
const openingTurns = 2;
const leastWords = 5;
/** A text that is longer than this says no more of its matter. */
const maxCharacters = 400;

export function matterOf(
  { reason, done }: Pick<WrapUp, 'reason' | 'done'>,
  turns: readonly { role: string; text: string }[],
): CallMatter {
  const opening = turns.filter(({ role, text }) => role === 'customer' && text.split(' ').length >= leastWords); // prettier-ignore
  return {
    reason: asSpoken(reason?.text ?? ''),
    opening: opening.slice(0, openingTurns).map(({ text }) => text.trim()).join(' ').slice(0, maxCharacters), // prettier-ignore
    done: done.map(({ text }) => text.replace(/^Agent /, '')).join('. ').slice(0, maxCharacters), // prettier-ignore
  };
}

/** The installation's sentences speak as customers do, so the reason is told in the first person again. */
function asSpoken(text: string): string {
  return text
    .replace(told, '')
    .replace(/\b(?:they|their|them)\b/g, (word) => spoken[word] ?? word)
    .slice(0, maxCharacters);
}

/** For each line the share of words that the call has too, rare words counting more: 1 for the same words, else less. */
export function sharedWords(matter: CallMatter, lines: readonly DispositionLine[]): number[] {
  const documents = lines.map(({ text }) => new Set(stemsOf(text)));
  const count = new Map<string, number>();
  for (const stems of documents)
    for (const stem of stems) count.set(stem, (count.get(stem) ?? 0) + 1);
  const weight = (stem: string): number =>
    Math.log(1 + lines.length / (1 + (count.get(stem) ?? 0)));
  const own = new Set(stemsOf([matter.reason, matter.done, matter.opening].join(' ')));
  const length = (stems: ReadonlySet<string>): number => Math.hypot(...[...stems].map(weight)) || 1;
  const ofCall = length(own);
  return documents.map((stems) => {
    let shared = 0;
    for (const stem of stems) if (own.has(stem)) shared += weight(stem) ** 2;
    return shared / ofCall / length(stems);
  });
}

function stemsOf(text: string): string[] {
  return contentWords(text).map(({ stem }) => stem);
}

/** Words count half as much as meanings do. */
const wordShare = 0.5;
/** Calls that people gave this disposition count so much, fully from several on. */
const learnedShare = 0.2;
const severalCalls = 5;

/** Evidence for one disposition: a number a line, and the nearness of the calls that people gave it. */
export type DispositionEvidence = {
  name: string;
  words: number[];
  meanings?: number[];
  learned?: { likeness: number; calls: number };
};

/** Bounds of doubt, for meanings and for words alone. They were set on labelled calls. */
const bounds = { meaning: { best: 0.2, ahead: 0.015 }, words: { best: 0.06, ahead: 0.02 } };

/** The disposition that is ahead of all others, or undefined in doubt. */
export function chosenDisposition(
  evidence: readonly DispositionEvidence[],
): { name: string; by: 'meaning' | 'words'; score: number; ahead: number } | undefined {
  const by = evidence.some(({ meanings }) => meanings !== undefined) ? 'meaning' : 'words';
  const ranked = evidence
    .map(({ name, words, meanings, learned }) => {
      const lines = words.map((share, at) => share * wordShare + (meanings?.[at] ?? 0));
      const known = learned === undefined ? 0 : learned.likeness * (learned.calls / (learned.calls + severalCalls)); // prettier-ignore
      return { name, score: bestTwo(lines) + known * learnedShare };
    })
    .toSorted((a, b) => b.score - a.score);
  const [first, second] = ranked;
  if (first === undefined) return undefined;
  const ahead = first.score - (second?.score ?? 0);
  const { best, ahead: least } = bounds[by];
  return first.score < best || ahead < least ? undefined : { name: first.name, by, score: first.score, ahead }; // prettier-ignore
}

/** One line may be near by chance; of two that are near it is no chance. */
function bestTwo(values: readonly number[]): number {
  const best = values.toSorted((a, b) => b - a).slice(0, 2);
  return best.reduce((sum, value) => sum + value, 0) / Math.max(1, best.length);
}
