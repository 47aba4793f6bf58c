import { expect, test } from 'vitest';
import { leftLeg } from '../../../../src/bridge/call/call-leg.ts';
import { saidBefore, toldPositions } from '../../../../src/bridge/leg/session-records.ts';

const mono = { channels: 1 as const, channelRoles: ['agent', 'customer'] as const };

test('what is stored of a leg is known by channel, whatever roles its voices have', () => {
  const of = (channels: 1 | 2, roles: Record<string, number>, channelRoles: unknown) =>
    leftLeg(
      { channels, channelRoles: channelRoles as never },
      {
        recovered: undefined,
        offsetMs: 2_000,
        untilS: new Map(Object.entries(roles)),
      },
    ).told;
  expect(of(1, { agent: 5, customer: 9 }, mono.channelRoles)).toEqual([7]);
  expect(of(2, { agent: 5, customer: 9 }, ['customer', 'agent'])).toEqual([7, 3]);
  expect(of(2, { agent: 5 }, ['customer', 'agent'])).toEqual([undefined, 3]);
  // One role for both: words of one must not silence the other.
  expect(of(2, { unknown: 5 }, ['unknown', 'unknown'])).toEqual([undefined, undefined]);
  expect(of(1, {}, mono.channelRoles)).toEqual([undefined]);
  expect(leftLeg(mono as never, { recovered: undefined, offsetMs: null, untilS: undefined })).toEqual({}); // prettier-ignore
});

test('words of audio that is not here any more silence nothing that comes in its place', () => {
  expect(toldPositions([7, undefined, -1], 40_000, 8_000)).toEqual([40_000, 0, 0]);
  expect(toldPositions([3], 40_000, 8_000)).toEqual([24_000]);
});

test('a new session speaks from what is stored or was said, whichever is later', () => {
  const said = { id: 's', base: 0, isUnfetched: false, said: [16_000] };
  expect(saidBefore([said], 8_000, [24_000])).toEqual([24_000]);
  expect(saidBefore([said], 8_000, [4_000])).toEqual([16_000]);
  expect(saidBefore([], 24_000, [24_000])).toBeUndefined();
});
