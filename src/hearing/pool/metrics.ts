import { Gauge } from 'prom-client';
import { counter, metrics } from '../../lib/metrics.ts';

/** The pool of live sessions, and the pool that reads recordings, which exists only while there are any. */
export type PoolName = 'live' | 'jobs';

export type PoolLoad = {
  /** The number of ready processes. */
  processes: number;
  streams: number;
  capacity: number;
  /** The share of time that the ready processes worked, 0 to 1. */
  busy: number;
  /** The lateness of the slowest process. */
  latenessMs: number;
  rssBytes: number;
};

const pools = new Map<PoolName, () => PoolLoad>();

/**
 * Shows this pool in the metrics until the returned function is called. Of two pools with one name, the later one is
 * shown.
 */
export function showPool(name: PoolName, read: () => PoolLoad): () => void {
  pools.set(name, read);
  restartsTotal.inc({ pool: name }, 0);
  return () => {
    if (pools.get(name) === read) pools.delete(name);
  };
}

export const restartsTotal = counter(
  'trunkline_recogniser_restarts_total',
  'Recogniser processes that ended by themselves, hung or could not load, and are replaced.',
  ['pool'],
);

const gauges: [name: string, help: string, value: (load: PoolLoad) => number][] = [
  ['processes', 'Recogniser processes that are ready.', ({ processes }) => processes],
  ['streams', 'Channels that are recognised now.', ({ streams }) => streams],
  [
    'capacity_streams',
    'Channels that the recogniser takes at once, as learned from the audio so far.',
    ({ capacity }) => capacity,
  ],
  [
    'busy_ratio',
    'Share of their time that the recogniser processes work: 1 is a whole core each.',
    ({ busy }) => busy,
  ],
  [
    'lateness_seconds',
    'How long the oldest audio or final has waited for the recogniser beyond its time.',
    ({ latenessMs }) => latenessMs / 1_000,
  ],
  ['memory_bytes', 'Memory of the recogniser processes.', ({ rssBytes }) => rssBytes],
];

for (const [name, help, value] of gauges)
  new Gauge({
    name: `trunkline_recogniser_${name}`,
    help,
    labelNames: ['pool'] as const,
    registers: [metrics],
    collect() {
      this.reset();
      for (const [pool, read] of pools) this.set({ pool }, value(read()));
    },
  });
