/** Classes of Postgres failures, by code only. https://www.postgresql.org/docs/15/errcodes-appendix.html */

const connectionCodes = new Set([
  'ECONNRESET', 'ECONNREFUSED', 'EPIPE', 'ETIMEDOUT', 'EHOSTUNREACH', 'ENETUNREACH', 'ENOTFOUND',
  '57P01', // the administrator ended the session
  '57P02', // the server crashed
  '57P03', // it is starting
  '25P03', // idle in a transaction for too long
  '53300', // too many connections
  '25006', // it takes no writes: a replica, or a primary that has become one
]); // prettier-ignore

/** A deadlock, a serialization failure, or a lock that was not available in time. */
const tryAgainCodes = new Set(['40001', '40P01', '55P03']);

/** The connection can no longer be trusted, and the result of its statement is unknown. */
export function isConnectionTrouble(error: unknown): boolean {
  const code = codeOf(error);
  if (code !== undefined) return connectionCodes.has(code) || code.startsWith('08');
  const message = error instanceof Error ? error.message : '';
  return (
    message.includes('Query read timeout') ||
    message.includes('Connection terminated') ||
    message.includes('Client has encountered a connection error') ||
    message.includes('timeout exceeded when trying to connect')
  );
}

/** Everything that was begun is certainly undone, or a check found it undone. */
export function isWorthAnotherTry(error: unknown): boolean {
  const code = codeOf(error);
  return (code !== undefined && tryAgainCodes.has(code)) || isConnectionTrouble(error);
}

/**
 * The content itself was refused: a value that the column cannot hold (class 22), a constraint (23), a size (54). The
 * same statements can never work.
 */
export function isRefusedForGood(error: unknown): boolean {
  return /^(22|23|54)/.test(codeOf(error) ?? '');
}

/** A replica was reached: it may lack commits that were acknowledged, and takes none. */
export class ReplicaReached extends Error {
  readonly code = '25006';

  constructor() {
    super('DATABASE_URL leads to a replica; the primary is needed.');
  }
}

/** PgBouncer before 1.20, and later versions for most settings, refuse session settings at the start of a session. */
export function refusesSettings(error: unknown): boolean {
  // The code is that of any protocol violation.
  return codeOf(error) === '08P01' && /startup parameter/.test((error as Error).message);
}

/** PgBouncer in statement mode does not allow transactions. */
export function refusesTransactions(error: unknown): boolean {
  return codeOf(error) === '08P01' && /statement pooling/.test((error as Error).message);
}

function codeOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}
