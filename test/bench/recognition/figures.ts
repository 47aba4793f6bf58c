import { readdirSync, readFileSync } from 'node:fs';

export function quantile(values: readonly number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
}

export type FigureRow = { what: string; measured: string; target: string };

export function printTable(rows: readonly FigureRow[]): void {
  const width = Math.max(...rows.map(({ what }) => what.length));
  const wide = Math.max(...rows.map(({ measured }) => measured.length));
  for (const { what, measured, target } of rows)
    console.log(`${what.padEnd(width)}  ${measured.padEnd(wide)}  ${target}`);
}

/** Resident megabytes of a process. */
export function residentMb(pid: number): number {
  const status = readFileSync(`/proc/${String(pid)}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1] ?? 0) / 1024;
}

/** The recogniser processes of a running program: its children that run child.ts. */
export function recogniserPids(parent: number): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const stat = readFileSync(`/proc/${String(pid)}/stat`, 'utf8');
        const command = readFileSync(`/proc/${String(pid)}/cmdline`, 'utf8');
        return (
          Number(stat.split(') ').at(-1)?.split(' ')[1]) === parent &&
          command.includes('recognition/child/child.ts')
        );
      } catch {
        return false; // ended while we looked
      }
    });
}

/** Runs a job for each item, so many at a time, answers in order. */
export async function inParallel<Item, Answer>(
  items: readonly Item[],
  most: number,
  job: (item: Item, index: number) => Promise<Answer>,
): Promise<Answer[]> {
  const answers: Answer[] = [];
  let next = 0;
  const worker = async () => {
    for (let index = next++; index < items.length; index = next++)
      answers[index] = await job(items[index]!, index);
  };
  await Promise.all(Array.from({ length: most }, worker));
  return answers;
}
