import { randomBytes } from 'node:crypto';
import { rename, truncate } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { DamagedChunk, LegFile } from '../../../src/bridge/journal/leg-file.ts';
import { temporaryFolder } from '../../support/store/store.ts';

test('a leg that catches up in small turns has each chunk from the disk once, over the borders of chunks too', async () => {
  await using dir = await temporaryFolder();
  const path = join(dir.path, 'leg.audio');
  const file = LegFile.fresh(path, 0xff, false);
  const [one, other] = [randomBytes(10_000), randomBytes(9_000)];
  await file.append(0, [one]);
  await file.append(10_000, [other]);
  expect(await file.read(0, 3_200)).toEqual(one.subarray(0, 3_200));
  // Only the first chunk has been read: while it lasts nobody looks at the disk.
  await rename(path, `${path}.away`);
  expect(await file.read(3_200, 3_200)).toEqual(one.subarray(3_200, 6_400));
  await expect(file.read(6_400, 6_400)).rejects.toMatchObject({ code: 'ENOENT' });
  await rename(`${path}.away`, path);
  expect(await file.read(6_400, 6_400)).toEqual(
    Buffer.concat([one.subarray(6_400), other.subarray(0, 2_800)]),
  );
  await rename(path, `${path}.away`);
  expect(await file.read(12_800, 10_000)).toEqual(other.subarray(2_800));
  await file.release();
});

test('a record read in part is not told from memory after the leg has let go of it', async () => {
  await using dir = await temporaryFolder();
  const path = join(dir.path, 'leg.audio');
  const file = LegFile.fresh(path, 0xff, true);
  await file.append(0, [randomBytes(10_000)]);
  await file.read(0, 3_200);
  await file.release();
  await truncate(path, 5_000);
  await expect(file.read(3_200, 3_200)).rejects.toThrow(DamagedChunk);
});
