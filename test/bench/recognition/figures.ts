import { readFileSync } from 'node:fs';

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
