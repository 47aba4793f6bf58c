import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';

const page = new URL('../../../src/console/page/', import.meta.url);

test('every file of the page is type-checked, and none silences the checker', () => {
  const config = readFileSync(
    new URL('../../../config/tools/page-types.json', import.meta.url),
    'utf8',
  );
  const { compilerOptions, include, exclude } = JSON.parse(config) as {
    compilerOptions: Record<string, unknown>;
    include: string[];
    exclude: string[];
  };
  expect(compilerOptions).toMatchObject({ allowJs: true, checkJs: true });
  expect({ include, exclude }).toEqual({ include: ['../../src/console/page'], exclude: [] });
  const scripts = readFileSync(new URL('../../../package.json', import.meta.url), 'utf8');
  const { types } = (JSON.parse(scripts) as { scripts: { types: string } }).scripts;
  expect(types).toContain('tsc -p config/tools/page-types.json');
  const silencers = /@ts-(?:ignore|nocheck|expect-error)|\{[^}\n]*\bany\b[^}\n]*\}|\bany\[\]/;
  const files = readdirSync(page).filter((name) => /\.(?:js|ts)$/.test(name));
  expect(files.length).toBeGreaterThan(50);
  const silenced = files.filter((name) =>
    readFileSync(new URL(name, page), 'utf8')
      .split('\n')
      .some(
        (line) => /@(?:ts-|type|param|returns|typedef|template)/.test(line) && silencers.test(line),
      ),
  );
  expect(silenced).toEqual([]);
});
