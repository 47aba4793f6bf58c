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

/** True if the connection can no longer be trusted. The result of its statement is then unknown. */
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

/** True if everything that the work began was certainly undone, or a check found it undone. */
export function isWorthAnotherTry(error: unknown): boolean {
  const code = codeOf(error);
  return (code !== undefined && tryAgainCodes.has(code)) || isConnectionTrouble(error);
}

/**
 * True if the content itself was refused: a value that the column cannot hold (class 22), a constraint (23), a size
 * (54). The same statements can never succeed.
 */
export function isRefusedForGood(error: unknown): boolean {
  return /^(22|23|54)/.test(codeOf(error) ?? '');
}

/** Thrown if the server is a replica. It accepts no commits and may lack commits that were acknowledged. */
export class ReplicaReached extends Error {
  readonly code = '25006';

  constructor() {
    super('DATABASE_URL leads to a replica; the primary is needed.');
  }
}

/**
 * True if a pool refused session settings at the start of a session. PgBouncer before 1.20 does, and later versions
 * refuse most settings.
 */
export function refusesSettings(error: unknown): boolean {
  // The code alone is that of any protocol violation.
  return codeOf(error) === '08P01' && /startup parameter/.test((error as Error).message);
}

/** True if a pool refused a transaction. PgBouncer in statement mode does not allow transactions. */
export function refusesTransactions(error: unknown): boolean {
  return codeOf(error) === '08P01' && /statement pooling/.test((error as Error).message);
}

function codeOf(error: unknown): string | undefined {
  if (typeof error !== 'object' || error === null || !('code' in error)) return undefined;
  return typeof error.code === 'string' ? error.code : undefined;
}
