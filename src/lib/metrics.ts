import { readdirSync, readFileSync } from 'node:fs';
import { collectDefaultMetrics, Gauge, Registry } from 'prom-client';

/** The one registry of the process. Each part makes its own metrics in it; their names begin with `trunkline_`. */
export const metrics = new Registry();

/**
 * Processor time, memory, files and the lag of the event loop, by the names that every dashboard for Node knows:
 * `process_...` and `nodejs_...`. Once in a process.
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
 * Linux lists the children of each thread. Where this process is the first of a container, they include every process
 * whose own parent is gone.
 */
function childrenNow(): { running: number; ended: number } {
  const count = { running: 0, ended: 0 };
  for (const pid of childPids())
    try {
      const [, fields = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ');
      count[fields.startsWith('Z') ? 'ended' : 'running'] += 1;
    } catch {
      // It ended and was waited for between the two looks.
    }
  return count;
}

function childPids(): string[] {
  try {
    return readdirSync('/proc/self/task').flatMap((thread) =>
      readFileSync(`/proc/self/task/${thread}/children`, 'utf8').split(' ').filter(Boolean),
    );
  } catch {
    return []; // no Linux, or a thread that ended between the two looks
  }
}
