import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { expect, test } from 'vitest';
import { endsWithUs } from '../../support/process/ends-with-us.ts';

const clock = new URL('../../../src/lib/clock.ts', import.meta.url).href;

async function codeOf(program: string): Promise<number | null> {
  const child = endsWithUs(
    spawn(process.execPath, ['--input-type=module-typescript', '--eval', program], {
      stdio: 'ignore',
    }),
  );
  const [code] = (await once(child, 'exit')) as [number | null];
  return code;
}

test('a process that waits for nothing but a time ends after it, by its own code', async () => {
  const waits = `await wait(systemClock, 20); process.exit(7);`;
  const unawake = `import { systemClock, wait } from '${clock}'; ${waits}`;
  const awake = `import { stayAwake, systemClock, wait } from '${clock}'; using _awake = stayAwake(); ${waits}`;
  // Node's 13: the wait was never over.
  expect(await codeOf(unawake)).toBe(13);
  expect(await codeOf(awake)).toBe(7);
});
