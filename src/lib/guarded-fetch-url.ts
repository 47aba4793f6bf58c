import { isIP } from 'node:net';
import { isAllowed, whyForbidden, type Allowance } from './guarded-fetch-addresses.ts';

export type CheckedUrl = { ok: true; url: URL } | { ok: false; reason: string };

/** Ports below 1024 that speak something else could be talked into doing harm by a well-made body. */
const lowPorts = new Set([80, 443]);

/**
 * The part of the guard that needs no name server: one parse, the same that is dialled. A literal
 * address is judged here because no lookup hook is ever asked about one.
 */
export function checkUrl(text: string, allowances: readonly Allowance[] = []): CheckedUrl {
  const url = parsed(text);
  if (!url) return refuse('not an absolute URL');
  if (url.protocol !== 'http:' && url.protocol !== 'https:') return refuse('not http or https');
  if (url.username !== '' || url.password !== '') return refuse('a URL with user and password');
  if (url.hostname === '') return refuse('no host');
  const port = portOf(url);
  if (isAllowed(allowances, { hostname: url.hostname, port })) return { ok: true, url };
  if (port < 1024 && !lowPorts.has(port)) return refuse(`port ${port}`);
  const bare = url.hostname.replace(/^\[|\]$/g, '');
  if (isIP(bare) !== 0) {
    const why = whyForbidden(bare);
    if (why !== undefined) return refuse(why);
  }
  return { ok: true, url };
}

export function portOf(url: URL): number {
  return url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port);
}

function parsed(text: string): URL | undefined {
  // The standard's parser drops tabs and line breaks inside a URL; nobody honest sends them.
  if (text.length > 8_192 || /[\s\\\p{Cc}]/u.test(text)) return undefined;
  return URL.parse(text) ?? undefined;
}

function refuse(reason: string): CheckedUrl {
  return { ok: false, reason };
}
