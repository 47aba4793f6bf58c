import { createHash, createHmac } from 'node:crypto';
import { Readable } from 'node:stream';
import type { SignatureV4 } from '@smithy/signature-v4';
import { within, type Clock } from '../lib/clock.ts';
import { every } from '../lib/every.ts';
import { GuardedClient } from '../lib/guarded-fetch.ts';
import type { ObjectsConfig } from './config.ts';
import { CredentialSource, NoCredentials } from './bucket-credentials.ts';

/** A body for the bucket. It is complete before it is sent, and it is read while it is sent. */
export type ObjectBody = {
  bytes: number;
  /**
   * The SHA-256 of the body in hexadecimal digits. The store refuses any other body, because the request is signed with
   * this hash.
   */
  sha256: string;
  read(): AsyncIterable<Buffer>;
};

/**
 * `missing`: the store has no such object. `refused`: the store refused the request. `away`: the store did not answer
 * properly.
 */
type BucketTrouble = 'missing' | 'refused' | 'away';

/** An error that says how the store answered. It never holds a key or an address. */
export class BucketError extends Error {
  readonly trouble: BucketTrouble;

  constructor(trouble: BucketTrouble, message: string) {
    super(message);
    this.name = 'BucketError';
    this.trouble = trouble;
  }
}

type BucketOptions = {
  config: ObjectsConfig & { url: string };
  clock: Clock;
  /** A request that moves no byte in either direction for this long is given up. */
  stallMs?: number;
};

const defaultStallMs = 15_000;
/** A request without a large body may take this long in total. */
const answerMs = 20_000;
/** A large request may take as long as a line of this speed would need. */
const slowestBytesPerMs = 64;
/**
 * The longest time for reading an object. A recording is read as slowly as a person listens, so the wait for each piece
 * is the real limit.
 */
const readMs = 24 * 3_600_000;
/** At most this many bytes are read of an answer that is not an object. They are enough for the code of an error. */
const maxAnswerBytes = 8_192;
const emptySha256 = createHash('sha256').digest('hex');

type StoreAnswer = { status: number; text: string };

/**
 * One bucket of an S3-compatible store, used by four plain requests: put, read a range, delete, and test. An object is
 * stored whole or not at all, by its SHA-256. Reading a range returns exactly its bytes or fails. Time and memory are
 * bounded whatever the store sends. Redirects are not followed, because the operator named this store.
 */
export class Bucket implements AsyncDisposable {
  readonly #options: BucketOptions;
  readonly #client: GuardedClient;
  readonly #base: URL;
  readonly #prefix: string;
  readonly #stallMs: number;
  readonly #credentials: CredentialSource;
  #signer: Promise<SignatureV4> | undefined;

  constructor(options: BucketOptions) {
    const { url, region, endpoint, pathStyle } = options.config;
    const [, name = '', prefix = ''] = /^s3:\/\/([^/]+)\/?(.*?)\/?$/.exec(url) ?? [];
    this.#options = options;
    this.#stallMs = options.stallMs ?? defaultStallMs;
    const base = new URL(endpoint ?? `https://s3.${region}.amazonaws.com`);
    const root = base.pathname.replace(/\/+$/, '');
    if (!pathStyle) base.host = `${name}.${base.host}`;
    base.pathname = pathStyle ? `${root}/${name}` : root;
    this.#base = base;
    this.#prefix = prefix === '' ? '' : `${prefix}/`;
    this.#client = new GuardedClient({ trust: 'as-written', connections: 8 });
    this.#credentials = new CredentialSource(options.config, options.clock);
  }

  /** Puts the whole object or none: the store refuses a body that does not match its SHA-256. */
  async put(key: string, body: ObjectBody, signal?: AbortSignal): Promise<void> {
    const { clock } = this.#options;
    const stalled = new AbortController();
    let movedMs = clock.monotonicMs();
    let unreadable: { error: unknown } | undefined;
    const moving = async function* (): AsyncGenerator<Buffer> {
      try {
        for await (const piece of body.read()) {
          movedMs = clock.monotonicMs();
          yield piece;
        }
      } catch (error) {
        unreadable = { error };
        throw error;
      }
      movedMs = clock.monotonicMs();
    };
    const watch = every(clock, this.#stallMs / 4, () => {
      if (clock.monotonicMs() - movedMs > this.#stallMs) stalled.abort();
    });
    const stream = Readable.from(moving(), { objectMode: false, highWaterMark: 65_536 });
    stream.on('error', () => undefined); // the request that reads the body tells of it
    try {
      const request = await this.#signed(
        'PUT',
        key,
        { 'content-length': String(body.bytes), 'content-type': 'application/octet-stream' },
        body.sha256,
      );
      const answer = await this.#client.upload({
        ...request,
        method: 'PUT',
        body: stream,
        deadlineMs: answerMs + body.bytes / slowestBytesPerMs,
        maxBytes: maxAnswerBytes,
        signal: AbortSignal.any([stalled.signal, ...(signal ? [signal] : [])]),
      });
      // If the file cannot be read on this machine, the client only sees a broken connection. The real error is thrown
      // instead.
      if (unreadable !== undefined) throw unreadable.error;
      if (!answer.ok) throw new BucketError('away', `PUT: ${answer.reason}`);
      if (answer.status !== 200) throw refusal('PUT', answerOf(answer));
    } finally {
      void watch.stop();
      stream.destroy();
    }
  }

  /** Reads exactly the bytes from `from` up to and without `to`. */
  async *read(key: string, from: number, to: number, signal?: AbortSignal): AsyncGenerator<Buffer> {
    if (to <= from) return;
    const answer = await this.#client.stream({
      ...(await this.#signed('GET', key, { range: `bytes=${from}-${to - 1}` }, emptySha256)),
      deadlineMs: readMs,
      firstByteMs: this.#stallMs,
      signal,
    });
    if (!answer.ok) throw new BucketError('away', `GET: ${answer.reason}`);
    const { status, body } = answer;
    try {
      const announced = Number(answer.headers['content-length'] ?? NaN);
      if (status !== 206) {
        const text = await this.#textOf(body);
        throw status === 200
          ? new BucketError('away', 'GET: the store ignores ranges')
          : refusal('GET', { status, text });
      }
      if (announced !== to - from)
        throw new BucketError(
          'away',
          'GET: the store answered with another length than was asked for',
        );
      yield* this.#exactly(body, to - from);
    } finally {
      body.destroy();
    }
  }

  /** Deletes an object. A missing object counts as deleted. */
  async remove(key: string, signal?: AbortSignal): Promise<void> {
    const sent = await this.#client.send({
      ...(await this.#signed('DELETE', key, {}, emptySha256)),
      method: 'DELETE',
      deadlineMs: answerMs,
      maxBytes: maxAnswerBytes,
      signal,
    });
    if (!sent.ok) throw new BucketError('away', `DELETE: ${sent.reason}`);
    const answer = answerOf(sent);
    if (answer.status !== 200 && answer.status !== 204 && answer.status !== 404)
      throw refusal('DELETE', answer);
    // If the bucket itself does not exist, nothing was deleted.
    if (answer.status === 404 && codeOf(answer.text) === 'NoSuchBucket')
      throw refusal('DELETE', answer);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#client[Symbol.asyncDispose]();
    await this.#credentials[Symbol.asyncDispose]();
  }

  async *#exactly(body: Readable, bytes: number): AsyncGenerator<Buffer> {
    let left = bytes;
    const pieces = body[Symbol.asyncIterator]() as AsyncIterator<Buffer>;
    while (left > 0) {
      const next = pieces.next();
      next.catch(() => undefined); // it is given up below and may still fail
      let piece: IteratorResult<Buffer> | undefined;
      const inTime = await within(
        this.#options.clock,
        this.#stallMs,
        next.then((found) => {
          piece = found;
        }),
      ).catch(() => {
        throw new BucketError('away', 'GET: the answer broke off');
      });
      if (!inTime || piece === undefined)
        throw new BucketError('away', 'GET: the store stopped in the middle of an object');
      if (piece.done === true)
        throw new BucketError('away', 'GET: the answer is shorter than its length says');
      left -= piece.value.length;
      if (left < 0) throw new BucketError('away', 'GET: the answer is longer than was asked for');
      yield piece.value;
    }
  }

  async #textOf(body: Readable): Promise<string> {
    const parts: Buffer[] = [];
    let bytes = 0;
    const reading = (async () => {
      for await (const part of body as AsyncIterable<Buffer>) {
        parts.push(part);
        bytes += part.length;
        if (bytes > maxAnswerBytes) return;
      }
    })().catch(() => undefined); // the status is enough
    await within(this.#options.clock, this.#stallMs, reading);
    return Buffer.concat(parts).toString('latin1', 0, maxAnswerBytes);
  }

  async #signed(
    method: string,
    key: string,
    given: Record<string, string>,
    sha256: string,
  ): Promise<{ url: string; headers: Record<string, string> }> {
    const url = new URL(this.#base);
    // Keys consist of our own ids and the operator's prefix. None of their letters needs an escape.
    url.pathname = `${url.pathname.replace(/\/$/, '')}/${this.#prefix}${key}`;
    const signer = await (this.#signer ??= signerOf(this.#options.config, this.#credentials));
    const signing = signer.sign(
      {
        method,
        protocol: url.protocol,
        hostname: url.hostname,
        path: url.pathname,
        query: {},
        headers: { ...given, host: url.host, 'x-amz-content-sha256': sha256 },
      },
      { signingDate: new Date(this.#options.clock.now()) },
    );
    const signed = await signing.catch((error: unknown) => {
      throw error instanceof NoCredentials ? new BucketError('away', error.message) : error;
    });
    const { host: _host, ...headers } = signed.headers;
    return { url: url.href, headers };
  }
}

/** Loads the signer only if a bucket is set, because every other start works without it. */
async function signerOf(
  { region }: BucketOptions['config'],
  source: CredentialSource,
): Promise<SignatureV4> {
  const { SignatureV4: Signer } = await import('@smithy/signature-v4');
  return new Signer({
    service: 's3',
    region,
    credentials: () => source.now(),
    sha256: Sha256,
    uriEscapePath: false,
  });
}

/** Computes hashes in the form that the signer expects. */
class Sha256 {
  readonly #secret: Buffer | undefined;
  #hash: ReturnType<typeof createHash | typeof createHmac>;

  constructor(secret?: string | ArrayBuffer | ArrayBufferView) {
    this.#secret = secret === undefined ? undefined : bytesOf(secret);
    this.#hash = this.#fresh();
  }

  update(data: string | ArrayBuffer | ArrayBufferView): void {
    this.#hash.update(bytesOf(data));
  }

  digest(): Promise<Uint8Array> {
    return Promise.resolve(new Uint8Array(this.#hash.digest()));
  }

  reset(): void {
    this.#hash = this.#fresh();
  }

  #fresh(): ReturnType<typeof createHash | typeof createHmac> {
    return this.#secret === undefined ? createHash('sha256') : createHmac('sha256', this.#secret);
  }
}

function bytesOf(data: string | ArrayBuffer | ArrayBufferView): Buffer {
  if (typeof data === 'string') return Buffer.from(data, 'utf8');
  return ArrayBuffer.isView(data)
    ? Buffer.from(data.buffer, data.byteOffset, data.byteLength)
    : Buffer.from(data);
}

function answerOf({ status, body }: { status: number; body: Buffer }): StoreAnswer {
  return { status, text: body.toString('latin1') };
}

function codeOf(text: string): string | undefined {
  return /<Code>([A-Za-z0-9.]{1,64})<\/Code>/.exec(text)?.[1];
}

function refusal(method: string, { status, text }: StoreAnswer): BucketError {
  const code = codeOf(text);
  const what = `${method}: the store answered ${status}${code === undefined ? '' : ` ${code}`}`;
  if (status === 404 && code !== 'NoSuchBucket') return new BucketError('missing', what);
  return new BucketError(status >= 500 || status === 429 ? 'away' : 'refused', what);
}
