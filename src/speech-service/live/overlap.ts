/**
 * A client that lost its socket sends everything it holds no ack for, from the position of the last ack
 * it saw. No position is transmitted, so the server works it out: the client can only stand at the end of
 * an ack that was sent shortly before the socket ended, or at the total.
 */
export type AckTrail = { endByte: number; atMs: number }[];

/** How long before the end of a socket an ack may still have been lost with it. */
export const lostAckWindowMs = 5_000;

/** Beyond this many remembered acks the oldest go: at 50 messages a second that is nearly three minutes. */
const longestTrail = 8_192;

/** A restart leaves one for each frame of the last seconds; a line that is cut again and again adds to them. */
const mostPlaces = 262_144;

export function remember(trail: AckTrail, endByte: number, atMs: number): void {
  trail.push({ endByte, atMs });
  if (trail.length > longestTrail) trail.splice(0, trail.length - longestTrail);
}

export type Standing = {
  /**
   * Where it may have stood when this socket opened: places still, while no ack of this one is old enough
   * to have arrived. The beginning, what sockets before this one left open, or what a restart did.
   */
  origins: readonly number[];
  /** The client has the ack that ended there, as a pong has told; undefined for one that answers no ping. */
  confirmedByte: number | undefined;
  socketEndedMs: number;
};

/**
 * Where the client may stand, earliest first: the acks of a socket's last seconds and the one before
 * them, which is all there is to go by for a client that answers no ping; and any ack since the last that
 * is known to have arrived, for a line that was dead for longer than that.
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
  const isWhole = trail.length < longestTrail && first === 0;
  // Nothing of this socket is old enough; or a pong tells how much of what came before has arrived.
  const leastOrigin = byTime < 0 ? 0 : (confirmedByte ?? Infinity);
  const before = isWhole ? origins.filter((place) => place >= leastOrigin) : [];
  const ends = [...before, ...trail.slice(first).map((ack) => ack.endByte)];
  return [...new Set(ends)].sort((a, b) => a - b).slice(-mostPlaces);
}

export type PlaceFound =
  /** Here the client stands: what it sent first repeats the bytes from there to the total. */
  | { outcome: 'found'; place: number }
  /** So far it repeats what is stored from here; more of it is needed to be sure. */
  | { outcome: 'perhaps'; place: number; isFlat: boolean }
  | { outcome: 'none' };

/**
 * The earliest position whose stored bytes equal the start of what the client sent. `stored` holds the
 * session's bytes from `storedFrom` to the total. Silence equals silence anywhere, which is told apart:
 * nobody is made to wait for more of it.
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
    // Of several that need more bytes the earliest is kept: from there on only a whole match counts.
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
