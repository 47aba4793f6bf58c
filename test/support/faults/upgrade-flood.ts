import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { endsWithUs } from '../process/ends-with-us.ts';

export type Knock = {
  /** The upgrade as it goes onto the wire. */
  request: string;
  /** The frames that a stranger sends once it was let in, in base64. */
  then?: string;
};

export type FloodOrder = {
  port: number;
  perSecond: number;
  seconds: number;
  /** Never more at once: beyond a listener's queue the system would answer in its place. */
  atOnce: number;
  /** Taken in turn. */
  knocks: Knock[];
};

export type FloodReport = {
  sent: number;
  tookS: number;
  /** Everything that came back until the connection closed, and how often. */
  answers: Record<string, number>;
  mostInFlight: number;
  latencyMs: { p50: number; p99: number; most: number };
  cpuMicros: number;
};

/** Strangers at the door, from a process of their own. */
export async function floodUpgrades(order: FloodOrder): Promise<FloodReport> {
  const child = ownChild('flood-child.ts', [JSON.stringify(order)]);
  let output = '';
  child.stdout?.on('data', (data: Buffer) => (output += data.toString()));
  const [code] = (await once(child, 'close')) as [number | null];
  if (code !== 0) throw new Error(`the flood ended with ${code}`);
  return JSON.parse(output) as FloodReport;
}

export type BareRefusals = AsyncDisposable & { port: number; process: ChildProcess };

/** A server that only refuses: what the machine can do at all. */
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

/** Processor time of another process with all its threads, in microseconds; the system counts it in hundredths. */
export async function cpuMicrosOf({ pid }: ChildProcess): Promise<number> {
  const stat = await readFile(`/proc/${pid}/stat`, 'utf8');
  // The name in brackets may hold spaces; what follows it starts with the third field.
  const fields = stat.slice(stat.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * tickMicros;
}

/**
 * Holds for a peer that keeps its own half open: the other side must give up the connection, not only say
 * goodbye. What is written to a connection that is gone comes back as an error.
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
