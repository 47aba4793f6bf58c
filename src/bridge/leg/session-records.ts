import type { SessionSnapshot } from '../records/leg-snapshot.ts';

/** Less audio than this after a final is only the breath after a sentence. */
const leastUnsaidS = 0.3;

/** A live session as its leg remembers it. */
export type KnownSession = Omit<SessionSnapshot, 'unread'> & {
  /** True if messages may be missing that the service's record still has. */
  isUnfetched: boolean;
};

/** The field keeps the name `unread`, which it has in journals on disk. */
export function knownOf({ unread, ...session }: SessionSnapshot): KnownSession {
  return { ...session, isUnfetched: unread };
}

/**
 * In the journal every session counts as unfetched: its messages may not be durable when this process is killed, and
 * the next process reads the record again.
 */
export function snapshotOf({ isUnfetched: _now, ...session }: KnownSession): SessionSnapshot {
  return { ...session, unread: true };
}

/**
 * Leg positions, by channel, up to which the sessions so far have returned words, if these are beyond `base`. Finals
 * can overtake acks. Words of audio that a new session hears again must not be reported twice. Pure.
 */
export function saidBefore(sessions: readonly KnownSession[], base: number): number[] | undefined {
  const from: number[] = [];
  for (const { said } of sessions)
    for (const [channel, position] of (said ?? []).entries())
      from[channel] = Math.max(from[channel] ?? 0, position ?? 0);
  return from.some((position) => position > base) ? from : undefined;
}

/**
 * Leg positions that a lost session had acknowledged without returning their words. The next session does not hear
 * them, so no session will return these words. Undefined if this was reported before, or if the stretch is too short
 * to hold a word. Pure.
 */
export function unsaidOf(
  { base, end, said, isUnsaid }: KnownSession,
  { channels, bytesPerSecond }: { channels: number; bytesPerSecond: number },
): { start: number; end: number } | undefined {
  // `said` is known only for a session whose loss this process saw. What another process heard is in that process's
  // rows.
  if (said === undefined || end === undefined || isUnsaid === true) return undefined;
  const spoken = Array.from({ length: channels }, (_, channel) => said[channel] ?? base);
  const start = Math.max(base, Math.min(...spoken));
  return (end - start) / bytesPerSecond >= leastUnsaidS ? { start, end } : undefined;
}
