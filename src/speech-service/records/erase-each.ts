import { reasonOf } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';

/** A sweep that fails at this many rows is given up: the database answers nobody. */
const maxFailures = 20;

/**
 * Erases all rows that are past their retention, in the steps in which `next` finds them. A row that cannot be erased
 * keeps no other one: it is told, and a later sweep tries it again. Returns the number of rows that are gone.
 */
export async function eraseEach<Row extends { id: string }>(options: {
  /** The next rows that are due, but for these. */
  next(except: readonly string[]): Promise<Row[]>;
  erase(row: Row): Promise<void>;
  isStopped(): boolean;
  log: Logger;
}): Promise<number> {
  const failed: string[] = [];
  let erased = 0;
  for (;;) {
    const rows = await options.next(failed);
    if (rows.length === 0) return erased;
    for (const row of rows) {
      if (options.isStopped()) return erased;
      try {
        await options.erase(row);
        erased++;
      } catch (error) {
        failed.push(row.id);
        if (failed.length === maxFailures) throw error;
        options.log.error({ id: row.id, reason: reasonOf(error) }, 'a job is past its days and could not be deleted; tried again in an hour'); // prettier-ignore
      }
    }
  }
}
