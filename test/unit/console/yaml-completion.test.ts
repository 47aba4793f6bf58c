import { beforeAll, describe, expect, test } from 'vitest';
import { playbookSchema } from '../../../src/assist/playbook-files.ts';

type Items = { length: number; items: { label: string; insert: string }[] };
let completionsAt: (schema: object, text: string, caret: number) => Items;
const schema = playbookSchema();

beforeAll(async () => {
  ({ completionsAt } = await import(
    new URL('../../../src/console/page/yaml-completion.js', import.meta.url).href
  ));
});

/** The labels at the mark `^`. */
function at(marked: string): string[] {
  const caret = marked.indexOf('^');
  const text = marked.replace('^', '');
  return completionsAt(schema, text, caret).items.map(({ label }) => label);
}

describe('completion of a playbook by its schema', () => {
  test('offers the keys of each level, without those that are there', () => {
    expect(at('id: shop\n^')).toContain('rules');
    expect(at('id: shop\n^')).not.toContain('id');
    expect(at('sta^')).toEqual(['status']);
    const rule = 'rules:\n  - id: a\n    ^\n';
    expect(at(rule)).toEqual(['title', 'when', 'then', 'cooldown', 'once', 'priority']);
    expect(at('rules:\n- id: a\n  t^')).toEqual(['title', 'then']);
    expect(at('checklists:\n  - id: a\n    steps:\n      - re^')).toEqual(['required']);
  });

  test('offers values: words that are listed, true and false', () => {
    expect(at('status: ^')).toEqual(['draft', 'shadow', 'live']);
    expect(at('status: sh^')).toEqual(['shadow']);
    expect(at('rules:\n  - once: ^')).toEqual(['true', 'false']);
    expect(at('scope:\n  direction:\n    - ^')).toEqual(['inbound', 'outbound']);
    expect(at('scope: { direction: [inb^')).toEqual(['inbound']);
  });

  test('knows the way through maps and lists in one line, over lines and in quotes', () => {
    const begin = 'rules:\n  - id: a\n    when: { any: [{ phrase: { ro';
    expect(at(`${begin}^`)).toEqual(['role']);
    expect(at(`${begin}le: customer, any: ["a: {b", 'c # d'], lo^`)).toEqual(['loose']);
    expect(at('rules:\n  - then: [\n      { hint: { title: x } },\n      { al^')).toEqual(['alert']); // prettier-ignore
    expect(at('rules:\n  - when:\n      then:\n        first:\n          pause: 1\n        next:\n          sil^')).toEqual(['silence']); // prettier-ignore
    expect(at('rules:\n  - when: { phrase: { role: a^')).toEqual(['agent']);
  });

  test('offers nothing in comments, in quoted text, in blocks of text and in unknown keys', () => {
    for (const text of [
      '# sta^',
      'id: shop # sta^',
      'title: "sta^',
      'title: |\n  sta^',
      'nonsense:\n  ^',
      'words: { a: [^',
      'rules: }}}}]]]]\n]^',
    ])
      expect([text, at(text)]).toEqual([text, []]);
    expect(at('title: |\n  text\nsta^')).toEqual(['status']);
  });

  test('a text of half a megabyte without an end is read in a moment, whatever its brackets', () => {
    const text = `${'{['.repeat(120_000)}\n${'- '.repeat(50_000)}`;
    expect(completionsAt(schema, text, text.length).items).toEqual([]);
  });
});
