import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  candidates,
  maxRestartBytes,
  placeOf,
  placesAfterRestart,
  remember,
  type AckTrail,
  type Places,
} from '../../../../src/speech-service/live/incoming/overlap.ts';

const noise = (bytes: number): Buffer =>
  Buffer.from(
    Array.from({ length: bytes }, (_, index) => (index * 7919 + (index >> 3) * 31) % 251),
  );

const at = (
  socketEndedMs: number,
  origins: readonly number[] | Places = [0],
  confirmedByte?: number,
) => ({
  origins: Array.isArray(origins) ? { ends: origins } : (origins as Places),
  confirmedByte,
  socketEndedMs,
});

describe('where a client stands that lost its socket', () => {
  test('is one of the acks of the last five seconds, the one before them, or the total', () => {
    const trail: AckTrail = [];
    for (let second = 0; second <= 20; second++) remember(trail, second * 100, second * 1_000);
    expect(candidates(trail, at(20_000))).toEqual({
      ends: [1400, 1500, 1600, 1700, 1800, 1900, 2000],
    });
    expect(candidates(trail, at(60_000))).toEqual({ ends: [2000] });
    expect(candidates([], at(0))).toEqual({ ends: [0] });
  });

  test('is no earlier than the ack that a pong has confirmed, however long ago that was', () => {
    const trail: AckTrail = [];
    for (let second = 1; second <= 60; second++) remember(trail, second * 100, second * 1_000);
    const dead = candidates(trail, at(90_000, [0], 5_500));
    expect(dead).toEqual({ ends: [5500, 5600, 5700, 5800, 5900, 6000] });
    // A client that lost its acks on this side of the pong: the last seconds are looked at all the same.
    expect(candidates(trail, at(60_500, [0], 6_000))).toEqual({
      ends: [5500, 5600, 5700, 5800, 5900, 6000],
    });
  });

  test('is the beginning when no ack of the session arrived', () => {
    const trail: AckTrail = [];
    expect(candidates(trail, at(20))).toEqual({ ends: [0] });
    remember(trail, 800, 10);
    expect(candidates(trail, at(20))).toEqual({ ends: [0, 800] });
  });

  test('is anywhere in the last minutes after a restart, until acks of the new process are old enough', () => {
    const places = placesAfterRestart(702, 2);
    expect(places).toEqual({ ends: [], range: { from: 0, to: 686, step: 2 } });
    const trail: AckTrail = [];
    expect(candidates(trail, at(0, places))).toEqual(places);
    remember(trail, 900, 1_000);
    expect(candidates(trail, at(2_000, places))).toEqual({ ...places, ends: [900] });
    expect(candidates(trail, at(9_000, places))).toEqual({ ends: [900] });
    // The range keeps its frames when a pong cuts it.
    expect(candidates([], at(0, { ends: [], range: { from: 0, to: 686, step: 4 } }, 0))).toEqual({
      ends: [],
      range: { from: 2, to: 686, step: 4 },
    });
    expect(placesAfterRestart(5_000_000, 1).range?.from).toBe(5_000_000 - maxRestartBytes);
    expect(placesAfterRestart(12, 1)).toEqual({ ends: [] });
  });

  test('after a restart is found minutes back, and not in a byte that new audio begins with by chance', () => {
    const audio = noise(500_000);
    const total = 480_000;
    const places = placesAfterRestart(total, 1);
    const place = (burst: Buffer) => placeOf(places, audio.subarray(0, total), 0, burst);
    // A client that sends faster than time had no ack of the last minute.
    expect(place(audio.subarray(1_000))).toEqual({ outcome: 'found', place: 1_000 });
    const last = audio.subarray(total - 1, total);
    const other = Buffer.concat([last, Buffer.alloc(159, 255)]);
    expect(place(other)).toEqual({ outcome: 'none' });
  });

  test('is found in one pass, whatever is sent: a quarter of a million equal bytes and one that differs', () => {
    const stored = Buffer.alloc(262_144);
    stored[stored.length - 1] = 1;
    const places = placesAfterRestart(stored.length, 1);
    const before = process.cpuUsage();
    expect(placeOf(places, stored, 0, Buffer.alloc(262_144))).toEqual({ outcome: 'none' });
    expect(process.cpuUsage(before).user).toBeLessThan(2_000_000); // trying each place took minutes of CPU
  });

  test('is where it stood before, however long ago, when no socket since then brought it an ack', () => {
    const trail: AckTrail = [];
    remember(trail, 800, 0);
    remember(trail, 1600, 100);
    const first = candidates(trail, at(200));
    expect(first).toEqual({ ends: [0, 800, 1600] });
    // Cut again and again before an ack is out, for longer than any window.
    let places = first;
    for (let ms = 1_000; ms <= 60_000; ms += 1_000) places = candidates([], at(ms, places));
    expect(places).toEqual(first);
    // One that was lost with its socket adds a place and takes none away; one that was old enough does.
    const late: AckTrail = [];
    remember(late, 2400, 61_000);
    expect(candidates(late, at(61_500, places))).toEqual({ ends: [0, 800, 1600, 2400] });
    expect(candidates(late, at(66_001, places))).toEqual({ ends: [2400] });
    // A line that was dead all the while says with its missing pong that nothing newer arrived.
    expect(candidates(late, at(66_001, places, 800))).toEqual({ ends: [800, 1600, 2400] });
  });

  test('is found from what it sends, for every ack that may have been lost and every length of the burst', () => {
    fc.assert(
      fc.property(
        fc.array(fc.integer({ min: 1, max: 400 }), { minLength: 1, maxLength: 30 }),
        fc.nat(),
        fc.nat(600),
        (chunks, pick, extra) => {
          const ends = chunks.reduce<number[]>(
            (list, chunk) => [...list, (list.at(-1) ?? 0) + chunk],
            [],
          );
          const total = ends.at(-1) ?? 0;
          const audio = noise(total + extra);
          const places = [0, ...ends.slice(0, -1)];
          const stands = [...places, total][pick % (places.length + 1)] ?? total;
          const placed = placeOf(
            { ends: places },
            audio.subarray(0, total),
            0,
            audio.subarray(stands),
          );
          const found = placed.outcome === 'found' ? placed.place : total;
          // A burst that repeats nothing may by chance look like a repetition of a byte or two.
          if (stands === total) expect(total - found).toBeLessThan(4);
          else expect(found).toBeLessThanOrEqual(stands);
          expect(
            audio.subarray(found, total).equals(audio.subarray(stands, stands + total - found)),
          ).toBe(true);
        },
      ),
    );
  });

  test('is not yet sure while only a part of the repeated bytes has come', () => {
    const audio = noise(4000);
    expect(placeOf({ ends: [0, 800, 1600] }, audio, 0, audio.subarray(1600, 2400))).toEqual({
      outcome: 'perhaps',
      place: 1600,
      isFlat: false,
    });
    const silence = Buffer.alloc(4000, 0xff);
    expect(placeOf({ ends: [800] }, silence, 0, silence.subarray(0, 160))).toMatchObject({
      isFlat: true,
    });
  });

  test('the worked example: three of five acks seen, two chunks sent meanwhile', () => {
    const audio = noise(5600);
    const placed = placeOf(
      { ends: [0, 800, 1600, 2400, 3200] },
      audio.subarray(0, 4000),
      0,
      audio.subarray(2400),
    );
    expect(placed).toEqual({ outcome: 'found', place: 2400 });
  });

  test('a burst that matches nothing is appended at the total', () => {
    expect(placeOf({ ends: [0, 800] }, noise(1600), 0, Buffer.alloc(1600, 1))).toEqual({
      outcome: 'none',
    });
  });
});
