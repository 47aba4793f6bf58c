import { expect, test } from 'vitest';
import { connectionRoom, handleLimit } from '../../../src/port/handles.ts';

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
