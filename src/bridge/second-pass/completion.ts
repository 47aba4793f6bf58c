import { replaceKeys } from '../events/call-keys.ts';
import { entityKeys } from '../events/content-keys.ts';
import type { Kysely, Transaction } from 'kysely';
import type { CallEventData, Incomplete, Turn } from '../../protocol/events.ts';
import type { Database } from '../../store/schema.ts';
import { canBeReadAgain, isInRecording } from '../records/incomplete.ts';
import { lengthOf } from '../call/length.ts';
import { talkOf } from '../call/statistics.ts';
import {
  callRowOf,
  gapsOf,
  legsOf,
  pausesOf,
  updateCall,
  wordsInRow,
  type CallRow,
} from '../events/call-rows.ts';

/** The new record of an incomplete call after its recording was read. */
export type Completion = {
  /** The parts that are still missing. If the carrier lost audio, the recording has only silence there. */
  incomplete: Incomplete | null;
  keep: (tx: Transaction<Database>, call: CallRow) => Promise<void>;
};

/** Rows of one statement. SQLite takes some thousand values. */
const rowsAtOnce = 500;

/**
 * Makes the new record from the recording. Returns undefined for a call that was complete: its live transcript stays
 * the record, and the revised words are added beside it. For a call with missing words, or with both parties in one
 * channel, the recording gives the better record. `isLong`: the revised words do not fit into the event, so the record
 * is the only place to read them.
 */
export async function completionOf(
  db: Kysely<Database>,
  callId: string,
  data: CallEventData<'call.transcript.revised'>,
  { isLong = false, spoken }: { isLong?: boolean; spoken?: ReadonlyMap<Turn, string> } = {},
): Promise<Completion | undefined> {
  const call = await callRowOf(db, callId);
  if (call === undefined) return undefined;
  const legs = await legsOf(db, callId);
  const areTold = data.transcript.some(({ speaker }) => speaker !== undefined);
  if (call.incomplete === null && !areTold && !isLong) return undefined;
  const [gaps, pauses] = await Promise.all([gapsOf(db, callId), pausesOf(db, callId)]);
  const length = lengthOf(call, legs);
  if (length === undefined) return undefined;
  const left = gaps.filter(({ cause }) => !isInRecording(cause));
  const turns = data.transcript;
  const talk = talkOf({ turns, gaps: left, pauses, length });
  const { incomplete } = talk;
  return {
    incomplete,
    async keep(tx, row) {
      await replaceWords(tx, callId, legs, turns, spoken);
      await replaceKeys(tx, callId, 'entity', entityKeys(data.entities));
      const before = JSON.parse(row.statistics ?? '{}') as object;
      await updateCall(tx, callId, {
        incomplete: incomplete === null ? null : JSON.stringify(incomplete),
        statistics: JSON.stringify({ ...before, ...talk, gap_count: left.length }),
        // The sentiment of the call is kept: the recording is recognised again only for its words.
        summary: JSON.stringify({ ...moodFrom(row.summary), ...data.summary }),
        ...wordsInRow(turns),
      });
    },
  };
}

function moodFrom(summary: string | null): { mood?: unknown } {
  const { mood } = JSON.parse(summary ?? '{}') as { mood?: unknown };
  return mood === undefined ? {} : { mood };
}

async function replaceWords(
  tx: Transaction<Database>,
  callId: string,
  legs: readonly { id: string; role: string }[],
  turns: readonly Turn[],
  spoken: ReadonlyMap<Turn, string> | undefined,
): Promise<void> {
  const ofCall = tx.deleteFrom('leg_results').where('call_id', '=', callId);
  await ofCall.where('kind', '=', 'call.transcript').execute();
  const isRead = canBeReadAgain.map((cause) => `${cause}:%`);
  await ofCall
    .where('kind', '=', 'call.gap')
    .where((where) => where.or(isRead.map((pattern) => where('key', 'like', pattern))))
    .execute();
  const rows = turns.flatMap((turn, at) => {
    const { role, speaker = null, text, start, end } = turn;
    const leg = legs.find((one) => one.role === role) ?? legs[0];
    const identity = { session_id: '', kind: 'call.transcript', key: `revised:${at}` };
    return leg === undefined
      ? []
      : [
          {
            ...identity,
            leg_id: leg.id,
            call_id: callId,
            role,
            speaker,
            text,
            spoken: spoken?.get(turn) ?? null,
            start_s: start,
            end_s: end,
          },
        ];
  });
  for (let at = 0; at < rows.length; at += rowsAtOnce)
    await tx
      .insertInto('leg_results')
      .values(rows.slice(at, at + rowsAtOnce))
      .execute();
}
