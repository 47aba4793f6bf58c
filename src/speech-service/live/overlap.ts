/**
 * A client that lost its socket sends everything it holds no ack for, from the position of the last ack
 * it saw. No position is transmitted, so the server works it out: the client can only stand at the end of
 * an ack that was sent shortly before the socket ended, or at the total.
 */
export type AckTrail = { endByte: number; atMs: number }[];

/** How long before the end of a socket an ack may still have been lost with it. */
export const lostAckWindowMs = 5_000;

/** Beyond this many remembered acks the oldest go: at 50 messages a second that is 20 s. */
const longestTrail = 1_024;

export function remember(trail: AckTrail, endByte: number, atMs: number): void {
  trail.push({ endByte, atMs });
  if (trail.length > longestTrail) trail.splice(0, trail.length - longestTrail);
}

/** Where the client may stand, earliest first: the acks of the window, and the last one before them. */
export function candidates(trail: AckTrail, socketEndedMs: number, total: number): number[] {
  const since = socketEndedMs - lostAckWindowMs;
  const first = trail.findIndex((ack) => ack.atMs >= since);
  const recent = first === -1 ? trail.slice(-1) : trail.slice(Math.max(0, first - 1));
  const before = first === 0 && trail.length < longestTrail ? [0] : [];
  const ends = [...before, ...recent.map((ack) => ack.endByte)];
  return [...new Set(ends)].filter((end) => end < total).sort((a, b) => a - b);
}

/**
 * The earliest position whose stored bytes equal the start of what the client sent; the total when none
 * does. `stored` holds the session's bytes from `storedFrom` to the total.
 */
export function positionOf(
  places: readonly number[],
  stored: Buffer,
  storedFrom: number,
  burst: Buffer,
): number {
  const total = storedFrom + stored.length;
  for (const place of places) {
    const overlap = total - place;
    if (place < storedFrom || overlap > burst.length) continue;
    if (stored.subarray(place - storedFrom).equals(burst.subarray(0, overlap))) return place;
  }
  return total;
}
