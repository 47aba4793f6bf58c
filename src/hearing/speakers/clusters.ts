/** The union of two groups. Each group is named by its first member. */
export type Union = { one: number; other: number; likeness: number };

export function product(a: Float32Array, b: Float32Array): number {
  let sum = 0;
  for (let k = 0; k < a.length; k++) sum += (a[k] ?? 0) * (b[k] ?? 0);
  return sum;
}

/**
 * Groups directions that belong together. Each begins as its own group. The two most similar groups are joined again
 * and again until one is left. The similarity of two groups is the mean over all pairs of members, so it never grows
 * from one union to the next.
 */
export function unionsOf(directions: readonly Float32Array[]): Union[] {
  const n = directions.length;
  const likeness = directions.map((one) =>
    Float64Array.from(directions, (other) => product(one, other)),
  );
  const sizes = new Array<number>(n).fill(1);
  const left = new Set(directions.keys());
  const unions: Union[] = [];
  while (left.size > 1) {
    const union = mostAlike(likeness, left);
    const { one, other } = union;
    unions.push(union);
    left.delete(other);
    const [size = 1, added = 1] = [sizes[one], sizes[other]];
    for (const third of left) {
      const sum = size * (likeness[one]?.[third] ?? 0) + added * (likeness[other]?.[third] ?? 0);
      setBoth(likeness, one, third, sum / (size + added));
    }
    sizes[one] = size + added;
  }
  return unions;
}

/** The group of each element after these unions, named by its first member. */
export function groupsAfter(unions: readonly Union[], members: number): number[] {
  const partOf = Array.from({ length: members }, (_, index) => index);
  for (const { one, other } of unions) partOf[other] = one;
  return partOf.map((_, index) => {
    let group = index;
    while (partOf[group] !== undefined && partOf[group] !== group) group = partOf[group] ?? group;
    return group;
  });
}

function setBoth(matrix: readonly Float64Array[], i: number, j: number, value: number): void {
  const [row, column] = [matrix[i], matrix[j]];
  if (row) row[j] = value;
  if (column) column[i] = value;
}

function mostAlike(likeness: readonly Float64Array[], left: ReadonlySet<number>): Union {
  const [first = 0, second = 0] = left;
  let best: Union = { one: first, other: second, likeness: -Infinity };
  for (const one of left) {
    const row = likeness[one];
    if (!row) continue;
    for (const other of left) {
      const value = row[other] ?? 0;
      if (other > one && value > best.likeness) best = { one, other, likeness: value };
    }
  }
  return best;
}
