import { collectDefaultMetrics, Registry } from 'prom-client';

/** The one registry of the process. Each part makes its own metrics in it; their names begin with `trunkline_`. */
export const metrics = new Registry();

/**
 * Processor time, memory, files and the lag of the event loop, by the names that every dashboard for Node knows:
 * `process_...` and `nodejs_...`. Once in a process.
 */
export function watchProcess(): void {
  collectDefaultMetrics({ register: metrics });
}
