import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { endsWithUs } from '../process/ends-with-us.ts';

export type Knock = {
  /** The upgrade request as raw text. */
  request: string;
  /** The frames that a stranger sends once it was admitted, in base64. */
  then?: string;
};

export type FloodOrder = {
  port: number;
  perSecond: number;
  seconds: number;
  /** The most connections at once. Beyond the listener's queue the system itself would answer. */
  atOnce: number;
  /** The requests, sent in rotation. */
  knocks: Knock[];
};

export type FloodReport = {
  sent: number;
  tookS: number;
  /** Everything that came back until the connection closed, with counts. */
  answers: Record<string, number>;
  mostInFlight: number;
  latencyMs: { p50: number; p99: number; most: number };
  cpuMicros: number;
};

/** Sends a flood of upgrades from a process of its own. */
export async function floodUpgrades(order: FloodOrder): Promise<FloodReport> {
  const child = ownChild('flood-child.ts', [JSON.stringify(order)]);
  let output = '';
  child.stdout?.on('data', (data: Buffer) => (output += data.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`the flood ended with ${code}`);
  return JSON.parse(output) as FloodReport;
}

export type BareRefusals = AsyncDisposable & { port: number; process: ChildProcess };

/** Floods a server that only refuses, to measure the limit of the machine. */
export async function bareRefusals(): Promise<BareRefusals> {
  const child = ownChild('bare-refusals-child.ts', []);
  const [line] = (await once(child.stdout!, 'data')) as [Buffer];
  return {
    port: Number(line.toString()),
    process: child,
    [Symbol.asyncDispose]: async () => {
      child.kill('SIGKILL');
      await once(child, 'close');
    },
  };
}

function ownChild(file: string, args: string[]): ChildProcess {
  return endsWithUs(
    spawn(process.execPath, [join(import.meta.dirname, file), ...args], {
      stdio: ['ignore', 'pipe', 'inherit'],
    }),
  );
}

const tickMicros = 10_000;

/**
 * The processor time of another process with all its threads, in microseconds. The system counts it in hundredths of a
 * second.
 */
export async function cpuMicrosOf({ pid }: ChildProcess): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  // The name in brackets may contain spaces. The text after it starts with the third field.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * tickMicros;
}

/**
 * Checks with a peer that keeps its own half open: the other side must give up the connection and not only close its
 * half. Writing to a connection that is gone gives an error.
 */
export async function refusalEndsConnection(port: number, path: string): Promise<void> {
  const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
  socket.write(upgrade(path));
  const gone = new Promise<void>((resolve) => {
    socket.once('error', () => resolve());
  });
  socket.resume();
  await once(socket, 'end');
  const writing = setInterval(() => socket.write('x'), 20);
  await Promise.race([
    gone,
    new Promise((_, reject) =>
      setTimeout(() => reject(new Error('the refused connection stays open')), 30_000).unref(),
    ),
  ]).finally(() => {
    clearInterval(writing);
    socket.destroy();
  });
}

export function upgrade(path: string, headers = ''): string {
  return `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n${headers}\r\n`;
}

/** Text frames as a client sends them, under a mask of zeros. */
export function textFrames(...messages: object[]): Buffer {
  return Buffer.concat(
    messages.map((message) => {
      const payload = Buffer.from(JSON.stringify(message));
      const length = payload.length < 126 ? [0x80 | payload.length] : [0xfe, payload.length >> 8, payload.length & 255]; // prettier-ignore
      return Buffer.concat([Buffer.from([0x81, ...length, 0, 0, 0, 0]), payload]);
    }),
  );
}
