const firstChunkBytes = 2_048;
const chunkBytes = 4_096;

type Chunk = { bytes: Buffer; start: number; end: number };

/**
 * The part of a leg's audio that is in memory: one run of bytes [start, end) by leg position. Pure.
 * In the ordinary case acks follow within milliseconds and one small chunk is used over and over.
 */
export class Backlog {
  private chunks: Chunk[] = [];
  private first: number;
  private next: number;

  constructor(position = 0) {
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
      const size = Math.min(bytes.length - taken, chunk.bytes.length - at);
      if (taken === 0 && size === bytes.length) chunk.bytes.set(bytes, at);
      else chunk.bytes.set(bytes.subarray(taken, taken + size), at);
      chunk.end += size;
      this.next += size;
      taken += size;
    }
  }

  /** Forgets everything before the position. */
  dropTo(position: number): void {
    if (position <= this.first) return;
    this.first = Math.min(position, this.next);
    while (this.chunks.length > 1 && (this.chunks[0]?.end ?? Infinity) <= this.first)
      this.chunks.shift();
    const only = this.chunks[0];
    if (only === undefined || this.chunks.length > 1 || only.end > this.first) return;
    if (only.bytes.length > firstChunkBytes) {
      this.chunks.length = 0; // after an outage the big chunk goes back to the machine
    } else {
      only.start = only.end; // empty: the same memory from its beginning again
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
      views.push(chunk.bytes.subarray(from, Math.min(end, chunk.end) - chunk.start));
    }
    return views;
  }

  private roomy(): Chunk {
    const last = this.chunks.at(-1);
    if (last && last.end - last.start < last.bytes.length) return last;
    const size = this.chunks.length === 0 ? firstChunkBytes : chunkBytes;
    // Not from Node's shared pool: a waiting leg must not hold other legs' memory.
    const chunk = { bytes: Buffer.allocUnsafeSlow(size), start: this.next, end: this.next };
    this.chunks.push(chunk);
    return chunk;
  }
}
