import { existsSync, readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { isTestThere } from '../support/papers/named-tests.ts';

const folder = resolve(import.meta.dirname, '..');

interface CatalogueEntry {
  number: string;
  sentence: string;
  /** Below it: tests (a file, and the name unless the file is a trial or bench), or why there are none. */
  shown: { file: string; name?: string }[];
  untested: string[];
}

/** Reads the catalogue; a line that is neither an entry nor stands below one is an error. */
function entriesOf(text: string): CatalogueEntry[] {
  const entries: CatalogueEntry[] = [];
  for (const line of text.split('\n').filter((each) => /^ *- /.test(each))) {
    const head = /^- \*\*([FTH]\d+)\*\* (.+)$/.exec(line);
    if (head?.[1] !== undefined && head[2] !== undefined) {
      entries.push({ number: head[1], sentence: head[2], shown: [], untested: [] });
      continue;
    }
    const below = /^ {2}- (?:`([^`]+)`(?:: (.+))?|(not tested.*))$/.exec(line);
    const entry = entries.at(-1);
    if (below === null || entry === undefined) throw new Error(`cannot be read: ${line}`);
    const [, file, name, untested] = below;
    if (file !== undefined) entry.shown.push({ file, ...(name === undefined ? {} : { name }) });
    else entry.untested.push(untested ?? '');
  }
  return entries;
}

const entries = entriesOf(readFileSync(join(folder, 'threats.md'), 'utf8'));

describe('the catalogue of failures and threats', () => {
  test('has every number once, in order and without a hole', () => {
    for (const [letter, count] of [
      ['F', 127],
      ['T', 60],
      ['H', 160],
    ] as const) {
      const numbers = entries.map((entry) => entry.number).filter((each) => each[0] === letter);
      expect(numbers).toEqual(Array.from({ length: count }, (_, i) => `${letter}${i + 1}`));
    }
    const all = entries.map((entry) => entry.number);
    expect(all.filter((each, i) => all.indexOf(each) !== i)).toEqual([]);
  });

  test('says of each a sentence, and either its tests or that there is none', () => {
    for (const { number, sentence, shown, untested } of entries) {
      expect(sentence, number).toMatch(/^[A-Z].*\.$/);
      expect(shown.length > 0, `${number}: tests, or "not tested", and not both`).toBe(
        untested.length === 0,
      );
    }
  });

  test('names no test that does not exist', () => {
    const missing = entries.flatMap(({ number, shown }) =>
      shown
        .filter(({ file, name }) => {
          if (name !== undefined) return !isTestThere(folder, file, name);
          return !existsSync(join(folder, file)) || !/^(trials|bench)\//.test(file);
        })
        .map(({ file, name }) => `${number}: ${file}: ${name ?? ''}`),
    );
    expect(missing, 'renamed or moved? then name it so in test/threats.md').toEqual([]);
  });
});
