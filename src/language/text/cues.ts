import type { Utterance } from '../../protocol/addons.ts';
import {
  beginsUnspaced,
  cutToWidth,
  endsUnspaced,
  hasUnspaced,
  unspacedPieces,
  widthOf,
  type RowUnit,
} from './row-width.ts';

/** One caption: rows of text with a start and an end in milliseconds. */
export type Caption = { startMs: number; endMs: number; rows: string[] };

export type CueLimits = {
  minMs: number;
  maxMs: number;
  rowWidth: number;
  rowUnit: RowUnit;
  rows: number;
};

/** A pause of this length ends a caption, unless the caption must stay longer to be readable. */
const longestPauseMs = 1_000;
/**
 * A caption may start this much later than its first word. The one before it then stays readable, also where two people
 * speak at once.
 */
const longestLagMs = 1_000;

type ShownWord = { text: string; isSpaced: boolean; startMs: number; endMs: number };

/**
 * The captions of a transcript: in order, without overlap, none empty. No row and no caption is longer than the limits
 * allow. A caption lasts at least the requested time unless the next one would be more than a second late.
 */
export function cuesOf(utterances: readonly Utterance[], limits: CueLimits): Caption[] {
  const cues = voicesOf(utterances).flatMap((voice) => packed(voice, limits));
  return spacedOut(
    cues.toSorted((a, b) => a.startMs - b.startMs),
    limits,
  );
}

/** Consecutive words of each voice. Words of two people who speak at once never share a caption. */
function voicesOf(utterances: readonly Utterance[]): ShownWord[][] {
  const voices = new Map<string, ShownWord[]>();
  for (const utterance of utterances) {
    const voice = `${utterance.channel} ${utterance.speaker ?? ''}`;
    const tokens = voices.get(voice) ?? [];
    voices.set(voice, tokens);
    for (const token of tokensOf(utterance)) {
      // Input times may step back; the times of captions never do.
      const startMs = Math.max(token.startMs, tokens.at(-1)?.startMs ?? 0);
      tokens.push({ ...token, startMs, endMs: Math.max(token.endMs, startMs + 1) });
    }
  }
  return [...voices.values()];
}

function tokensOf(utterance: Utterance): ShownWord[] {
  const { words, text, language } = utterance;
  const isWhole =
    words
      .map(({ word }) => word)
      .join('')
      .trim() === text.trim();
  if (words.length === 0) return spread(utterance);
  const shownWords = words.flatMap(({ word, start, end }, i) => {
    const shown = plain(word);
    if (shown === '') return [];
    // Languages without spaces have no space before a word. Words that do not match the text have lost theirs.
    const isSpaced = i === 0 || !isWhole || /^\s/.test(word);
    return [{ text: shown, isSpaced, startMs: msOf(start), endMs: msOf(end) }];
  });
  return joinedWords(shownWords, language);
}

/**
 * A recogniser tells languages without spaces sign by sign. The signs of one word and the marks behind it stay
 * together, and no sign is parted from its accents.
 */
function joinedWords(tokens: readonly ShownWord[], language: string): ShownWord[] {
  if (!tokens.some(({ text, isSpaced }) => !isSpaced || hasUnspaced(text))) return [...tokens];
  const runs: ShownWord[][] = [];
  for (const token of tokens) {
    const run = runs.at(-1);
    const before = run?.at(-1)?.text ?? '';
    if (run && (!token.isSpaced || (endsUnspaced(before) && beginsUnspaced(token.text))))
      run.push(token);
    else runs.push([token]);
  }
  return runs.flatMap((run) => wordsOfRun(run, language));
}

function wordsOfRun(run: readonly ShownWord[], language: string): ShownWord[] {
  const text = run.map((token) => token.text).join('');
  if (!hasUnspaced(text)) return withWholeSigns(run);
  const ends: { at: number; token: ShownWord }[] = [];
  let length = 0;
  for (const token of run) ends.push({ at: (length += token.text.length), token });
  let from = 0;
  let of = 0;
  const pieces = unspacedPieces(text, language).map((piece, i) => {
    const first = ends[of]?.token;
    from += piece.length;
    while ((ends[of]?.at ?? Infinity) < from) of++;
    const last = ends[of]?.token;
    if (ends[of]?.at === from) of++;
    const [startMs, endMs] = [first?.startMs ?? 0, (last ?? first)?.endMs ?? 0];
    return { text: piece, isSpaced: i === 0 && run[0]?.isSpaced === true, startMs, endMs };
  });
  return withoutBlanks(pieces);
}

/** A space inside of a recogniser's word is no row of its own: the piece behind it is spaced. */
function withoutBlanks(pieces: readonly ShownWord[]): ShownWord[] {
  let isApart = false;
  return pieces.flatMap((piece) => {
    const isSpaced = piece.isSpaced || isApart || piece.text.startsWith(' ');
    isApart = piece.text.endsWith(' ');
    const text = piece.text.trim();
    return text === '' ? [] : [{ ...piece, text, isSpaced }];
  });
}

/** A token that only adds to the last sign of the one before belongs to it. */
function withWholeSigns(run: readonly ShownWord[]): ShownWord[] {
  const whole: ShownWord[] = [];
  for (const token of run) {
    const before = whole.at(-1);
    const isParted =
      before !== undefined &&
      widthOf(before.text + token.text, 'characters') <
        widthOf(before.text, 'characters') + widthOf(token.text, 'characters');
    if (isParted)
      whole[whole.length - 1] = { ...before, text: before.text + token.text, endMs: token.endMs };
    else whole.push(token);
  }
  return whole;
}

/** A text without words shares its time among its words by length. */
function spread({ text, start, end, language }: Utterance): ShownWord[] {
  const pieces = plain(text)
    .split(' ')
    .filter(Boolean)
    .flatMap((piece) =>
      hasUnspaced(piece)
        ? unspacedPieces(piece, language).map((one, i) => ({ text: one, isSpaced: i === 0 }))
        : [{ text: piece, isSpaced: true }],
    );
  const length = pieces.reduce((sum, piece) => sum + piece.text.length, 0);
  const startMs = msOf(start);
  const spanMs = Math.max(0, msOf(end) - startMs);
  let used = 0;
  return pieces.map((piece) => {
    const fromMs = startMs + Math.round((spanMs * used) / length);
    used += piece.text.length;
    const toMs = startMs + Math.round((spanMs * used) / length);
    return { ...piece, startMs: fromMs, endMs: toMs };
  });
}

/**
 * One line without characters that would end a caption: line breaks, control characters, the arrow between two times.
 */
function plain(text: string): string {
  if (/^ ?[\p{L}\p{N}.,!?']+$/u.test(text)) return text.trimStart();
  return text
    .replace(/[\s\p{Cc}\u2028\u2029]+/gu, ' ')
    .replace(/--+>/g, '->')
    .trim();
}

function msOf(seconds: number): number {
  return Number.isFinite(seconds) ? Math.max(0, Math.round(seconds * 1e3)) : 0;
}

function packed(tokens: readonly ShownWord[], limits: CueLimits): Caption[] {
  const cues: Caption[] = [];
  for (const token of tokens.flatMap((one) => cutToRow(one, limits))) {
    const cue = cues.at(-1);
    const rows =
      cue && mayJoin(cue, token, limits) ? withToken(cue.rows, token, limits) : undefined;
    if (cue && rows) {
      cue.rows = rows;
      cue.endMs = Math.max(cue.endMs, token.endMs);
    } else cues.push({ startMs: token.startMs, endMs: token.endMs, rows: [token.text] });
  }
  return cues;
}

function mayJoin(cue: Caption, token: ShownWord, { minMs, maxMs }: CueLimits): boolean {
  if (token.endMs - cue.startMs > maxMs) return false;
  const isPause = token.startMs - cue.endMs > longestPauseMs;
  return !isPause || token.startMs < cue.startMs + minMs;
}

/** The rows with one more token, or undefined if it does not fit. */
function withToken(
  rows: readonly string[],
  token: ShownWord,
  { rowWidth, rowUnit, rows: most }: CueLimits,
): string[] | undefined {
  const row = rows.at(-1) ?? '';
  // Between two sentences of a language without spaces there is none either.
  const isSpaced = token.isSpaced && !(endsUnspaced(row) && beginsUnspaced(token.text));
  const last = `${row}${isSpaced ? ' ' : ''}${token.text}`;
  if (fits(last, rowWidth, rowUnit)) return [...rows.slice(0, -1), last];
  return rows.length < most ? [...rows, token.text] : undefined;
}

/**
 * Cuts a word that is longer than a row. The client sets that limit, and a row that runs off the screen cannot be read.
 */
function cutToRow(token: ShownWord, { rowWidth, rowUnit }: CueLimits): ShownWord[] {
  if (fits(token.text, rowWidth, rowUnit)) return [token];
  const { startMs, endMs, text } = token;
  const at = (place: number): number =>
    startMs + Math.floor(((endMs - startMs) * place) / text.length);
  let to = 0;
  return cutToWidth(text, rowWidth, rowUnit)
    .map((row, i) => {
      const from = to;
      to += row.length;
      const isSpaced = i === 0 && token.isSpaced;
      return { text: row, isSpaced, startMs: at(from), endMs: at(to) };
    })
    .filter((row) => row.text.trim() !== '');
}

/** True if the text is at most this wide. It is never wider than its UTF-16 units by more than twice. */
function fits(text: string, width: number, unit: RowUnit): boolean {
  return text.length * 2 <= width || widthOf(text, unit) <= width;
}

/** Gives each caption its time on the screen, one after the other. */
function spacedOut(cues: readonly Caption[], { minMs, maxMs }: CueLimits): Caption[] {
  let beforeMs = 0;
  return cues.map((cue, i) => {
    const startMs = Math.max(cue.startMs, beforeMs);
    const wantedMs = Math.min(Math.max(cue.endMs, startMs + minMs), startMs + maxMs);
    const next = cues[i + 1];
    const latestMs = next ? next.startMs + longestLagMs : Infinity;
    const endMs = Math.max(Math.min(wantedMs, latestMs), startMs + 1);
    beforeMs = endMs;
    return { startMs, endMs, rows: cue.rows };
  });
}
