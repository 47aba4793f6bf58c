/** Why a file could not be had or kept. The status is what a client is told, or the `error_code` of a job. */
export class FileError extends Error {
  readonly status: number;
  /** True when the address that was to be fetched is to blame, and nothing here. */
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
