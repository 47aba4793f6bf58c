import { describe, expect, test } from 'vitest';
import { cosine, directionFrom, directionSize } from '../../../src/meaning/directions.ts';
import { SignIndex, type NearRows } from '../../../src/meaning/sign-index.ts';

/** Directions around themes: sentences of one theme are near to each other. */
function newDirections(seed: number) {
  let state = seed;
  const next = (): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32 - 0.5;
  };
  const any = () => Array.from({ length: directionSize }, () => next() + next() + next());
  const themes = Array.from({ length: 40 }, any);
  return (theme: number) => {
    const noise = any();
    return directionFrom((themes[theme % 40] ?? []).map((one, at) => one + 0.8 * (noise[at] ?? 0)));
  };
}

function filled(count: number, maxRows?: number) {
  const direction = newDirections(7);
  const all = Array.from({ length: count }, (_, at) => direction(at));
  const index = new SignIndex(maxRows);
  const directions = new Int8Array(count * directionSize);
  for (const [at, one] of all.entries()) directions.set(one, at * directionSize);
  index.add({
    ids: all.map((_, at) => at - 10),
    calls: all.map((_, at) => `call_${String(Math.floor(at / 5)).padStart(4, '0')}`),
    roles: all.map((_, at) => (at % 2 === 0 ? 'agent' : 'customer')),
    directions,
  });
  return { index, all };
}

describe('the signs of directions', () => {
  test('the nearest are among few candidates, and the nearest of all comes first for itself', () => {
    const { index, all } = filled(1_500);
    let [kept, wanted] = [0, 0];
    for (const at of [3, 77, 1_234, 1_499]) {
      const asked = all[at]!;
      const { ids: found } = index.nearest({ direction: asked, most: 100 });
      expect(found[0]).toBe(at - 10);
      const best = all
        .map((one, row) => ({ id: row - 10, nearness: cosine(asked, one) }))
        .toSorted((a, b) => b.nearness - a.nearness)
        .slice(0, 10);
      wanted += best.length;
      kept += best.filter(({ id }) => found.includes(id)).length;
    }
    expect(kept / wanted).toBeGreaterThan(0.95);
  });

  test('of words that were said in every call the newest are candidates', () => {
    const index = new SignIndex();
    const [said, other] = [newDirections(7)(1), newDirections(9)(2)];
    const all = Array.from({ length: 900 }, (_, at) => (at % 3 === 0 ? other : said));
    const directions = new Int8Array(900 * directionSize);
    for (const [at, one] of all.entries()) directions.set(one, at * directionSize);
    const calls = all.map((_, at) => `call_${at}`);
    index.add({ ids: all.map((_, at) => at), calls, roles: all.map(() => 'agent'), directions });
    const newest = Array.from({ length: 900 }, (_, at) => 899 - at).filter((id) => id % 3 !== 0);
    expect(index.nearest({ direction: said, most: 50 })).toEqual({
      ids: newest.slice(0, 50),
      calls: newest.slice(0, 50).map((id) => `call_${id}`),
    });
    expect(index.nearest({ direction: said, most: 600 }).ids).toEqual(newest);
  });

  test('a party, calls and a range of calls narrow it', () => {
    const { index, all } = filled(400);
    const ask = { direction: all[40]!, most: 400 };
    const rows = (found: NearRows) => found.ids.map((id) => id + 10);
    expect(rows(index.nearest({ ...ask, role: 'agent' })).every((at) => at % 2 === 0)).toBe(true);
    expect(index.nearest({ ...ask, role: 'nobody' }).ids).toEqual([]);
    expect(rows(index.nearest({ ...ask, calls: ['call_0008', 'call_9999'] }))).toEqual([40]);
    expect(index.nearest({ ...ask, calls: [] }).ids).toEqual([]);
    const ranged = rows(index.nearest({ ...ask, from: 'call_0008', below: 'call_0016' }));
    expect(ranged[0]).toBe(40);
    expect(ranged.every((at) => at >= 40 && at < 80)).toBe(true);
  });

  test('rows of an erased call and rows that are gone are not found again', () => {
    const { index, all } = filled(400);
    const ask = { direction: all[40]!, most: 400 };
    index.drop([80 - 10]);
    index.forget(['call_0008']);
    const found = index.nearest(ask).ids.map((id) => id + 10);
    expect(found.length).toBeGreaterThan(0);
    expect(found).not.toContain(40);
    expect(found).not.toContain(80);
  });

  test('beyond its bound the oldest rows go, and those that are left are found as before', () => {
    const { index, all } = filled(1_500, 500);
    expect(index.size).toBeLessThanOrEqual(500);
    expect(index.nearest({ direction: all[1_490]!, most: 10 }).ids[0]).toBe(1_480);
    expect(index.nearest({ direction: all[100]!, most: 500 }).ids).not.toContain(90);
    index.drop(all.map((_, at) => at - 10));
    expect(index.nearest({ direction: all[1_490]!, most: 10 }).ids).toEqual([]);
  });
});
