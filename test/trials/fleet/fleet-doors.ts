import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { join } from 'node:path';
import { freePort } from '../../support/process/free-port.ts';
import type { App } from '../../support/process/app.ts';
import { endsWithUs } from '../../support/process/ends-with-us.ts';
import { until } from '../../support/process/until.ts';

const lookEveryMs = 300;

/** The door of the fleet, whoever keeps it. */
export type Door = { url: string; cutAll: () => void | Promise<void>; close: () => void };

/** HAProxy from Debian; undefined where it is not installed. */
export const haproxyPath = ['/usr/sbin/haproxy', '/usr/bin/haproxy'].find((path) =>
  existsSync(path),
);

/** A real TCP balancer: it asks each node how it is, and cuts what goes to one that does not answer. */
export async function haproxy(ports: readonly number[], folder: string): Promise<Door> {
  if (haproxyPath === undefined) throw new Error('haproxy is not installed');
  const port = await freePort();
  const socket = join(folder, 'haproxy.sock');
  const file = join(folder, 'haproxy.cfg');
  await writeFile(
    file,
    [
      'global',
      `  stats socket ${socket} mode 600 level admin`,
      'defaults',
      '  mode tcp',
      '  timeout connect 2s',
      '  timeout client 1h',
      '  timeout server 1h',
      '  retries 2',
      '  option redispatch',
      'listen fleet',
      `  bind 127.0.0.1:${port}`,
      '  balance leastconn',
      '  option httpchk GET /health/live',
      '  timeout check 1s',
      '  default-server check inter 300ms fall 2 rise 1 on-marked-down shutdown-sessions',
      ...ports.map((one, at) => `  server node${at} 127.0.0.1:${one}`),
      '',
    ].join('\n'),
  );
  const child = endsWithUs(spawn(haproxyPath, ['-f', file, '-db'], { stdio: 'ignore' }));
  await until(
    () =>
      new Promise<boolean>((resolve) => {
        const probe = connect(port, '127.0.0.1');
        probe.once('connect', () => {
          probe.destroy();
          resolve(true);
        });
        probe.once('error', () => resolve(false));
      }),
  );
  const order = (text: string): Promise<void> =>
    new Promise((resolve) => {
      const line = connect(socket);
      line.on('error', () => resolve());
      line.on('close', () => resolve());
      line.resume();
      line.end(`${text}\n`);
    });
  return {
    url: `ws://127.0.0.1:${port}`,
    cutAll: async () => {
      for (const at of ports.keys()) await order(`shutdown sessions server fleet/node${at}`);
    },
    close: () => child.kill('SIGKILL'),
  };
}

/** A balancer of our own, where there is no other: looks whether the nodes are well, and cuts what goes to one that is not. */
export async function balancer(nodes: () => readonly App[]): Promise<Door> {
  const sick = new Map<string, number>();
  const pairs = new Set<{ url: string; client: Socket; node: Socket }>();
  let next = 0;
  const isWell = (app: App): boolean => (sick.get(app.url) ?? 0) < 2;
  const server = createServer((client) => {
    client.on('error', () => undefined);
    const well = nodes().filter(isWell);
    const app = well[next++ % Math.max(1, well.length)];
    if (app === undefined) return void client.resetAndDestroy();
    const node = connect(Number(new URL(app.url).port), '127.0.0.1');
    const pair = { url: app.url, client, node };
    pairs.add(pair);
    node.on('error', () => client.resetAndDestroy());
    client.pipe(node);
    node.pipe(client);
    for (const [one, other] of [
      [client, node],
      [node, client],
    ] as const)
      // prettier-ignore
      one.on('close', () => {
        pairs.delete(pair);
        other.destroy();
      });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const cut = (isMeant: (url: string) => boolean): void => {
    for (const { url, client, node } of pairs)
      if (isMeant(url)) for (const socket of [client, node]) socket.resetAndDestroy();
  };
  let isOpen = true;
  const look = async (): Promise<void> => {
    await Promise.all(
      nodes().map(async (app) => {
        const answer = await app
          .get('/health/live', { signal: AbortSignal.timeout(1_000) })
          .catch(() => undefined);
        if (answer?.ok) sick.delete(app.url);
        else sick.set(app.url, (sick.get(app.url) ?? 0) + 1);
        if (!isWell(app)) cut((url) => url === app.url);
      }),
    );
    if (isOpen) setTimeout(() => void look(), lookEveryMs);
  };
  void look();
  return {
    url: `ws://127.0.0.1:${(server.address() as AddressInfo).port}`,
    cutAll: () => cut(() => true),
    close: () => {
      isOpen = false;
      cut(() => true);
      server.close();
    },
  };
}
