import { Counter, Histogram } from 'prom-client';
import { metrics } from '../lib/metrics.ts';

export const commitSeconds = new Histogram({
  name: 'trunkline_store_commit_seconds',
  help: 'Time of one synced commit of the store.',
  buckets: [0.0005, 0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.5, 2],
  registers: [metrics],
});

export const commitTransactions = new Histogram({
  name: 'trunkline_store_commit_transactions',
  help: 'Transactions that shared one synced commit.',
  buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256],
  registers: [metrics],
});

export const storeFailures = new Counter({
  name: 'trunkline_store_failures_total',
  help: 'Commits that the database refused or lost, by cause.',
  labelNames: ['cause'],
  registers: [metrics],
});
