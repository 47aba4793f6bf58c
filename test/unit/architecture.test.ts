import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join, relative, resolve } from 'node:path';
import ts from 'typescript';
import { describe, expect, test } from 'vitest';

const root = resolve(import.meta.dirname, '../..');
const src = join(root, 'src');

/** Imports follow the audio: the map's table says which of our folders each folder may import. */
const map = readFileSync(join(src, 'README.md'), 'utf8');
const mayImport = Object.fromEntries(
  [...map.matchAll(/^\| `([\w-]+)\/` \|[^|]*\| ([\w -]*) \|$/gm)].map(
    ([, part = '', rooms = '']) => [part, rooms === 'nothing' ? [] : rooms.trim().split(/\s+/)],
  ),
);

const everything = new Set(['main.ts', 'cli.ts', 'config.ts', 'commands']);

/** Names the documents that nobody may cite, and would find itself. */
const thisFile = 'test/unit/architecture.test.ts';

function filesBelow(folder: string): string[] {
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

function sourceFiles(folder: string): string[] {
  return filesBelow(folder).filter((name) => name.endsWith('.ts') && !name.endsWith('.d.ts'));
}

/** Classes and types that stand in more than one of the files, with where. */
function repeatedNames(among: readonly string[]): string[] {
  const places = new Map<string, Set<string>>();
  for (const file of among)
    for (const [, name = ''] of readFileSync(file, 'utf8').matchAll(
      /^(?:export )?(?:abstract )?(?:class|type|interface) (\w+)/gm,
    ))
      places.set(name, (places.get(name) ?? new Set()).add(relative(root, file)));
  return [...places]
    .filter(([, where]) => where.size > 1)
    .map(([name, where]) => `${name}: ${[...where].join(', ')}`);
}

const mostLinesOfFile = 600;
const mostLinesOfFunction = 80;
/** The head of a file: its imports and first comment. */
const headCharacters = 1_000;

/** The reason for a length stands in the comment before what is long: "Long because ...". */
function saysWhy(head: string): boolean {
  return /\bLong because \w/.test(head);
}

const importPattern = /(?:from\s+|import\s*\(?\s*|new URL\(\s*)'(\.{1,2}\/[^']+\.ts)'/g;

function importsOf(file: string): string[] {
  return [...readFileSync(file, 'utf8').matchAll(importPattern)].map((match) =>
    resolve(dirname(file), match[1] ?? ''),
  );
}

const files = sourceFiles(src);
const graph = new Map(files.map((file) => [file, importsOf(file)]));
/** Folders with code of ours, at every depth. */
const rooms = [...new Set(files.map((file) => dirname(file)))].filter(
  (folder) => folder !== src && existsSync(join(folder, 'README.md')),
);
const partOf = (file: string): string => relative(src, file).split('/')[0] ?? '';

describe('architecture', () => {
  test('every folder imports only what the table allows', () => {
    const wrong = files.flatMap((file) => {
      const part = partOf(file);
      if (everything.has(part)) return [];
      const allowed = new Set([part, ...(mayImport[part] ?? ['(not in the table)'])]);
      return (graph.get(file) ?? [])
        .filter((target) => target.startsWith(src) && !allowed.has(partOf(target)))
        .map((target) => `${relative(src, file)} imports ${relative(src, target)}`);
    });
    expect(wrong).toEqual([]);
  });

  test('every folder is in the table', () => {
    const unknown = [...new Set(files.map(partOf))].filter(
      (part) => !everything.has(part) && !(part in mayImport),
    );
    expect(unknown).toEqual([]);
  });

  test('no import leads back to where it started', () => {
    const done = new Set<string>();
    const cycles: string[] = [];
    const visit = (file: string, trail: string[]): void => {
      const at = trail.indexOf(file);
      if (at >= 0) {
        cycles.push([...trail.slice(at), file].map((name) => relative(src, name)).join(' -> '));
        return;
      }
      if (done.has(file)) return;
      for (const target of graph.get(file) ?? []) visit(target, [...trail, file]);
      done.add(file);
    };
    for (const file of files) visit(file, []);
    expect(cycles).toEqual([]);
  });

  test('no circle of rooms at any depth', () => {
    const wrong = [src, ...rooms].flatMap((room) => {
      const childOf = (file: string): string => relative(room, file).split('/')[0] ?? '';
      const below = files.filter((file) => file.startsWith(`${room}/`));
      const targets = new Map<string, Set<string>>();
      for (const file of below)
        for (const target of graph.get(file) ?? [])
          if (target.startsWith(`${room}/`) && childOf(target) !== childOf(file)) {
            const from = targets.get(childOf(file)) ?? new Set();
            targets.set(childOf(file), from.add(childOf(target)));
          }
      const reaches = (from: string, goal: string, seen = new Set<string>()): boolean =>
        [...(targets.get(from) ?? [])].some(
          (next) => next === goal || (!seen.has(next) && reaches(next, goal, seen.add(next))),
        );
      return [...targets.keys()]
        .filter((child) => reaches(child, child))
        .map((child) => `${relative(root, room)}: ${child}`);
    });
    expect(wrong).toEqual([]);
  });

  test('a room is entered through the doors that its README names, and each door is used', () => {
    const wrong = rooms.flatMap((room) => {
      const readme = readFileSync(join(room, 'README.md'), 'utf8');
      const line = /\*\*Doors\*\*:([^]*?)\n(?:\n|$)/.exec(readme)?.[1] ?? '';
      if (line.trim() === 'every file.') return [];
      const doors = new Set([...line.matchAll(/`([^`]+)`/g)].map(([, door = '']) => door));
      const entered = new Set(
        files
          .filter((file) => !file.startsWith(`${room}/`))
          .flatMap((file) => graph.get(file) ?? [])
          .filter((target) => target.startsWith(`${room}/`))
          .map((target) => relative(room, target)),
      );
      return [
        ...[...entered.difference(doors)].map(
          (door) => `${relative(src, room)}: ${door} is no door`,
        ),
        ...[...doors.difference(entered)].map(
          (door) => `${relative(src, room)}: nobody enters by ${door}`,
        ),
      ];
    });
    expect(wrong).toEqual([]);
  });

  test('a file has 600 lines at most and a function 80, unless its head says why', () => {
    const page = filesBelow(join(src, 'console/page')).filter((file) => file.endsWith('.js'));
    const wrong = [...files, ...page].flatMap((file) => {
      const text = readFileSync(file, 'utf8');
      const parsed = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true);
      const lineOf = (position: number): number =>
        parsed.getLineAndCharacterOfPosition(position).line + 1;
      const name = relative(src, file);
      const lines = lineOf(parsed.end) - 1;
      const long =
        lines > mostLinesOfFile && !saysWhy(text.slice(0, headCharacters))
          ? [`${name}: ${lines} lines`]
          : [];
      const visit = (node: ts.Node): void => {
        if (ts.isFunctionLike(node) && 'body' in node && node.body !== undefined) {
          const length = lineOf(node.end) - lineOf(node.getStart(parsed)) + 1;
          const head = text.slice(node.getFullStart(), node.getStart(parsed));
          if (length > mostLinesOfFunction && !saysWhy(head))
            long.push(`${name}:${lineOf(node.getStart(parsed))}: a function of ${length} lines`);
        }
        ts.forEachChild(node, visit);
      };
      visit(parsed);
      return long;
    });
    expect(wrong).toEqual([]);
  });

  test('only config.ts and the commands read the environment', () => {
    const readers = files
      .filter(
        (file) => !everything.has(partOf(file)) && /process\.env/.test(readFileSync(file, 'utf8')),
      )
      .map((file) => relative(src, file));
    expect(readers).toEqual([]);
  });

  test('nothing has a default export', () => {
    const wrong = files
      .filter((file) => /^export default /m.test(readFileSync(file, 'utf8')))
      .map((file) => relative(src, file));
    expect(wrong).toEqual([]);
  });

  test('a name of a file means one thing in the whole tree, or the same thing in each room', () => {
    // The rooms' own slices of settings and counters, the files that each carrier has, a file for each command.
    const samePattern =
      /(?:^|\/)(?:config|metrics)\.ts$|^carriers\/\w+\/(?:player|settings|setup|signature|webhooks)\.ts$|^commands\/[\w-]+\.ts$/;
    const places = new Map<string, string[]>();
    for (const name of files.map((file) => relative(src, file)))
      if (!samePattern.test(name))
        places.set(basename(name), [...(places.get(basename(name)) ?? []), name]);
    expect([...places.values()].filter((where) => where.length > 1)).toEqual([]);
  });

  test('a name of a class or type means one thing in the whole tree', () => {
    expect(repeatedNames(files)).toEqual([]);
  });

  test('a name of a class or type of the tests means one thing among them, and support has none of src', () => {
    const test = join(root, 'test');
    expect(repeatedNames(sourceFiles(test))).toEqual([]);
    expect(repeatedNames([...files, ...sourceFiles(join(test, 'support'))])).toEqual([]);
  });

  test('fields are private by the language, not by the compiler alone', () => {
    const wrong = files
      .filter((file) =>
        /^\s+(?:private|protected) (?!constructor)/m.test(readFileSync(file, 'utf8')),
      )
      .map((file) => relative(src, file));
    expect(wrong).toEqual([]);
  });

  test('no reason is given as a code or a document that is not in the repository', () => {
    // The F1 of a score has its figure behind it; the codes of threats.md stand in that file alone.
    const cited =
      /(?<!\.)\b(?!F1 (?:\d|\$|strict))[FTH]\d{1,2}\b|\bnotes? \d+(?:\.\d+)?\b|\bsections? \d|§|\b(?:design|reliability|carriers|libraries|style|house|speech-interface[\w-]*|language-labels)\.md\b/;
    const texts = ['src', 'test', 'config', '.github']
      .flatMap((folder) => filesBelow(join(root, folder)))
      .concat(
        ['README.md', 'CHANGELOG.md', 'Dockerfile', '.ci/run'].map((name) => join(root, name)),
      )
      .filter((file) => /\.(?:ts|js|mjs|css|html|md|ya?ml|json|svg)$|Dockerfile$|run$/.test(file))
      .filter((file) => !['test/threats.md', thisFile].includes(relative(root, file)));
    const wrong = texts.flatMap((file) =>
      readFileSync(file, 'utf8')
        .split('\n')
        .flatMap((line, index) =>
          cited.test(line) ? [`${relative(root, file)}:${index + 1}: ${line.trim()}`] : [],
        ),
    );
    expect(wrong).toEqual([]);
  });
});
