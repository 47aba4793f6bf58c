import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

export type Told = { method: string; body: unknown; id: string };

export type JobWeb = AsyncDisposable & {
  url: string;
  host: string;
  /** What was POSTed or PUT here, each with the identity of its message. */
  told: Told[];
  /** How often a file was fetched. */
  fetched: Map<string, number>;
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
      response.writeHead(typeof file === 'number' ? file : file ? 200 : 404);
      response.end(typeof file === 'number' ? '' : file);
      return;
    }
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      told.push({
        method: request.method ?? '',
        id: String(request.headers['webhook-id']),
        body: JSON.parse(Buffer.concat(chunks).toString('utf8')) as unknown,
      });
      response.writeHead(answer()).end();
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}`,
    host: `127.0.0.1:${port}`,
    told,
    fetched,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
