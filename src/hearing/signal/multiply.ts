/**
 * Computes C += A · W in WebAssembly with vectors. A has rows in groups of four, and W is packed in panels of eight
 * columns.
 * The module is a few hundred bytes, so it is written here instruction by instruction: no build step and no binary
 * file.
 *
 *     eight sums of four numbers stay in registers while k runs; a panel stays in the nearest cache
 */
export type Multiply = (
  a: number,
  w: number,
  c: number,
  groups: number,
  depth: number,
  panels: number,
  strideOfA: number,
  strideOfC: number,
) => void;

/** The number of rows multiplied together, and of columns in one panel. */
export const groupRows = 4;
export const panelColumns = 8;

const pageBytes = 65_536;

/** The kernel's memory. Arrays are allocated one after the other, up to the given number of floats. */
export class KernelMemory {
  readonly multiply: Multiply;
  readonly #memory: WebAssembly.Memory;
  #end = 0;

  constructor(floats: number) {
    this.#memory = new WebAssembly.Memory({ initial: Math.ceil((4 * floats) / pageBytes) });
    this.multiply = newMultiply(this.#memory);
  }

  take(length: number): Float32Array {
    const taken = new Float32Array(this.#memory.buffer, this.#end, length);
    this.#end += 4 * length;
    return taken;
  }

  /** Stores a matrix [columns][depth] in panels and returns its address. */
  pack(matrix: Float32Array, depth: number): number {
    const panels = this.take(matrix.length);
    for (let column = 0; column < matrix.length / depth; column++) {
      const panel = (column - (column % panelColumns)) * depth;
      for (let k = 0; k < depth; k++)
        panels[panel + k * panelColumns + (column % panelColumns)] =
          matrix[column * depth + k] ?? 0;
    }
    return panels.byteOffset;
  }
}

/** All addresses and strides are bytes in this memory. */
function newMultiply(memory: WebAssembly.Memory): Multiply {
  // Some processors multiply and add in one instruction, which halves the number of instructions.
  const fused = new Uint8Array(moduleBytes(true));
  const bytes = WebAssembly.validate(fused) ? fused : new Uint8Array(moduleBytes(false));
  const { exports } = new WebAssembly.Instance(new WebAssembly.Module(bytes), { m: { m: memory } });
  return exports['multiply'] as Multiply;
}

const i32 = 0x7f;
const v128 = 0x7b;
const none = 0x40;

// The local variables, parameters first.
const [a, w, c, groups, depth, panels, strideOfA, strideOfC] = [0, 1, 2, 3, 4, 5, 6, 7];
const [aRow, cRow, group, k, weight] = [8, 9, 10, 11, 12];
const aAt = (row: number): number => 13 + row;
const cAt = (row: number): number => 17 + row;
const scalars = 13;
const sum = (row: number, half: number): number => 21 + 2 * row + half;
const half = (index: number): number => 29 + index;
const spread = 31;
const vectors = 11;
const rows = [0, 1, 2, 3];
const halves = [0, 1];

const get = (local: number): number[] => [0x20, local];
const set = (local: number): number[] => [0x21, local];
const constant = (value: number): number[] => [0x41, ...signed(value)];
const add = [0x6a];
const subtract = [0x6b];
const multiply = [0x6c];
const vector = (code: number): number[] => [0xfd, ...unsigned(code)];
const load = (offset: number): number[] => [...vector(0x00), 4, ...unsigned(offset)];
const loadSpread = [...vector(0x09), 2, 0];
const store = (offset: number): number[] => [...vector(0x0b), 4, ...unsigned(offset)];
const increase = (local: number, by: number[]): number[] => [
  ...get(local),
  ...by,
  ...add,
  ...set(local),
];
/** Repeats the body until the local variable, which is decremented after each run, is 0. */
const countedDown = (local: number, body: number[]): number[] => [
  ...[0x03, none],
  ...body,
  ...get(local),
  ...constant(1),
  ...subtract,
  ...[0x22, local],
  ...[0x0d, 0],
  0x0b,
];

/** sum += the spread number · half of the panel's row. */
function accumulate(into: number, panelHalf: number, isFused: boolean): number[] {
  return isFused
    ? [...get(spread), ...get(panelHalf), ...get(into), ...vector(0x105), ...set(into)]
    : [
        ...get(spread),
        ...get(panelHalf),
        ...vector(0xe6),
        ...get(into),
        ...vector(0xe4),
        ...set(into),
      ];
}

function body(isFused: boolean): number[] {
  const oneK = [
    ...halves.flatMap((index) => [...get(weight), ...load(16 * index), ...set(half(index))]),
    ...rows.flatMap((row) => [
      ...get(aAt(row)),
      ...loadSpread,
      ...set(spread),
      ...halves.flatMap((index) => accumulate(sum(row, index), half(index), isFused)),
      ...increase(aAt(row), constant(4)),
    ]),
    ...increase(weight, constant(4 * panelColumns)),
  ];
  const nextRow = (at: (row: number) => number, first: number, stride: number): number[] =>
    rows.flatMap((row) =>
      row === 0
        ? [...get(first), ...set(at(0))]
        : [...get(at(row - 1)), ...get(stride), ...add, ...set(at(row))],
    );
  const oneGroup = [
    ...nextRow(aAt, aRow, strideOfA),
    ...nextRow(cAt, cRow, strideOfC),
    ...rows.flatMap((row) =>
      halves.flatMap((index) => [...get(cAt(row)), ...load(16 * index), ...set(sum(row, index))]),
    ),
    ...get(w),
    ...set(weight),
    ...get(depth),
    ...set(k),
    ...countedDown(k, oneK),
    ...rows.flatMap((row) =>
      halves.flatMap((index) => [...get(cAt(row)), ...get(sum(row, index)), ...store(16 * index)]),
    ),
    ...increase(aRow, [...get(strideOfA), ...constant(groupRows), ...multiply]),
    ...increase(cRow, [...get(strideOfC), ...constant(groupRows), ...multiply]),
  ];
  const onePanel = [
    ...get(a),
    ...set(aRow),
    ...get(c),
    ...set(cRow),
    ...get(groups),
    ...set(group),
    ...countedDown(group, oneGroup),
    ...increase(w, [...get(depth), ...constant(4 * panelColumns), ...multiply]),
    ...increase(c, constant(4 * panelColumns)),
  ];
  return countedDown(panels, onePanel);
}

function moduleBytes(isFused: boolean): number[] {
  const locals = [2, scalars, i32, vectors, v128];
  const code = [...locals, ...body(isFused), 0x0b];
  return [
    ...[0x00, 0x61, 0x73, 0x6d, 1, 0, 0, 0],
    ...section(1, [1, 0x60, 8, ...Array<number>(8).fill(i32), 0]),
    ...section(2, [1, ...name('m'), ...name('m'), 2, 0, 1]),
    ...section(3, [1, 0]),
    ...section(7, [1, ...name('multiply'), 0, 0]),
    ...section(10, [1, ...unsigned(code.length), ...code]),
  ];
}

function section(id: number, content: number[]): number[] {
  return [id, ...unsigned(content.length), ...content];
}

function name(text: string): number[] {
  return [text.length, ...Buffer.from(text)];
}

/** Writes a number with seven bits in each byte, lowest first. The eighth bit says that another byte follows. */
function unsigned(value: number): number[] {
  return value < 128 ? [value] : [(value & 127) | 128, ...unsigned(value >>> 7)];
}

/** Encodes constants in the same way as numbers, but their highest bit is a sign. Our constants are not negative. */
function signed(value: number): number[] {
  return value < 64 ? [value] : [(value & 127) | 128, ...signed(value >>> 7)];
}
