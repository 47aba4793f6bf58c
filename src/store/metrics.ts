import { Histogram } from 'prom-client';
import { counter, gauge, metrics } from '../lib/metrics.ts';

export const commitSeconds = new Histogram({
  name: 'trunkline_store_commit_seconds',
  help: 'Time of one synced commit of the store.',
  buckets: [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 2],
  registers: [metrics],
});

/**
 * The time that callers waited. A write is a whole transaction, with its wait for the writer and its synced commit. A
 * read is one select outside a transaction.
 */
const storeSeconds = new Histogram({
  name: 'trunkline_store_seconds',
  help: 'Time that callers wait for the store: `read` is a select, `write` a transaction from asking to its synced commit.',
  labelNames: ['operation'] as const,
  buckets: [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10],
  registers: [metrics],
});

/** Measures the work. Failed work counts too, because a database that refuses after 5 s is slow as well. */
export async function timed<T>(operation: 'read' | 'write', work: () => Promise<T>): Promise<T> {
  const end = storeSeconds.startTimer({ operation });
  try {
    return await work();
  } finally {
    end();
  }
}

export const commitTransactions = new Histogram({
  name: 'trunkline_store_commit_transactions',
  help: 'Transactions that shared one synced commit.',
  buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256],
  registers: [metrics],
});

export const storeFailures = counter(
  'trunkline_store_failures_total',
  'Commits that the database refused or lost, by cause: `full`, `disk` or `corrupt`.',
  ['cause'],
);
// The counter starts at 0, so that the first failure shows as an increase.
for (const cause of ['full', 'disk', 'corrupt'] as const) storeFailures.inc({ cause }, 0);

export const diskFree = gauge(
  'trunkline_disk_free_bytes',
  'Room on the disk of the data folder, looked up every 5 s.',
);

export const diskLow = gauge(
  'trunkline_disk_low',
  '1 while that disk is under the low-water mark: no new calls are taken.',
);
