import { killRounds } from '../support/faults/kills.ts';

/** 100 kills of the whole process with SIGKILL, each under 50 legs (25 Twilio calls of two tracks). */
export async function run(): Promise<string[]> {
  const rounds = Number(process.env['KILLS'] ?? 100);
  const calls = Number(process.env['CALLS'] ?? 25);
  const startedMs = performance.now();
  const report = await killRounds({
    rounds,
    calls,
    seed: Number(process.env['SEED'] ?? 1),
    onRound: (round, faults) => {
      if (faults.length > 0 || round % 10 === 9)
        console.log(`round ${round + 1}: ${faults.length} faults ${faults.join('; ')}`);
    },
  });
  const lines = [
    `kills ${report.kills}, legs ${report.legs}, bytes heard ${report.bytes}, finals ${report.finals}, at most ${report.uncounted} bytes of a leg heard and not counted`,
    `faults ${report.faults.length}, ${Math.round((performance.now() - startedMs) / 1_000)} s`,
    ...report.faults,
  ];
  console.log(lines.join('\n'));
  if (report.faults.length > 0) process.exitCode = 1;
  return lines;
}

if (import.meta.main) await run();
