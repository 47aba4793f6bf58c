import type { Transaction } from 'kysely';
import type { SpeakersData } from '../../protocol/live-messages.ts';
import type { Database } from '../../store/schema.ts';

/**
 * At most this many speaker labels of one call are kept in memory, for results that are not stored yet. Earlier
 * labels are in the rows.
 */
export const maxLabelsKept = 20_000;
/** Number of keys per statement. SQLite limits the number of values. */
const keysAtOnce = 500;

type Session = {
  labels: Map<string, number>;
  /** The number within the call that voice 0 of the session has. */
  base: number | undefined;
  timeS: number;
};

/**
 * The voice of each utterance on a mixed leg, as sessions report it during the call. Each session of a leg numbers its
 * voices from 0, and nobody knows which of them spoke in the previous session. They therefore count as further voices
 * of the call.
 */
export class CallSpeakers {
  readonly #sessions = new Map<string, Session>();

  /**
   * Takes a session's speaker data. Returns false if the data is older than what was taken before: a record may repeat
   * it.
   */
  take(sessionId: string, { time, is_final, utterances }: SpeakersData): boolean {
    const session = this.#sessions.get(sessionId) ?? { labels: new Map<string, number>(), base: undefined, timeS: 0 }; // prettier-ignore
    this.#sessions.set(sessionId, session);
    if (time < session.timeS && !is_final) return false;
    session.timeS = Math.max(session.timeS, time);
    for (const { id, speaker } of utterances) {
      session.labels.delete(id);
      session.labels.set(id, speaker);
    }
    const tooMany = Math.max(0, session.labels.size - maxLabelsKept);
    for (const id of [...session.labels.keys()].slice(0, tooMany)) session.labels.delete(id);
    return utterances.length > 0;
  }

  /** The voice of an utterance that is being stored. */
  of(sessionId: string, key: string): number | undefined {
    const session = this.#sessions.get(sessionId);
    const label = session?.labels.get(key);
    return session?.base === undefined || label === undefined ? undefined : session.base + label;
  }

  /** Writes the voices to the utterances that are already stored. */
  async write(
    tx: Transaction<Database>,
    of: { callId: string; legId: string; sessionId: string },
    utterances: SpeakersData['utterances'],
  ): Promise<void> {
    const session = this.#sessions.get(of.sessionId);
    if (session === undefined) return;
    const base = (session.base ??= await baseOf(tx, of));
    for (const [speaker, own] of Map.groupBy(utterances, (one) => one.speaker))
      for (let at = 0; at < own.length; at += keysAtOnce) {
        const keys = own.slice(at, at + keysAtOnce).map(({ id }) => id);
        await tx
          .updateTable('leg_results')
          .set({ speaker: base + speaker })
          .where('leg_id', '=', of.legId)
          .where('session_id', '=', of.sessionId)
          .where('kind', '=', 'call.transcript')
          .where('key', 'in', keys)
          .execute();
      }
  }
}

/** Finds the number of a session's voice 0. After a restart the session continues with the numbers in its rows. */
async function baseOf(
  tx: Transaction<Database>,
  { callId, sessionId }: { callId: string; sessionId: string },
): Promise<number> {
  const rows = await tx
    .selectFrom('leg_results')
    .select(({ fn }) => ['session_id', fn.min('speaker').as('least'), fn.max('speaker').as('most')])
    .where('call_id', '=', callId)
    .where('kind', '=', 'call.transcript')
    .where('speaker', 'is not', null)
    .groupBy('session_id')
    .execute();
  const own = rows.find((row) => row.session_id === sessionId);
  if (own !== undefined) return Number(own.least);
  return Math.max(-1, ...rows.map(({ most }) => Number(most))) + 1;
}
