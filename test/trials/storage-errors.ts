import { storedRows, temporaryFolder } from '../support/store/store.ts';
import { acknowledged, runChild, straceMissing } from '../support/faults/strace.ts';

const kinds = [
  { name: 'sync fails', call: 'fsync,fdatasync', error: 'EIO', last: 60 },
  { name: 'write fails', call: 'pwrite64', error: 'EIO', last: 240 },
  { name: 'disk is full', call: 'pwrite64', error: 'ENOSPC', last: 240 },
];

/** One storage error at each of many system calls from the first on: nothing acknowledged may be missing. */
export async function run(): Promise<string[]> {
  if (straceMissing !== undefined) return [straceMissing];
  const steps = Number(process.env['STEPS'] ?? 30);
  const lines: string[] = [];
  for (const { name, call, error, last } of kinds) {
    let [hit, acks, lost] = [0, 0, 0];
    for (let step = 0; step < steps; step++) {
      const when = 1 + Math.round((step / (steps - 1)) * (last - 1));
      await using folder = await temporaryFolder();
      const inject = ['-e', `trace=${call}`, '-e', `inject=${call}:error=${error}:when=${when}`];
      const child = runChild('store/store-writer-child.ts', [folder.path, '40', '3'], inject);
      await child.ended;
      const said = acknowledged(child.lines);
      // A second life on the same folder opens, and finds what the first one promised.
      const second = runChild('store/store-writer-child.ts', [folder.path, '1', '1']);
      await second.ended;
      const rows = storedRows(folder.path);
      if (said.length < 40) hit++;
      acks += said.length;
      lost += said.filter((number) => !rows.has(`e${number}`)).length;
      if (!second.lines.includes('closed'))
        throw new Error(`${name} at call ${when}: the store does not open again`);
    }
    if (lost > 0) throw new Error(`${name}: ${lost} acknowledged rows are missing`);
    lines.push(
      `${name}: ${steps} places, ${hit} of them hit a commit, ${acks} rows acknowledged, 0 lost`,
    );
  }
  return lines;
}

if (import.meta.main) for (const line of await run()) console.log(line);
