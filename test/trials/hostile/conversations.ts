import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { endsWithUs } from '../../support/process/ends-with-us.ts';

/** Attacks of strangers and of holders of a key on the port; each is one line of the trial's report. */
export const hostileKinds = [
  'pipelined documentation, never read',
  'forty requests, never read',
  'a property of every object',
  'the same with a key',
  'headers of a proxy',
  'sessions by guessed tokens',
  'streams by guessed tokens',
  'a path of slashes',
  'an upgrade to HTTP/2',
  'a request of another site',
  'guessed keys',
  'guessed sign-ins',
  'a filter over all sessions',
  'silence',
  'a dripped header',
  'frame numbers that jump',
  'eleven days of discarded audio',
  'a signed form of four thousand names',
  'guessed passwords of a carrier',
  'a webhook token at a stream',
  'a request to the address of another host',
  'texts that no database takes, with a key',
] as const;
export type HostileKind = (typeof hostileKinds)[number];

export type HostileOrder = {
  port: number;
  seconds: number;
  /** A key of the operator API: some attacks come from whoever holds one. */
  key: string;
  addresses: string[];
  perSecond: number;
  /** Never more at once. */
  atOnce: number;
  kinds: readonly HostileKind[];
};

export type HostileReport = {
  sent: number;
  mostAtOnce: number;
  /** The results of each kind, with their number. */
  outcomes: Record<string, Record<string, number>>;
  /** The longest that an attack with a bounded answer waited for it. */
  slowestMs: Record<string, number>;
};

export type Hostiles = { process: ChildProcess; report: Promise<HostileReport> };

/** Attackers in a process of their own: what they cost must not be taken for what the server costs. */
export function startHostiles(order: HostileOrder): Hostiles {
  const child = endsWithUs(
    spawn(
      process.execPath,
      [
        '--disable-warning=ExperimentalWarning',
        join(import.meta.dirname, 'conversations-child.ts'),
        JSON.stringify(order),
      ],
      { stdio: ['ignore', 'pipe', 'inherit'] },
    ),
  );
  let output = '';
  child.stdout?.on('data', (data: Buffer) => (output += data.toString()));
  const report = once(child, 'close').then(([code]) => {
    if (code !== 0) throw new Error(`the attackers ended with ${String(code)}`);
    return JSON.parse(output) as HostileReport;
  });
  return { process: child, report };
}
