import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { Logger } from '../lib/log.ts';
import { counter } from '../lib/metrics.ts';
import type { KeyCheck } from './keys.ts';
import type { Part, Upgrade } from './part.ts';
import { pathOf } from './problem.ts';

/** An upgrade that is not decided after this time is given up. The carriers' own limit is shorter. */
export const upgradeDecisionMs = 3_000;
/** At most this many upgrades may wait for their decision. Each holds a socket and perhaps a query of the store. */
export const maxUpgradesInProgress = 512;
/**
 * A peer may take this long to read its refusal, so that it cannot keep the connection by reading nothing. This time
 * and the one above use the machine's timer and not the clock, because they guard a socket and no rule of a call
 * depends on them.
 */
const refusalReadMs = 1_000;

/** A peer that was refused for want of room may come again after this. */
export const retryAfterS = 1;

const statusTexts = {
  401: 'Unauthorized',
  403: 'Forbidden',
  404: 'Not Found',
  429: 'Too Many Requests',
  500: 'Internal Server Error',
  503: 'Service Unavailable',
} as const;

type RefusalStatus = keyof typeof statusTexts;

/**
 * Refuses an upgrade, with a reason if there is one, and ends the connection. The connection must end: Node no longer
 * reads a socket that asked for an upgrade, so nobody would notice that the peer has left.
 */
export function refuseUpgrade(
  socket: Duplex,
  status: RefusalStatus,
  words = '',
  waitS = retryAfterS,
): void {
  if (socket.destroyed) return;
  const unread = setTimeout(() => socket.destroy(), refusalReadMs);
  unread.unref();
  const body = words && `${words}\n`;
  socket.end(
    `HTTP/1.1 ${status} ${statusTexts[status]}\r\nConnection: close\r\n` +
      (words && 'Content-Type: text/plain; charset=utf-8\r\n') +
      (status === 401 ? 'WWW-Authenticate: Bearer\r\n' : '') +
      (status === 503 || status === 429 ? `Retry-After: ${waitS}\r\n` : '') +
      `Content-Length: ${Buffer.byteLength(body)}\r\n\r\n${body}`,
    () => {
      clearTimeout(unread);
      socket.destroy();
    },
  );
}

/**
 * Closes the socket of a peer that was let in but did not prove itself. The close frame gives the reason. The
 * connection then ends without waiting for the peer's answer, because strangers could hold places by not answering.
 */
export function closeStranger(
  socket: { close(code: number, reason: string): void },
  raw: Duplex,
  code: number,
  reason: string,
): void {
  socket.close(code, reason);
  raw.end();
  const unread = setTimeout(() => raw.destroy(), refusalReadMs);
  unread.unref();
  raw.once('close', () => clearTimeout(unread));
}

const upgradesRefusedTotal = counter(
  'trunkline_upgrades_refused_total',
  'Upgrades that the port refused itself, by status; `none` were cut off, undecided at the deadline.',
  ['status'],
);

/** Passes an upgrade to the part that owns its path. An upgrade that is not decided at the deadline is cut off. */
export function upgradeHandler(options: {
  parts: Part[];
  keyCheck: KeyCheck;
  state: { isStarting: boolean };
  admitted: (socket: Duplex) => void;
  log: Logger;
}) {
  const { parts, keyCheck, state, admitted, log } = options;
  let inProgress = 0;
  const refuse = (socket: Duplex, status: RefusalStatus, words?: string): void => {
    upgradesRefusedTotal.inc({ status });
    refuseUpgrade(socket, status, words);
  };
  return (request: IncomingMessage, socket: Duplex, head: Buffer): void => {
    socket.on('error', () => socket.destroy());
    const foreign = keyCheck.whyForeign(request);
    if (foreign !== undefined) return refuse(socket, 403, foreign);
    const owner = ownerOf(parts, pathOf(request.url ?? ''));
    if (!owner && state.isStarting) return refuse(socket, 503, 'starting');
    if (!owner) return refuse(socket, 404);
    if (inProgress >= maxUpgradesInProgress)
      return refuse(socket, 503, 'too many upgrades at once');
    // A place is held until the upgrade is decided, and at most until the deadline. A peer that is let in gives it
    // back.
    inProgress++;
    const written = bytesWritten(socket);
    let isHeld = true;
    const release = (): void => {
      if (isHeld) inProgress--;
      isHeld = false;
    };
    const deadline = setTimeout(() => {
      release();
      if (bytesWritten(socket) !== written) return;
      upgradesRefusedTotal.inc({ status: 'none' });
      socket.destroy();
    }, upgradeDecisionMs);
    socket.once('close', () => {
      release();
      clearTimeout(deadline);
    });
    owner
      .handle(request, socket, head, () => admitted(socket))
      .catch((error: unknown) => {
        log.error({ err: error }, 'upgrade failed');
        refuse(socket, 500);
      })
      .finally(release);
  };
}

function ownerOf(parts: readonly Part[], pathname: string): Upgrade | undefined {
  for (const { upgrades = [] } of parts)
    for (const upgrade of upgrades) if (upgrade.owns(pathname)) return upgrade;
  return undefined;
}

function bytesWritten(socket: Duplex): number {
  return 'bytesWritten' in socket && typeof socket.bytesWritten === 'number'
    ? socket.bytesWritten
    : 0;
}
