import type { NearRows } from './sign-index.ts';

/** Rows of one block, which is unpacked when somebody needs it. */
const rowsOfBlock = 2_000;

/** Rows as they go from thread to thread: many short texts would hold up the one that moves audio. */
export type PackedNear = { ids: Float64Array<ArrayBuffer>; calls: string[] };

export const noneNear: PackedNear = { ids: new Float64Array(), calls: [] };

export function packed({ ids, calls }: NearRows): PackedNear {
  const blocks = Array.from({ length: Math.ceil(ids.length / rowsOfBlock) }, (_, at) =>
    calls.slice(at * rowsOfBlock, (at + 1) * rowsOfBlock).join(','),
  );
  return { ids: Float64Array.from(ids), calls: blocks };
}

/** The rows block by block, the nearest first. */
export function* blocksOf({ ids, calls }: PackedNear): Generator<{ id: number; callId: string }[]> {
  for (const [at, block] of calls.entries()) {
    const some = ids.subarray(at * rowsOfBlock, (at + 1) * rowsOfBlock);
    const callIds = block.split(',');
    yield Array.from(some, (id, row) => ({ id, callId: callIds[row] ?? '' }));
  }
}
