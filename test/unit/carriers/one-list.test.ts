import { readdirSync, readFileSync } from 'node:fs';
import { join, relative, resolve } from 'node:path';
import { expect, test } from 'vitest';
import { carrierNames, carriers } from '../../../src/carriers/all.ts';

const src = resolve(import.meta.dirname, '../../../src');
const theList = join('carriers', 'all.ts');

const files = readdirSync(src, { withFileTypes: true, recursive: true })
  .filter((entry) => entry.isFile() && /\.(ts|js|css|html|json)$/.test(entry.name))
  .map((entry) => relative(src, join(entry.parentPath, entry.name)));

test.each(carrierNames)(
  '%s is named in its own folder and in the one list, nowhere else',
  (name) => {
    const own = join('carriers', name) + '/';
    const naming = files
      .filter((file) => !file.startsWith(own) && file !== theList)
      .filter((file) => readFileSync(join(src, file), 'utf8').toLowerCase().includes(name));
    expect(naming).toEqual([]);
  },
);

test.each(carrierNames)('%s has its folder, and goes by the name of it everywhere', (name) => {
  expect(files).toContain(join('carriers', name, `${name}.ts`));
  expect(carriers[name].name).toBe(name);
  expect(carriers[name].player.name).toBe(name);
});
