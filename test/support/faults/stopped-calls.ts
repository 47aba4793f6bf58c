import { type App } from '../process/app.ts';
import { CarrierClient } from '../carriers/carrier-client.ts';
import { killRounds, type KillReport } from './kills.ts';
import { until } from '../process/until.ts';

export type StopReport = KillReport & {
  /** The seconds from SIGTERM until nothing new was accepted, and until the process was gone. */
  seconds: { unready: number; gone: number };
};

/**
 * Sends SIGTERM during running calls. From then on the process must not be ready or accept a leg, it must exit with
 * code 0 within half a minute, and the next process must end every call with every byte.
 */
export async function stopUnderCalls(calls: number): Promise<StopReport> {
  const seconds = { unready: NaN, gone: NaN };
  const faults: string[] = [];
  const report = await killRounds({
    rounds: 1,
    calls,
    seed: 66,
    // With 20 ms frames 500 legs would be 25,000 per second, more than one program can play.
    frameMs: 200,
    lostBytesAtMost: 0,
    end: async (app) => {
      const startedMs = performance.now();
      const sinceStartS = (): number => (performance.now() - startedMs) / 1_000;
      app.process.kill('SIGTERM');
      await until(async () => !(await isReady(app)));
      seconds.unready = sinceStartS();
      if (await takesStreams(app)) faults.push('a stream was taken after SIGTERM');
      const { code, signal } = await app.exited();
      seconds.gone = sinceStartS();
      if (code !== 0) faults.push(`ended with ${code ?? signal}`);
      if (seconds.gone > 30) faults.push(`took ${seconds.gone} s to end`);
    },
  });
  return { ...report, faults: [...faults, ...report.faults], seconds };
}

/** A closed port is as good as the answer 503. */
async function isReady(app: App): Promise<boolean> {
  const answer = await app
    .get('/health/ready', { headers: { connection: 'close' } })
    .catch(() => undefined);
  return answer?.status === 200;
}

async function takesStreams(app: App): Promise<boolean> {
  const url = `${app.url.replace('http', 'ws')}/carriers/twilio`;
  const client = await CarrierClient.connect(url).catch(() => undefined);
  return client instanceof CarrierClient;
}
