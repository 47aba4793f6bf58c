import { sql, type RawBuilder } from 'kysely';
import type { Atom, Condition } from './search-query.ts';

/** Tests whether the words of row `said` match one of a condition's atoms, in each database's own syntax. */
export type HoldsWords = (condition: Pick<Condition, 'anyOf'>) => RawBuilder<boolean>;

/** FTS5 takes one text. Each word is quoted, so that none is read as an operator. */
export function sqliteMatch({ anyOf }: Pick<Condition, 'anyOf'>): string {
  return anyOf.map(sqliteAtom).join(' OR ');
}

/**
 * A row id as a bound of the index. A number of JavaScript is sent to SQLite as a float, and FTS5 ignores such a bound:
 * it would read all hits of the word.
 */
export function boundOf(id: number | RawBuilder<unknown>): RawBuilder<number> {
  return sql`cast(${id} as integer)`;
}

function sqliteAtom(atom: Atom): string {
  switch (atom.kind) {
    case 'phrase':
      return `"${atom.words.join(' ')}"`;
    case 'prefix':
      return `"${atom.word}" *`;
    case 'near':
      return `NEAR(${atom.words.map((word) => `"${word}"`).join(' ')}, ${atom.within})`;
  }
}

/** Builds a tsquery from parameters only. */
export function postgresQuery({ anyOf }: Pick<Condition, 'anyOf'>): RawBuilder<unknown> {
  return sql`(${sql.join(anyOf.map(postgresAtom), sql` || `)})`;
}

function postgresAtom(atom: Atom): RawBuilder<unknown> {
  switch (atom.kind) {
    case 'phrase':
      return sql`phraseto_tsquery('simple', ${atom.words.join(' ')})`;
    case 'prefix':
      return sql`to_tsquery('simple', ${`${atom.word}:*`})`;
    case 'near':
      // Each pair is tested in both orders and at each distance up to the requested one, because `<n>` matches only the
      // exact distance.
      return sql`(${sql.join(
        pairsOf(atom.words).map((pair) => nearPair(pair, atom.within)),
        sql` && `,
      )})`;
  }
}

function pairsOf(words: readonly string[]): [string, string][] {
  return words.slice(1).map((word, index) => [words[index] ?? '', word]);
}

function nearPair([one, other]: [string, string], within: number): RawBuilder<unknown> {
  const distances = Array.from({ length: within + 1 }, (_, at) => at + 1);
  const either = distances.flatMap((apart) => [
    `${one} <${apart}> ${other}`,
    `${other} <${apart}> ${one}`,
  ]);
  return sql`to_tsquery('simple', ${either.map((pair) => `(${pair})`).join(' | ')})`;
}
