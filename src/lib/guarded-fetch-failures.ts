import { AddressRefused } from './guarded-fetch-connect.ts';

/**
 * Why there was no answer. `refused`: the guard said no. `dns`, `connect`, `tls`: never spoke.
 * `closed`: the connection ended before an answer. `timeout`: the deadline. `protocol`: not HTTP.
 */
export type FetchFailure =
  | 'refused'
  | 'dns'
  | 'connect'
  | 'tls'
  | 'closed'
  | 'timeout'
  | 'protocol'
  | 'redirects'
  | 'aborted';

type Failure = { failure: FetchFailure; reason: string };

const byCode: Record<string, FetchFailure> = {
  ENOTFOUND: 'dns', EAI_AGAIN: 'dns', EAI_FAIL: 'dns', EAI_NODATA: 'dns', EAI_NONAME: 'dns',
  ECONNREFUSED: 'connect', EHOSTUNREACH: 'connect', ENETUNREACH: 'connect', EADDRNOTAVAIL: 'connect',
  EACCES: 'connect', EMFILE: 'connect', UND_ERR_CONNECT_TIMEOUT: 'connect', ETIMEDOUT: 'connect',
  ECONNRESET: 'closed', EPIPE: 'closed', UND_ERR_SOCKET: 'closed', ECONNABORTED: 'closed',
  UND_ERR_HEADERS_OVERFLOW: 'protocol', UND_ERR_RES_CONTENT_LENGTH_MISMATCH: 'protocol',
}; // prettier-ignore

/** A named reason of one line; texts of libraries may hold the address and are not passed on. */
export function failureOf(error: unknown): Failure {
  for (let cause: unknown = error, depth = 0; cause !== undefined && depth < 5; depth++) {
    const failure = judged(cause);
    if (failure) return failure;
    cause =
      cause instanceof AggregateError
        ? cause.errors[0]
        : cause instanceof Error
          ? cause.cause
          : undefined;
  }
  return { failure: 'protocol', reason: 'no answer that could be read' };
}

function judged(error: unknown): Failure | undefined {
  if (error instanceof AddressRefused) return { failure: 'refused', reason: error.message };
  if (!(error instanceof Error)) return undefined;
  if (error.name === 'TimeoutError')
    return { failure: 'timeout', reason: 'no answer within the deadline' };
  if (error.name === 'AbortError')
    return { failure: 'aborted', reason: 'the request was given up' };
  const code = 'code' in error && typeof error.code === 'string' ? error.code : '';
  const known = byCode[code];
  if (known) return { failure: known, reason: `${known}: ${code}` };
  if (code.startsWith('HPE_')) return { failure: 'protocol', reason: `not HTTP: ${code}` };
  if (
    /^(ERR_TLS|ERR_SSL|CERT_|DEPTH_ZERO|SELF_SIGNED|UNABLE_TO|HOSTNAME_MISMATCH|EPROTO)/.test(code)
  )
    return { failure: 'tls', reason: `tls: ${code}` };
  return undefined;
}
