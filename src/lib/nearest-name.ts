/** The known name that a wrong one most likely means. Undefined if none is close enough to be a typing mistake. */
export function nearestName(name: string, known: readonly string[]): string | undefined {
  // A name from outside may be a megabyte long. Nothing that long is a typing mistake.
  if (name.length > longestName) return undefined;
  const wanted = name.toLowerCase();
  let best: { candidate: string; distance: number } | undefined;
  for (const candidate of known) {
    const distance = editDistance(wanted, candidate.toLowerCase());
    if (distance < (best?.distance ?? Infinity)) best = { candidate, distance };
  }
  // One letter of two has to be right.
  const most = Math.min(Math.max(2, name.length / 5), name.length / 2);
  return best && best.distance <= most ? best.candidate : undefined;
}

const longestName = 100;

/** The number of letters to insert, remove, change or swap with their neighbour. */
function editDistance(left: string, right: string): number {
  let before: number[] = [];
  let row = Array.from({ length: right.length + 1 }, (_, at) => at);
  for (let i = 1; i <= left.length; i++) {
    const next = [i];
    for (let j = 1; j <= right.length; j++) {
      const isSame = left[i - 1] === right[j - 1];
      const isSwap = i > 1 && j > 1 && left[i - 1] === right[j - 2] && left[i - 2] === right[j - 1];
      next[j] = Math.min(
        (row[j] ?? 0) + 1,
        (next[j - 1] ?? 0) + 1,
        (row[j - 1] ?? 0) + (isSame ? 0 : 1),
        isSwap ? (before[j - 2] ?? 0) + 1 : Infinity,
      );
    }
    before = row;
    row = next;
  }
  return row[right.length] ?? 0;
}
