import { BlockList, isIP, Socket } from 'node:net';

/**
 * Keeps tests on this machine: connecting a socket to another address fails with an explanation. Vitest loads this file
 * before every test file. Programs that a test starts are given loopback addresses only.
 */
const loopback = new BlockList();
loopback.addSubnet('127.0.0.0', 8, 'ipv4');
loopback.addAddress('::1', 'ipv6');
loopback.addSubnet('::ffff:127.0.0.0', 104, 'ipv6');

export function isLoopback(address: string): boolean {
  const family = isIP(address);
  return family !== 0 && loopback.check(address, family === 4 ? 'ipv4' : 'ipv6');
}

type Target = { path?: string; host?: string };

function targetOf(first: unknown, second: unknown): Target {
  const options: unknown = Array.isArray(first) ? first[0] : first;
  if (typeof options === 'object' && options !== null) return options;
  if (typeof options === 'string') return { path: options };
  return typeof second === 'string' ? { host: second } : {};
}

function refuse(socket: Socket, address: string): void {
  socket.destroy(new Error(`a test dials ${address}, which is not this machine`));
}

// eslint-disable-next-line @typescript-eslint/unbound-method -- called with the socket it is called on
const connect = Socket.prototype.connect as (...args: unknown[]) => Socket;
Socket.prototype.connect = function (this: Socket, ...args: unknown[]): Socket {
  const { path, host = 'localhost' } = targetOf(args[0], args[1]);
  if (path === undefined && isIP(host) !== 0 && !isLoopback(host)) {
    process.nextTick(refuse, this, host);
    return this;
  }
  // A name is checked after it was resolved and before the address is dialled.
  this.prependListener('lookup', (error: Error | null, address: string | undefined) => {
    if (!error && address !== undefined && !isLoopback(address)) refuse(this, address);
  });
  return connect.apply(this, args);
};
