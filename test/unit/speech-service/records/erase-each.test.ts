import { expect, test } from 'vitest';
import { eraseEach } from '../../../../src/speech-service/records/erase-each.ts';
import { silentLog } from '../../../support/recognition/recogniser.ts';

const rowsOf = (count: number, isStuck: (at: number) => boolean) => {
  const left = new Set(Array.from({ length: count }, (_, at) => at));
  const tried: number[] = [];
  const erasing = eraseEach({
    next: (except) =>
      Promise.resolve(
        [...left]
          .filter((at) => !except.includes(`${at}`))
          .slice(0, 7)
          .map((at) => ({ id: `${at}` })),
      ),
    erase: async ({ id }) => {
      tried.push(Number(id));
      await Promise.resolve();
      if (isStuck(Number(id))) throw new Error('stuck');
      left.delete(Number(id));
    },
    isStopped: () => tried.length === 500,
    log: silentLog,
  });
  return { left, tried, erasing };
};

test('a row that cannot be erased keeps no other one, and is tried once', async () => {
  const { left, tried, erasing } = rowsOf(100, (at) => at % 10 === 0);
  expect(await erasing).toBe(90);
  expect([...left]).toEqual([0, 10, 20, 30, 40, 50, 60, 70, 80, 90]);
  expect(tried).toHaveLength(100);
});

test('where nothing can be erased the sweep is given up', async () => {
  const { tried, erasing } = rowsOf(100, () => true);
  await expect(erasing).rejects.toThrow('stuck');
  expect(tried).toHaveLength(20);
});

test('a sweep that is stopped ends between two rows', async () => {
  expect(await rowsOf(1_000, () => false).erasing).toBe(500);
});
