import { legCount, runKills } from '../support/bridge/journal-kills.ts';

export async function run(kills = 100): Promise<string[]> {
  const started = performance.now();
  const { problems, frames } = await runKills(kills, 1);
  const seconds = ((performance.now() - started) / 1_000).toFixed(0);
  console.log(
    `journal kills: ${kills} kill -9 under ${legCount} legs, ${frames} frames, in ${seconds} s; ${problems.length} with a fault`,
  );
  for (const problem of problems.slice(0, 20)) console.log(`  ${problem}`);
  return problems;
}

if (import.meta.main) {
  const problems = await run(Number(process.argv[2] ?? 100));
  process.exitCode = problems.length > 0 ? 1 : 0;
}
