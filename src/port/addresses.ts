import type { IncomingMessage } from 'node:http';
import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/** True for names and addresses that only this machine can reach. */
export function isLoopback(host: string): boolean {
  const name = host.replace(/^\[|\]$/g, '').toLowerCase();
  if (name === 'localhost' || name.endsWith('.localhost')) return true;
  const kind = isIP(name);
  // IPv4 addresses are by far the most frequent, and every request and upgrade is checked here.
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

/** Returns a check that is true for addresses in these ranges. */
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
 * Gives the address by which carriers and clients reach us, without a trailing slash: the configured one, else the
 * one that the request names. Forwarded headers are believed only when they come from a listed proxy.
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

/**
 * Returns the address of the client. It is found by reading `X-Forwarded-For` from its end as long as the address
 * before it is a listed proxy. Each listed proxy has added the address that it saw. Anybody may have written the part
 * before that.
 */
export function clientAddress(request: IncomingMessage, isProxy: IsProxy): string {
  let address = request.socket.remoteAddress ?? '';
  const header = request.headers['x-forwarded-for'];
  const hops = (Array.isArray(header) ? header.join(',') : (header ?? '')).split(',');
  while (isProxy(address)) {
    const before = hops.pop()?.trim();
    if (before === undefined || !ipaddr.isValid(before)) break;
    address = before;
  }
  return address;
}

/**
 * True if the browser speaks TLS to us or to the proxy in front of us, by the public address or by the request's own
 * word. That word needs no proof, because it only makes the answer stricter.
 */
export function isOverTls({ headers }: IncomingMessage, publicUrl: PublicUrl): boolean {
  const said = [headers['x-forwarded-proto']].flat()[0]?.split(',')[0]?.trim();
  return (
    publicUrl().startsWith('https:') ||
    said?.toLowerCase() === 'https' ||
    /\bproto="?https\b/i.test(headers.forwarded ?? '')
  );
}

/** True if a proxy forwarded the request, whether or not that proxy is trusted. */
export function isForwarded(request: IncomingMessage): boolean {
  return forwardedHeaders.some((name) => request.headers[name] !== undefined);
}

/** Each of these headers is added by some proxy. Clients that speak to us directly send none of them. */
const forwardedHeaders = [
  'forwarded',
  'x-forwarded-for',
  'x-forwarded-host',
  'x-forwarded-proto',
  'x-real-ip',
  'via',
  'true-client-ip',
  'cf-connecting-ip',
];

/**
 * False for a request that a page of another origin sent. Two origins are the same if scheme, host and port agree. The
 * browser's own judgement (`Sec-Fetch-Site`) counts first, because it knows the scheme even behind a proxy that we do
 * not know. Programs other than browsers send neither header.
 */
export function isFromOwnOrigin(request: IncomingMessage, publicUrl: PublicUrl): boolean {
  const { origin, host } = request.headers;
  const site = request.headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin' || site === 'none';
  if (origin === undefined) return true;
  const ours = URL.parse(publicUrl(request));
  if (origin === ours?.origin) return true;
  // The request may use another of our names, such as localhost, although a public name is configured.
  const asked = URL.parse(`http://${host ?? ''}`);
  return asked !== null && asked.host !== ours?.host && origin === asked.origin;
}

/**
 * True for a request that certainly came from a page of ours. For a request that changes something, the browser must
 * have said whose page sent it. Browsers send `Sec-Fetch-Site` to loopback and over TLS. Over plain HTTP they send
 * `Origin` with every method except GET and HEAD. An address that a person typed or followed is not a page's request.
 */
export function isFromOwnPage(request: IncomingMessage, publicUrl: PublicUrl): boolean {
  const { origin } = request.headers;
  const site = request.headers['sec-fetch-site'];
  if (site !== undefined) return site === 'same-origin';
  const changes = request.method !== 'GET' && request.method !== 'HEAD';
  return (origin !== undefined || !changes) && isFromOwnOrigin(request, publicUrl);
}
