/** Scripts whose words have no spaces between them. */
const unspaced = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Thai}\p{Script=Lao}\p{Script=Khmer}\p{Script=Myanmar}\u3000-\u303f\uff00-\uff60]/u; // prettier-ignore
/** Characters as wide as two letters: they are counted so only where rows are counted in columns. */
const wide = /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}\u3000-\u303f\uff01-\uff60]/u; // prettier-ignore
/** Text in which each UTF-16 unit is one character of one column. */
const simple = /^[\x20-\x7e\u00a1-\u00ac\u00ae-\u02ff\u0370-\u0482\u048a-\u058f]*$/;

const graphemes = new Intl.Segmenter(undefined, { granularity: 'grapheme' });

/** Rows are measured in characters as a reader counts them, or in columns, of which some characters fill two. */
export type RowUnit = 'characters' | 'columns';

/** The characters of a text as a reader sees them: a letter with its accents, or a family of emojis, is one. */
export function charactersOf(text: string): string[] {
  return Array.from(graphemes.segment(text), ({ segment }) => segment);
}

export function widthOf(text: string, unit: RowUnit): number {
  if (simple.test(text)) return text.length;
  const characters = charactersOf(text);
  if (unit === 'characters') return characters.length;
  return characters.reduce((sum, one) => sum + (wide.test(one) ? 2 : 1), 0);
}

/** True if the text is written without spaces at its end. */
export function endsUnspaced(text: string): boolean {
  return unspaced.test(Array.from(text.slice(-2)).at(-1) ?? '');
}

/** True if the text is written without spaces at its beginning. */
export function beginsUnspaced(text: string): boolean {
  return unspaced.test(Array.from(text.slice(0, 2))[0] ?? '');
}

export function hasUnspaced(text: string): boolean {
  return unspaced.test(text);
}

/** Cuts a text into rows of at most this width, never inside a character. */
export function cutToWidth(text: string, most: number, unit: RowUnit): string[] {
  const rows: string[] = [];
  let row = '';
  let width = 0;
  for (const character of charactersOf(text)) {
    const own = widthOf(character, unit);
    if (row !== '' && width + own > most) {
      rows.push(row);
      [row, width] = ['', 0];
    }
    row += character;
    width += own;
  }
  return row === '' ? rows : [...rows, row];
}

/** A row must not begin with these, nor end with those. */
const closing = /^[\p{Pe}\p{Pf}\p{Po}ー々]+$/u;
const opening = /^[\p{Ps}\p{Pi}]+$/u;

/** The places at which a text without spaces may be broken: between words, with their marks. As lengths. */
export function unspacedPieces(text: string, language: string): string[] {
  const pieces: string[] = [];
  for (const { segment } of wordSegmenter(language).segment(text)) {
    const before = pieces.at(-1);
    if (before !== undefined && (closing.test(segment) || opening.test(before)))
      pieces[pieces.length - 1] = before + segment;
    else pieces.push(segment);
  }
  return pieces;
}

const segmenters = new Map<string, Intl.Segmenter>();

function wordSegmenter(language: string): Intl.Segmenter {
  const locale = /^[a-z]{2,3}$/.test(language) ? language : 'und';
  const known = segmenters.get(locale);
  if (known) return known;
  const made = new Intl.Segmenter(locale, { granularity: 'word' });
  segmenters.set(locale, made);
  return made;
}
