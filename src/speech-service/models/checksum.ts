import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';

export async function sha256Of(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path, { highWaterMark: 1 << 20 }), hash);
  return hash.digest('hex');
}

/** What is wrong with a file, in words that name it, or undefined. */
export async function problemOf(
  path: string,
  expected: { bytes?: number | undefined; sha256?: string | undefined },
): Promise<string | undefined> {
  const size = await stat(path).then(
    (found) => found.size,
    () => undefined,
  );
  if (size === undefined) return `${path} is missing`;
  if (size === 0) return `${path} is empty`;
  if (expected.bytes !== undefined && size !== expected.bytes)
    return `${path} has ${String(size)} bytes instead of ${String(expected.bytes)}`;
  if (expected.sha256 !== undefined && (await sha256Of(path)) !== expected.sha256)
    return `${path} is not the file it should be: its sha256 differs`;
  return undefined;
}
