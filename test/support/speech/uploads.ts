import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { assertDescribed } from './described.ts';
import { buildWavHeader } from './wav-file.ts';

export const boundary = 'b0undary-of-this-test';
export const formType = `multipart/form-data; boundary=${boundary}`;

/** Telephony PCM of that many bytes with its header. */
export function wavOf(bytes: number): Buffer {
  return Buffer.concat([buildWavHeader(bytes), Buffer.alloc(bytes, 7)]);
}

export type FormPart = { disposition: string; type?: string; body: Buffer };

/** A form, byte by byte as a client writes it. */
export function formOf(...parts: FormPart[]): Buffer {
  const pieces = parts.flatMap(({ disposition, type, body }) => [
    Buffer.from(
      `--${boundary}\r\nContent-Disposition: ${disposition}\r\n${type === undefined ? '' : `Content-Type: ${type}\r\n`}\r\n`,
    ),
    body,
    Buffer.from('\r\n'),
  ]);
  return Buffer.concat([...pieces, Buffer.from(`--${boundary}--\r\n`)]);
}

export function audioForm(body: Buffer, filename = 'call.wav'): Buffer {
  return formOf({
    disposition: `form-data; name="audio"; filename="${filename}"`,
    type: 'application/octet-stream',
    body,
  });
}

export type RawAnswer = {
  status: number;
  headers: string;
  // eslint-disable-next-line @typescript-eslint/no-explicit-any -- an answer of JSON, read by tests
  json: any;
};

/** An upload over a plain socket. The test decides when which bytes are sent. */
export class RawUpload {
  readonly socket: Socket;
  readonly answer: Promise<RawAnswer>;
  readonly closed: Promise<void>;

  constructor(port: number, headers: Record<string, string>) {
    this.socket = connect({ port, host: '127.0.0.1', noDelay: true });
    this.socket.on('error', () => undefined);
    this.closed = new Promise((resolve) => this.socket.once('close', () => resolve()));
    this.answer = answerOn(this.socket).then((answer) => {
      assertDescribed('POST', '/v2/upload', answer.status);
      return answer;
    });
    this.answer.catch(() => undefined);
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    this.socket.write(
      `POST /v2/upload HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\n${lines.join('')}\r\n`,
    );
  }

  /** Resolves when the system has taken the bytes or the connection has ended. */
  async write(bytes: Buffer): Promise<void> {
    if (this.socket.write(bytes) || this.socket.destroyed) return;
    await Promise.race([once(this.socket, 'drain').catch(() => undefined), this.closed]);
  }

  /** Writes one chunk of a chunked body. */
  async writeChunk(bytes: Buffer): Promise<void> {
    await this.write(
      Buffer.concat([Buffer.from(`${bytes.length.toString(16)}\r\n`), bytes, Buffer.from('\r\n')]),
    );
  }
}

function answerOn(socket: Socket): Promise<RawAnswer> {
  return new Promise((resolve, reject) => {
    let text = '';
    const look = (): void => {
      const end = text.indexOf('\r\n\r\n');
      if (end < 0) return;
      const headers = text.slice(0, end);
      if (headers.startsWith('HTTP/1.1 100')) {
        text = text.slice(end + 4);
        look();
        return;
      }
      const length = Number(/content-length: (\d+)/i.exec(headers)?.[1] ?? 0);
      const body = text.slice(end + 4);
      if (Buffer.byteLength(body) < length) return;
      resolve({ status: Number(headers.slice(9, 12)), headers, json: JSON.parse(body) });
    };
    socket.setEncoding('utf8').on('data', (piece: string) => {
      text += piece;
      look();
    });
    socket.once('close', () => reject(new Error(`closed after: ${text.slice(0, 200)}`)));
  });
}
