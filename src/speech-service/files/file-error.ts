/**
 * The reason why a file could not be fetched or kept. The status is what a client receives, or the `error_code` of a
 * job.
 */
export class FileError extends Error {
  readonly status: number;
  /** True if the fetched address is to blame, and nothing on this side. */
  readonly isOfSource: boolean;

  constructor(
    status: number,
    message: string,
    options: { isOfSource?: boolean; cause?: unknown } = {},
  ) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'FileError';
    this.status = status;
    this.isOfSource = options.isOfSource ?? false;
  }
}
