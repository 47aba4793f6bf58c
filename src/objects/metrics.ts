import { Counter, Gauge } from 'prom-client';
import { metrics } from '../lib/metrics.ts';

const registers = [metrics];

export const objectMetrics = {
  waiting: new Gauge({
    name: 'trunkline_objects_waiting',
    help: 'Finished files on this disk that are not in the object store yet, by kind.',
    labelNames: ['kind'] as const,
    registers,
  }),
  waitingBytes: new Gauge({
    name: 'trunkline_objects_waiting_bytes',
    help: 'The bytes of those files.',
    labelNames: ['kind'] as const,
    registers,
  }),
  copied: new Counter({
    name: 'trunkline_objects_copied_total',
    help: 'Files copied to the object store, checked there and deleted from the disk.',
    labelNames: ['kind'] as const,
    registers,
  }),
  copiedBytes: new Counter({
    name: 'trunkline_objects_copied_bytes_total',
    help: 'The bytes of those files.',
    registers,
  }),
  failures: new Counter({
    name: 'trunkline_objects_failures_total',
    help: 'Requests that the object store refused, did not answer, or answered wrongly.',
    labelNames: ['what'] as const,
    registers,
  }),
  erasuresWaiting: new Gauge({
    name: 'trunkline_objects_erasures_waiting',
    help: 'Objects that are still to be deleted from the object store, of all nodes.',
    registers,
  }),
};
