import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';

const root = resolve(import.meta.dirname, '../../..');

export type Paper = { readonly name: string; readonly text: string };

/** Articles for agents are data, and no pages about the program. */
const articles = /^(?:config\/knowledge|test\/fixtures\/knowledge)\//;

/** Every page for readers, by its path from the repository's root. */
export function allPapers(): Paper[] {
  const top = readdirSync(root).filter((name) => name.endsWith('.md'));
  const below = ['.github', 'config', 'src', 'test'].flatMap((folder) =>
    readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile() && entry.name.endsWith('.md'))
      .map((entry) => relative(root, join(entry.parentPath, entry.name)))
      .filter((name) => !articles.test(name)),
  );
  return [...top, ...below].map((name) => ({ name, text: readFileSync(join(root, name), 'utf8') }));
}

export type Fence = {
  /** The words after the three backticks: `sh`, `sh not-run`, `text`, `ts` and so on. */
  readonly kind: string;
  readonly text: string;
  readonly line: number;
};

/** The fenced blocks of a page, including those inside a list. */
export function fencesOf({ text }: Paper): Fence[] {
  return [...text.matchAll(/^( *)```([^\n`]*)\n([^]*?)^\1```$/gm)].map((found) => {
    const [, indent = '', kind = '', body = ''] = found;
    return {
      kind: kind.trim(),
      text: body.replaceAll(new RegExp(`^${indent}`, 'gm'), ''),
      line: text.slice(0, found.index).split('\n').length,
    };
  });
}

/** A page without fenced blocks and code. The rest may contain links. */
export function proseOf({ text }: Paper): string {
  return text.replaceAll(/^( *)```[^]*?^\1```$/gm, '').replaceAll(/`[^`\n]*`/g, '``');
}

/** The anchors of a page's headings, as GitHub makes them. */
export function anchorsOf({ text }: Paper): Set<string> {
  const prose = text.replaceAll(/^( *)```[^]*?^\1```$/gm, '');
  const anchors = new Set<string>();
  for (const [, heading = ''] of prose.matchAll(/^#{1,6} (.+)$/gm)) {
    const plain = heading.replaceAll(/\[([^\]]*)\]\([^)]*\)/g, '$1');
    const anchor = plain
      .toLowerCase()
      .replaceAll(/[^\p{L}\p{N}_ -]/gu, '')
      .replaceAll(' ', '-');
    let free = anchor;
    for (let again = 1; anchors.has(free); again++) free = `${anchor}-${again}`;
    anchors.add(free);
  }
  return anchors;
}
