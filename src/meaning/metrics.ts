import { Histogram } from 'prom-client';
import { counter, metrics } from '../lib/metrics.ts';

export const meaningMetrics = {
  dropped: counter(
    'trunkline_meaning_dropped_total',
    'Sentences of live calls that were judged without their meaning: the queue was full, the time was over, or the model failed.',
    ['why'],
  ),
  waited: new Histogram({
    name: 'trunkline_meaning_seconds',
    help: 'Time from a sentence of a live call to its direction.',
    buckets: [0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.3],
    registers: [metrics],
  }),
};
