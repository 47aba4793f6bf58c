import type { SessionSnapshot } from '../records/leg-snapshot.ts';

/** Less than this after a final is the breath after a sentence. */
const leastUnsaidS = 0.3;

/** One live session of a leg, as the leg remembers it. */
export type KnownSession = Omit<SessionSnapshot, 'unread'> & {
  /** Messages may be missing that the service's own record still has. */
  isUnfetched: boolean;
};

/** The field keeps the name that it has in journals on disk. */
export function knownOf({ unread, ...session }: SessionSnapshot): KnownSession {
  return { ...session, isUnfetched: unread };
}

/**
 * Every session counts as unfetched in the journal: its messages may not be durable yet when this process is killed, and
 * the next process asks again.
 */
export function snapshotOf({ isUnfetched: _now, ...session }: KnownSession): SessionSnapshot {
  return { ...session, unread: true };
}

/**
 * Leg positions, by channel, up to which the sessions so far have spoken, where that is beyond `base`. Finals can
 * overtake acks: words of audio that a new session hears again are not said twice. Pure.
 */
export function saidBefore(sessions: readonly KnownSession[], base: number): number[] | undefined {
  const from: number[] = [];
  for (const { said } of sessions)
    for (const [channel, position] of (said ?? []).entries())
      from[channel] = Math.max(from[channel] ?? 0, position ?? 0);
  return from.some((position) => position > base) ? from : undefined;
}

/**
 * Leg positions that a lost session had acknowledged and never said. The next session does not hear them, so nobody
 * else will say them. Undefined where that was told before, or is too short to hold a word. Pure.
 */
export function unsaidOf(
  { base, end, said, isUnsaid }: KnownSession,
  { channels, bytesPerSecond }: { channels: number; bytesPerSecond: number },
): { start: number; end: number } | undefined {
  // Only a session that this process saw being lost has `said`. What another process heard is in that process's rows.
  if (said === undefined || end === undefined || isUnsaid === true) return undefined;
  const spoken = Array.from({ length: channels }, (_, channel) => said[channel] ?? base);
  const start = Math.max(base, Math.min(...spoken));
  return (end - start) / bytesPerSecond >= leastUnsaidS ? { start, end } : undefined;
}
