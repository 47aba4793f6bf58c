import { isIPv6 } from 'node:net';
import ipaddr from 'ipaddr.js';
import type { IsProxy } from './addresses.ts';

/**
 * What one address may take of a room that strangers share: one that takes all of it must not keep the others
 * out (T7). A proxy speaks for many and is not counted; of IPv6 the network counts, because a stranger has as
 * many addresses of it as wanted.
 */
export class AddressShare {
  private readonly held = new Map<string, number>();
  readonly atMost: number;
  private readonly isProxy: IsProxy;

  constructor(atMost: number, isProxy: IsProxy) {
    this.atMost = atMost;
    this.isProxy = isProxy;
  }

  isUsedUp(address: string | undefined): boolean {
    return (
      address !== undefined &&
      (this.held.get(keyOf(address)) ?? 0) >= this.atMost &&
      !this.isProxy(address)
    );
  }

  /** Answers how to give the place back; a second time does nothing. */
  take(address: string | undefined): () => void {
    if (address === undefined) return () => undefined;
    const key = keyOf(address);
    this.held.set(key, (this.held.get(key) ?? 0) + 1);
    let isHeld = true;
    return () => {
      if (!isHeld) return;
      isHeld = false;
      const left = (this.held.get(key) ?? 0) - 1;
      if (left > 0) this.held.set(key, left);
      else this.held.delete(key);
    };
  }
}

function keyOf(address: string): string {
  if (!isIPv6(address)) return address;
  const parsed = ipaddr.process(address);
  return parsed.kind() === 'ipv4'
    ? parsed.toString()
    : parsed.toByteArray().slice(0, 8).join('.') + '/64';
}
