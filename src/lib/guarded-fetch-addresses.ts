import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/*
 * Which addresses a URL that somebody gave us may lead to: public ones only. Everything else is
 * refused by being on no list, so that a form we never heard of is refused too.
 */

/** The platform address of one cloud looks public and answers every guest. */
const refusedV4 = new Set(['168.63.129.16']);

/** Parts of 2000::/3 that are not the public internet: Teredo and protocols, documentation, 6to4. */
const refusedV6 = ['2001::/23', '2001:db8::/32', '2002::/16', '3fff::/20'].map((range) =>
  ipaddr.IPv6.parseCIDR(range),
);
const globalV6 = ipaddr.IPv6.parseCIDR('2000::/3');

/** Undefined when the address may be dialled; otherwise why not, for the log of the operator. */
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
  // Also leaves out what the library calls unicast: ::a.b.c.d, local NAT64, site-local, SRv6.
  if (!address.match(globalV6)) return 'not a global address';
  if (refusedV6.some((refused) => address.match(refused))) return 'a reserved or tunnelled address';
  const [group4, group5] = address.parts.slice(4, 6);
  if ((group4 === 0 || group4 === 0x200) && group5 === 0x5efe)
    return 'an address that embeds another';
  return undefined;
}

/** `10.1.0.0/16`, `192.168.7.9`, `crm.internal` or any of them with `:port`. */
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

/** What the operator lists may be dialled although it is not public: by name as asked, or by address. */
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
