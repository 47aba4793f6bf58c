import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { createInterface } from 'node:readline';
import { openStore } from '../../../src/store/store.ts';
import { startTestService, type TestServiceOptions } from './speech-service.ts';
import { endsWithUs } from '../process/ends-with-us.ts';

/** The delay of the service's event loop since the last call, and its memory. */
export type Figures = { longestStallMs: number; p99Ms: number; rssBytes: number; cpuMs: number };

export type SpeechProcess = AsyncDisposable & {
  url: string;
  port: number;
  /** The longest time, in ms, that the event loop was blocked since the last call. */
  longestStallMs(): Promise<number>;
  rssBytes(): Promise<number>;
  figures(): Promise<Figures>;
  /** Kills the process as a crash would: nothing is closed or flushed. */
  kill(): Promise<void>;
};

/** The speech service in its own process, to be killed during a session. */
export async function speechProcess(
  dataDir: string,
  options: { port?: number; config?: TestServiceOptions['config']; databaseUrl?: string } = {},
): Promise<SpeechProcess> {
  const child = endsWithUs(
    spawn(
      process.execPath,
      [
        '--disable-warning=ExperimentalWarning',
        import.meta.filename,
        dataDir,
        JSON.stringify(options),
      ],
      { stdio: ['ignore', 'pipe', 'inherit', 'ipc'] },
    ),
  );
  const own = await portOf(child);
  const kill = async (): Promise<void> => {
    if (child.exitCode !== null || child.signalCode !== null) return;
    const exit = once(child, 'exit');
    child.kill('SIGKILL');
    await exit;
  };
  const ask = async (): Promise<Figures> => {
    const answer = once(child, 'message') as Promise<[Figures]>;
    child.send('figures');
    const [figures] = await answer;
    return figures;
  };
  return {
    url: `http://127.0.0.1:${own}`,
    port: own,
    kill,
    longestStallMs: async () => (await ask()).longestStallMs,
    rssBytes: async () => (await ask()).rssBytes,
    figures: ask,
    [Symbol.asyncDispose]: kill,
  };
}

async function portOf(child: ChildProcess): Promise<number> {
  if (!child.stdout) throw new Error('the child has no output');
  for await (const line of createInterface({ input: child.stdout })) {
    const port = /^ready (\d+)$/.exec(line)?.[1];
    if (port) return Number(port);
  }
  throw new Error('the speech process ended before it was ready');
}

if (process.argv[1] === import.meta.filename) {
  const [, , dataDir = '', json = '{}'] = process.argv;
  const { databaseUrl, ...options } = JSON.parse(json) as TestServiceOptions & {
    databaseUrl?: string;
  };
  const store = await openStore({
    dataDir,
    ballastBytes: 0,
    lowWaterBytes: 0,
    ...(databaseUrl === undefined ? {} : { databaseUrl }),
  });
  const service = await startTestService({
    store: Object.assign(Object.create(store) as typeof store, { dataDir }),
    ...options,
  });
  const delay = monitorEventLoopDelay({ resolution: 5 });
  delay.enable();
  process.on('message', () => {
    const { user, system } = process.cpuUsage();
    process.send?.({
      longestStallMs: delay.max / 1e6,
      p99Ms: delay.percentile(99) / 1e6,
      rssBytes: process.memoryUsage.rss(),
      cpuMs: (user + system) / 1e3,
    } satisfies Figures);
    delay.reset();
  });
  console.log(`ready ${service.port}`);
}
