import fc from 'fast-check';
import { expect, test } from 'vitest';
import { FileRoom } from '../../../../src/speech-service/files/file-room.ts';

test('announced room is held from the beginning, and unused room is given back', () => {
  const room = new FileRoom(1_000, 100);
  const place = room.open(600);
  expect(() => room.open(301)).toThrow('no room');
  place.take(200);
  expect(room.takenBytes).toBe(700);
  place.keep();
  expect(room.takenBytes).toBe(300);
  place[Symbol.dispose]();
  expect(room.takenBytes).toBe(300);
  room.free(200);
  expect(room.takenBytes).toBe(100);
});

test('a file that is larger than it said takes more while there is more', () => {
  const room = new FileRoom(1_000, 0);
  const place = room.open(10);
  place.take(900);
  expect(room.takenBytes).toBe(900);
  expect(() => place.take(101)).toThrow('1000 bytes together');
  place[Symbol.dispose]();
  expect(room.takenBytes).toBe(0);
});

test('any files at once never take more than there is, and leave exactly what is kept', () => {
  const size = fc.integer({ min: 0, max: 400 });
  const file = fc.record({ announced: size, pieces: fc.array(size, { maxLength: 5 }) });
  fc.assert(
    fc.property(fc.array(fc.record({ file, isKept: fc.boolean() })), (all) => {
      const room = new FileRoom(1_000, 0);
      let kept = 0;
      for (const { file, isKept } of all) {
        let place;
        try {
          place = room.open(file.announced);
          for (const piece of file.pieces) place.take(piece);
          if (isKept) {
            place.keep();
            kept += file.pieces.reduce((sum, piece) => sum + piece, 0);
          }
        } catch {
          // No room for this one: it leaves nothing.
        }
        expect(room.takenBytes).toBeLessThanOrEqual(1_000);
        place?.[Symbol.dispose]();
        expect(room.takenBytes).toBe(kept);
      }
    }),
  );
});
