import { existsSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';
import { configFields } from '../../src/config.ts';
import { callEventTypes } from '../../src/protocol/events.ts';
import { allPapers, anchorsOf, proseOf } from '../support/papers/papers.ts';

const root = resolve(import.meta.dirname, '../..');
const papers = allPapers();
const paperOf = new Map(papers.map((paper) => [paper.name, paper]));

/** `[text](target)` and `![text](target)`, but no addresses elsewhere: nothing here is asked beyond this machine. */
function linksOf(prose: string): string[] {
  return [...prose.matchAll(/\]\(([^)\s]+)\)/g)]
    .map(([, target = '']) => target)
    .filter((target) => !/^[a-z]+:/.test(target));
}

describe('the papers', () => {
  test('every link leads to a file that is there, and to a heading in it', () => {
    const wrong = papers.flatMap((paper) =>
      linksOf(proseOf(paper)).flatMap((target) => {
        const [path = '', anchor] = target.split('#');
        const file =
          path === '' ? paper.name : relative(root, resolve(root, dirname(paper.name), path));
        if (!existsSync(join(root, file))) return [`${paper.name}: ${target} is not there`];
        const goal = paperOf.get(file);
        if (anchor === undefined || (goal && anchorsOf(goal).has(anchor))) return [];
        return [`${paper.name}: ${target} names no heading`];
      }),
    );
    expect(wrong).toEqual([]);
  });

  test('every page can be reached from the README', () => {
    const reached = new Set<string>();
    const visit = (name: string): void => {
      const paper = paperOf.get(name);
      if (reached.has(name) || !paper) return;
      reached.add(name);
      for (const target of linksOf(proseOf(paper))) {
        const path = relative(root, resolve(root, dirname(name), target.split('#')[0] ?? ''));
        visit(path);
        visit(join(path, 'README.md'));
      }
    };
    visit('README.md');
    // The rooms below src stand in the tree of src/README.md.
    const lost = papers
      .map(({ name }) => name)
      .filter((name) => !reached.has(name) && !/^src\/.*README\.md$/.test(name));
    expect(lost).toEqual([]);
  });

  test('every setting that a page names is one', () => {
    const settings = new Set(configFields.map(({ env }) => env));
    const others = /^TRUNKLINE_(?:CONFIG|URL|KEY)$/;
    // A changelog may name what is none any more.
    const wrong = papers
      .filter(({ name }) => name !== 'CHANGELOG.md' && name !== 'test/threats.md')
      .flatMap(({ name, text }) =>
        [...text.matchAll(/\bTRUNKLINE_[A-Z0-9_]+\b/g)]
          .map(([variable]) => variable)
          .filter((variable) => !settings.has(variable) && !others.test(variable))
          .map((variable) => `${name}: ${variable}`),
      );
    expect([...new Set(wrong)]).toEqual([]);
  });

  test('every type of event stands in the page of the webhooks', () => {
    const page = paperOf.get('config/docs/webhooks.md')?.text ?? '';
    expect(callEventTypes.filter((type) => !page.includes(`\`${type}\``))).toEqual([]);
  });

  test('the README is short', () => {
    const lines = paperOf.get('README.md')?.text.split('\n').length ?? 0;
    expect(lines).toBeGreaterThan(30);
    expect(lines).toBeLessThanOrEqual(150);
  });
});
