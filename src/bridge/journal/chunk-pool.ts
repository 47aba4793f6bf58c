const chunkBytes = 4_096;
/** 4 MB: what an outage took beyond that goes back to the machine. */
const freeAtMost = 1_024;

/** Audio [start, end) of a leg lies at the beginning of the memory. */
export type Chunk = { readonly memory: Buffer; start: number; end: number };

/**
 * Memory for audio that waits, which all legs take from and give back. A piece is wanted for a second or two:
 * left to the garbage collector each would be old by then, and only a full collection would free it.
 */
export class ChunkPool {
  private readonly free: Chunk[] = [];

  take(position: number): Chunk {
    const chunk = this.free.pop();
    // Not from Node's shared pool: a waiting leg must not hold other legs' memory.
    if (!chunk)
      return { memory: Buffer.allocUnsafeSlow(chunkBytes), start: position, end: position };
    chunk.start = chunk.end = position;
    return chunk;
  }

  /** Nobody may look at it any more. */
  give(chunk: Chunk): void {
    if (this.free.length < freeAtMost) this.free.push(chunk);
  }
}
