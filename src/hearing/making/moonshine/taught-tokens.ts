import type { StoredTensor } from './ort-file.ts';
import type { TokenTable } from '../tokens.ts';

/** Signs that the table has for other purposes than text. */
const sign = /^<<ST_\d+>>$/;
/** The unknown sign, the beginning and the end: they keep their numbers. */
const firstTokens = 3;
/**
 * How alike the weights of a token are to those of the signs, as the cosine of their angle. Of the 10,386 tokens above
 * this none was ever likelier than 0.06 in 10,000 words, and hardly one of those above 0.65 than 0.01. Not far below
 * are tokens that are written.
 */
const likeSigns = 0.5;

/**
 * The tokens that a model learnt to write, by their weights. The table is that of a model of many languages and of
 * program code; a third of it never stood in the texts that this one was taught with. All that such tokens learnt is to
 * be unlikely, as the signs did, so their weights point where those of the signs do. Left out, they save a fifth of a
 * step: what comes next is asked of all tokens.
 *
 * `weights` has a row for each number that goes in and a column for each token; `zero` stands for nothing.
 */
export function taughtTokens(
  table: TokenTable,
  { dims: [rows = 0, columns = 0], bytes }: StoredTensor,
  zero: number,
): number[] {
  const weight = (row: number, token: number) => (bytes[row * columns + token] ?? zero) - zero;
  const tokens = Array.from({ length: columns }, (_, token) => token);
  const signs = tokens.filter((token) => sign.test(Buffer.from(table.bytesOf(token)).toString()));
  const all = Array.from({ length: rows }, (_, row) => row);
  const direction = all.map((row) => signs.reduce((sum, token) => sum + weight(row, token), 0));
  const far = Math.hypot(...direction);
  const products = new Float64Array(columns);
  const squares = new Float64Array(columns);
  for (const [row, part] of direction.entries())
    for (let token = 0; token < columns; token++) {
      const value = weight(row, token);
      products[token] = (products[token] ?? 0) + value * part;
      squares[token] = (squares[token] ?? 0) + value * value;
    }
  return tokens.filter((token) => {
    if (token < firstTokens || far === 0) return true;
    return (products[token] ?? 0) <= likeSigns * far * Math.sqrt(squares[token] ?? 0);
  });
}
