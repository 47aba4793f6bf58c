/** Loaded before the process under test: answers over IPC what it costs. The same for pipe and bridge. */
import { writeFileSync } from 'node:fs';
import { Session } from 'node:inspector';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { isMainThread } from 'node:worker_threads';

export type ProbeReading = {
  cpuMicros: number;
  rssBytes: number;
  heapBytes: number;
  loopDelayP99Ms: number;
  loopDelayMaxMs: number;
};

const delay = monitorEventLoopDelay({ resolution: 10 });
// Threads of the process load this file too: a sampler in each would be counted as work of theirs.
if (isMainThread) delay.enable();

// BENCH_PROFILE=/some/folder: where the time goes between `reset` and the next `read`, for the browser's tools.
const profileDir = process.env['BENCH_PROFILE'];
const session = profileDir === undefined ? undefined : new Session();
session?.connect();
session?.post('Profiler.enable');

function profile(probe: string): void {
  if (probe === 'reset') session?.post('Profiler.start');
  else if (probe === 'read after gc')
    session?.post('Profiler.stop', (_error, result) => {
      if (result)
        writeFileSync(
          `${profileDir ?? ''}/${process.pid}.cpuprofile`,
          JSON.stringify(result.profile),
        );
    });
}

process.on('message', (message: { probe: 'reset' | 'read' | 'read after gc' }) => {
  profile(message.probe);
  if (message.probe === 'reset') delay.reset();
  // Twice: the first frees what finalisers hold on to.
  if (message.probe === 'read after gc') for (let times = 0; times < 2; times++) globalThis.gc?.();
  const { user, system } = process.cpuUsage();
  const memory = process.memoryUsage();
  process.send?.({
    cpuMicros: user + system,
    rssBytes: memory.rss,
    heapBytes: memory.heapUsed,
    loopDelayP99Ms: delay.percentile(99) / 1e6,
    loopDelayMaxMs: delay.max / 1e6,
  } satisfies ProbeReading);
});
process.channel?.unref();
