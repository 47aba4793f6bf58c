import { execFileSync } from 'node:child_process';
import { mkdir, rm, symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { articleId } from '../../../src/knowledge/article.ts';
import { filesBelow, maxFileBytes } from '../../../src/knowledge/folder.ts';
import { Knowledge } from '../../../src/knowledge/knowledge.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { createLog } from '../../../src/lib/log.ts';
import { directionFrom, directionSize } from '../../../src/meaning/directions.ts';
import type { Meaning } from '../../../src/meaning/meaning.ts';
import type { Store } from '../../../src/store/store.ts';
import { labelledFolder, labelledQuestions } from '../../support/knowledge-set.ts';
import { postgresMissing, startPostgres, type TestPostgres } from '../../support/store/postgres.ts';
import { temporaryFolder, temporaryStore } from '../../support/store/store.ts';

const log = createLog({ level: 'silent' });
const open = (folder: string, store: Store): Knowledge =>
  Knowledge.open({ folder, store, clock: systemClock, log });
const firstOf = async (knowledge: Knowledge, question: string) => {
  const [first] = (await knowledge.ask(question, { limit: 1 })) ?? [];
  return first;
};

let postgres: TestPostgres | undefined;
beforeAll(async () => {
  if (postgresMissing === undefined) postgres = await startPostgres();
});
afterAll(() => postgres?.[Symbol.asyncDispose]());

const stores = {
  SQLite: () => temporaryStore(),
  Postgres: async () => temporaryStore({ databaseUrl: (await postgres?.newDatabase()) ?? '' }),
};

describe.each(['SQLite', 'Postgres'] as const)('articles on %s', (kind) => {
  const missing = kind === 'Postgres' ? postgresMissing : undefined;

  test.skipIf(missing)(
    'questions as callers ask them find their article by words alone, and others find none',
    async () => {
      // prettier-ignore
      await using folder = await temporaryFolder();
      await labelledFolder(folder.path);
      await using store = await stores[kind]();
      await using knowledge = open(folder.path, store);
      await knowledge.load();
      expect(knowledge.state).toMatchObject({ articles: 48, problems: [] });
      const { questions, without_article: strangers } = await labelledQuestions();
      const plain = questions.filter((one) => one.kind === 'plain');
      let [first, three] = [0, 0];
      for (const { article, question } of plain) {
        const names = ((await knowledge.ask(question, { limit: 3 })) ?? []).map(({ name }) => name);
        if (names[0] === article) first++;
        if (names.includes(article)) three++;
      }
      expect(first / plain.length).toBeGreaterThanOrEqual(0.72);
      expect(three / plain.length).toBeGreaterThanOrEqual(0.84);
      let silent = 0;
      for (const question of strangers)
        if ((await firstOf(knowledge, question))?.isSure !== true) silent++;
      expect(silent / strangers.length).toBeGreaterThanOrEqual(0.88);
      // A code, and a word with its accents and marks away.
      expect(await firstOf(knowledge, 'it says E42!')).toMatchObject({ name: 'tv/error-e42.md' });
      // Words that the index would take for operators.
      for (const question of [
        '"',
        'NOT OR AND',
        'a* NEAR(b, 3)',
        "x' OR 1=1 --",
        ':*&|!',
        'é'.repeat(900),
      ])
        // prettier-ignore
        expect(Array.isArray(await knowledge.ask(question, { limit: 3 }))).toBe(true);
    },
  );

  test.skipIf(missing)(
    'an article that is edited, added or removed is found as it is now',
    async () => {
      // prettier-ignore
      await using folder = await temporaryFolder();
      const file = (name: string) => join(folder.path, name);
      await writeFile(file('hours.md'), '# Opening hours\nThe shop opens at nine.');
      await writeFile(file('parking.md'), '# Parking\nBehind the shop.');
      await using store = await stores[kind]();
      await using knowledge = open(folder.path, store);
      await knowledge.load();
      expect(await firstOf(knowledge, 'what are your opening hours')).toMatchObject({ text: 'The shop opens at nine.', isSure: true }); // prettier-ignore

      await writeFile(file('hours.md'), '# Opening hours\nThe shop opens at ten o clock.');
      await rm(file('parking.md'));
      await writeFile(
        file('trains.csv'),
        'question,answer\nIs there a station?,Five minutes away.\n',
      );
      await knowledge.load();
      expect(await firstOf(knowledge, 'what are your opening hours')).toMatchObject({ text: 'The shop opens at ten o clock.' }); // prettier-ignore
      expect(await firstOf(knowledge, 'where is parking')).toBeUndefined();
      expect(await firstOf(knowledge, 'is there a station')).toMatchObject({
        name: 'trains.csv#2',
      });
      expect(await knowledge.article(articleId('hours.md'))).toHaveLength(1);
      expect(await knowledge.article(articleId('parking.md'))).toEqual([]);

      // A process that starts anew finds the rows, and writes none twice.
      const rows = () => store.db.selectFrom('knowledge_passages').select('id').orderBy('id').execute(); // prettier-ignore
      const before = await rows();
      await using again = open(folder.path, store);
      await again.load();
      expect(await rows()).toEqual(before);
      expect(await firstOf(again, 'is there a station')).toMatchObject({ name: 'trains.csv#2' });

      // A folder that is gone has no article.
      await rm(folder.path, { recursive: true });
      await again.load();
      expect(again.isEmpty).toBe(true);
      expect(await firstOf(again, 'is there a station')).toBeUndefined();
    },
  );
});

test.skipIf(postgresMissing)(
  'two nodes with different folders on one database each find their own articles, and neither removes those of the other',
  async () => {
    // prettier-ignore
    await using one = await temporaryFolder();
    await using other = await temporaryFolder();
    await writeFile(join(one.path, 'fee.md'), '# Fee\nThe fee is six pounds.');
    await writeFile(join(other.path, 'fee.md'), '# Fee\nThe fee is seven pounds.');
    const databaseUrl = (await postgres?.newDatabase()) ?? '';
    await using storeOfOne = await temporaryStore({ databaseUrl });
    await using storeOfOther = await temporaryStore({ databaseUrl });
    await using first = open(one.path, storeOfOne);
    await using second = open(other.path, storeOfOther);
    for (let round = 0; round < 3; round++) {
      await Promise.all([first.load(), second.load()]);
      expect((await firstOf(first, 'what is the fee'))?.text).toContain('six');
      expect((await firstOf(second, 'what is the fee'))?.text).toContain('seven');
    }
    // With the same folder they share the rows.
    await writeFile(join(other.path, 'fee.md'), '# Fee\nThe fee is six pounds.');
    await Promise.all([first.load(), second.load()]);
    expect((await firstOf(second, 'what is the fee'))?.id).toBe((await firstOf(first, 'what is the fee'))?.id); // prettier-ignore
  },
);

/** Stands for the model: it tells a few matters apart. */
const axisOf = (text: string): number => {
  if (/moving home/i.test(text)) return 1;
  if (/parking/i.test(text)) return 2;
  if (/kettle/.test(text)) return 5;
  return /another place|somewhere else|removal van|rent in another|keys/.test(text) ? 3 : 4;
};
const fewThings: Meaning = {
  isThere: () => Promise.resolve(true),
  live: (text) => fewThings.direction(text),
  direction: (text) => Promise.resolve(directionFrom(Array.from({ length: directionSize }, (_, at) => (at === axisOf(text) ? 1 : 0)))), // prettier-ignore
  learn: () => Promise.resolve(undefined),
};

test('a question that names nothing finds the article whose matter customers speak of like this', async () => {
  await using folder = await temporaryFolder();
  await writeFile(join(folder.path, 'moving.md'), '# Moving home\nMoving home takes two weeks.');
  await writeFile(join(folder.path, 'parking.md'), '# Parking\nBehind the shop are ten places.');
  await using store = await temporaryStore();
  const options = { folder: folder.path, store, clock: systemClock, log, meaning: fewThings };
  // A process that starts anew finds the articles understood, and learns the sayings all the same.
  for (let start = 0; start < 2; start++) {
    await using knowledge = Knowledge.open(options);
    await knowledge.load();
    await knowledge.understand();
    expect(await firstOf(knowledge, 'we get our keys on friday')).toMatchObject({ name: 'moving.md', isSure: true }); // prettier-ignore
    expect((await firstOf(knowledge, 'the kettle has boiled'))?.isSure).not.toBe(true);
  }
});

test('files that cannot be used are told by name and reason, and the others are found', async () => {
  await using folder = await temporaryFolder();
  await using outside = await temporaryFolder();
  const at = (name: string) => join(folder.path, name);
  await writeFile(at('good.md'), '# Good\nThe fee is six pounds.');
  await writeFile(join(outside.path, 'secret.md'), '# Secret\nThe vault code.');
  await symlink(join(outside.path, 'secret.md'), at('link.md'));
  await symlink('/nowhere.md', at('lost.md'));
  await symlink(outside.path, at('linked-folder'));
  await writeFile(at('film.md'), '');
  await truncate(at('film.md'), 500_000_000);
  await writeFile(at('nul.md'), 'a\u0000b');
  await writeFile(at('latin.md'), Buffer.from([0x63, 0x61, 0x66, 0xe9]));
  await writeFile(at('table.csv'), 'question,answer\na,"b');
  execFileSync('mkfifo', [at('pipe.md')]);
  await mkdir(at('folder.md'));
  await using store = await temporaryStore();
  await using knowledge = open(folder.path, store);
  await knowledge.load();
  expect(
    Object.fromEntries(knowledge.state.problems.map(({ file, reason }) => [file, reason])),
  ).toEqual({
    // prettier-ignore
    'link.md': 'it is a link out of the folder',
    'lost.md': 'it is a link to nothing',
    'film.md': `it is larger than ${maxFileBytes} bytes: divide it`,
    'nul.md': 'it holds a character that no text has (NUL)',
    'latin.md': 'it is not UTF-8 text',
    'table.csv': 'the quote that opens in line 2 has no end',
    'pipe.md': 'it is no file',
  });
  expect(knowledge.list().map(({ name }) => name)).toEqual(['good.md']);
  expect(await firstOf(knowledge, 'the vault code')).toBeUndefined();
});

test('a folder with far too many files is read to the bound, and that is told', async () => {
  await using folder = await temporaryFolder();
  for (let at = 0; at <= 50; at++) await writeFile(join(folder.path, `${at}.log`), '');
  expect((await filesBelow(folder.path, 51)).problems).toEqual([]);
  expect(await filesBelow(folder.path, 50)).toEqual({
    files: [],
    problems: [
      {
        file: folder.path,
        reason: 'it holds more than 50 files: divide it, or keep others elsewhere',
      },
    ],
  });
});
