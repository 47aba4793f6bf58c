import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Backlog, BlockPool } from '../../../../src/bridge/journal/leg-backlog.ts';

test('holds exactly the bytes between what was dropped and what was appended', () => {
  fc.assert(
    fc.property(
      fc.integer({ min: 0, max: 1_000_000 }),
      fc.array(fc.record({ append: fc.nat(9_000), drop: fc.nat(9_000), read: fc.nat(20_000) }), {
        maxLength: 40,
      }),
      (start, steps) => {
        const backlog = new Backlog(start);
        const all: Buffer[] = [];
        let seed = 1;
        for (const { append, drop, read } of steps) {
          const bytes = Buffer.from(
            Array.from({ length: append }, () => (seed = (seed * 31 + 7) & 255)),
          );
          all.push(bytes);
          backlog.append(bytes);
          const held = Buffer.concat(all);
          expect(backlog.end).toBe(start + held.length);
          const from = Math.min(backlog.end, backlog.start + (read >> 1));
          const expected = held.subarray(from - start, from - start + read);
          expect(backlog.read(from, read).equals(expected)).toBe(true);
          backlog.dropTo(backlog.start + drop);
          expect(backlog.heldBytes).toBe(backlog.end - backlog.start);
        }
      },
    ),
    { numRuns: 100 },
  );
});

test('dropped audio cannot be read', () => {
  const backlog = new Backlog();
  for (let frame = 0; frame < 1_000; frame++) {
    backlog.append(Buffer.alloc(160, frame));
    expect(backlog.read(backlog.end - 160, 160)[0]).toBe(frame & 255);
    backlog.dropTo(backlog.end);
  }
  expect(backlog.read(0, 160)).toHaveLength(0);
  expect(backlog.heldBytes).toBe(0);
});

test('memory that was dropped goes to whoever needs some next', () => {
  const pool = new BlockPool();
  const [one, other] = [new Backlog(0, pool), new Backlog(0, pool)];
  one.append(Buffer.alloc(160, 1));
  const { buffer } = one.read(0, 160);
  one.dropTo(160);
  other.append(Buffer.alloc(160, 2));
  expect(other.read(0, 160).buffer).toBe(buffer);
});

test('memory that is being read is not written over, though its bytes are dropped meanwhile', async () => {
  const pool = new BlockPool();
  const [one, other] = [new Backlog(0, pool), new Backlog(0, pool)];
  one.append(Buffer.alloc(9_000, 1));
  await one.lend(0, 9_000, async (views) => {
    one.dropTo(9_000);
    await Promise.resolve();
    for (const backlog of [one, other]) backlog.append(Buffer.alloc(9_000, 2));
    expect(Buffer.concat(views)).toEqual(Buffer.alloc(9_000, 1));
  });
  expect(one.heldBytes).toBe(9_000);
});

test('silence of any length takes no memory, and is read, walked over and dropped like audio', () => {
  fc.assert(
    fc.property(
      fc.array(fc.record({ audio: fc.nat(9_000), silence: fc.nat(50_000), drop: fc.nat(40_000) }), {
        maxLength: 12,
      }),
      (steps) => {
        const backlog = new Backlog(7);
        let held = Buffer.alloc(0);
        for (const { audio, silence, drop } of steps) {
          backlog.append(Buffer.alloc(audio, 1));
          backlog.appendSilence(silence, 0xff);
          held = Buffer.concat([held, Buffer.alloc(audio, 1), Buffer.alloc(silence, 0xff)]);
          const walked: Buffer[] = [];
          backlog.visit(backlog.start, {
            audio: (view) => walked.push(Buffer.from(view)),
            silence: (bytes) => walked.push(Buffer.alloc(bytes, 0xff)),
          });
          const rest = held.subarray(backlog.start - 7);
          expect(Buffer.concat(walked).equals(rest)).toBe(true);
          expect(backlog.read(backlog.start, rest.length).equals(rest)).toBe(true);
          const keepFrom = backlog.startOfNewest(5_000);
          expect(keepFrom).toBeGreaterThanOrEqual(backlog.start);
          backlog.dropTo(backlog.start + drop);
          expect(backlog.heldBytes).toBeLessThanOrEqual(backlog.end - backlog.start);
          expect(backlog.heldBytes).toBeGreaterThanOrEqual(0);
        }
        backlog.dropTo(backlog.end);
        expect(backlog.heldBytes).toBe(0);
      },
    ),
    { numRuns: 100 },
  );
  const backlog = new Backlog();
  backlog.append(Buffer.alloc(160));
  backlog.appendSilence(2 ** 32, 0xff);
  expect(backlog.heldBytes).toBe(160);
  expect(backlog.startOfNewest(100)).toBe(60);
});
