import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';

/** The ways in which a CRM may answer a look-up. */
const answers = {
  large: (response: ServerResponse) => {
    response.setHeader('content-type', 'application/json');
    response.end(Buffer.alloc(50_000_000, 0x20));
  },
  endless: (response: ServerResponse) => {
    const more = (): void => {
      while (!response.destroyed && response.write(' '.repeat(1_000)));
    };
    response.on('drain', () => setTimeout(more, 5).unref());
    more();
  },
  silent: () => undefined,
  html: (response: ServerResponse) => response.end('<html>Sign in</html>'),
  nonsense: (response: ServerResponse) =>
    response.end(JSON.stringify({ items: [null, 5, 'x', { phones: { length: 9 } }, { id: {}, phones: ['+442079460958'] }] })), // prettier-ignore
  script: (response: ServerResponse, path: string) =>
    response.end(
      JSON.stringify(
        path.endsWith('/tickets')
          ? { items: Array.from({ length: 50 }, (_, id) => ({ id, title: 'Broken kettle' })) }
          : {
              items: [
                {
                  id: 51,
                  phones: ['+442079460958'],
                  created_at: '',
                  name: `<script>alert(1)</script>\u0000\n\u202e${'x'.repeat(100_000)}`,
                  company: { toString: 'x' },
                },
              ],
            },
      ),
    ),
};

/** A server that answers every request in one of these ways. */
export async function answering(kind: keyof typeof answers) {
  const server = createServer((request, response) => {
    request.resume();
    answers[kind](response, request.url ?? '');
  });
  await once(server.listen(0, '127.0.0.1'), 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, 'close');
    },
  };
}
