import type { Utterance } from '../../protocol/addons.ts';

/** One caption: rows of text with a start and an end in milliseconds. */
export type Caption = { startMs: number; endMs: number; rows: string[] };

export type CueLimits = {
  minMs: number;
  maxMs: number;
  rowCharacters: number;
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
  const { words, text } = utterance;
  const isWhole =
    words
      .map(({ word }) => word)
      .join('')
      .trim() === text.trim();
  if (words.length === 0) return spread(utterance);
  return words.flatMap(({ word, start, end }, i) => {
    const shown = plain(word);
    if (shown === '') return [];
    // Languages without spaces have no space before a word. Words that do not match the text have lost theirs.
    const isSpaced = i === 0 || !isWhole || /^\s/.test(word);
    return [{ text: shown, isSpaced, startMs: msOf(start), endMs: msOf(end) }];
  });
}

/** A text without words shares its time among its words by length. */
function spread({ text, start, end }: Utterance): ShownWord[] {
  const pieces = plain(text).split(' ').filter(Boolean);
  const length = pieces.reduce((sum, piece) => sum + piece.length, 0);
  const startMs = msOf(start);
  const spanMs = Math.max(0, msOf(end) - startMs);
  let used = 0;
  return pieces.map((piece) => {
    const fromMs = startMs + Math.round((spanMs * used) / length);
    used += piece.length;
    const toMs = startMs + Math.round((spanMs * used) / length);
    return { text: piece, isSpaced: true, startMs: fromMs, endMs: toMs };
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
  for (const token of tokens.flatMap((one) => cutToRow(one, limits.rowCharacters))) {
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
  { rowCharacters, rows: most }: CueLimits,
): string[] | undefined {
  const last = `${rows.at(-1) ?? ''}${token.isSpaced ? ' ' : ''}${token.text}`;
  if (fits(last, rowCharacters)) return [...rows.slice(0, -1), last];
  return rows.length < most ? [...rows, token.text] : undefined;
}

/**
 * Cuts a word that is longer than a row. The client sets that limit, and a row that runs off the screen cannot be read.
 */
function cutToRow(token: ShownWord, rowCharacters: number): ShownWord[] {
  if (fits(token.text, rowCharacters)) return [token];
  const characters = Array.from(token.text);
  const { startMs, endMs } = token;
  const at = (character: number): number =>
    startMs + Math.floor(((endMs - startMs) * character) / characters.length);
  return Array.from({ length: Math.ceil(characters.length / rowCharacters) }, (_, i) => {
    const from = i * rowCharacters;
    const to = Math.min(characters.length, from + rowCharacters);
    return {
      text: characters.slice(from, to).join(''),
      isSpaced: i === 0 && token.isSpaced,
      startMs: at(from),
      endMs: at(to),
    };
  }).filter(({ text }) => text.trim() !== '');
}

/**
 * True if the text has at most this many characters as a reader counts them. Those are never more than its UTF-16
 * units, which are checked first.
 */
function fits(text: string, characters: number): boolean {
  return text.length <= characters || Array.from(text).length <= characters;
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
