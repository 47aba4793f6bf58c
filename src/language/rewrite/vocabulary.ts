import { isCommon } from '../entities/gazetteer.ts';
import { tokenize, type Token } from '../text/tokens.ts';
import { soundDistance, soundOf } from './pronunciation.ts';
import type { VocabularyItem } from './types.ts';

/** Words of the caller's trade put where something that sounds like them was recognised. */
export type Vocabulary = (
  text: string,
  confidenceOf: (start: number, end: number) => number,
) => string;

type Form = { letters: string; sound: string; isGiven: boolean };
type Term = { value: string; threshold: number; forms: Form[]; words: number };

/** A window of words that could be one term: "north gate bank". */
const widestWindow = 4;

/** Under this the recogniser itself doubts the word. */
const doubtfulConfidence = 0.5;

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
  const forms = [value, ...(pronunciations ?? [])].map((spoken, i) => ({
    letters: lettersOf(spoken),
    sound: soundOf(spoken),
    isGiven: i > 0,
  }));
  return {
    value: value.trim(),
    // 0 takes only what is spelled the same, 1 takes what shares six sounds of ten.
    threshold: strength * 0.4,
    forms: forms.filter((form) => form.letters !== ''),
    words: value.trim().split(/\s+/).length,
  };
}

function lettersOf(text: string): string {
  return text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');
}

/** Sounds that are confused at the start of a word share a drawer. */
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

function replaceIn(
  text: string,
  tokens: readonly Token[],
  byFirst: ReadonlyMap<string, Term[]>,
  confidenceOf: (start: number, end: number) => number,
): string {
  let out = '';
  let at = 0;
  for (let i = 0; i < tokens.length; i++) {
    if (tokens[i]?.kind !== 'word') continue;
    let best: { term: Term; end: number; distance: number } | undefined;
    for (let width = 1; width <= widestWindow; width++) {
      const window = tokens.slice(i, i + width);
      if (window.length < width || window.some((token) => token.kind !== 'word')) break;
      const distance = (term: Term): number => distanceTo(term, window, confidenceOf);
      for (const term of byFirst.get(
        firstClass(soundOf(window.map((token) => token.text).join(' '))),
      ) ?? []) {
        if (Math.abs(width - term.words) > 2) continue;
        const found = distance(term);
        if (found <= term.threshold && found < (best?.distance ?? Infinity))
          best = { term, end: i + width, distance: found };
      }
    }
    const from = tokens[i];
    const to = best ? tokens[best.end - 1] : undefined;
    if (!best || !from || !to) continue;
    out +=
      text.slice(at, from.start) +
      best.term.value +
      (to.lower.endsWith("'s") && !best.term.value.endsWith("'s") ? "'s" : '');
    at = to.end;
    i = best.end - 1;
  }
  return out + text.slice(at);
}

/** 0: spelled the same, or as a given pronunciation; Infinity: must not be replaced. */
function distanceTo(
  term: Term,
  window: readonly Token[],
  confidenceOf: (start: number, end: number) => number,
): number {
  const letters = lettersOf(window.map((token) => token.lower.replace(/'s$/, '')).join(''));
  const sound = soundOf(window.map((token) => token.lower.replace(/'s$/, '')).join(' '));
  const isPlain = window.every((token) => isCommon(token.lower));
  let best = Infinity;
  for (const form of term.forms) {
    if (form.letters === letters) return 0;
    const size = Math.max(form.letters.length, letters.length);
    if (Math.abs(form.letters.length - letters.length) > size * 0.4 || size > 60) continue;
    const distance = (letterDistance(form.letters, letters) + soundDistance(form.sound, sound)) / 2;
    best = Math.min(best, distance);
  }
  if (!isPlain) return letters.length < 4 ? best * 1.6 : best;
  // Everyday words are right far more often than they are a misheard brand: one of them is never touched while the
  // recogniser stands by it, several only when they sound nearly the same.
  const isDoubtful =
    confidenceOf(window[0]?.start ?? 0, window.at(-1)?.end ?? 0) < doubtfulConfidence;
  if (window.length === 1) return isDoubtful ? best * 1.5 : Infinity;
  return letters.length < 5 ? Infinity : best * (isDoubtful ? 1.3 : 2);
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
