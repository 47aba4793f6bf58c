import { readdirSync, readFileSync } from 'node:fs';
import { collectDefaultMetrics, Counter, Gauge, Registry } from 'prom-client';

/**
 * The one metrics registry of the process. Each component registers its own metrics, with names that begin with
 * `trunkline_`.
 */
export const metrics = new Registry();

/** A row in a component's table of metrics: something that only grows. */
export function counter<Label extends string = never>(
  name: `trunkline_${string}`,
  help: string,
  labelNames: readonly Label[] = [],
): Counter<Label> {
  return new Counter({ name, help, labelNames, registers: [metrics] });
}

/** A row in a component's table of metrics: something that grows and shrinks. */
export function gauge<Label extends string = never>(
  name: `trunkline_${string}`,
  help: string,
  labelNames: readonly Label[] = [],
): Gauge<Label> {
  return new Gauge({ name, help, labelNames, registers: [metrics] });
}

/**
 * Registers processor time, memory, files and the lag of the event loop under the names that dashboards for Node
 * expect: `process_...` and `nodejs_...`. Called once per process.
 */
export function watchProcess(): void {
  collectDefaultMetrics({ register: metrics });
  new Gauge({
    name: 'trunkline_children',
    help: 'Child processes of this process by state; ended ones are those that nobody has waited for. Linux only.',
    labelNames: ['state'],
    registers: [metrics],
    collect() {
      const { running, ended } = childrenNow();
      this.set({ state: 'running' }, running);
      this.set({ state: 'ended' }, ended);
    },
  });
}

/**
 * Linux lists the children of each thread. If this process is the first of a container, they include every process
 * without a parent.
 */
function childrenNow(): { running: number; ended: number } {
  const count = { running: 0, ended: 0 };
  for (const pid of childPids())
    try {
      const [, fields = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ');
      count[fields.startsWith('Z') ? 'ended' : 'running'] += 1;
    } catch {
      // The process ended and was reaped between the two reads.
    }
  return count;
}

function childPids(): string[] {
  try {
    return readdirSync('/proc/self/task').flatMap((thread) =>
      readFileSync(`/proc/self/task/${thread}/children`, 'utf8').split(' ').filter(Boolean),
    );
  } catch {
    return []; // not Linux, or the thread ended between the two reads
  }
}
