import { expect, test } from 'vitest';
import { DiskRooms, NoRoomError } from '../../../src/store/disk-room.ts';

function roomsWith(freeBytes: number, markBytes = 100): DiskRooms {
  const rooms = new DiskRooms(markBytes);
  rooms.measuring()(freeBytes);
  return rooms;
}

test('promised room lies above the mark, and is promised once', () => {
  const rooms = roomsWith(1_000);
  const first = rooms.reserve(600);
  expect(() => rooms.reserve(301)).toThrow(NoRoomError);
  using second = rooms.reserve(300);
  expect(() => second.extend(301)).toThrow(/1 MiB.*TRUNKLINE_DISK_LOW_WATER_BYTES/);
  first[Symbol.dispose]();
  second.extend(900);
  expect(rooms.leftBytes).toBe(0);
});

test('bytes that are written count once, before and after the next measurement', () => {
  const rooms = roomsWith(1_000);
  const room = rooms.reserve(600);
  room.wrote(200);
  expect(rooms.leftBytes).toBe(300);
  const measured = rooms.measuring();
  room.wrote(350); // while the disk is asked: its answer may not hold them
  measured(800);
  expect(rooms.leftBytes).toBe(300);
  rooms.measuring()(650);
  expect(rooms.leftBytes).toBe(300);
  room.settle();
  expect(rooms.leftBytes).toBe(550);
  room[Symbol.dispose]();
  expect(rooms.leftBytes).toBe(550);
});

test('two measurements at once count what was written once, whichever answers first', () => {
  for (const isFirstLast of [true, false]) {
    const rooms = roomsWith(1_000);
    const room = rooms.reserve(600);
    room.wrote(400);
    const answers = [rooms.measuring(), rooms.measuring()];
    for (const answer of isFirstLast ? answers.toReversed() : answers) answer(600);
    expect(rooms.leftBytes).toBe(300);
    room[Symbol.dispose]();
    expect(rooms.leftBytes).toBe(500);
  }
});

test('a disk that comes under its mark ends the work that can wait, with what it needs for another try', () => {
  const rooms = roomsWith(1_000);
  using room = rooms.reserve(600);
  rooms.measuring()(100);
  expect(room.signal.aborted).toBe(false);
  rooms.measuring()(99);
  expect(room.signal.reason).toMatchObject({ name: 'NoRoomError', neededBytes: 600 });
  expect(() => rooms.reserve(0)).toThrow(NoRoomError);
});
