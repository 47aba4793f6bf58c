import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PreRecordedCallback } from '../../../src/protocol/callbacks.ts';

/** Signed callbacks carry the identity of their message; with another secret or none there is nothing to count. */
export const callbackSecret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

/** `id` is the identity of the message, which only a signed one has. */
export type Told = { method: string; body: unknown; id: string | undefined };

export type JobWeb = AsyncDisposable & {
  url: string;
  host: string;
  /** The bodies that were POSTed or PUT here. */
  told: Told[];
  /** The number of times that a file was fetched. */
  fetched: Map<string, number>;
  /** A fetch waits for this before it is answered. */
  hold: (() => Promise<unknown> | undefined) | undefined;
};

/** A web server that has some audio, or answers with a status instead, and that takes callbacks. */
export async function jobWeb(
  files: Record<string, Buffer | number> = {},
  answer: () => number = () => 200,
): Promise<JobWeb> {
  const told: Told[] = [];
  const fetched = new Map<string, number>();
  const server = createServer((request, response) => {
    const path = request.url ?? '';
    const file = files[path];
    if (request.method === 'GET') {
      fetched.set(path, (fetched.get(path) ?? 0) + 1);
      void Promise.resolve(web.hold?.()).then(() => {
        response.writeHead(typeof file === 'number' ? file : file ? 200 : 404);
        response.end(typeof file === 'number' ? '' : file);
      });
      return;
    }
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      told.push({
        method: request.method ?? '',
        id: request.headers['webhook-id']?.toString(),
        body: JSON.parse(Buffer.concat(chunks).toString('utf8')) as unknown,
      });
      response.writeHead(answer()).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const web: JobWeb = {
    hold: undefined,
    url: `http://127.0.0.1:${port}`,
    host: `127.0.0.1:${port}`,
    told,
    fetched,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
  return web;
}

/** The identities under which the end of each job was told, by its id. */
export function toldOf({ told }: Pick<JobWeb, 'told'>): Map<string, Set<string>> {
  const identities = new Map<string, Set<string>>();
  for (const { id, body } of told) {
    const job = PreRecordedCallback.parse(body).id;
    if (id === undefined) throw new Error(`the callback of ${job} came without an identity`);
    identities.set(job, (identities.get(job) ?? new Set()).add(id));
  }
  return identities;
}
