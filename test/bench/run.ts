import { readdirSync } from 'node:fs';

/** `npm run bench` runs every bench in turn, `npm run bench -- bridge` one. Each prints its own table and method. */
const all = readdirSync(import.meta.dirname)
  .filter((file) => file.endsWith('.bench.ts'))
  .map((file) => file.replace('.bench.ts', ''));
const chosen = process.argv.slice(2).filter((argument) => !argument.startsWith('-'));
const unknown = chosen.filter((name) => !all.includes(name));
if (unknown.length > 0) {
  console.error(`no such bench: ${unknown.join(', ')}; there are ${all.join(', ')}`);
  process.exit(2);
}
for (const name of chosen.length > 0 ? chosen : all) {
  console.log(`\n== ${name}`);
  const bench = (await import(`./${name}.bench.ts`)) as { run(): Promise<void> };
  await bench.run();
}
process.exit(process.exitCode ?? 0);
