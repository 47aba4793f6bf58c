import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { PreRecordedCallback } from '../../../src/protocol/callbacks.ts';

/** Only signed callbacks carry the id of their message, so a wrong secret would leave nothing to count. */
export const callbackSecret = `whsec_${Buffer.alloc(32, 7).toString('base64')}`;

/** `id` is the id of the message. Only a signed message has one. */
export type Told = { method: string; body: unknown; id: string | undefined };

export type JobWeb = AsyncDisposable & {
  url: string;
  host: string;
  /** The bodies received by POST or PUT. */
  told: Told[];
  /** The number of fetches of each file. */
  fetched: Map<string, number>;
  /** A fetch is answered only after this promise resolves. */
  hold: (() => Promise<unknown> | undefined) | undefined;
};

/** A web server that serves some audio or answers with a status, and that receives callbacks. */
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

/** The ids under which the end of each job was reported, by job id. */
export function toldOf({ told }: Pick<JobWeb, 'told'>): Map<string, Set<string>> {
  const identities = new Map<string, Set<string>>();
  for (const { id, body } of told) {
    const job = PreRecordedCallback.parse(body).id;
    if (id === undefined) throw new Error(`the callback of ${job} came without an identity`);
    identities.set(job, (identities.get(job) ?? new Set()).add(id));
  }
  return identities;
}
