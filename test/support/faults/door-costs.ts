import { connect, type Socket } from 'node:net';
import { randomBytes } from 'node:crypto';

/** A route of ours that accepts text from anyone who reaches the port. */
export type StrangersDoor = {
  name: string;
  port: number;
  method: string;
  path: string;
  /** Headers with a proof of the right form and a wrong value, so that the check of the proof has to work. */
  wrongProof: string;
  contentType?: string;
  bodyBytes?: number;
  isUpgrade?: boolean;
};

/** One shape of foreign text, as large as the port accepts. */
type TextShape = { name: string; query?: string; headers?: string; body?: string };

/** The port accepts 8 KiB of request line and headers together. The remainder is for headers that every request has. */
const headBytes = 7_000;
const filled = (unit: (at: number) => string, bytes: number): string => {
  let text = '';
  for (let at = 0; ; at++) {
    const next = unit(at);
    if (text.length + next.length > bytes) return text;
    text += next;
  }
};

/** Four shapes of a query, four of headers and four of a body. */
export function shapesOf(bodyBytes: number): TextShape[] {
  const body = (unit: (at: number) => string, head = '', tail = ''): string =>
    head + filled(unit, bodyBytes - head.length - tail.length) + tail;
  return [
    { name: 'query of one name', query: filled(() => 'a&', headBytes) },
    { name: 'query of many names', query: filled((at) => `${at.toString(36)}=&`, headBytes) },
    { name: 'query in percents', query: filled(() => '%C3%A9=%26', headBytes) },
    { name: 'query in brackets', query: filled(() => 'a[b][]=1&', headBytes) },
    { name: 'headers of one name', headers: filled(() => 'X-Forwarded-For: 1\r\n', 1_200) },
    { name: 'headers of many names', headers: filled((at) => `X-${at}: ${'y'.repeat(110)}\r\n`, 6_000) }, // prettier-ignore
    { name: 'header of commas', headers: listHeaders(',') },
    { name: 'header of members', headers: listHeaders('a="b;c",') },
    { name: 'body of one name', body: body(() => 'a&') },
    { name: 'body of many names', body: body((at) => `${at.toString(36)}=%C3%A9&`) },
    { name: 'body of nested lists', body: `${'['.repeat(bodyBytes / 2)}${']'.repeat(bodyBytes / 2)}` }, // prettier-ignore
    { name: 'body of many fields', body: body((at) => `"${at.toString(36)}":${at},`, '{"data":{', '"z":0}}') }, // prettier-ignore
  ];
}

/** Every header whose value our code parses. */
function listHeaders(unit: string): string {
  const names = ['Cookie', 'X-Forwarded-For', 'Signature-Input', 'Accept', 'Range'];
  return names.map((name) => `${name}: ${filled(() => unit, 1_150)}\r\n`).join('');
}

/** Returns the CPU time of the program's main thread in ms, from a meter that the program preloads. */
export class CpuMeter implements Disposable {
  readonly #socket: Socket;
  #answered: (text: string) => void = () => undefined;
  #failed: (error: Error) => void = () => undefined;

  constructor(path: string) {
    this.#socket = connect(path);
    this.#socket.on('data', (data) => this.#answered(data.toString()));
    this.#socket.on('error', (error) => this.#failed(error));
    this.#socket.on('close', () => this.#failed(new Error('the program has ended')));
  }

  async usedMs(): Promise<number> {
    const { promise, resolve, reject } = Promise.withResolvers<string>();
    this.#answered = resolve;
    this.#failed = reject;
    this.#socket.write('?');
    return Number(await promise) / 1_000;
  }

  [Symbol.dispose](): void {
    this.#socket.destroy();
  }
}

/** Each request comes from another address, because one address would have to wait after its wrong secrets. */
let strangers = 0;

/**
 * Sends one request. Resolves when the server has answered all of it, with a refusal or with a pong after the first
 * message.
 */
export async function knock(door: StrangersDoor, shape: TextShape): Promise<string> {
  const { port, method, path, wrongProof, isUpgrade = false } = door;
  const at = strangers++;
  const localAddress = `127.${1 + ((at >> 14) & 127)}.${(at >> 7) & 127}.${1 + (at & 127)}`;
  const socket = connect({ port, host: '127.0.0.1', localAddress });
  const target = shape.query === undefined ? path : `${path}?${shape.query}`;
  const body = isUpgrade ? '' : (shape.body ?? '');
  const upgrade = isUpgrade
    ? `Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: ${randomBytes(16).toString('base64')}\r\n`
    : 'Connection: close\r\n';
  const content =
    body === ''
      ? ''
      : `Content-Type: ${door.contentType ?? 'application/json'}\r\nContent-Length: ${Buffer.byteLength(body)}\r\n`;
  socket.write(
    `${method.toUpperCase()} ${target} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n${upgrade}${wrongProof}${content}${shape.headers ?? ''}\r\n${body}`,
    'latin1',
  );
  let answer = '';
  let hasSpoken = false;
  return new Promise((resolve) => {
    socket.on('error', () => undefined);
    socket.on('data', (bytes: Buffer) => {
      answer += bytes.toString('latin1');
      if (!isUpgrade || !answer.startsWith('HTTP/1.1 101')) return;
      const frames = answer.slice(answer.indexOf('\r\n\r\n') + 4);
      if (!hasSpoken) {
        hasSpoken = true;
        if (shape.body !== undefined) socket.write(frame(1, Buffer.from(shape.body, 'latin1')));
        socket.write(frame(9, Buffer.from('read')));
      }
      if (frames.includes('\x8a\x04read')) socket.destroy();
    });
    socket.on('close', () => resolve(answer));
  });
}

/** A masked client frame. The mask is zero, so the bytes stay as they are. */
function frame(opcode: number, payload: Buffer): Buffer {
  const { length } = payload;
  const head =
    length < 126
      ? Buffer.from([0x80 | opcode, 0x80 | length])
      : length < 65_536
        ? Buffer.from([0x80 | opcode, 0x80 | 126, length >> 8, length & 255])
        : Buffer.from([0x80 | opcode, 0x80 | 127, 0, 0, 0, 0, 0, (length >> 16) & 255, (length >> 8) & 255, length & 255]); // prettier-ignore
  return Buffer.concat([head, Buffer.alloc(4), payload]);
}

const fewest = 3;
/** On a busy machine a cheap request may look expensive several times, but not every time. */
const most = 40;

/**
 * The CPU time of one request: the least of several measurements, since other work of the program and code that is not
 * compiled yet only add to it. An expensive request is repeated until it was below the limit once, or has failed every
 * time.
 */
export async function costMs(
  meter: CpuMeter,
  door: StrangersDoor,
  shape: TextShape,
  boundMs: number,
): Promise<{ ms: number; answer: string }> {
  let ms = Infinity;
  let answer = '';
  for (let turn = 0; turn < fewest || (turn < most && ms > boundMs); turn++) {
    const before = await meter.usedMs();
    answer = await knock(door, shape);
    ms = Math.min(ms, (await meter.usedMs()) - before);
  }
  return { ms, answer: answer.split('\r\n', 1)[0] ?? '' };
}
