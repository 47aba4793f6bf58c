import { randomUUID } from 'node:crypto';
import { open, type FileHandle } from 'node:fs/promises';
import { request as httpRequest, type ClientRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { z } from 'zod';
import { reasonOf, TrunklineError } from '../../lib/errors.ts';
import { withoutUndefined } from '../../lib/without-undefined.ts';
import { JobStatus } from '../../protocol/job.ts';
import { whyUnreachable } from '../running-process.ts';

/** The service for the jobs: our own, or a hosted one with the same interface. */
export type JobTarget = { url: string; key: string | undefined; keyHeader: string };

/** The service refused the request, or its answer is not the expected one. */
export class JobRefused extends Error {
  readonly status: number;
  readonly retryAfterMs: number | undefined;

  constructor(status: number, message: string, retryAfterMs?: number) {
    super(message);
    this.name = 'JobRefused';
    this.status = status;
    this.retryAfterMs = retryAfterMs;
  }
}

/** No answer came. */
export class JobUnanswered extends Error {
  /** False if not even a connection was made. Then the service has not seen the request. */
  readonly mayHaveArrived: boolean;

  constructor(message: string, mayHaveArrived: boolean, cause?: unknown) {
    super(message, { cause });
    this.name = 'JobUnanswered';
    this.mayHaveArrived = mayHaveArrived;
  }
}

/** The fields of a record that show the progress of its job. Services may leave out all but the status. */
const JobProgress = z.looseObject({
  status: JobStatus,
  error_code: z.number().nullish(),
  error_message: z.string().nullish(),
  progress: z.looseObject({ seconds_done: z.number(), seconds: z.number() }).nullish(),
});
export type JobProgress = z.infer<typeof JobProgress>;

const Uploaded = z.looseObject({ audio_url: z.string() });
const Begun = z.looseObject({ id: z.string().regex(/^[\w-]{1,100}$/) });
const Refusal = z.looseObject({
  message: z.string().optional(),
  validation_errors: z.array(z.string()).optional(),
});

type Answer = { status: number; text: string; retryAfterMs: number | undefined };
type JobCall = {
  method: 'GET' | 'POST';
  path: string;
  body?: object;
  deadlineMs?: number;
  signal?: AbortSignal;
};

/** Stands in for a status when the answer is not of this interface. Another try would get the same answer. */
const notOfInterface = 0;

/**
 * The limit for an answer. A record of 135 minutes with every word, sentence and subtitle in ten languages is
 * smaller.
 */
const maxAnswerBytes = 128 * 1024 * 1024;
const deadlineMs = 60_000;
const pieceBytes = 256 * 1024;
/** An upload counts as stalled if no byte moves for this long. A service needs less time to examine a file. */
const stalledMs = 120_000;
/**
 * A service that does not know `Expect: 100-continue` does not reply to it. After this time the body is sent anyway.
 */
const leaveMs = 2_000;

/** The HTTP interface of jobs. Each method sends one request; the caller decides when and how often. */
export class JobService {
  readonly #target: JobTarget;

  constructor(target: JobTarget) {
    this.#target = target;
  }

  /** Sends a request that costs nothing and needs the key. */
  async check(signal: AbortSignal): Promise<void> {
    await this.#ask({ method: 'GET', path: '/v2/pre-recorded?limit=1', signal });
  }

  /** Uploads a file from disk, piece by piece. Returns the address under which the service keeps it. */
  async upload(
    file: { path: string; name: string },
    onSent: (bytes: number, ofBytes: number) => void,
    signal: AbortSignal,
  ): Promise<string> {
    await using handle = await open(file.path, 'r');
    const { size } = await handle.stat();
    const boundary = `trunkline-${randomUUID()}`;
    const head = Buffer.from(
      `--${boundary}\r\ncontent-disposition: form-data; name="audio"; filename="${inQuotes(file.name)}"\r\n` +
        'content-type: application/octet-stream\r\n\r\n',
    );
    const tail = Buffer.from(`\r\n--${boundary}--\r\n`);
    const request = this.#request('POST', '/v2/upload', signal, {
      'content-type': `multipart/form-data; boundary=${boundary}`,
      'content-length': String(head.length + size + tail.length),
      // The service can refuse a file that is too large, or a wrong key, before any byte of the file is sent.
      expect: '100-continue',
    });
    request.setTimeout(stalledMs, () =>
      request.destroy(new Error(`nothing moved for ${stalledMs / 1e3} s`)),
    );
    const send = async (): Promise<void> => {
      await written(request, head);
      let sent = 0;
      for await (const piece of piecesOf(handle, size)) {
        await written(request, piece);
        onSent((sent += piece.length), size);
      }
      await written(request, tail);
    };
    return parsed(Uploaded, await this.#exchange(request, send)).audio_url;
  }

  /** This request is neither repeated nor aborted: a job whose id nobody knows could not be cancelled. */
  async begin(body: object): Promise<string> {
    return parsed(Begun, await this.#ask({ method: 'POST', path: '/v2/pre-recorded', body })).id;
  }

  async record(
    id: string,
    signal: AbortSignal,
  ): Promise<{ progress: JobProgress; json: unknown; retryAfterMs: number | undefined }> {
    const answer = await this.#ask({ method: 'GET', path: `/v2/pre-recorded/${id}`, signal });
    const json = jsonOf(answer);
    return { progress: parsed(JobProgress, answer, json), json, retryAfterMs: answer.retryAfterMs };
  }

  async cancel(id: string): Promise<void> {
    const path = `/v2/pre-recorded/${id}/cancel`;
    await this.#ask({ method: 'POST', path, body: {}, deadlineMs: 10_000 });
  }

  async #ask({ method, path, body, signal, ...asked }: JobCall): Promise<Answer> {
    const late = AbortSignal.timeout(asked.deadlineMs ?? deadlineMs);
    const ends = signal ? AbortSignal.any([late, signal]) : late;
    const bytes = body === undefined ? undefined : Buffer.from(JSON.stringify(body));
    const request = this.#request(
      method,
      path,
      ends,
      bytes
        ? { 'content-type': 'application/json', 'content-length': String(bytes.length) }
        : undefined,
    );
    try {
      return await this.#exchange(request, bytes && (() => written(request, bytes)));
    } catch (error) {
      throw late.aborted && !signal?.aborted && error instanceof JobUnanswered
        ? new JobUnanswered(
            `no answer within ${(asked.deadlineMs ?? deadlineMs) / 1e3} s`,
            true,
            error,
          )
        : error;
    }
  }

  #request(
    method: string,
    path: string,
    signal: AbortSignal,
    headers: Record<string, string> = {},
  ): ClientRequest {
    const { url, key, keyHeader } = this.#target;
    const begin = url.startsWith('https:') ? httpsRequest : httpRequest;
    return begin(url + path, {
      method,
      signal,
      // The service may close a kept connection just as the next request is sent, and that request would be lost.
      agent: false,
      headers: { ...headers, ...withoutUndefined({ [keyHeader]: key }) },
    });
  }

  /** Sends the body, unless an answer comes first, and reads the answer. */
  async #exchange(request: ClientRequest, send?: () => Promise<void>): Promise<Answer> {
    let wasConnected = false;
    request.once('socket', (socket) =>
      socket.once('connect', () => {
        wasConnected = true;
      }),
    );
    const answered = new Promise<IncomingMessage>((resolve, reject) => {
      request.once('response', resolve).on('error', reject);
    });
    answered.catch(() => undefined);
    const sent = this.#send(request, answered, send);
    try {
      // Sending matters only if it fails before the answer.
      const response = await Promise.race([answered, sent.then(() => answered)]);
      const text = await textOf(response);
      return answerOf(response, text);
    } catch (error) {
      if (error instanceof JobRefused || error instanceof TrunklineError) throw error;
      throw new JobUnanswered(whyUnreachable(error), wasConnected, error);
    } finally {
      // This also ends the sending, which keeps the file open.
      request.destroy();
      await sent.catch(() => undefined);
    }
  }

  async #send(
    request: ClientRequest,
    answered: Promise<IncomingMessage>,
    send?: () => Promise<void>,
  ): Promise<void> {
    if (send) {
      if (!(await this.#leave(request, answered))) return;
      await send();
    }
    request.end();
  }

  async #leave(request: ClientRequest, answered: Promise<IncomingMessage>): Promise<boolean> {
    if (request.getHeader('expect') === undefined) return true;
    const { promise, resolve } = Promise.withResolvers<boolean>();
    const timer = setTimeout(() => resolve(true), leaveMs);
    request.once('continue', () => resolve(true));
    answered.then(
      () => resolve(false),
      () => resolve(false),
    );
    return promise.finally(() => clearTimeout(timer));
  }
}

/**
 * Pieces of a file, all in the same memory: the next one is read when the last one has been written. If the file
 * grows, only its original size is read, because the length of the form has been announced.
 */
async function* piecesOf(file: FileHandle, size: number): AsyncGenerator<Buffer> {
  const buffer = Buffer.allocUnsafeSlow(pieceBytes);
  for (let at = 0; at < size;) {
    let bytesRead: number;
    try {
      ({ bytesRead } = await file.read(buffer, 0, Math.min(pieceBytes, size - at), at));
    } catch (cause) {
      throw new TrunklineError('BAD_INPUT', `cannot be read: ${reasonOf(cause)}`, { cause });
    }
    if (bytesRead === 0)
      throw new TrunklineError('BAD_INPUT', 'the file became shorter while it was read');
    at += bytesRead;
    yield buffer.subarray(0, bytesRead);
  }
}

/** Resolves when the bytes are with the operating system, or when the request has ended. */
function written(request: ClientRequest, bytes: Buffer): Promise<void> {
  return new Promise((resolve, reject) => {
    if (request.destroyed) reject(new Error('the request has ended'));
    request.once('close', resolve);
    request.write(bytes, (error) => {
      request.off('close', resolve);
      if (error) reject(error);
      else resolve();
    });
  });
}

/**
 * Encodes a name for a form like browsers do: in UTF-8, with the three characters escaped that would end the line or
 * the quotes.
 */
function inQuotes(name: string): string {
  return name.replace(/["\r\n]/g, (sign) => encodeURIComponent(sign));
}

async function textOf(response: IncomingMessage): Promise<string> {
  const pieces: Buffer[] = [];
  let bytes = 0;
  for await (const piece of response as AsyncIterable<Buffer>) {
    pieces.push(piece);
    bytes += piece.length;
    if (bytes > maxAnswerBytes)
      throw new JobRefused(notOfInterface, `an answer of more than ${maxAnswerBytes} bytes came`);
  }
  return Buffer.concat(pieces).toString('utf8');
}

function answerOf({ statusCode: status = 0, headers }: IncomingMessage, text: string): Answer {
  const retryAfterMs = delayOf(headers['retry-after']);
  if (status >= 200 && status < 300) return { status, text, retryAfterMs };
  // A redirect is not followed, because the key would be sent along.
  const said =
    status >= 300 && status < 400
      ? `redirects to ${headers.location ?? 'nowhere'}; name that address with --url if it is meant`
      : refusalIn(text);
  throw new JobRefused(status, said, retryAfterMs);
}

function refusalIn(text: string): string {
  try {
    const { message = '', validation_errors = [] } = Refusal.parse(JSON.parse(text));
    return [message, ...validation_errors].filter(Boolean).join('; ').slice(0, 2_000);
  } catch {
    return ''; // the body is a proxy's page, for example; the status is enough
  }
}

/** The header gives seconds or a date. */
function delayOf(header: string | undefined): number | undefined {
  if (header === undefined) return undefined;
  const ms = /^\d+$/.test(header) ? Number(header) * 1e3 : Date.parse(header) - Date.now();
  return Number.isNaN(ms) ? undefined : Math.max(0, ms);
}

function jsonOf({ text }: Answer): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    throw new JobRefused(notOfInterface, `no speech service answers there: ${reasonOf(error)}`);
  }
}

function parsed<T extends z.ZodType>(schema: T, answer: Answer, json?: unknown): z.infer<T> {
  const result = schema.safeParse(json ?? jsonOf(answer));
  if (result.success) return result.data;
  throw new JobRefused(
    notOfInterface,
    'no speech service answers there: the answer has another form',
  );
}
