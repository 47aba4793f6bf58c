import { ChunkPool, type Chunk } from './chunk-pool.ts';

const sharedPool = new ChunkPool();

/**
 * The part of a leg's audio that is in memory: one run of bytes [start, end) by leg position. Pure.
 * In the ordinary case acks follow within milliseconds and all legs use a few chunks over and over.
 */
export class Backlog {
  private chunks: Chunk[] = [];
  private first: number;
  private next: number;
  private readonly pool: ChunkPool;
  /** Somebody reads views of it beside us: what is dropped meanwhile is not written over. */
  private readers = 0;

  constructor(position = 0, pool = sharedPool) {
    this.pool = pool;
    this.first = position;
    this.next = position;
  }

  get start(): number {
    return this.first;
  }

  get end(): number {
    return this.next;
  }

  get heldBytes(): number {
    return this.next - this.first;
  }

  append(bytes: Buffer): void {
    let taken = 0;
    while (taken < bytes.length) {
      const chunk = this.roomy();
      const at = chunk.end - chunk.start;
      const size = Math.min(bytes.length - taken, chunk.memory.length - at);
      if (taken === 0 && size === bytes.length) chunk.memory.set(bytes, at);
      else chunk.memory.set(bytes.subarray(taken, taken + size), at);
      chunk.end += size;
      this.next += size;
      taken += size;
    }
  }

  /** Forgets everything before the position. */
  dropTo(position: number): void {
    if (position <= this.first) return;
    this.first = Math.min(position, this.next);
    while ((this.chunks[0]?.end ?? Infinity) <= this.first) {
      const chunk = this.chunks.shift();
      if (chunk && this.readers === 0) this.pool.give(chunk);
    }
  }

  /** The same views for as long as the work takes. */
  async lend<T>(
    position: number,
    maxBytes: number,
    to: (views: Buffer[]) => Promise<T>,
  ): Promise<T> {
    this.readers++;
    try {
      return await to(this.pieces(position, maxBytes));
    } finally {
      this.readers--;
    }
  }

  /** Up to `maxBytes` from the position on. A view where one chunk holds it all, else a copy. */
  read(position: number, maxBytes: number): Buffer {
    const [first, ...more] = this.pieces(position, maxBytes);
    if (first === undefined) return Buffer.alloc(0);
    return more.length === 0 ? first : Buffer.concat([first, ...more]);
  }

  /** Views of the same run, chunk by chunk; valid until the bytes are dropped. */
  pieces(position: number, maxBytes: number): Buffer[] {
    const end = Math.min(this.next, position + maxBytes);
    const views: Buffer[] = [];
    if (position < this.first) return views;
    for (const chunk of this.chunks) {
      if (chunk.end <= position || chunk.start >= end) continue;
      const from = Math.max(position, chunk.start) - chunk.start;
      views.push(chunk.memory.subarray(from, Math.min(end, chunk.end) - chunk.start));
    }
    return views;
  }

  private roomy(): Chunk {
    const last = this.chunks.at(-1);
    if (last && last.end - last.start < last.memory.length) return last;
    const chunk = this.pool.take(this.next);
    this.chunks.push(chunk);
    return chunk;
  }
}
