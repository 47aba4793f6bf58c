/**
 * A file that cannot be used, with the status that its upload or its job ends with: 413 too long, 415 no media,
 * 422 media that cannot be decoded, 503 a program or a place is missing, 504 too slow, 507 the disk is full, 500 a fault of ours.
 * The message is for the person who sent the file. It never holds content of the file.
 */
export class MediaError extends Error {
  readonly status: number;

  constructor(status: number, message: string, options: { cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'MediaError';
    this.status = status;
  }
}
