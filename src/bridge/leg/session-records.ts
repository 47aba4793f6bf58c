import type { SessionSnapshot } from '../records/leg-snapshot.ts';

/** Less unreturned audio than this after a final is only a pause for breath. */
const leastUnsaidS = 0.3;

/** A live session, as its leg keeps it in memory. */
export type KnownSession = Omit<SessionSnapshot, 'unread'> & {
  /** True if messages of the session may be missing here that the service's record still has. */
  isUnfetched: boolean;
};

/** Converts a snapshot's session. Journals on disk call the field `unread`. */
export function knownOf({ unread, ...session }: SessionSnapshot): KnownSession {
  return { ...session, isUnfetched: unread };
}

/**
 * In the journal every session counts as unfetched. Its messages may not be durable when this process is killed, so the
 * next process reads the record again.
 */
export function snapshotOf({ isUnfetched: _now, ...session }: KnownSession): SessionSnapshot {
  return { ...session, unread: true };
}

/**
 * The leg positions up to which words are stored. None is beyond the audio that this process found: what comes there
 * next is new, even where an earlier process had received and lost other audio for it. Pure.
 */
export function toldPositions(
  toldS: readonly (number | undefined)[],
  end: number,
  bytesPerSecond: number,
): number[] {
  return Array.from(toldS, (seconds = 0) =>
    Math.max(0, Math.min(end, Math.round(seconds * bytesPerSecond))),
  );
}

/**
 * Leg positions, by channel, up to which the sessions so far have returned words, or an earlier process had stored them
 * (`told`). Only positions beyond `base` are listed: finals can overtake acks, so a new session may hear audio again
 * whose words must not be reported twice. Pure.
 */
export function saidBefore(
  sessions: readonly KnownSession[],
  base: number,
  told: readonly number[] = [],
): number[] | undefined {
  const from: number[] = [...told];
  for (const { said } of sessions)
    for (const [channel, position] of (said ?? []).entries())
      from[channel] = Math.max(from[channel] ?? 0, position ?? 0);
  return from.some((position) => position > base) ? from : undefined;
}

/**
 * Leg positions that a lost session had acknowledged without returning their words. The next session does not hear
 * them, so their words are lost. Undefined if this was reported before, or if the stretch is too short to hold a word.
 * Pure.
 */
export function unsaidOf(
  { base, end, said, isUnsaid }: KnownSession,
  { channels, bytesPerSecond }: { channels: number; bytesPerSecond: number },
): { start: number; end: number } | undefined {
  // `said` is known only for a session whose loss this process saw. Words that another process heard are in that
  // process's rows.
  if (said === undefined || end === undefined || isUnsaid === true) return undefined;
  const spoken = Array.from({ length: channels }, (_, channel) => said[channel] ?? base);
  const start = Math.max(base, Math.min(...spoken));
  return (end - start) / bytesPerSecond >= leastUnsaidS ? { start, end } : undefined;
}
