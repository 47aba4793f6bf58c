import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';

/**
 * The long fault trials, whole: `npm run trials`, or `npm run trials -- kills` for one. Each file is a
 * program of its own that prints its figures and ends with a code other than 0 when a promise broke.
 */
const all = readdirSync(import.meta.dirname)
  .filter((file) => file.endsWith('.ts') && file !== 'run.ts')
  .map((file) => file.replace('.ts', ''));
const chosen = process.argv.slice(2).filter((argument) => !argument.startsWith('-'));
const unknown = chosen.filter((name) => !all.includes(name));
if (unknown.length > 0) {
  console.error(`no such trial: ${unknown.join(', ')}; there are ${all.join(', ')}`);
  process.exit(2);
}
let failed = 0;
for (const name of chosen.length > 0 ? chosen : all) {
  console.log(`\n== ${name}`);
  const { status } = spawnSync(
    process.execPath,
    ['--disable-warning=ExperimentalWarning', join(import.meta.dirname, `${name}.ts`)],
    { stdio: 'inherit' },
  );
  if (status !== 0) failed++;
}
console.log(failed === 0 ? '\nevery trial held' : `\n${failed} trials broke a promise`);
process.exit(failed === 0 ? 0 : 1);
