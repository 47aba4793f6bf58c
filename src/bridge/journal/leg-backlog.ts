const blockBytes = 4_096;
/** The pool keeps four megabytes. Memory that an outage needed beyond that is returned to the system. */
export const maxFreeBlocks = 1_024;
/** The longest view of silence. All silent runs of one encoding are views of one buffer with this length. */
const silenceFrameBytes = 16_000;

/** Audio [start, end) of a leg, stored from the beginning of `memory`. */
type AudioBlock = { readonly memory: Buffer; start: number; end: number };
/** Silence [start, end) of a leg, of any length: two positions and the byte that means silence. */
type SilentRun = { readonly memory: undefined; silence: number; start: number; end: number };

/**
 * Memory for waiting audio, shared by all legs. A block is used for a second or two. If it were left to garbage
 * collection, it would be old by then, and only a full collection would free it.
 */
export class BlockPool {
  readonly #free: AudioBlock[] = [];

  take(position: number): AudioBlock {
    const block = this.#free.pop();
    // The memory does not come from Node's shared pool: a waiting leg must not keep other legs' memory alive.
    if (!block)
      return { memory: Buffer.allocUnsafeSlow(blockBytes), start: position, end: position };
    block.start = block.end = position;
    return block;
  }

  /** Takes a block back. The caller must not use its memory any more. */
  give(block: AudioBlock): void {
    if (this.#free.length < maxFreeBlocks) this.#free.push(block);
  }
}

const sharedPool = new BlockPool();

/**
 * The part of a leg's audio that is in memory: one run of bytes [start, end) by leg position. Normally
 * acknowledgements follow within milliseconds, and all legs reuse a few blocks.
 */
export class Backlog {
  readonly #parts: (AudioBlock | SilentRun)[] = [];
  readonly #pool: BlockPool;
  #start: number;
  #end: number;
  /** Number of bytes of the run that are silence and take no memory. */
  #silentBytes = 0;
  /** Number of readers that hold views of the blocks. A block that is dropped while there are readers is not reused. */
  #readers = 0;

  constructor(position = 0, pool = sharedPool) {
    this.#pool = pool;
    this.#start = position;
    this.#end = position;
  }

  get start(): number {
    return this.#start;
  }

  get end(): number {
    return this.#end;
  }

  /** Bytes of memory that the run takes. Silence that is stored only as a length does not count. */
  get heldBytes(): number {
    return this.#end - this.#start - this.#silentBytes;
  }

  append(bytes: Buffer): void {
    let taken = 0;
    while (taken < bytes.length) {
      const block = this.#blockWithRoom();
      const at = block.end - block.start;
      const size = Math.min(bytes.length - taken, block.memory.length - at);
      if (taken === 0 && size === bytes.length) block.memory.set(bytes, at);
      else block.memory.set(bytes.subarray(taken, taken + size), at);
      block.end += size;
      this.#end += size;
      taken += size;
    }
  }

  /** Appends silence. A long silence takes no memory; a short one shares a block with the audio around it. */
  appendSilence(bytes: number, silence: number): void {
    if (bytes <= silenceFrameBytes) {
      this.append(silenceFrame(silence, bytes));
      return;
    }
    const start = this.#end;
    this.#end += bytes;
    this.#parts.push({ memory: undefined, silence, start, end: this.#end });
    this.#silentBytes += bytes;
  }

  /** Drops all audio before the position. */
  dropTo(position: number): void {
    if (position <= this.#start) return;
    const before = this.#start;
    this.#start = Math.min(position, this.#end);
    for (let part = this.#parts[0]; part; part = this.#parts[0]) {
      if (!part.memory) {
        const gone = Math.min(this.#start, part.end) - Math.max(before, part.start);
        this.#silentBytes -= Math.max(0, gone);
      }
      if (part.end > this.#start) break;
      this.#parts.shift();
      if (part.memory && this.#readers === 0) this.#pool.give(part);
    }
  }

  /** The position from which the newest `bytes` bytes of held audio begin. Silence between them is not counted. */
  startOfNewest(bytes: number): number {
    let left = bytes;
    for (const part of this.#parts.toReversed()) {
      if (!part.memory) continue;
      const size = part.end - Math.max(part.start, this.#start);
      if (size >= left) return part.end - left;
      left -= size;
    }
    return this.#start;
  }

  /** Lends views of the audio. The views stay unchanged until the work ends. */
  async lend<T>(
    position: number,
    maxBytes: number,
    to: (views: Buffer[]) => Promise<T>,
  ): Promise<T> {
    this.#readers++;
    try {
      return await to(this.views(position, maxBytes));
    } finally {
      this.#readers--;
    }
  }

  /** Reads up to `maxBytes` from the position. Returns a view if one block holds all of it, else a copy. */
  read(position: number, maxBytes: number): Buffer {
    const [first, ...more] = this.views(position, maxBytes);
    if (first === undefined) return Buffer.alloc(0);
    return more.length === 0 ? first : Buffer.concat([first, ...more]);
  }

  /** Returns views of the run, part by part. They are valid until the bytes are dropped. */
  views(position: number, maxBytes: number): Buffer[] {
    const end = Math.min(this.#end, position + maxBytes);
    const views: Buffer[] = [];
    if (position < this.#start) return views;
    for (const part of this.#parts) {
      if (part.end <= position || part.start >= end) continue;
      const from = Math.max(position, part.start);
      const to = Math.min(end, part.end);
      if (part.memory) views.push(part.memory.subarray(from - part.start, to - part.start));
      else views.push(...silenceViews(part.silence, to - from));
    }
    return views;
  }

  /** Visits everything that is held from the position on. A long silence is passed as a length. */
  visit(
    position: number,
    visitor: { audio(view: Buffer): void; silence(bytes: number): void },
  ): void {
    for (const part of this.#parts) {
      const from = Math.max(position, this.#start, part.start);
      if (part.end <= from) continue;
      if (part.memory)
        visitor.audio(part.memory.subarray(from - part.start, part.end - part.start));
      else visitor.silence(part.end - from);
    }
  }

  #blockWithRoom(): AudioBlock {
    const last = this.#parts.at(-1);
    if (last?.memory && last.end - last.start < last.memory.length) return last;
    const block = this.#pool.take(this.#end);
    this.#parts.push(block);
    return block;
  }
}

const silenceFrames = new Map<number, Buffer>();

/** A view of silence of the given length, up to two seconds of telephony. */
export function silenceFrame(silence: number, maxBytes: number): Buffer {
  let frame = silenceFrames.get(silence);
  if (!frame) silenceFrames.set(silence, (frame = Buffer.alloc(silenceFrameBytes, silence)));
  return frame.subarray(0, Math.max(0, Math.min(maxBytes, frame.length)));
}

/** Silence of the given length as views of one shared buffer. */
export function silenceViews(silence: number, bytes: number): Buffer[] {
  const views: Buffer[] = [];
  for (let left = bytes; left > 0; left -= silenceFrameBytes)
    views.push(silenceFrame(silence, left));
  return views;
}
