import { expect, test } from 'vitest';
import { AddressShare, connectionRoom, handleLimit } from '../../../src/port/connections.ts';
import { proxiesIn } from '../../../src/port/addresses.ts';

test('one address takes its share and leaves the rest to others; what it gives back it has again', () => {
  const share = new AddressShare(2, proxiesIn([]));
  const giveBack = share.take('192.0.2.1');
  share.take('192.0.2.1');
  expect(share.isUsedUp('192.0.2.1')).toBe(true);
  expect(share.isUsedUp('192.0.2.2')).toBe(false);
  giveBack();
  giveBack();
  expect(share.isUsedUp('192.0.2.1')).toBe(false);
  share.take('192.0.2.1');
  expect(share.isUsedUp('192.0.2.1')).toBe(true);
});

test.each([
  ['of IPv6 the network counts', '2001:db8:0:1::1', '2001:db8:0:1:ffff::2', true],
  ['another network is another', '2001:db8:0:1::1', '2001:db8:0:2::1', false],
  ['IPv4 by way of IPv6 is the same', '::ffff:192.0.2.1', '192.0.2.1', true],
])('%s', (_name, one, other, same) => {
  const share = new AddressShare(1, proxiesIn([]));
  share.take(one);
  expect(share.isUsedUp(other)).toBe(same);
});

test('a proxy speaks for many and is not held to a share', () => {
  const share = new AddressShare(1, proxiesIn(['10.0.0.0/8']));
  for (const address of ['10.1.2.3', '11.1.2.3']) share.take(address);
  expect(share.isUsedUp('10.1.2.3')).toBe(false);
  expect(share.isUsedUp('11.1.2.3')).toBe(true);
});
test.each([
  [undefined, 8_192, 8_192],
  [1_048_576, 8_192, 8_192],
  [1_024, 8_192, 309],
  [256, 8_192, 53],
  [64, 8_192, 16],
  [256, 20, 20],
])('a limit of %j handles and a wish for %i connections gives %i', (limit, wanted, atMost) => {
  const room = connectionRoom(wanted, limit);
  expect(room.connectionsAtMost).toBe(atMost);
  // Some are left for the calls that are in, and to refuse in words.
  expect(room.newCallsBelow).toBeLessThan(atMost);
  expect(room.newCallsBelow).toBeGreaterThanOrEqual(atMost * 0.8);
});

test('the limit of this process is known', () => {
  expect(handleLimit() ?? Infinity).toBeGreaterThan(16);
});
