import { createSocket, type Socket } from 'node:dgram';

const nameError = 3;
const serverFailure = 2;

/** The fate of a query. An answer is always 127.0.0.1, at once or after a while. */
export type NameAnswer = 'unknown' | 'failing' | 'silent' | { afterMs: number };

/** A name server on loopback for programs that preload `resolve-by.mjs`. */
export class NameServer implements AsyncDisposable {
  /** The time of each query, on the monotonic clock. */
  readonly askedAtMs: number[] = [];
  answer: (count: number) => NameAnswer = () => 'unknown';
  readonly #socket: Socket = createSocket('udp4');
  readonly #timers = new Set<NodeJS.Timeout>();

  static async start(): Promise<NameServer> {
    const server = new NameServer();
    server.#socket.on('message', (question, { port, address }) => {
      server.askedAtMs.push(performance.now());
      const answer = server.answer(server.askedAtMs.length);
      if (answer === 'silent') return;
      const delayMs = typeof answer === 'object' ? answer.afterMs : 0;
      const timer = setTimeout(() => {
        server.#timers.delete(timer);
        server.#socket.send(replyTo(question, answer), port, address);
      }, delayMs);
      server.#timers.add(timer);
    });
    await new Promise<void>((resolve) => server.#socket.bind(0, '127.0.0.1', resolve));
    return server;
  }

  /** The environment of a program that uses this name server. */
  get env(): Record<string, string> {
    const { port } = this.#socket.address();
    const hook = new URL('resolve-by.mjs', import.meta.url).href;
    return { NODE_OPTIONS: `--import=${hook}`, TEST_NAME_SERVER: `127.0.0.1:${port}` };
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const timer of this.#timers) clearTimeout(timer);
    await new Promise<void>((resolve) => this.#socket.close(resolve));
  }
}

/**
 * A reply in the format of RFC 1035: the head, the question as it came, and at most one address that may not be cached.
 */
function replyTo(query: Buffer, answer: NameAnswer): Buffer {
  const code = answer === 'unknown' ? nameError : answer === 'failing' ? serverFailure : 0;
  const found = code === 0;
  const head = Buffer.alloc(12);
  query.copy(head, 0, 0, 2);
  head.writeUInt16BE(0x8180 | code, 2);
  head.writeUInt16BE(1, 4);
  head.writeUInt16BE(found ? 1 : 0, 6);
  // The question: up to the zero that ends the name, plus type and class.
  const question = query.subarray(12, query.indexOf(0, 12) + 5);
  const address = Buffer.from([0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4, 127, 0, 0, 1]);
  return Buffer.concat(found ? [head, question, address] : [head, question]);
}
