/**
 * A client that lost its socket sends again everything after the last ack it received. Released clients do
 * not say at which byte that is, so it is worked out here: it can only be the end of an ack that was sent
 * shortly before the socket ended, or the total.
 */
export type AckTrail = { endByte: number; atMs: number }[];

/** Acks that were sent within this time before a socket ended may have been lost with it. */
export const lostAckWindowMs = 5_000;

/** So many acks are remembered, then the oldest go: nearly three minutes at 50 messages in a second. */
export const maxAckTrail = 8_192;

/**
 * So many possible places are kept, then the earliest go. A restart makes one for each frame of the last
 * seconds, and a line that is cut again and again adds more.
 */
export const maxPlaces = 262_144;

export function remember(trail: AckTrail, endByte: number, atMs: number): void {
  trail.push({ endByte, atMs });
  if (trail.length > maxAckTrail) trail.splice(0, trail.length - maxAckTrail);
}

export type Standing = {
  /**
   * The bytes with which the client may have begun on this socket. They stay possible until an ack of this
   * socket is old enough to have arrived for certain.
   */
  origins: readonly number[];
  /** A pong told that the client has the ack which ended here; undefined for a client that answers no ping. */
  confirmedByte: number | undefined;
  socketEndedMs: number;
};

/**
 * The bytes from which the client may send again, earliest first. Two things bound them from below:
 * - the time: an ack that was sent more than a few seconds before the end of the socket has arrived. For a
 *   client that answers no ping this is the only bound.
 * - the last pong: acks after the last confirmed one may all be missing, because the line can have been
 *   dead for longer than those seconds.
 */
export function candidates(trail: AckTrail, standing: Standing): number[] {
  const { origins, confirmedByte, socketEndedMs } = standing;
  const since = socketEndedMs - lostAckWindowMs;
  const inWindow = trail.findIndex((ack) => ack.atMs >= since);
  const byTime = inWindow === -1 ? trail.length - 1 : inWindow - 1;
  const byPong =
    confirmedByte === undefined
      ? trail.length
      : trail.findIndex((ack) => ack.endByte >= confirmedByte);
  const first = Math.max(0, Math.min(byTime, byPong === -1 ? trail.length : byPong));
  const isWhole = trail.length < maxAckTrail && first === 0;
  // The places from before this socket count while none of its own acks is old enough, or from the byte
  // that a pong has confirmed.
  const leastOrigin = byTime < 0 ? 0 : (confirmedByte ?? Infinity);
  const before = isWhole ? origins.filter((place) => place >= leastOrigin) : [];
  const ends = [...before, ...trail.slice(first).map((ack) => ack.endByte)];
  return [...new Set(ends)].sort((a, b) => a - b).slice(-maxPlaces);
}

export type PlaceFound =
  /** What the client sent first repeats the stored bytes from here to the total. */
  | { outcome: 'found'; place: number }
  /** What the client sent so far equals the stored bytes from here; more of it is needed to be sure. */
  | { outcome: 'perhaps'; place: number; isFlat: boolean }
  | { outcome: 'none' };

/**
 * Finds the earliest place whose stored bytes equal the beginning of what the client sent. `stored` holds
 * the session's bytes from `storedFrom` to the total. Silence equals silence everywhere and proves nothing:
 * it is marked as flat, so that nobody waits for more of it.
 */
export function placeOf(
  places: readonly number[],
  stored: Buffer,
  storedFrom: number,
  burst: Buffer,
): PlaceFound {
  const total = storedFrom + stored.length;
  let perhaps: PlaceFound = { outcome: 'none' };
  for (const place of places) {
    if (place < storedFrom || place >= total) continue;
    // Of several places that need more bytes the earliest is kept; a later one must match completely.
    if (perhaps.outcome === 'perhaps' && total - place > burst.length) continue;
    const overlap = Math.min(total - place, burst.length);
    const at = place - storedFrom;
    if (overlap === 0 || !stored.subarray(at, at + overlap).equals(burst.subarray(0, overlap)))
      continue;
    if (total - place <= burst.length) return { outcome: 'found', place };
    if (perhaps.outcome === 'none') perhaps = { outcome: 'perhaps', place, isFlat: isFlat(burst) };
  }
  return perhaps;
}

function isFlat(bytes: Buffer): boolean {
  return bytes.length < 16 || bytes.every((byte) => byte === bytes[0]);
}
