import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { AppendFile, DiskWriter } from '../../../src/speech-service/live/disk/disk-writer.ts';
import { fillDisk, mountSmallDisk, smallDiskMissing } from '../../support/store/small-disk.ts';
import { temporaryFolder } from '../../support/store/store.ts';

test('an append that resolved is in its file, in the order of the calls, whatever else is written', async () => {
  await using folder = await temporaryFolder();
  await using disk = new DiskWriter();
  const files = Array.from(
    { length: 20 },
    (_, index) => new AppendFile(disk, join(folder.path, String(index))),
  );
  const expected = files.map(() => '');
  const writes: Promise<void>[] = [];
  for (let round = 0; round < 50; round++) {
    for (const [index, file] of files.entries()) {
      const text = `${index}:${round};`;
      const before = `${expected[index] ?? ''}${text}`;
      expected[index] = before;
      writes.push(
        file.append(Buffer.from(text)).then(async () => {
          if (round % 10 === 0)
            expect((await readFile(file.path, 'utf8')).startsWith(before)).toBe(true);
        }),
      );
    }
    if (round % 7 === 0) await files[0]?.flushed();
  }
  await Promise.all(writes);
  for (const [index, file] of files.entries()) {
    expect(file.waitingBytes).toBe(0);
    expect((await file.read(0, file.size)).toString()).toBe(expected[index]);
    await file.close();
    await expect(file.append(Buffer.from('x'))).rejects.toThrow('closed');
  }
});

test('bytes from before a restart are kept, and a half of a failed write is overwritten', async () => {
  await using folder = await temporaryFolder();
  await using disk = new DiskWriter();
  const path = join(folder.path, 'log');
  await writeFile(path, 'whole\nhal');
  const file = new AppendFile(disk, path, 6);
  await file.append(Buffer.from('next\n'));
  expect(await readFile(path, 'utf8')).toBe('whole\nnext\n');
});

test('a full disk fails what it could not take, names it, and leaves other files and later writes alone', async () => {
  await using folder = await temporaryFolder();
  await using disk = new DiskWriter({ withoutRoomMs: 0 });
  const full = new AppendFile(disk, '/dev/full');
  const fine = new AppendFile(disk, join(folder.path, 'fine'));
  const missing = new AppendFile(disk, join(folder.path, 'no', 'such', 'folder'));
  const refused = full.append(Buffer.from('lost'));
  const taken = fine.append(Buffer.from('kept'));
  const nowhere = missing.append(Buffer.from('lost'));
  await expect(refused).rejects.toMatchObject({ code: 'ENOSPC' });
  await expect(nowhere).rejects.toMatchObject({ code: 'ENOENT' });
  await taken;
  expect(full).toMatchObject({ size: 0, waitingBytes: 0 });
  await full.flushed();
  await fine.append(Buffer.from(' more'));
  expect(await readFile(fine.path, 'utf8')).toBe('kept more');
});

test.skipIf(smallDiskMissing !== undefined)(
  'a disk that is full is waited for: what came meanwhile is in its file, in order, once there is room',
  async () => {
    using small = mountSmallDisk(1);
    await using folder = await temporaryFolder();
    await using disk = new DiskWriter({ withoutRoomMs: 60_000 });
    const file = new AppendFile(disk, join(small.path, 'audio'));
    const beside = new AppendFile(disk, join(folder.path, 'beside'));
    await file.append(Buffer.alloc(8_192, 'a'));
    const full = fillDisk(small.path);
    const answered: string[] = [];
    const waiting = ['b', 'c', 'd'].map((letter) =>
      file.append(Buffer.alloc(8_192, letter)).then(() => answered.push(letter)),
    );
    waiting.push(file.flushed().then(() => answered.push('flushed')));
    const closed = file.close();
    await beside.append(Buffer.from('fine'));
    expect(answered).toEqual([]);
    expect(file).toMatchObject({ size: 8_192, waitingBytes: 3 * 8_192 });
    full[Symbol.dispose]();
    await Promise.all([...waiting, closed]);
    expect(answered).toEqual(['b', 'c', 'd', 'flushed']);
    expect(await readFile(file.path, 'utf8')).toBe(
      ['a', 'b', 'c', 'd'].map((letter) => letter.repeat(8_192)).join(''),
    );
  },
);

test('a process that stops waits for no full disk', async () => {
  await using disk = new DiskWriter({ withoutRoomMs: 60_000 });
  const full = new AppendFile(disk, '/dev/full');
  const refused = [full.append(Buffer.from('one')), full.append(Buffer.from('two'))];
  const closed = full.close();
  disk.hurry();
  const outcomes = await Promise.allSettled(refused);
  expect(outcomes.map(({ status }) => status)).toEqual(['rejected', 'rejected']);
  await closed;
});

test('more than a batch holds goes out in several, and closing waits for all of it', async () => {
  await using folder = await temporaryFolder();
  const disk = new DiskWriter();
  const file = new AppendFile(disk, join(folder.path, 'long'));
  const writes = Array.from({ length: 12 }, (_, index) =>
    file.append(Buffer.alloc(1_000_000, index)),
  );
  const closed = file.close();
  await disk[Symbol.asyncDispose]();
  await Promise.all([...writes, closed]);
  const bytes = await readFile(file.path);
  expect(bytes.length).toBe(12_000_000);
  expect(bytes[11_999_999]).toBe(11);
  await expect(new AppendFile(disk, file.path).append(Buffer.from('x'))).rejects.toThrow('closed');
});

test('appends and questions are answered in the order in which they came', async () => {
  await using folder = await temporaryFolder();
  await using disk = new DiskWriter();
  const file = new AppendFile(disk, join(folder.path, 'order'));
  const answered: number[] = [];
  await Promise.all(
    Array.from({ length: 300 }, async (_, index) => {
      await (index % 3 === 0 ? file.append(Buffer.from('x')) : file.append(Buffer.alloc(0)));
      answered.push(index);
    }),
  );
  expect(answered).toEqual(answered.toSorted((a, b) => a - b));
  await file.close();
});

test('orders to a writer that has ended start nothing again', async () => {
  await using folder = await temporaryFolder();
  const disk = new DiskWriter();
  const file = new AppendFile(disk, join(folder.path, 'late'));
  await file.append(Buffer.from('x'));
  await disk[Symbol.asyncDispose]();
  await file.close();
  await expect(disk.append(file, Buffer.from('y'))).rejects.toThrow('closed');
});
