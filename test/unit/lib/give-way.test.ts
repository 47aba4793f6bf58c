import { spawn } from 'node:child_process';
import { existsSync, readFileSync } from 'node:fs';
import { getPriority } from 'node:os';
import { expect, test } from 'vitest';

const file = new URL('../../../src/lib/give-way.ts', import.meta.url).href;
const groups = '/proc/self/autogroup';

test('a process that gives way is nice by itself and as a session, and nobody else is', async () => {
  const [own, before] = [getPriority(), existsSync(groups) ? readFileSync(groups, 'utf8') : ''];
  const child = spawn(
    process.execPath,
    [
      '--input-type=module',
      '-e',
      `import { giveWay } from ${JSON.stringify(file)};
       import { existsSync, readFileSync } from 'node:fs';
       import { getPriority } from 'node:os';
       giveWay(10);
       const groups = existsSync('${groups}') ? readFileSync('${groups}', 'utf8') : 'nice 5';
       console.log(getPriority(), groups);`,
    ],
    { detached: true, stdio: ['ignore', 'pipe', 'inherit'] },
  );
  let out = '';
  for await (const bytes of child.stdout) out += String(bytes);
  expect(out).toMatch(/^10 .*nice 5\n/);
  expect(getPriority()).toBe(own);
  if (before !== '') expect(readFileSync(groups, 'utf8')).toBe(before);
});
