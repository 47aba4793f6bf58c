import { spawn, type ChildProcess } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import {
  createServer,
  request as httpRequest,
  type IncomingMessage,
  type ServerResponse,
} from 'node:http';
import { connect, type AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { systemClock } from '../../../src/lib/clock.ts';
import { isMissing } from '../../../src/lib/is-missing.ts';
import { createLog } from '../../../src/lib/log.ts';
import { Objects, type ObjectsOptions } from '../../../src/objects/objects.ts';
import type { Store } from '../../../src/store/store.ts';
import { endsWithUs } from '../process/ends-with-us.ts';
import { filesBelow } from '../process/files-below.ts';
import { freePort } from '../process/free-port.ts';
import { until } from '../process/until.ts';

/** A bucket on a real S3 server, in a folder that is deleted afterwards. */
export type TestBucket = AsyncDisposable & {
  readonly port: number;
  readonly url: string;
  /** The names of the objects below the prefix, in alphabetical order. */
  keys(): Promise<string[]>;
  /** The path of an object's file. */
  pathOf(key: string): string;
  /** Stops the server at once. It restarts on the same port with its data. */
  stop(): Promise<void>;
  start(): Promise<void>;
};

/** The reason why there is none, for the name of a skipped test. Undefined if there is one. */
export const bucketMissing: string | undefined = (process.env['PATH'] ?? '')
  .split(delimiter)
  .some((folder) => existsSync(join(folder, 'versitygw')))
  ? undefined
  : 'versitygw is not installed';

const bucketName = 'calls';
const prefix = 'trunkline/eu';
const accessKey = 'test-access-key';
const secretKey = 'test-secret-key-of-the-bucket';

export async function startBucket(): Promise<TestBucket> {
  const folder = await mkdtemp(join(tmpdir(), 'trunkline-bucket-'));
  const below = join(folder, bucketName, prefix);
  await mkdir(join(folder, bucketName));
  const port = await freePort();
  let child: ChildProcess | undefined;
  const stop = async (): Promise<void> => {
    if (child === undefined || child.exitCode !== null) return;
    const ended = new Promise((resolve) => child?.once('close', resolve));
    child.kill('SIGKILL');
    await ended;
    child = undefined;
  };
  const start = async (): Promise<void> => {
    const args = ['--access', accessKey, '--secret', secretKey, '--port', `127.0.0.1:${port}`];
    await until(async () => {
      // A server that did not get its port has ended.
      if (child === undefined || child.exitCode !== null)
        child = endsWithUs(
          spawn('versitygw', [...args, '--quiet', 'posix', folder], { stdio: 'ignore' }),
        );
      return answersAt(port);
    });
  };
  await start();
  return {
    port,
    url: `http://127.0.0.1:${port}`,
    keys: async () => {
      const found = await filesBelow(below).catch((error: unknown) => {
        if (isMissing(error)) return []; // nothing was ever stored in it
        throw error;
      });
      return found.map((path) => path.slice(below.length + 1));
    },
    pathOf: (key) => join(below, key),
    stop,
    start,
    async [Symbol.asyncDispose]() {
      await stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}

/** The settings for the bucket at this address. */
export function bucketEnv(url: string): Record<string, string> {
  return {
    TRUNKLINE_OBJECTS: `s3://${bucketName}/${prefix}`,
    TRUNKLINE_OBJECTS_ENDPOINT: url,
    TRUNKLINE_OBJECTS_ACCESS_KEY: accessKey,
    TRUNKLINE_OBJECTS_SECRET_KEY: secretKey,
  };
}

export function bucketConfig(url: string): ObjectsOptions['config'] {
  const names = { url: `s3://${bucketName}/${prefix}`, endpoint: url, accessKey, secretKey };
  return { ...names, region: 'us-east-1', pathStyle: true, tailS: 0 };
}

/** The component that copies to the bucket, with pauses short enough for a test. */
export function objectsOn(url: string, store: Store, more: Partial<ObjectsOptions> = {}): Objects {
  return new Objects({
    config: bucketConfig(url),
    store,
    node: 'node-of-the-test',
    clock: systemClock,
    log: createLog({ level: process.env['TEST_LOG'] ?? 'silent' }),
    roundMs: 50,
    ...more,
  });
}

type Odd = (request: IncomingMessage, response: ServerResponse) => boolean;

/**
 * Stands in front of the server and answers itself if `odd` says so. A request that `hold` holds goes to the server
 * when its promise resolves.
 */
export async function oddStore(target: TestBucket): Promise<
  AsyncDisposable & {
    url: string;
    odd: Odd | undefined;
    bodyOf: ((body: Buffer) => Buffer) | undefined;
    hold: ((request: IncomingMessage) => Promise<unknown> | undefined) | undefined;
  }
> {
  const pass = (request: IncomingMessage, response: ServerResponse): void => {
    if (front.odd?.(request, response) === true) {
      request.resume();
      return;
    }
    const { method, headers, url: path } = request;
    const passed = httpRequest(
      { port: target.port, host: '127.0.0.1', method, headers, path },
      (answer) => {
        const change = method === 'GET' ? front.bodyOf : undefined;
        response.writeHead(answer.statusCode ?? 502, answer.headers);
        if (change === undefined) answer.pipe(response);
        else
          answer
            .on('data', (piece: Buffer) => response.write(change(piece)))
            .on('end', () => response.end());
      },
    );
    passed.on('error', () => response.destroy());
    request.pipe(passed);
  };
  const server = createServer((request, response) => {
    const held = front.hold?.(request);
    if (held === undefined) pass(request, response);
    else void held.then(() => pass(request, response));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const front = {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    odd: undefined as Odd | undefined,
    bodyOf: undefined as ((body: Buffer) => Buffer) | undefined,
    hold: undefined as ((request: IncomingMessage) => Promise<unknown> | undefined) | undefined,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return front;
}

function answersAt(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
      .once('connect', () => {
        socket.destroy();
        resolve(true);
      })
      .once('error', () => resolve(false));
  });
}
