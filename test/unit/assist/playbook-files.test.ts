import { chmod, mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { checkedPlaybook, PlaybookFiles } from '../../../src/assist/playbook-files.ts';
import { temporaryFolder } from '../../support/store/store.ts';

const playbook = (id: string, title = 'It') =>
  `id: ${id}\nrules:\n  - { id: it, title: ${title}, when: { phrase: { any: [hello there] } }, then: [{ tag: t }] }\n`;

const mistakesIn = async (text: string) => {
  const checked = await checkedPlaybook(text);
  return 'mistakes' in checked ? checked.mistakes : [];
};

describe('mistakes stand at their lines', () => {
  test('of the schema, of names, of phrases, of YAML, and of what is missing', async () => {
    const head = 'id: shop\nrules:\n';
    const rule = (when: string, then = '{ tag: t }') =>
      `${head}  - id: it\n    title: It\n    when: ${when}\n    then:\n      - ${then}\n`;
    expect(await mistakesIn(rule('{ phrase: { any: [hello] } }'))).toEqual([]);
    for (const [text, line, reason] of [
      [rule('{ phrase: { any: [hello], looose: true } }'), 5, 'looose'],
      [rule('{ phrase: { any: ["{none}"] } }'), 5, 'none'],
      [
        rule('{ phrase: { any: [hello] } }', '{ step: open.told }'),
        7,
        'there is no step open.told',
      ],
      [`${head}  - id: it\n    title: [\n`, 5, ''],
      [`${head}  - id: it\n    titel: x\n`, 4, 'titel'],
      [`status: lively\n${playbook('shop')}`, 1, 'status'],
      ['', 1, 'the file'],
      ['\0', 1, ''],
      [
        rule(`${'{ any: ['.repeat(100)}{ phrase: { any: [hello] } }${'] }'.repeat(100)}`),
        5,
        'nested too deeply',
      ],
      [
        rule(`${'{ any: ['.repeat(30_000)}{ tag: t }${'] }'.repeat(30_000)}`),
        1,
        'nested too deeply',
      ],
      [`id: shop\nrules: ${'['.repeat(30_000)}${']'.repeat(30_000)}\n`, 1, 'nested too deeply'],
    ] as const) {
      const found = await mistakesIn(text);
      expect([text, found.find((one) => one.line === line && one.reason.includes(reason))?.line]).toEqual([text, line]); // prettier-ignore
    }
  });
});

describe('a save', () => {
  test('writes a whole file, is refused on another digest, and leaves no draft behind', async () => {
    await using temporary = await temporaryFolder();
    const folder = join(temporary.path, 'made', 'assist');
    const files = new PlaybookFiles({ folder, starter: false });
    const made = await files.save({ name: 'shop.yaml', text: playbook('shop'), digest: null });
    expect(made).toMatchObject({ name: 'shop.yaml', playbook: { id: 'shop' } });
    const { digest = '' } = (await files.read('shop.yaml')) ?? {};
    const both = await Promise.all(
      ['First', 'Second'].map((title) => files.save({ name: 'shop.yaml', text: playbook('shop', title), digest })), // prettier-ignore
    );
    expect(both.map((one) => 'refused' in one)).toEqual([false, true]);
    expect(await readFile(join(folder, 'shop.yaml'), 'utf8')).toBe(playbook('shop', 'First'));
    expect(await files.save({ name: 'shop.yaml', text: playbook('shop'), digest: null })).toMatchObject({ refused: 'changed' }); // prettier-ignore
    expect(await files.save({ name: 'gone.yaml', text: playbook('gone'), digest })).toMatchObject({ refused: 'changed' }); // prettier-ignore
    expect(await readdir(folder)).toEqual(['shop.yaml']);
  });

  test('of a text with mistakes, of an id that another file has, and under a name with a way changes nothing', async () => {
    await using temporary = await temporaryFolder();
    const folder = temporary.path;
    await writeFile(join(folder, 'shop.yaml'), playbook('shop'));
    const files = new PlaybookFiles({ folder, starter: false });
    const save = (name: string, text: string) => files.save({ name, text, digest: null });
    expect(await save('other.yaml', 'id: [')).toMatchObject({ refused: 'mistakes' });
    expect(await save('other.yaml', playbook('shop'))).toMatchObject({ refused: 'mistakes' });
    for (const name of [
      '../shop.yaml',
      '..',
      '.yaml',
      'a/b.yaml',
      'x.yml\0',
      'shop.json',
      `${'x'.repeat(200)}.yaml`,
    ])
      // prettier-ignore
      expect(await save(name, playbook('new'))).toMatchObject({ refused: 'name' });
    expect(await readdir(folder)).toEqual(['shop.yaml']);
  });

  test('where nothing can be written says what to do, and the setting of one file takes that file alone', async () => {
    await using temporary = await temporaryFolder();
    const one = join(temporary.path, 'one.yaml');
    const files = new PlaybookFiles({ folder: one, starter: false });
    expect(await files.save({ name: 'two.yaml', text: playbook('two'), digest: null })).toMatchObject({ refused: 'cannot' }); // prettier-ignore
    expect(await files.save({ name: 'one.yaml', text: playbook('one'), digest: null })).toMatchObject({ name: 'one.yaml' }); // prettier-ignore
    // The root of a test may write everywhere but here.
    const nowhere = new PlaybookFiles({ folder: '/proc/assist', starter: false });
    expect(await nowhere.save({ name: 'one.yaml', text: playbook('one'), digest: null })).toMatchObject({ refused: 'cannot' }); // prettier-ignore
    expect(await nowhere.list()).toEqual([]);
  });

  test('through a link changes the file that the link names', async () => {
    await using temporary = await temporaryFolder();
    const folder = join(temporary.path, 'assist');
    await mkdir(folder);
    const target = join(temporary.path, 'shop-in-git.yaml');
    await writeFile(target, playbook('shop'));
    await symlink(target, join(folder, 'shop.yaml'));
    await chmod(target, 0o644);
    const files = new PlaybookFiles({ folder, starter: false });
    const { digest = '' } = (await files.read('shop.yaml')) ?? {};
    expect(await files.save({ name: 'shop.yaml', text: playbook('shop', 'New'), digest })).toMatchObject({ name: 'shop.yaml' }); // prettier-ignore
    expect(await readFile(target, 'utf8')).toBe(playbook('shop', 'New'));
  });

  test('of a starter playbook makes a file that stands in its place', async () => {
    await using temporary = await temporaryFolder();
    const files = new PlaybookFiles({ folder: temporary.path, starter: true });
    const [starter] = await files.list();
    expect(starter).toMatchObject({ name: 'call-centre.yaml', isStarter: true, mistakes: [] });
    const { text = '' } = (await files.read('call-centre.yaml')) ?? {};
    await files.save({ name: 'call-centre.yaml', text: `# Ours\n${text}`, digest: null });
    expect((await files.list()).map(({ name, isStarter }) => [name, isStarter])).toEqual([['call-centre.yaml', false]]); // prettier-ignore
  });
});
