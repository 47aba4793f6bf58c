/**
 * A file that cannot be used. Its status ends the upload or the job: 413 too long, 415 no media, 422 media that cannot
 * be decoded, 503 a program or a place is missing, 504 too slow, 507 the disk is full, 500 our own fault. The message
 * is for the sender and never contains content of the file.
 */
export class MediaError extends Error {
  readonly status: number;

  constructor(status: number, message: string, options: { cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'MediaError';
    this.status = status;
  }
}
