/**
 * The codes of expected failures. Code branches on the code, never on the text. The table in error-codes.md is made
 * from this list, so each sentence addresses an operator.
 */
export const errorCodes = {
  CONFIG_INVALID: 'A setting is missing, unknown, of the wrong type or out of bounds.',
  DATA_LOCKED: 'Another process owns the data folder.',
  DATA_UNUSABLE: 'The data folder cannot be made, or not written by this process.',
  STORE_FAILED: 'The database refused or lost a statement.',
  STORE_FULL: 'The disk of the data folder is full: free some space, and start again.',
  STORE_CORRUPT: 'The SQLite file is damaged; it is never replaced by an empty one in silence.',
  STORE_NEWER:
    'The database was changed by a newer version of Trunkline in a way that this one cannot work with.',
  STORE_OLDER:
    'The database lacks migrations, and TRUNKLINE_MIGRATE=by-command lets no start make them: run `npx trunkline migrate`.',
  STORE_TOO_OLD: 'The SQLite library is older than the first version without the WAL-reset bug.',
  UNREACHABLE: 'The running process could not be reached at the given address.',
  UNAUTHORIZED: 'The running process wants one of its API keys, or refuses the one it was given.',
  BAD_INPUT: 'A command or request was given something it cannot use.',
  MODEL_INVALID:
    'A recognition model folder is incomplete, damaged or not what its model.json says.',
  MODEL_UNAVAILABLE: 'A recognition model could not be fetched from any of its sources.',
  MODEL_UNKNOWN: 'No recognition model of this name is in the catalogue.',
} as const satisfies Record<string, string>;

type ErrorCode = keyof typeof errorCodes;

/** An expected failure. Any other error that reaches the top is a bug. */
export class TrunklineError extends Error {
  readonly code: ErrorCode;

  constructor(code: ErrorCode, message: string, options: { cause?: unknown } = {}) {
    super(message, options.cause === undefined ? undefined : { cause: options.cause });
    this.name = 'TrunklineError';
    this.code = code;
  }
}

/** The reason of a failure in one line for logs and answers, without the stack. */
export function reasonOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
