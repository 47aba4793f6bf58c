import type { CustomVocabularyConfig } from '../../protocol/addon-configs.ts';
import { isCommon } from '../entities/gazetteer.ts';
import { tokenize, type TextToken } from '../text/tokens.ts';
import { soundDistance, soundOf } from './pronunciation.ts';

export type VocabularyItem = CustomVocabularyConfig['vocabulary'][number];

/** Puts a term of the caller's vocabulary where a similar-sounding word was recognised. */
type Vocabulary = (text: string, confidenceOf: (start: number, end: number) => number) => string;

type Form = { letters: string; sound: string };
type Term = { value: string; threshold: number; forms: Form[]; words: number };

/** At most this many words are compared with one term: "north gate bank". */
const widestWindow = 4;

/** Below this confidence the recogniser itself doubts the word: one in three of such words is wrong. */
const doubtfulConfidence = 0.87;

export function vocabularyOf(items: readonly VocabularyItem[], defaultIntensity = 0.5): Vocabulary {
  const terms = items
    .map((item) => termOf(item, defaultIntensity))
    .filter((term) => term.value !== '');
  const byFirst = new Map<string, Term[]>();
  for (const term of terms)
    for (const first of new Set(term.forms.map((form) => firstClass(form.sound))))
      byFirst.set(first, [...(byFirst.get(first) ?? []), term]);
  if (terms.length === 0) return (text) => text;
  return (text, confidenceOf) => replaceIn(text, tokenize(text), byFirst, confidenceOf);
}

function termOf(item: VocabularyItem, defaultIntensity: number): Term {
  const { value, intensity, pronunciations } =
    typeof item === 'string'
      ? { value: item, intensity: undefined, pronunciations: undefined }
      : item;
  const strength = Math.min(1, Math.max(0, intensity ?? defaultIntensity));
  const forms = [value, ...(pronunciations ?? [])].map((spoken) => ({
    letters: lettersOf(spoken),
    sound: soundOf(spoken),
  }));
  return {
    value: value.trim(),
    // 0 accepts only the same spelling. 1 accepts phrases that share six of ten sounds.
    threshold: strength * 0.4,
    forms: forms.filter((form) => form.letters !== ''),
    words: value.trim().split(/\s+/).length,
  };
}

function lettersOf(text: string): string {
  return text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');
}

/** Groups sounds that are confused at the start of a word. */
function firstClass(sound: string): string {
  const first = sound[0] ?? '';
  if (/[aeiouAOY]/.test(first)) return 'a';
  return (
    (
      { b: 'p', d: 't', g: 'k', v: 'f', z: 's', x: 's', c: 's', j: 's', n: 'm' } as Record<
        string,
        string
      >
    )[first] ?? first
  );
}

/** A word of the text, prepared once for all word sequences that contain it. */
type SpokenWord = { token: TextToken; letters: string; sound: string; isPlain: boolean };

function replaceIn(
  text: string,
  tokens: readonly TextToken[],
  byFirst: ReadonlyMap<string, Term[]>,
  confidenceOf: (start: number, end: number) => number,
): string {
  const spoken = tokens.map((token) => spokenOf(token));
  let out = '';
  let at = 0;
  for (let i = 0; i < spoken.length; i++) {
    const best = bestAt(spoken, i, byFirst, confidenceOf);
    const from = tokens[i];
    const to = best ? tokens[best.end - 1] : undefined;
    if (!best || !from || !to) continue;
    const ending = to.lower.endsWith("'s") && !best.term.value.endsWith("'s") ? "'s" : '';
    out += text.slice(at, from.start) + best.term.value + ending;
    at = to.end;
    i = best.end - 1;
  }
  return out + text.slice(at);
}

function spokenOf(token: TextToken): SpokenWord | undefined {
  if (token.kind !== 'word') return undefined;
  const plain = token.lower.replace(/'s$/, '');
  return {
    token,
    letters: lettersOf(plain),
    sound: soundOf(plain),
    isPlain: isCommon(token.lower),
  };
}

function bestAt(
  spoken: readonly (SpokenWord | undefined)[],
  i: number,
  byFirst: ReadonlyMap<string, Term[]>,
  confidenceOf: (start: number, end: number) => number,
): { term: Term; end: number; distance: number } | undefined {
  const terms = byFirst.get(firstClass(spoken[i]?.sound ?? '')) ?? [];
  let best: { term: Term; end: number; distance: number } | undefined;
  let window: Window = { letters: '', sound: '', isPlain: true, words: 0 };
  for (let width = 1; width <= widestWindow && terms.length > 0; width++) {
    const word = spoken[i + width - 1];
    if (!word) break;
    window = {
      letters: window.letters + word.letters,
      sound: window.sound + word.sound,
      isPlain: window.isPlain && word.isPlain,
      words: width,
    };
    for (const term of terms) {
      if (Math.abs(width - term.words) > 2) continue;
      const raw = distanceTo(term, window.letters, window.sound);
      if (raw > term.threshold * 1.01) continue;
      const doubt = (): boolean =>
        confidenceOf(spoken[i]?.token.start ?? 0, word.token.end) < doubtfulConfidence;
      const distance = raw === 0 ? 0 : raw * caution(window, doubt);
      if (distance <= term.threshold && distance < (best?.distance ?? Infinity))
        best = { term, end: i + width, distance };
    }
  }
  return best;
}

type Window = { letters: string; sound: string; isPlain: boolean; words: number };

/**
 * The factor on the distance between spoken words and a term. Everyday words are far more often right than a misheard
 * brand: one such word is replaced only if the recogniser doubts it, several only if they sound nearly the same.
 */
function caution(window: Window, isDoubtful: () => boolean): number {
  if (!window.isPlain) return window.letters.length < 4 ? 1.6 : 1;
  if (window.words === 1) return isDoubtful() ? 1.5 : Infinity;
  if (window.letters.length < 5) return Infinity;
  return isDoubtful() ? 1.3 : 2;
}

/** Returns 0 for the same spelling or a given pronunciation, and 1 for nothing in common. */
function distanceTo(term: Term, letters: string, sound: string): number {
  let best = Infinity;
  for (const form of term.forms) {
    if (form.letters === letters) return 0;
    const size = Math.max(form.letters.length, letters.length);
    if (Math.abs(form.letters.length - letters.length) > size * 0.4 || size > 60) continue;
    const bySound = soundDistance(form.sound, sound);
    // The mean of the two distances can no longer fall below the threshold.
    if (bySound / 2 > term.threshold) continue;
    best = Math.min(best, (letterDistance(form.letters, letters) + bySound) / 2);
  }
  return best;
}

function letterDistance(a: string, b: string): number {
  let row = Array.from({ length: b.length + 1 }, (_, j) => j);
  for (let i = 1; i <= a.length; i++) {
    const next = [i];
    for (let j = 1; j <= b.length; j++)
      next[j] = Math.min(
        (row[j - 1] ?? 0) + (a[i - 1] === b[j - 1] ? 0 : 1),
        (row[j] ?? 0) + 1,
        (next[j - 1] ?? 0) + 1,
      );
    row = next;
  }
  return (row[b.length] ?? 0) / Math.max(a.length, b.length, 1);
}
