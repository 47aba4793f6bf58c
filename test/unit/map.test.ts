import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { describe, expect, test } from 'vitest';

/** src/README.md is what a newcomer trusts first: what it says of folders and bounds is compared with the code. */
const root = resolve(import.meta.dirname, '../..');
const src = join(root, 'src');
const map = readFileSync(join(src, 'README.md'), 'utf8');

/** Folders with code of ours; the page's own files and test data are no rooms. */
function roomsUnder(folder: string): string[] {
  const notRooms =
    /\/(console\/page|player\/conversation|store\/migrations|crm\/presets|assist\/starter)$/;
  return readdirSync(folder, { withFileTypes: true, recursive: true })
    .filter((entry) => entry.isDirectory())
    .map((entry) => join(entry.parentPath, entry.name))
    .filter((path) => !notRooms.test(path));
}

const rooms = roomsUnder(src);

type QueueRow = { file: string; name: string; value: number };

/** `| queue | room | `file.ts` `name` = 2 000 ms | ... |`: the third cell names the constant and its value. */
function queueRows(): QueueRow[] {
  const section = /## Queues\n([^]*?)\n## /.exec(map)?.[1] ?? '';
  return [...section.matchAll(/`([\w./-]+\.ts)` `(\w+)` = ([\d ]+(?:\.\d+)?)/g)].map(
    ([, file = '', name = '', value = '']) => ({
      file,
      name,
      value: Number(value.replaceAll(' ', '')),
    }),
  );
}

describe('the map', () => {
  test('every room has a README of 8 to 60 lines', () => {
    const wrong = rooms.flatMap((room) => {
      const file = join(room, 'README.md');
      if (!existsSync(file)) return [`${relative(src, room)} has none`];
      const lines = readFileSync(file, 'utf8').trimEnd().split('\n').length;
      return lines >= 8 && lines <= 60 ? [] : [`${relative(src, room)}: ${lines} lines`];
    });
    expect(wrong).toEqual([]);
  });

  test('the README of a room names each of its files, and no file that is not there', () => {
    // Each carrier has the files that the carriers' README tells of. The word lists of the language are named by kind.
    const toldAbove = /^(?:carriers\/\w+|language\/data)$/;
    const toldForAll = /^(?:config|metrics)\.ts$|\.d\.ts$/;
    const wrong = rooms.flatMap((room) => {
      const name = relative(src, room);
      const readme = readFileSync(join(room, 'README.md'), 'utf8');
      const unnamed = readdirSync(room)
        .filter((file) => file.endsWith('.ts') && !toldForAll.test(file) && !readme.includes(file))
        .map((file) => `${name}: ${file} is not named`);
      const firstCells = [...readme.matchAll(/^\| ((?:`[^`]+`(?:, )?)+) \|/gm)];
      const lost = firstCells
        .flatMap(([, cell = '']) => [...cell.matchAll(/`([\w./-]+\.(?:ts|js|mjs|json))`/g)])
        .map(([, file = '']) => file)
        .filter((file) => !existsSync(join(room, file)) && !existsSync(join(src, file)))
        .map((file) => `${name}: ${file} is not there`);
      return toldAbove.test(name) ? lost : [...unnamed, ...lost];
    });
    expect(wrong).toEqual([]);
  });

  test('no room lies more than two levels below its part', () => {
    const deep = rooms
      .map((room) => relative(src, room))
      .filter((room) => room.split('/').length > 3);
    expect(deep).toEqual([]);
  });

  test('the tree of the map names every room, and none that is not there', () => {
    const tree = /```\nsrc\/\n([^]*?)```/.exec(map)?.[1] ?? '';
    const trail: string[] = [];
    const named = tree.split('\n').flatMap((line) => {
      const found = /^( +)([\w-]+)\/(?:\s|$)/.exec(line);
      if (!found) return [];
      const depth = (found[1] ?? '').length / 2 - 1;
      trail.length = depth;
      trail.push(found[2] ?? '');
      return [trail.join('/')];
    });
    expect(named.toSorted()).toEqual(rooms.map((room) => relative(src, room)).toSorted());
  });

  test('every bound in the table of queues is the exported constant that the code uses', async () => {
    const rows = queueRows();
    expect(rows.length).toBeGreaterThan(10);
    const wrong: string[] = [];
    for (const { file, name, value } of rows) {
      const path = join(src, file);
      if (!existsSync(path)) {
        wrong.push(`${file} is not there`);
        continue;
      }
      const module = (await import(path)) as Record<string, unknown>;
      if (module[name] !== value)
        wrong.push(`${file} ${name}: the map says ${value}, the code ${String(module[name])}`);
    }
    expect(wrong).toEqual([]);
  });
});
