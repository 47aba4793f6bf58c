import { randomFillSync } from 'node:crypto';

const poolBytes = 8_192;

/**
 * Masks for what a client sends, never of zeros: under such a mask ws sends the memory that it was given and not
 * a copy of it, and ours is written over while a full socket still waits with it.
 */
export function maskGenerator(
  fill: (pool: Buffer) => void = randomFillSync,
): (mask: Buffer) => void {
  const pool = Buffer.allocUnsafeSlow(poolBytes);
  let at = pool.length;
  return (mask) => {
    if (at === pool.length) {
      fill(pool);
      at = 0;
    }
    for (let index = 0; index < 4; index++) mask[index] = pool[at++] ?? 0;
    if (mask.readUInt32LE(0) === 0) mask[0] = 1;
  };
}
