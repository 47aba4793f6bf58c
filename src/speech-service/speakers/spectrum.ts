import { eigenOf, type Eigen } from './eigen.ts';

/** More voices than this are only looked for when their number is given. */
const mostFound = 6;
/** Neighbours of a window, as shares of all, of which the one that shows the clearest groups is taken. */
const shares = [0.05, 0.08, 0.12, 0.2, 0.3];
const fewestNeighbours = 16;
const starts = 5;
const rounds = 30;

/**
 * Spectral clustering: which of so many directions belong together, and into how many groups they fall. Two that are
 * among each other's nearest are joined; the eigenvalues of that graph's Laplacian are near zero once for each group,
 * and the largest gap behind them tells how many. How many neighbours count is found by the same gap.
 */
export function groupsOf(
  directions: readonly Float32Array[],
  given: number | undefined,
  most = mostFound,
): number[] {
  const n = directions.length;
  const likeness = likenessOf(directions);
  let best: { neighbours: number; groups: number; ratio: number } | undefined;
  for (const neighbours of new Set(shares.map((share) => neighboursAt(share, n)))) {
    const { values } = eigenOf(laplacian(likeness, n, neighbours), n, false);
    const gap = widestGap(values);
    const ratio = neighbours / n / (gap.width / (values.at(-1) ?? 1));
    if (!best || ratio < best.ratio) best = { neighbours, groups: gap.groups, ratio };
  }
  const groups = Math.min(n, given ?? Math.min(best?.groups ?? 1, most));
  if (groups < 2 || !best) return directions.map(() => 0);
  const eigen = eigenOf(laplacian(likeness, n, best.neighbours), n, true);
  return nearest(placesOf(eigen, n, groups), groups);
}

function neighboursAt(share: number, n: number): number {
  return Math.min(n - 1, Math.max(fewestNeighbours, Math.floor(share * n)));
}

export function product(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let k = 0; k < a.length; k++) sum += (a[k] ?? 0) * (b[k] ?? 0);
  return sum;
}

function likenessOf(directions: readonly Float32Array[]): Float64Array {
  const n = directions.length;
  const likeness = new Float64Array(n * n);
  for (const [i, one] of directions.entries())
    for (let j = i; j < n; j++) {
      const value = product(one, directions[j] ?? one);
      likeness[i * n + j] = value;
      likeness[j * n + i] = value;
    }
  return likeness;
}

/** Of the graph in which each joins its nearest, itself among them: half a tie where only one of two does. */
function laplacian(likeness: Float64Array, n: number, neighbours: number): Float64Array {
  const matrix = new Float64Array(n * n);
  for (let i = 0; i < n; i++) {
    const row = likeness.subarray(i * n, (i + 1) * n);
    const least = row.toSorted()[n - neighbours] ?? 1;
    for (let j = 0; j < n; j++)
      if ((row[j] ?? 0) >= least && i !== j) {
        matrix[i * n + j] = (matrix[i * n + j] ?? 0) - 0.5;
        matrix[j * n + i] = (matrix[j * n + i] ?? 0) - 0.5;
      }
  }
  for (let i = 0; i < n; i++) {
    let ties = 0;
    for (let j = 0; j < n; j++) if (j !== i) ties -= matrix[i * n + j] ?? 0;
    matrix[i * n + i] = ties;
  }
  return matrix;
}

function widestGap(values: Float64Array): { groups: number; width: number } {
  let widest = { groups: 1, width: 0 };
  for (let k = 1; k <= mostFound && k < values.length; k++) {
    const width = (values[k] ?? 0) - (values[k - 1] ?? 0);
    if (width > widest.width) widest = { groups: k, width };
  }
  return widest;
}

/** Where the eigenvectors of the lowest values put each of them. */
function placesOf(eigen: Eigen, n: number, groups: number): Float64Array[] {
  const vectors = Array.from({ length: groups }, (_, index) => eigen.vector(index));
  return Array.from({ length: n }, (_, i) =>
    Float64Array.from(vectors, (vector) => vector[i] ?? 0),
  );
}

/** k-means, of several starts the closest. The same places always give the same groups. */
function nearest(places: readonly Float64Array[], groups: number): number[] {
  const random = randomFrom(1);
  let best: { labels: number[]; error: number } | undefined;
  for (let start = 0; start < starts; start++) {
    const found = oneStart(places, groups, random);
    if (!best || found.error < best.error) best = found;
  }
  return best?.labels ?? [];
}

function oneStart(
  places: readonly Float64Array[],
  groups: number,
  random: () => number,
): { labels: number[]; error: number } {
  const centres = scattered(places, groups, random);
  let labels: number[] = [];
  let error = Infinity;
  for (let round = 0; round < rounds; round++) {
    const found = places.map((place) => closest(place, centres));
    const sum = found.reduce((total, { distance }) => total + distance, 0);
    labels = found.map(({ index }) => index);
    if (sum >= error) break;
    error = sum;
    for (const [index, centre] of centres.entries()) {
      const own = places.filter((_, i) => labels[i] === index);
      if (own.length > 0)
        centre.forEach((_, k) => {
          centre[k] = own.reduce((total, place) => total + (place[k] ?? 0), 0) / own.length;
        });
    }
  }
  return { labels, error };
}

/** First centres: each next one more likely where no other is near. */
function scattered(
  places: readonly Float64Array[],
  groups: number,
  random: () => number,
): Float64Array[] {
  const any = places[Math.floor(random() * places.length)] ?? new Float64Array(0);
  const centres = [any.slice()];
  while (centres.length < groups) {
    const distances = places.map((place) => closest(place, centres).distance);
    let left = random() * distances.reduce((total, distance) => total + distance, 0);
    const index = distances.findIndex((distance) => (left -= distance) <= 0);
    centres.push((places[Math.max(0, index)] ?? any).slice());
  }
  return centres;
}

function closest(
  place: Float64Array,
  centres: readonly Float64Array[],
): { index: number; distance: number } {
  let best = { index: 0, distance: Infinity };
  for (const [index, centre] of centres.entries()) {
    let distance = 0;
    for (let k = 0; k < place.length; k++) distance += ((place[k] ?? 0) - (centre[k] ?? 0)) ** 2;
    if (distance < best.distance) best = { index, distance };
  }
  return best;
}

/** Numbers from 0 to 1, the same after the same seed. */
function randomFrom(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}
