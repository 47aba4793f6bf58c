import { isLoopback } from '../port/addresses.ts';

/** One spelling of our own address, which a carrier may have been told and may have signed. */
export type Origin = { scheme: string; authority: string; prefix: string };

const defaultPorts: Record<string, string> = { https: ':443', wss: ':443', http: ':80', ws: ':80' };

type RequestKind = 'socket' | 'webhook';

/** The latest result is kept, because our address does not change while we run and every signed request needs it. */
const latest = new Map<RequestKind, { publicUrl: string; origins: Origin[] }>();

/**
 * Gives the spellings of our configured address. Each names our own endpoint, so trying several weakens nothing. A
 * request's Host and forwarded headers never add one, because the sender chooses them.
 */
export function originsOf(publicUrl: string, kind: RequestKind): readonly Origin[] {
  const known = latest.get(kind);
  if (known?.publicUrl === publicUrl) return known.origins;
  const origins = spell(publicUrl, kind);
  latest.set(kind, { publicUrl, origins });
  return origins;
}

function spell(publicUrl: string, kind: RequestKind): Origin[] {
  const url = new URL(publicUrl);
  const prefix = url.pathname.replace(/\/+$/, '');
  return schemesOf(url.protocol, kind).flatMap((scheme) =>
    hostsOf(publicUrl, url).flatMap((host) =>
      portsOf(url.port, scheme).flatMap((port) =>
        // A proxy may remove the prefix before the request reaches us, or leave it.
        [...new Set(['', prefix])].map((part) => ({
          scheme,
          authority: `${host}${port}`,
          prefix: part,
        })),
      ),
    ),
  );
}

function schemesOf(protocol: string, kind: RequestKind): string[] {
  const secure = kind === 'socket' ? ['wss', 'https'] : ['https'];
  if (protocol === 'https:') return secure;
  // Plain http means a test on this machine, or a proxy in front that speaks TLS.
  return kind === 'socket' ? ['ws', 'http', ...secure] : ['http', ...secure];
}

function hostsOf(publicUrl: string, url: URL): string[] {
  if (isLoopback(url.hostname)) return ['127.0.0.1', 'localhost', '[::1]'];
  // A carrier signs the address in the letters that it was given.
  const written =
    /^[a-z]+:\/\/(?:[^/@]*@)?(\[[^\]]*\]|[^/:?#]*)/i.exec(publicUrl)?.[1] ?? url.hostname;
  return [...new Set([url.hostname, written])];
}

function portsOf(port: string, scheme: string): string[] {
  return port === '' ? ['', defaultPorts[scheme] ?? ''] : [`:${port}`, ''];
}

/** Returns the host names that a Host header to us may hold, each with its port unless that is the default. */
export function authoritiesOf(publicUrl: string): string[] {
  const url = new URL(publicUrl);
  const port = url.port === '' ? '' : `:${url.port}`;
  const hosts = isLoopback(url.hostname) ? ['127.0.0.1', 'localhost', '[::1]'] : [url.hostname];
  return hosts.map((host) => `${host}${port}`);
}
