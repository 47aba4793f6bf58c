/** The indexes of the elements of `left` that `right` contains in the same order: their longest common subsequence. */
export function commonIndexes<T>(left: readonly T[], right: readonly T[]): number[] {
  const width = right.length + 1;
  const best = new Uint16Array((left.length + 1) * width);
  const at = (i: number, j: number) => best[i * width + j] ?? 0;
  for (let i = left.length - 1; i >= 0; i--)
    for (let j = right.length - 1; j >= 0; j--)
      best[i * width + j] =
        left[i] === right[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  const common: number[] = [];
  for (let i = 0, j = 0; i < left.length && j < right.length;)
    if (left[i] === right[j]) {
      common.push(i);
      i++;
      j++;
    } else if (at(i + 1, j) >= at(i, j + 1)) i++;
    else j++;
  return common;
}
