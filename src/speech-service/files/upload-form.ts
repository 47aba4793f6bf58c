import { Busboy, type BusboyHeaders } from '@fastify/busboy';
import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import type { Clock } from '../../lib/clock.ts';
import { reasonOf } from '../../lib/errors.ts';
import { Problem } from '../../port/problem.ts';
import { stalled } from './intake.ts';

/** Bytes of the form beside the file: boundaries, headers, and fields that are refused anyway. */
export const formOverheadBytes = 65_536;
const fileField = 'audio';

type UploadFormOptions<T> = {
  clock: Clock;
  /** The longest wait for the next bytes of the form. */
  stallMs: number;
  /** The largest size of the whole form. */
  maxBytes: number;
  tooLarge: () => Error;
  /** Aborts when the client leaves. */
  signal: AbortSignal;
  /** Reads the file. The signal aborts if the rest of the form is invalid. */
  receive(file: Readable, filename: string | undefined, signal: AbortSignal): Promise<T>;
  /** Undoes `receive` if the form turns out to be invalid after the file. */
  undo: (received: T) => Promise<void>;
};

/**
 * Reads a multipart/form-data body with one file in the field `audio` and nothing else. An invalid form is refused at
 * its first wrong byte. The caller deals with the rest of the body.
 */
export async function readUploadForm<T>(
  request: IncomingMessage,
  options: UploadFormOptions<T>,
): Promise<T> {
  const form = formOf(request);
  const { promise: refused, reject } = Promise.withResolvers<never>();
  refused.catch(() => undefined);
  const ending = new AbortController();
  const refuse = (error: unknown): void => {
    reject(error);
    ending.abort(error);
  };
  let received: Promise<T> | undefined;
  form.on('file', (name, file, filename) => {
    file.on('error', () => undefined);
    if ((name as string | undefined) !== fileField) {
      file.resume();
      refuse(
        invalid(
          `${name || 'a part without a name'} must not be a file: send it in the field audio`,
        ),
      );
      return;
    }
    const signal = AbortSignal.any([ending.signal, options.signal]);
    received = options.receive(file, filename, signal);
    // If the file is refused, the form is not read any further.
    received.catch(refuse);
  });
  form.on('field', (name) => refuse(invalid(`property ${name || '(no name)'} should not exist`)));
  form.on('filesLimit', () => refuse(invalid('audio must be one file, and more came')));
  form.on('partsLimit', () => refuse(invalid('audio must be the only part, and more came')));
  form.on('fieldsLimit', () => refuse(invalid('audio must be the only part, and more came')));
  form.on('error', (error: unknown) =>
    refuse(invalid(`body must be whole multipart/form-data: ${reasonOf(error)}`)),
  );
  const finished = new Promise<void>((resolve) => form.once('finish', () => resolve()));
  using _watch = watch(request, form, options, refuse);
  request.pipe(form);
  try {
    await Promise.race([finished, refused]);
    if (received === undefined) throw invalid('audio is required');
    return await Promise.race([received, refused]);
  } catch (error) {
    ending.abort(error);
    await undone(received, options.undo);
    throw error;
  } finally {
    request.unpipe(form);
  }
}

function formOf(request: IncomingMessage): ReturnType<typeof Busboy> {
  try {
    return Busboy({
      headers: request.headers as BusboyHeaders,
      // The SDKs send one part. A second part is only detected, not read.
      limits: {
        files: 1,
        fields: 1,
        parts: 2,
        fieldSize: 1_024,
        headerPairs: 16,
        headerSize: 8_192,
      },
      // The part of this name is the file, whatever content type or file name the client sends.
      isPartAFile: (name, type, filename) =>
        name === fileField || type === 'application/octet-stream' || filename !== undefined,
      preservePath: true,
    });
  } catch (error) {
    throw new Problem(400, 'Validation failed', {
      validationErrors: ['content-type must be multipart/form-data with a boundary'],
      cause: error,
    });
  }
}

/** Counts the received bytes. Refuses a form that is too long, that stalls, or whose client has gone. */
function watch<T>(
  request: IncomingMessage,
  form: ReturnType<typeof Busboy>,
  options: UploadFormOptions<T>,
  refuse: (error: unknown) => void,
): Disposable {
  const { clock, stallMs, maxBytes } = options;
  let bytes = 0;
  let latestMs = clock.monotonicMs();
  const count = (piece: Buffer): void => {
    bytes += piece.length;
    latestMs = clock.monotonicMs();
    if (bytes > maxBytes) refuse(options.tooLarge());
  };
  const gone = (): void => {
    if (!request.complete) refuse(new Problem(400, 'request was cut short'));
  };
  let cancel = (): void => undefined;
  const look = (leftMs: number): void => {
    cancel = clock.after(leftMs, () => {
      // While the disk is slow, nothing is read from the client, so the client is not to blame.
      if (form.writableNeedDrain || request.complete) latestMs = clock.monotonicMs();
      const left = latestMs + stallMs - clock.monotonicMs();
      if (left > 0) look(left);
      else refuse(stalled(stallMs));
    });
  };
  request.on('data', count).on('close', gone).on('error', gone);
  look(stallMs);
  return {
    [Symbol.dispose]() {
      cancel();
      request.off('data', count).off('close', gone);
    },
  };
}

async function undone<T>(
  received: Promise<T> | undefined,
  undo: (received: T) => Promise<void>,
): Promise<void> {
  const result = await received?.then(
    (value) => ({ value }),
    () => undefined,
  );
  if (result) await undo(result.value);
}

function invalid(message: string): Problem {
  return new Problem(400, 'Validation failed', { validationErrors: [message] });
}
