import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** True for names and addresses that only this machine can reach. */
export function isLoopback(host: string): boolean {
  const name = host.replace(/^\[|\]$/g, '').toLowerCase();
  if (name === 'localhost' || name.endsWith('.localhost')) return true;
  const kind = isIP(name);
  // The commonest kind by far; every request and upgrade asks.
  if (kind === 4) return name.startsWith('127.');
  return kind === 6 && ipaddr.process(name).range() === 'loopback';
}

/** The address by which this process itself reaches a listener. */
export function ownAddress(host: string, port: number): string {
  if (host === '0.0.0.0' || host === '') return `http://127.0.0.1:${port}`;
  if (host === '::') return `http://[::1]:${port}`;
  return `http://${isIP(host) === 6 ? `[${host}]` : host}:${port}`;
}

/** The host of a `Host` or `Origin` header without its port; undefined when the header names none. */
export function hostOf(header: string): string | undefined {
  const text = header.includes('://') ? header : `http://${header}`;
  return URL.parse(text)?.hostname;
}

export type PublicUrl = (request?: IncomingMessage) => string;

export type IsProxy = (address: string | undefined) => boolean;

/** True for addresses in these ranges. */
export function proxiesIn(ranges: readonly string[]): IsProxy {
  const trusted = ranges.map((range) =>
    range.includes('/')
      ? ipaddr.parseCIDR(range)
      : ipaddr.parseCIDR(`${range}/${range.includes(':') ? 128 : 32}`),
  );
  return (address) => {
    if (trusted.length === 0 || address === undefined || !ipaddr.isValid(address)) return false;
    const peer = ipaddr.process(address);
    return trusted.some(([range, bits]) => range.kind() === peer.kind() && peer.match(range, bits));
  };
}

/**
 * The base address by which carriers and clients reach us, without a trailing slash: the configured one, else the one
 * that the request names. Forwarded headers are believed only when they come from a proxy that is listed.
 */
export function publicUrls(options: {
  configured: string | undefined;
  isProxy: IsProxy;
  own: () => string;
}): PublicUrl {
  const configured = options.configured?.replace(/\/+$/, '');
  return (request) => {
    if (configured) return configured;
    if (!request) return options.own();
    const forwarded = options.isProxy(request.socket.remoteAddress);
    const first = (name: string): string | undefined => {
      const value = request.headers[name];
      return (Array.isArray(value) ? value[0] : value)?.split(',')[0]?.trim();
    };
    const host = (forwarded ? first('x-forwarded-host') : undefined) ?? request.headers.host;
    if (!host || hostOf(host) === undefined) return options.own();
    const scheme =
      (forwarded ? first('x-forwarded-proto') : undefined) === 'https' ? 'https' : 'http';
    return `${scheme}://${host}`;
  };
}
