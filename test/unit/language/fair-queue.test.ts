import { expect, test } from 'vitest';
import { FairQueue } from '../../../src/language/fair-queue.ts';

type Named = { owner: string; name: string };

function turnsOf(names: string, limit?: number, limitPerOwner?: number): FairQueue<Named> {
  const turns = new FairQueue<Named>(limit, limitPerOwner);
  for (const name of names.split(' ')) turns.push({ owner: name.charAt(0), name });
  return turns;
}

function drained(turns: FairQueue<Named>): string {
  const names: string[] = [];
  for (let next = turns.shift(); next; next = turns.shift()) names.push(next.name);
  return names.join(' ');
}

test('after each order it is the next owner’s turn, and each owner’s orders keep their order', () => {
  expect(drained(turnsOf('a1 a2 a3 b1 a4 c1 b2'))).toBe('a1 b1 c1 a2 b2 a3 a4');
});

test('one owner cannot fill the room of the others', () => {
  const turns = turnsOf('a1 a2 a3', 4, 2);
  expect(turns.push({ owner: 'b', name: 'b1' })).toBe(true);
  expect(turns.push({ owner: 'c', name: 'c1' })).toBe(true);
  expect(turns.push({ owner: 'd', name: 'd1' })).toBe(false);
  expect(drained(turns)).toBe('a1 b1 c1 a2');
});

test('a removed row no longer counts', () => {
  const turns = turnsOf('a1 a2 b1');
  const [first] = turns;
  if (!first) throw new Error('nothing waits');
  expect(turns.hasOthers('b')).toBe(true);
  expect(turns.remove(first)).toBe(true);
  expect(turns.remove(first)).toBe(false);
  expect(turns.takeOf('a').map(({ name }) => name)).toEqual(['a2']);
  expect(turns.hasOthers('b')).toBe(false);
  expect(turns.size).toBe(1);
  expect(turns.clear().map(({ name }) => name)).toEqual(['b1']);
  expect(turns.size).toBe(0);
});
