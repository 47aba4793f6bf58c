import { linkFaults, phases, runSeed, strikesIn } from '../support/faults/link-faults.ts';

/** 500 seeds in each of the phases in which their fault strikes; prints what it did. */
export async function run(seeds = 500): Promise<string[]> {
  const problems: string[] = [];
  const jobs: (() => Promise<void>)[] = [];
  let done = 0;
  for (let seed = 0; seed < seeds; seed++)
    for (const phase of phases) {
      const fault = linkFaults[seed % linkFaults.length] ?? 'cut';
      if (!strikesIn(fault, phase)) continue;
      jobs.push(async () => {
        const faults = await runSeed(seed, fault, phase).catch((error: unknown) => [String(error)]);
        done++;
        if (faults.length > 0)
          problems.push(`seed ${seed} ${fault} ${phase}: ${faults.join('; ')}`);
      });
    }
  const started = performance.now();
  await Promise.all(
    Array.from({ length: 8 }, async () => {
      for (let job = jobs.shift(); job; job = jobs.shift()) await job();
    }),
  );
  const seconds = ((performance.now() - started) / 1_000).toFixed(0);
  console.log(
    `speech link: ${done} runs (${seeds} seeds in the phases of their fault, ${linkFaults.length} faults) in ${seconds} s; ${problems.length} with a fault`,
  );
  for (const problem of problems.slice(0, 20)) console.log(`  ${problem}`);
  return problems;
}

if (import.meta.main) {
  const problems = await run(Number(process.argv[2] ?? 500));
  process.exitCode = problems.length > 0 ? 1 : 0;
}
