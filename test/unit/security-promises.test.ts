import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { isTestThere } from '../support/papers/named-tests.ts';

const folder = resolve(import.meta.dirname, '..');

type SecurityPromise = { begins: string; shown: { file: string; name: string }[]; isNone: boolean };

function promisesOf(text: string): SecurityPromise[] {
  const promises: SecurityPromise[] = [];
  for (const line of text.split('\n').filter((each) => /^ *- /.test(each))) {
    const begins = /^- (.+)$/.exec(line)?.[1];
    if (begins !== undefined) {
      promises.push({ begins, shown: [], isNone: false });
      continue;
    }
    const promise = promises.at(-1);
    const [, file, name] = /^ {2}- `([^`]+)`: (.+)$/.exec(line) ?? [];
    if (promise === undefined) throw new Error(`cannot be read: ${line}`);
    if (file !== undefined && name !== undefined) promise.shown.push({ file, name });
    else if (line === '  - no promise') promise.isNone = true;
    else throw new Error(`cannot be read: ${line}`);
  }
  return promises;
}

/** The sentences of the page outside of its table, in their order. */
function sentencesOf(page: string): string[] {
  return page
    .split('\n')
    .filter((line) => line.trim() !== '' && !line.startsWith('#') && !line.trim().startsWith('|'))
    .flatMap((line) => line.replace(/^\s*- /, '').split(/(?<=[.:])\s+(?=[A-Z`])/));
}

const promises = promisesOf(readFileSync(join(folder, 'security-promises.md'), 'utf8'));
const sentences = sentencesOf(readFileSync(join(folder, '../config/docs/security.md'), 'utf8'));

describe('what security.md promises', () => {
  test('is every sentence of it, in its order', () => {
    const told = sentences.map((sentence, at) => {
      const { begins = '' } = promises[at] ?? {};
      return begins !== '' && sentence.startsWith(begins) ? begins : sentence;
    });
    expect(promises.map(({ begins }) => begins)).toEqual(told);
  });

  test('is shown by a test, or is advice', () => {
    for (const { begins, shown, isNone } of promises)
      expect(shown.length > 0, `${begins}: tests, or "no promise", and not both`).toBe(!isNone);
  });

  test('names no test that does not exist', () => {
    const missing = promises.flatMap(({ begins, shown }) =>
      shown
        .filter(({ file, name }) => !isTestThere(folder, file, name))
        .map(({ file, name }) => `${begins}: ${file}: ${name}`),
    );
    expect(missing, 'renamed or moved? then name it so in test/security-promises.md').toEqual([]);
  });
});
