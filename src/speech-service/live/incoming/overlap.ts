/**
 * Acks sent on one socket. A client that lost its socket repeats everything after the last ack it received. Released
 * clients do not name that byte, so this file works it out: it is the end of an ack that was sent shortly before the
 * socket ended, or the total.
 */
export type AckTrail = { endByte: number; atMs: number }[];

/** An ack sent within this time before the end of its socket may have been lost. */
export const lostAckWindowMs = 5_000;

/**
 * At most this many acks are remembered: nearly three minutes at 50 messages per second. Then the oldest are dropped.
 */
export const maxAckTrail = 8_192;

/**
 * At most this many positions from earlier sockets are kept, then the earliest are dropped. A line that is cut again
 * and again adds more.
 */
export const maxPlaces = 16_384;

/**
 * The furthest that a client may be behind the total after a restart, in bytes: four minutes of one telephone channel.
 * The acks of the previous process are lost, and a client that sends faster than real time may have much audio under
 * way.
 */
export const maxRestartBytes = 2_097_152;

/**
 * A repetition after a restart has at least this many bytes. New audio often begins with the same single byte that was
 * stored last, and no client repeats only one byte.
 */
const leastRestartBytes = 16;

/** Positions at which a client may continue: the ends of acks that were sent, and after a restart a range of frames. */
export type Places = { ends: readonly number[]; range?: PlaceRange };
type PlaceRange = { from: number; to: number; step: number };

/** The frames of the last stored bytes. A client of the previous process may continue at any of them. */
export function placesAfterRestart(totalBytes: number, frameBytes: number): Places {
  const least = Math.ceil(leastRestartBytes / frameBytes) * frameBytes;
  const furthest = Math.min(maxRestartBytes, totalBytes);
  const to = totalBytes - least;
  const from = totalBytes - Math.floor(furthest / frameBytes) * frameBytes;
  return to < from ? { ends: [] } : { ends: [], range: { from, to, step: frameBytes } };
}

/** The positions before the total. At the total itself a client would repeat nothing. */
export function placesBefore({ ends, range }: Places, total: number): Places {
  const before = ends.filter((place) => place < total);
  return range && range.from < total ? { ends: before, range } : { ends: before };
}

/** The earliest position, or undefined if there is none. */
export function firstOf({ ends, range }: Places): number | undefined {
  const [first] = ends;
  if (!range) return first;
  return first === undefined ? range.from : Math.min(first, range.from);
}

function has({ ends, range }: Places, place: number): boolean {
  if (range && place >= range.from && place <= range.to && (range.to - place) % range.step === 0)
    return true;
  let low = 0;
  let high = ends.length - 1;
  while (low <= high) {
    const middle = (low + high) >> 1;
    const end = ends[middle] ?? 0;
    if (end === place) return true;
    if (end < place) low = middle + 1;
    else high = middle - 1;
  }
  return false;
}

export function remember(trail: AckTrail, endByte: number, atMs: number): void {
  trail.push({ endByte, atMs });
  if (trail.length > maxAckTrail) trail.splice(0, trail.length - maxAckTrail);
}

type Standing = {
  /**
   * The bytes at which the client may have started on this socket. They remain possible until an ack of this socket is
   * old enough to have arrived for certain.
   */
  origins: Places;
  /** The last byte whose ack a pong has confirmed. Undefined for a client that answers no ping. */
  confirmedByte: number | undefined;
  socketEndedMs: number;
};

/**
 * The bytes at which the client may start again, the ends of acks earliest first. Two things bound them from below:
 * - the time: an ack that was sent more than a few seconds before the end of the socket has arrived. For a
 *   client that answers no ping this is the only bound.
 * - the last pong: acks after the last confirmed one may all be missing, because the line can have been
 *   dead for longer than those seconds.
 */
export function candidates(trail: AckTrail, standing: Standing): Places {
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
  // Positions from earlier sockets count while no ack of this socket is old enough, or from the byte that a pong has
  // confirmed.
  const leastOrigin = byTime < 0 ? 0 : (confirmedByte ?? Infinity);
  const before = isWhole ? placesFrom(origins, leastOrigin) : { ends: [] };
  const ends = [...before.ends, ...trail.slice(first).map((ack) => ack.endByte)];
  const sorted = [...new Set(ends)].sort((a, b) => a - b).slice(-maxPlaces);
  return 'range' in before ? { ends: sorted, range: before.range } : { ends: sorted };
}

function placesFrom({ ends, range }: Places, least: number): Places {
  const from = ends.filter((place) => place >= least);
  if (!range || range.to < least) return { ends: from };
  // A position of the range lies whole steps before the end of the range.
  const steps = Math.floor((range.to - Math.max(least, range.from)) / range.step);
  return { ends: from, range: { ...range, from: range.to - steps * range.step } };
}

type PlaceFound =
  /** The client's first bytes repeat the stored bytes from `place` to the total. */
  | { outcome: 'found'; place: number }
  /** The client's bytes so far equal the stored bytes from `place`, but more are needed to decide. */
  | { outcome: 'perhaps'; place: number; isFlat: boolean }
  | { outcome: 'none' };

/**
 * Finds the earliest position whose stored bytes equal the beginning of the client's audio. `stored` holds the
 * session's bytes from `storedFrom` to the total. Silence matches silence everywhere and proves nothing, so such a
 * match is marked as flat and nobody waits for more of it.
 */
export function placeOf(
  places: Places,
  stored: Buffer,
  storedFrom: number,
  burst: Buffer,
): PlaceFound {
  const total = storedFrom + stored.length;
  const wanted = burst.subarray(0, stored.length);
  const borders = bordersOf(wanted);
  let matched = 0;
  let perhaps: number | undefined;
  for (let at = 0; at < stored.length; at++) {
    while (matched > 0 && (matched === wanted.length || stored[at] !== wanted[matched]))
      matched = borders[matched - 1] ?? 0;
    if (stored[at] === wanted[matched]) matched++;
    // All bytes of the client so far match, and the stored bytes continue after them.
    if (
      matched === wanted.length &&
      matched > 0 &&
      at + 1 < stored.length &&
      perhaps === undefined
    ) {
      const place = storedFrom + at + 1 - matched;
      if (has(places, place)) perhaps = place;
    }
  }
  // `matched` and its borders are the ends of the stored bytes that the burst begins with, longest first.
  for (let length = matched; length > 0; length = borders[length - 1] ?? 0)
    if (has(places, total - length)) return { outcome: 'found', place: total - length };
  return perhaps === undefined
    ? { outcome: 'none' }
    : { outcome: 'perhaps', place: perhaps, isFlat: isFlat(burst) };
}

/**
 * For each prefix, the length of its longest proper prefix that is also its suffix (Knuth, Morris and Pratt). With this
 * table one pass over the stored bytes tries every position, whatever a client sends.
 */
function bordersOf(bytes: Buffer): Int32Array {
  const borders = new Int32Array(bytes.length);
  for (let at = 1, length = 0; at < bytes.length; at++) {
    while (length > 0 && bytes[at] !== bytes[length]) length = borders[length - 1] ?? 0;
    if (bytes[at] === bytes[length]) length++;
    borders[at] = length;
  }
  return borders;
}

function isFlat(bytes: Buffer): boolean {
  return bytes.length < 16 || bytes.every((byte) => byte === bytes[0]);
}
