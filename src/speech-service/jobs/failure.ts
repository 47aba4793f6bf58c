/** Why a job ends in error: the code of the record, and a sentence that a person can act on. */
export class JobFailure extends Error {
  readonly status: number;

  constructor(status: number, message: string) {
    super(message);
    this.name = 'JobFailure';
    this.status = status;
  }
}

/**
 * Turns any error into the failure of a job. Errors of files and decoding have a status; any other error is our own
 * fault.
 */
export function failureOf(error: unknown): JobFailure {
  if (error instanceof JobFailure) return error;
  if (error instanceof Error && 'status' in error && typeof error.status === 'number')
    return new JobFailure(Math.min(599, Math.max(400, error.status)), error.message);
  return new JobFailure(500, 'internal error; the log of the service names it');
}
