import { open } from 'node:fs/promises';

/** The bytes of a file from one place up to another, as they are read. */
export async function* readRange(path: string, from: number, to: number): AsyncGenerator<Buffer> {
  if (to <= from) return;
  await using file = await open(path, 'r');
  yield* file.createReadStream({
    start: from,
    end: to - 1,
    autoClose: false,
  }) as AsyncIterable<Buffer>;
}
