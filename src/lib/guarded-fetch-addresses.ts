import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/*
 * Decides which addresses a URL from outside may lead to: public ones, and those that the operator lists. The lists
 * name what is allowed, so that unknown forms of addresses are refused.
 */

/** Azure's platform address looks public and answers every machine inside that cloud. */
const refusedV4 = new Set(['168.63.129.16']);

/** Parts of 2000::/3 outside the public internet: protocol assignments with Teredo, two for documentation, 6to4. */
const refusedV6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'].map((range) =>
  ipaddr.IPv6.parseCIDR(range),
);
const globalV6 = ipaddr.IPv6.parseCIDR('2000::/3');

/** The reason why an address may not be dialled, for the operator's log. Undefined if it may. */
export function whyForbidden(address: string): string | undefined {
  const bare = address.replace(/^\[|\]$/g, '').replace(/%.*$/, '');
  if (address.includes('%')) return 'an address bound to one interface';
  if (isIP(bare) === 0 || !ipaddr.isValid(bare)) return 'not an address';
  const parsed = ipaddr.parse(bare);
  return parsed instanceof ipaddr.IPv4 ? whyForbiddenV4(parsed) : whyForbiddenV6(parsed);
}

function whyForbiddenV4(address: ipaddr.IPv4): string | undefined {
  const range = address.range();
  if (range !== 'unicast') return `${range} address`;
  return refusedV4.has(address.toString()) ? 'cloud platform address' : undefined;
}

function whyForbiddenV6(address: ipaddr.IPv6): string | undefined {
  const range = address.range();
  if (range !== 'unicast') return `${range} address`;
  // The library classifies some non-global forms as `unicast`: ::a.b.c.d, local NAT64, site-local, SRv6.
  if (!address.match(globalV6)) return 'not a global address';
  if (refusedV6.some((refused) => address.match(refused))) return 'a reserved or tunnelled address';
  const [group4, group5] = address.parts.slice(4, 6);
  if ((group4 === 0 || group4 === 0x200) && group5 === 0x5efe)
    return 'an address that embeds another';
  return undefined;
}

/** One entry of the operator's list: `10.1.0.0/16`, `192.168.7.9`, `crm.internal`, or one of them with `:port`. */
export type Allowance = {
  host: string;
  port: number | undefined;
  cidr: [ipaddr.IPv4 | ipaddr.IPv6, number] | undefined;
};

export function parseAllowance(text: string): Allowance {
  const port = /^(?:\[[^\]]*\]|[^:]*):(\d+)$/.exec(text)?.[1];
  const host = (port === undefined ? text : text.slice(0, -port.length - 1))
    .replace(/^\[|\]$/g, '')
    .toLowerCase();
  const cidr = host.includes('/')
    ? ipaddr.parseCIDR(host)
    : isIP(host)
      ? ipaddr.parseCIDR(`${host}/${isIP(host) === 4 ? 32 : 128}`)
      : undefined;
  return { host, port: port === undefined ? undefined : Number(port), cidr };
}

/** True if the operator lists the target, public or not: a name as requested, or an address in a range. */
export function isAllowed(
  allowances: readonly Allowance[],
  target: { hostname: string; port: number; address?: string },
): boolean {
  return allowances.some((allowance) => {
    if (allowance.port !== undefined && allowance.port !== target.port) return false;
    if (!allowance.cidr) return allowance.host === target.hostname.toLowerCase();
    const address = target.address ?? target.hostname.replace(/^\[|\]$/g, '');
    if (!ipaddr.isValid(address)) return false;
    const parsed = ipaddr.process(address);
    return parsed.kind() === allowance.cidr[0].kind() && parsed.match(allowance.cidr);
  });
}

export type CheckedUrl = { ok: true; url: URL } | { ok: false; reason: string };

/**
 * The only allowed ports below 1024. A service of another protocol there, such as mail or a printer, might act on lines
 * of our request.
 */
const lowPorts = new Set([80, 443]);

/**
 * The checks that need no name server. The URL is parsed once, and exactly the checked parts are dialled. A literal
 * address is checked here, because a connection never looks it up.
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

function portOf(url: URL): number {
  return url.port === '' ? (url.protocol === 'https:' ? 443 : 80) : Number(url.port);
}

function parsed(text: string): URL | undefined {
  // The URL parser silently drops tabs and line breaks, so two readers could see two addresses. Such text is refused.
  if (text.length > 8_192 || /[\s\\\p{Cc}]/u.test(text)) return undefined;
  return URL.parse(text) ?? undefined;
}

function refuse(reason: string): CheckedUrl {
  return { ok: false, reason };
}
