/**
 * A text as small tokens: words, runs of digits, single marks. All later steps use token indexes and convert them to
 * characters only at the end, so spans stay exact whatever was skipped.
 */
type TokenKind = 'word' | 'number' | 'mark';

export type TextToken = {
  kind: TokenKind;
  text: string;
  lower: string;
  start: number;
  end: number;
  /** True if white space or the start of the text stands before the token. */
  spaced: boolean;
  /** True if the first letter is a capital. */
  capital: boolean;
};

const pattern = /(\p{L}[\p{L}\p{M}]*(?:['’]\p{L}+)*)|(\p{Nd}+)|(\S)/gu;

/** The longest token. A text without spaces can be a megabyte: a longer run is cut and continues in the next token. */
const longestToken = 200;

export function tokenize(text: string): TextToken[] {
  const tokens: TextToken[] = [];
  let end = 0;
  for (const match of text.matchAll(pattern)) {
    const start = match.index;
    const whole = match[0];
    const kind: TokenKind =
      match[1] !== undefined ? 'word' : match[2] !== undefined ? 'number' : 'mark';
    for (let at = 0; at < whole.length; at += longestToken) {
      const piece = whole.slice(at, at + longestToken);
      tokens.push({
        kind,
        text: piece,
        lower: piece.toLowerCase().replaceAll('’', "'"),
        start: start + at,
        end: start + at + piece.length,
        spaced: at === 0 && (start > end || start === 0),
        capital: kind === 'word' && piece[0] !== piece[0]?.toLowerCase(),
      });
    }
    end = start + whole.length;
  }
  return tokens;
}
