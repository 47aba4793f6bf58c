import { join } from 'node:path';
import { readTrace, replayCuts, seeded, traced } from '../support/store/power-cut.ts';
import { temporaryFolder } from '../support/store/store.ts';
import { runChild } from '../support/faults/strace.ts';

/** Power cuts replayed from traces: 10 runs (RUNS) of 1,000 moments (CUTS) each, and the control that must lose. */
export async function run(): Promise<string[]> {
  const runs = Number(process.env['RUNS'] ?? 10);
  const cuts = Number(process.env['CUTS'] ?? 1_000);
  const total = { cuts: 0, lossy: 0, lostRows: 0, corrupt: 0 };
  for (let seed = 1; seed <= runs; seed++) {
    await using folder = await temporaryFolder();
    const database = join(folder.path, 'trunkline.sqlite');
    const trace = join(folder.path, 'trace');
    await runChild(
      'store/store-writer-child.ts',
      [folder.path, '300', String(seed)],
      [...traced, '-o', trace],
    ).ended;
    const result = replayCuts(readTrace(trace, database), database, cuts, seeded(seed));
    for (const key of ['cuts', 'lossy', 'lostRows', 'corrupt'] as const) total[key] += result[key];
  }
  await using folder = await temporaryFolder();
  const bare = join(folder.path, 'bare.sqlite');
  const trace = join(folder.path, 'trace');
  await runChild('store/bare-writer-child.ts', [bare, '300'], [...traced, '-o', trace]).ended;
  const control = replayCuts(readTrace(trace, bare), bare, 200, seeded(99));
  if (total.lossy > 0 || total.corrupt > 0)
    throw new Error(`power cuts lost rows: ${JSON.stringify(total)}`);
  if (control.lossy === 0)
    throw new Error('the control lost nothing: the harness cannot see a loss');
  return [
    `power cuts: ${total.cuts} states, ${total.lossy} with a loss, ${total.corrupt} corrupt`,
    `control with NORMAL: ${control.lossy} of ${control.cuts} states lost ${control.lostRows} rows`,
  ];
}

if (import.meta.main) for (const line of await run()) console.log(line);
