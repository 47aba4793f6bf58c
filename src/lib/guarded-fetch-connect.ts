import { lookup as systemLookup, type LookupAddress } from 'node:dns';
import type { LookupFunction } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import { buildConnector } from 'undici';
import { isAllowed, whyForbidden, type Allowance } from './guarded-fetch-addresses.ts';

export type Resolve = (hostname: string) => Promise<LookupAddress[]>;

export type GuardedConnectOptions = {
  /** `as-written`: the operator's own address, whatever it is. `checked`: public or allowed ones only. */
  trust: 'checked' | 'as-written';
  allowances: readonly Allowance[];
  connectMs: number;
  resolve: Resolve;
  tls?: Pick<ConnectionOptions, 'ca' | 'rejectUnauthorized'>;
  onConnect?: (origin: string) => void;
};

/** The guard said no; told apart from a failing network because no later attempt will do better. */
export class AddressRefused extends Error {
  constructor(reason: string) {
    super(`the address is refused: ${reason}`);
    this.name = 'AddressRefused';
  }
}

export const resolveAll: Resolve = (hostname) =>
  new Promise((resolve, reject) => {
    systemLookup(hostname, { all: true, order: 'verbatim' }, (error, addresses) =>
      error ? reject(error) : resolve(addresses),
    );
  });

/**
 * Dials only addresses that were judged: the name is resolved once, every answer must pass, the socket
 * is given exactly those answers, and the address it ended at is looked at once more.
 */
export function guardedConnector(options: GuardedConnectOptions): buildConnector.connector {
  const base = { timeout: options.connectMs, allowH2: false, ...options.tls };
  return (target, done) => {
    const port = Number(target.port) || (target.protocol === 'https:' ? 443 : 80);
    const judge = (address: string): string | undefined =>
      options.trust === 'as-written' ||
      isAllowed(options.allowances, { hostname: target.hostname, port, address })
        ? undefined
        : whyForbidden(address);
    const lookup: LookupFunction = (hostname, _how, answer) => {
      options.resolve(hostname).then(
        (addresses) => {
          const why = addresses
            .map(({ address }) => judge(address))
            .find((reason) => reason !== undefined);
          if (why !== undefined) answer(new AddressRefused(why), []);
          else if (addresses.length === 0) answer(new Error('the name has no address'), []);
          else answer(null, addresses);
        },
        (error: unknown) => answer(error instanceof Error ? error : new Error(String(error)), []),
      );
    };
    // A lookup that answers with a list needs the connector that tries them all.
    const connect = buildConnector({
      ...base,
      lookup,
      autoSelectFamily: true,
    });
    connect(target, (error, socket) => {
      if (error) return done(error, null);
      const why = judge(socket.remoteAddress ?? '');
      if (why !== undefined) {
        socket.destroy();
        return done(new AddressRefused(why), null);
      }
      options.onConnect?.(target.hostname);
      done(null, socket);
    });
  };
}
