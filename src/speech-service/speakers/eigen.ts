/** Steps for one eigenvalue: three are usual. */
const mostSteps = 60;

/** A real symmetric matrix with n rows, row after row. Its content is lost. */
export type Eigen = {
  /** Rising. */
  values: Float64Array;
  /** The eigenvector of so low a value. */
  vector: (index: number) => Float64Array;
};

/**
 * Eigenvalues, and the vectors of those that are asked for. Mirrors (Householder) make the matrix tridiagonal;
 * rotations (QL with implicit shifts) make that diagonal; a vector takes the same ways back.
 */
export function eigenOf(matrix: Float64Array, n: number, withVectors: boolean): Eigen {
  const { diagonal, beside } = tridiagonal(matrix, n);
  const turned = withVectors ? identity(n) : undefined;
  makeDiagonal(diagonal, beside, n, turned);
  const order = Array.from(diagonal.keys()).sort((a, b) => (diagonal[a] ?? 0) - (diagonal[b] ?? 0));
  return {
    values: Float64Array.from(order, (index) => diagonal[index] ?? 0),
    vector(index) {
      const row = (order[index] ?? 0) * n;
      return mirroredBack(matrix, n, (turned ?? new Float64Array(0)).slice(row, row + n));
    },
  };
}

function identity(n: number): Float64Array {
  const matrix = new Float64Array(n * n);
  for (let i = 0; i < n; i++) matrix[i * n + i] = 1;
  return matrix;
}

/** Leaves the mirror of each step in its row, right of the diagonal; a row of zeros is no mirror. */
function tridiagonal(
  matrix: Float64Array,
  n: number,
): { diagonal: Float64Array; beside: Float64Array } {
  const beside = new Float64Array(n);
  const product = new Float64Array(n);
  for (let k = 0; k < n - 2; k++) {
    const row = k * n;
    let rest = 0;
    for (let j = k + 2; j < n; j++) rest += (matrix[row + j] ?? 0) ** 2;
    const first = matrix[row + k + 1] ?? 0;
    if (rest === 0) {
      beside[k] = first;
      matrix[row + k + 1] = 0;
      continue;
    }
    const length = Math.sqrt(first * first + rest);
    // Away from the first number, so that nothing is lost in a difference.
    const image = first > 0 ? -length : length;
    const scale = 1 / Math.sqrt((first - image) ** 2 + rest);
    matrix[row + k + 1] = first - image;
    for (let j = k + 1; j < n; j++) matrix[row + j] = (matrix[row + j] ?? 0) * scale;
    beside[k] = image;
    mirrorRest(matrix, n, k, product);
  }
  if (n > 1) beside[n - 2] = matrix[(n - 2) * n + n - 1] ?? 0;
  return { diagonal: Float64Array.from({ length: n }, (_, i) => matrix[i * n + i] ?? 0), beside };
}

/** The part below and right of row k between two mirrors: A − v pᵀ − p vᵀ, p being 2 A v without its part along v. */
function mirrorRest(matrix: Float64Array, n: number, k: number, product: Float64Array): void {
  const mirror = k * n;
  let along = 0;
  for (let i = k + 1; i < n; i++) {
    let sum = 0;
    for (let j = k + 1; j < n; j++) sum += (matrix[i * n + j] ?? 0) * (matrix[mirror + j] ?? 0);
    product[i] = 2 * sum;
    along += 2 * sum * (matrix[mirror + i] ?? 0);
  }
  for (let i = k + 1; i < n; i++)
    product[i] = (product[i] ?? 0) - along * (matrix[mirror + i] ?? 0);
  for (let i = k + 1; i < n; i++) {
    const v = matrix[mirror + i] ?? 0;
    const p = product[i] ?? 0;
    for (let j = k + 1; j < n; j++)
      matrix[i * n + j] =
        (matrix[i * n + j] ?? 0) - v * (product[j] ?? 0) - p * (matrix[mirror + j] ?? 0);
  }
}

function makeDiagonal(
  diagonal: Float64Array,
  beside: Float64Array,
  n: number,
  turned: Float64Array | undefined,
): void {
  let scale = 0;
  for (let i = 0; i < n; i++)
    scale = Math.max(scale, Math.abs(diagonal[i] ?? 0) + Math.abs(beside[i] ?? 0));
  const nothing = scale * 2 ** -52;
  for (let low = 0; low < n; low++)
    for (let steps = 0; ; steps++) {
      let high = low;
      while (high < n - 1 && Math.abs(beside[high] ?? 0) > nothing) high++;
      if (high === low) break;
      if (steps === mostSteps) throw new Error('the eigenvalues of a matrix were not found');
      rotate(diagonal, beside, low, high, turned, n);
    }
}

/** One sweep of rotations from `high` down to `low`, which makes the number beside `low` smaller. */
function rotate(
  diagonal: Float64Array,
  beside: Float64Array,
  low: number,
  high: number,
  turned: Float64Array | undefined,
  n: number,
): void {
  const corner = beside[low] ?? 0;
  const lean = ((diagonal[low + 1] ?? 0) - (diagonal[low] ?? 0)) / (2 * corner);
  const shift = corner / (lean + (lean < 0 ? -1 : 1) * Math.hypot(lean, 1));
  let g = (diagonal[high] ?? 0) - (diagonal[low] ?? 0) + shift;
  let sin = 1;
  let cos = 1;
  let carried = 0;
  for (let i = high - 1; i >= low; i--) {
    const f = sin * (beside[i] ?? 0);
    const b = cos * (beside[i] ?? 0);
    const length = Math.hypot(f, g);
    beside[i + 1] = length;
    if (length === 0) {
      diagonal[i + 1] = (diagonal[i + 1] ?? 0) - carried;
      beside[high] = 0;
      return;
    }
    sin = f / length;
    cos = g / length;
    const base = (diagonal[i + 1] ?? 0) - carried;
    const r = ((diagonal[i] ?? 0) - base) * sin + 2 * cos * b;
    carried = sin * r;
    diagonal[i + 1] = base + carried;
    g = cos * r - b;
    if (turned) turnRows(turned, i * n, n, sin, cos);
  }
  diagonal[low] = (diagonal[low] ?? 0) - carried;
  beside[low] = g;
  beside[high] = 0;
}

function turnRows(turned: Float64Array, at: number, n: number, sin: number, cos: number): void {
  for (let k = at; k < at + n; k++) {
    const upper = turned[k] ?? 0;
    const lower = turned[k + n] ?? 0;
    turned[k + n] = sin * upper + cos * lower;
    turned[k] = cos * upper - sin * lower;
  }
}

function mirroredBack(matrix: Float64Array, n: number, vector: Float64Array): Float64Array {
  for (let k = n - 3; k >= 0; k--) {
    const mirror = k * n;
    let along = 0;
    for (let j = k + 1; j < n; j++) along += (matrix[mirror + j] ?? 0) * (vector[j] ?? 0);
    for (let j = k + 1; j < n; j++)
      vector[j] = (vector[j] ?? 0) - 2 * along * (matrix[mirror + j] ?? 0);
  }
  return vector;
}
