import { directionSize, type SentenceDirection } from './directions.ts';

/** Only the signs of a direction's numbers are kept here: 384 bits. */
const words = directionSize / 32;
const rowsOfChunk = 65_536;
/** More rows than this need too much memory: then the oldest are not found. 61 bytes a row, and its call once. */
export const maxSignRows = 4_000_000;
/** This share goes at once, so that the work is rare. */
const shareToDrop = 8;
/**
 * Signs that differ in more places belong to directions with a cosine under 0.16: half of them differ between
 * strangers.
 */
const mostDifferences = 172;
const gone = 255;

type Chunk = { signs: Int32Array; ids: Float64Array; calls: Int32Array; roles: Uint8Array };

/** Rows that are added: the directions one after the other, 384 bytes each. */
export type DirectionRows = {
  ids: readonly number[];
  calls: readonly string[];
  roles: readonly string[];
  directions: Int8Array;
};

export type NearAsk = {
  direction: SentenceDirection;
  most: number;
  role?: string | undefined;
  /** Only these calls, or only calls with ids in this range. */
  calls?: readonly string[] | undefined;
  from?: string | undefined;
  below?: string | undefined;
};

/** Ids of rows, and the call of each. */
export type NearRows = { ids: number[]; calls: string[] };

/**
 * The signs of many directions, which tell nearly which of them are near to another. The caller then compares the whole
 * directions of the rows found.
 */
export class SignIndex {
  readonly #maxRows: number;
  readonly #chunks: Chunk[] = [];
  #size = 0;
  #leastId = -Infinity;
  readonly #callNumbers = new Map<string, number>();
  readonly #callIds: string[] = [];
  readonly #roles: string[] = [];
  #differences = new Uint16Array(0);

  constructor(maxRows = maxSignRows) {
    this.#maxRows = maxRows;
  }

  get size(): number {
    return this.#size;
  }

  add({ ids, calls, roles, directions }: DirectionRows): void {
    for (const [at, id] of ids.entries()) {
      if (id < this.#leastId) continue;
      if (this.#size === this.#maxRows) this.#dropOldest();
      const row = this.#size % rowsOfChunk;
      if (row === 0 && this.#chunks.length * rowsOfChunk <= this.#size)
        this.#chunks.push(newChunk());
      const chunk = this.#chunks[Math.floor(this.#size / rowsOfChunk)];
      if (chunk === undefined) return;
      const from = at * directionSize;
      chunk.signs.set(signsOf(directions.subarray(from, from + directionSize)), row * words);
      chunk.ids[row] = id;
      chunk.calls[row] = this.#numberOf(calls[at] ?? '');
      chunk.roles[row] = numberIn(this.#roles, roles[at] ?? '');
      this.#size += 1;
    }
  }

  /** The rows whose signs differ least, the nearest first, and of equally near ones the newest first. */
  nearest(ask: NearAsk): NearRows {
    const asked = signsOf(ask.direction);
    const isAllowed = this.#allowed(ask);
    const role = ask.role === undefined ? undefined : this.#roles.indexOf(ask.role);
    if (this.#differences.length < this.#size)
      this.#differences = new Uint16Array(this.#chunks.length * rowsOfChunk);
    const counts = new Uint32Array(directionSize + 1);
    for (const [number, chunk] of this.#chunks.entries()) {
      const rows = Math.min(rowsOfChunk, this.#size - number * rowsOfChunk);
      if (rows <= 0) break;
      const differences = this.#differences.subarray(number * rowsOfChunk);
      compare(chunk, rows, asked, differences);
      for (let row = 0; row < rows; row++) {
        const by = differences[row] ?? directionSize;
        const isOut =
          by > mostDifferences ||
          chunk.roles[row] === gone ||
          (role !== undefined && chunk.roles[row] !== role) ||
          (isAllowed !== undefined && isAllowed[chunk.calls[row] ?? 0] !== 1);
        if (isOut) differences[row] = directionSize;
        else counts[by] = (counts[by] ?? 0) + 1;
      }
    }
    return this.#least(counts, ask.most);
  }

  /** Removes all rows of a call. */
  forget(callIds: readonly string[]): void {
    const numbers = new Set(callIds.map((id) => this.#callNumbers.get(id) ?? -1));
    this.#remove((chunk, row) => numbers.has(chunk.calls[row] ?? -1));
  }

  drop(ids: readonly number[]): void {
    const known = new Set(ids);
    this.#remove((chunk, row) => known.has(chunk.ids[row] ?? NaN));
  }

  #least(counts: Uint32Array, most: number): NearRows {
    // All rows that differ in fewer places than `last` have room, and some of those that differ in just as many.
    let last = 0;
    let within = 0;
    while (last <= mostDifferences && within + (counts[last] ?? 0) <= most)
      within += counts[last++] ?? 0;
    const leastId = last > mostDifferences ? Infinity : this.#leastIdOf(last, counts[last] ?? 0, most - within); // prettier-ignore
    const found: { id: number; by: number; call: string }[] = [];
    for (let at = 0; at < this.#size; at++) {
      const by = this.#differences[at] ?? directionSize;
      if (by > last || by > mostDifferences) continue;
      const chunk = this.#chunks[Math.floor(at / rowsOfChunk)];
      const id = chunk?.ids[at % rowsOfChunk] ?? 0;
      if (by === last && id < leastId) continue;
      found.push({ id, by, call: this.#callIds[chunk?.calls[at % rowsOfChunk] ?? 0] ?? '' });
    }
    found.sort((a, b) => a.by - b.by || b.id - a.id);
    return { ids: found.map(({ id }) => id), calls: found.map(({ call }) => call) };
  }

  /** The least id of the newest `room` rows that differ in so many places. A greeting is said in every call. */
  #leastIdOf(differences: number, count: number, room: number): number {
    if (room === 0) return Infinity;
    const ids = new Float64Array(count);
    let to = 0;
    for (let at = 0; at < this.#size; at++)
      if (this.#differences[at] === differences)
        ids[to++] = this.#chunks[Math.floor(at / rowsOfChunk)]?.ids[at % rowsOfChunk] ?? 0;
    return ids.sort()[count - room] ?? -Infinity;
  }

  /** One byte for each call: 1 if its rows may be found. Undefined if all may. */
  #allowed({ calls, from, below }: NearAsk): Uint8Array | undefined {
    if (calls === undefined && from === undefined && below === undefined) return undefined;
    const isAllowed = new Uint8Array(this.#callIds.length);
    const isInside = (id: string): boolean =>
      (from === undefined || id >= from) && (below === undefined || id < below);
    if (calls === undefined) {
      for (const [number, id] of this.#callIds.entries()) if (isInside(id)) isAllowed[number] = 1;
      return isAllowed;
    }
    for (const id of calls) {
      const number = this.#callNumbers.get(id);
      if (number !== undefined && isInside(id)) isAllowed[number] = 1;
    }
    return isAllowed;
  }

  #numberOf(callId: string): number {
    const known = this.#callNumbers.get(callId);
    if (known !== undefined) return known;
    // A text that was cut out of a longer one keeps all of that in memory.
    const own = Buffer.from(callId).toString();
    this.#callIds.push(own);
    this.#callNumbers.set(own, this.#callIds.length - 1);
    return this.#callIds.length - 1;
  }

  #remove(isMeant: (chunk: Chunk, row: number) => boolean): void {
    for (let at = 0; at < this.#size; at++) {
      const row = at % rowsOfChunk;
      const chunk = this.#chunks[Math.floor(at / rowsOfChunk)];
      if (chunk === undefined || !isMeant(chunk, row)) continue;
      chunk.roles[row] = gone;
      chunk.ids[row] = NaN;
      chunk.signs.fill(0, row * words, (row + 1) * words);
    }
  }

  /** Rows with small ids are the oldest. Those that were removed go too. */
  #dropOldest(): void {
    const ids = new Float64Array(this.#size);
    for (let at = 0; at < this.#size; at++)
      ids[at] = this.#chunks[Math.floor(at / rowsOfChunk)]?.ids[at % rowsOfChunk] ?? NaN;
    // Numbers sort before NaN.
    ids.sort();
    this.#leastId = ids[Math.floor(this.#size / shareToDrop)] ?? -Infinity;
    let to = 0;
    for (let at = 0; at < this.#size; at++) {
      const [from, row] = [this.#chunks[Math.floor(at / rowsOfChunk)], at % rowsOfChunk];
      const [into, place] = [this.#chunks[Math.floor(to / rowsOfChunk)], to % rowsOfChunk];
      const id = from?.ids[row] ?? NaN;
      if (from === undefined || into === undefined || !(id >= this.#leastId)) continue;
      into.signs.set(from.signs.subarray(row * words, (row + 1) * words), place * words);
      into.ids[place] = id;
      into.calls[place] = from.calls[row] ?? 0;
      into.roles[place] = from.roles[row] ?? gone;
      to += 1;
    }
    this.#size = to;
  }
}

function newChunk(): Chunk {
  return {
    signs: new Int32Array(rowsOfChunk * words),
    ids: new Float64Array(rowsOfChunk),
    calls: new Int32Array(rowsOfChunk),
    roles: new Uint8Array(rowsOfChunk),
  };
}

function numberIn(names: string[], name: string): number {
  const at = names.indexOf(name);
  if (at >= 0) return at;
  // A call has three roles. Names beyond the numbers of a byte would be a mistake of ours, and have none.
  return names.length === gone - 1 ? gone - 1 : names.push(name) - 1;
}

function signsOf(direction: Int8Array): Int32Array {
  const signs = new Int32Array(words);
  for (let at = 0; at < directionSize; at++)
    if ((direction[at] ?? 0) > 0) signs[at >> 5] = (signs[at >> 5] ?? 0) | (1 << (at & 31));
  return signs;
}

/** Counts the bits that differ, for each row. This loop is most of the time of a search. */
function compare(chunk: Chunk, rows: number, asked: Int32Array, differences: Uint16Array): void {
  const { signs } = chunk;
  for (let row = 0, at = 0; row < rows; row++) {
    let sum = 0;
    for (let word = 0; word < words; word++, at++) {
      let bits = (signs[at] ?? 0) ^ (asked[word] ?? 0);
      bits -= (bits >>> 1) & 0x55_55_55_55;
      bits = (bits & 0x33_33_33_33) + ((bits >>> 2) & 0x33_33_33_33);
      sum += Math.imul((bits + (bits >>> 4)) & 0x0f_0f_0f_0f, 0x01_01_01_01) >>> 24;
    }
    differences[row] = sum;
  }
}
