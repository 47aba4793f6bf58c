import type { Kysely } from 'kysely';
import { z } from 'zod';
import { Role } from '../../protocol/events.ts';
import { CallMood, LastTurn } from '../../protocol/api.ts';
import type { ApiCall, ApiLeg, Cadence, CallDiagnostics, CallItem } from '../../protocol/api.ts';
import type { Database } from '../../store/schema.ts';
import { CallContact } from '../../protocol/contact.ts';
import type { ApiAgent } from '../../protocol/agents.ts';
import type { CallAgent } from '../records/call-agent.ts';
import type { CallLeg } from '../call/call-leg.ts';
import { lengthOf } from '../call/length.ts';
import {
  callRowOf,
  languagesFrom,
  incompleteFrom,
  legsOf,
  judgedTurns,
  turnsByCall,
  type CallRow,
  type LegRow,
} from '../events/call-rows.ts';
import type { Call } from '../call/call.ts';
import type { LegState } from '../leg/session-state.ts';

/** A call as `/api/calls` returns it, and the further questions that operators ask about a call. */
type CallJson = Omit<CallItem, 'last_turn'> & Pick<ApiCall, 'transcript' | 'judged_turns'>;

type Live = (id: string) => Call | undefined;
type Read = { db: Kysely<Database>; rows: readonly CallRow[]; live: Live };

/** Reads the legs and transcripts of all the rows with two queries. Counters of live legs come from memory. */
export async function callsJson({ db, rows, live }: Read): Promise<CallJson[]> {
  if (rows.length === 0) return [];
  const ids = rows.map((row) => row.id);
  const [legs, turns] = await Promise.all([legsByCall(db, ids), turnsByCall(db, ids)]);
  return rows.map((row) => ({
    ...factsJson(row, legs.get(row.id) ?? [], live(row.id)),
    transcript: turns.get(row.id) ?? [],
  }));
}

/**
 * Like `callsJson`, without transcripts and in the order of the ids. A list of long calls costs no more than a list
 * of short ones.
 */
export async function callItems({
  db,
  ids,
  live,
}: {
  db: Kysely<Database>;
  ids: readonly string[];
  live: Live;
}): Promise<CallItem[]> {
  if (ids.length === 0) return [];
  const [rows, legs] = await Promise.all([
    db.selectFrom('calls').selectAll().where('id', 'in', ids).execute(),
    legsByCall(db, ids),
  ]);
  const byId = new Map(rows.map((row) => [row.id, row]));
  return ids.flatMap((id) => {
    const row = byId.get(id);
    if (row === undefined) return []; // the call was erased after its id was found
    const facts = factsJson(row, legs.get(id) ?? [], live(id));
    return [{ ...facts, last_turn: LastTurn.safeParse(parsed(row.last_turn)).data ?? null }];
  });
}

async function legsByCall(
  db: Kysely<Database>,
  ids: readonly string[],
): Promise<Map<string, LegRow[]>> {
  const legs = db.selectFrom('legs').selectAll().where('call_id', 'in', ids);
  return Map.groupBy(await legs.orderBy('id').execute(), (leg) => leg.call_id);
}

function factsJson(
  row: CallRow,
  legs: readonly LegRow[],
  call: Call | undefined,
): Omit<CallItem, 'last_turn'> {
  return {
    id: row.id,
    carrier: row.carrier,
    carrier_call_id: row.carrier_call_id,
    state: row.state,
    direction: row.direction === 'inbound' || row.direction === 'outbound' ? row.direction : null,
    from: row.from_number,
    to: row.to_number,
    started_at: iso(row.started_at),
    ended_at: isoOrNull(row.ended_at),
    ...lengthJson(row, legs, call),
    custom_metadata: object(row.custom_metadata),
    notes: row.notes,
    tags: z.array(z.string()).safeParse(parsed(row.tags)).data ?? [],
    agent: agentJson(row.agent),
    contact: CallContact.safeParse(parsed(row.contact)).data ?? null,
    language: call === undefined ? row.language : (call.record.language ?? null),
    legs: legs.map((leg) => legJson(leg, call)),
    paused: call?.isPaused ?? row.paused !== 0,
    recording: row.has_recording === 1,
    continues: row.continues,
    end_reason: row.end_reason,
    deadline: row.deadline,
    warnings: parsed(row.warnings),
    counts: call?.counts ?? parsed(row.counts),
    incomplete: incompleteFrom(row.incomplete),
    statistics: parsed(row.statistics),
    ...summaryJson(row.summary),
  };
}

export async function callJson(
  db: Kysely<Database>,
  id: string,
  live: (id: string) => Call | undefined,
): Promise<CallJson | undefined> {
  const row = await callRowOf(db, id);
  if (row === undefined) return undefined;
  const [calls, judged] = await Promise.all([
    callsJson({ db, rows: [row], live }),
    judgedTurns(db, id),
  ]);
  return calls[0] && { ...calls[0], judged_turns: judged };
}

/** Further facts about a call that `trunkline doctor` checks, beside the call itself and its events. */
export async function callDiagnostics(
  db: Kysely<Database>,
  callId: string,
  live: Call | undefined,
): Promise<CallDiagnostics | undefined> {
  const call = await db
    .selectFrom('calls')
    .select(['zero_at', 'hung_up_at'])
    .where('id', '=', callId)
    .executeTakeFirst();
  if (call === undefined) return undefined;
  const [streams, sessions, legs] = await Promise.all([
    db.selectFrom('streams').selectAll().where('call_id', '=', callId).orderBy('id').execute(),
    db
      .selectFrom('leg_sessions')
      .selectAll()
      .where('call_id', '=', callId)
      .orderBy('opened_at')
      .execute(),
    legsOf(db, callId),
  ]);
  return {
    zero_at: isoOrNull(call.zero_at),
    hung_up_at: isoOrNull(call.hung_up_at),
    streams: streams.map((stream) => ({
      carrier_stream_id: stream.carrier_stream_id,
      opened_at: iso(stream.opened_at),
      closed_at: isoOrNull(stream.closed_at),
      closed_by: stream.end_reason,
    })),
    sessions: sessions.map((session) => ({
      id: session.id,
      leg_id: session.leg_id,
      offset_s: session.offset_s,
      opened_at: iso(session.opened_at),
    })),
    legs: legs.map((row) => {
      const leg = live?.legs.find((open) => open.record.id === row.id);
      const stored = row.cadence === null ? null : (JSON.parse(row.cadence) as Cadence);
      return {
        id: row.id,
        reconnects: leg?.reconnects ?? row.reconnects,
        cadence: leg?.cadence() ?? stored,
      };
    }),
  };
}

function legJson(row: LegRow, call: Call | undefined): ApiLeg {
  const leg = call?.legs.find((open) => open.record.id === row.id);
  const { received, acknowledged, gaps, paused, filler } = leg?.audio.ledger() ?? row;
  const languages = leg?.language.all ?? languagesFrom(row.languages);
  return {
    id: row.id,
    role: Role.safeParse(row.role).data ?? 'customer',
    track: row.track,
    encoding: row.encoding,
    sample_rate: row.sample_rate,
    channels: row.channels,
    session_id: leg?.audio.sessionId() ?? row.session_id,
    ledger: { received, acknowledged, gaps, paused, filler },
    state: leg === undefined ? (row.state === 'done' ? 'done' : 'waiting') : stateOf(leg),
    language: leg === undefined ? (languages.at(-1) ?? null) : leg.language.now,
    languages: [...languages],
  };
}

function agentJson(text: string | null): ApiAgent | null {
  if (text === null) return null;
  const { by, since, ...agent } = JSON.parse(text) as CallAgent;
  return { ...agent, by, since: iso(since) };
}

/** The mood is stored with the summary. Calls from earlier versions have no mood. */
function summaryJson(text: string | null): Pick<CallItem, 'summary' | 'mood'> {
  const value = parsed(text);
  if (typeof value !== 'object' || value === null) return { summary: value, mood: null };
  const { mood, ...summary } = value as Record<string, unknown>;
  return { summary, mood: CallMood.safeParse(mood).data ?? null };
}

/**
 * The end and the length of the phone call itself. `ended_at` is later: it is the time when the last words have
 * arrived.
 */
function lengthJson(
  row: CallRow,
  legs: readonly LegRow[],
  call: Call | undefined,
): { hung_up_at: string | null; duration: number | null } {
  // Rows of legs that are still open are out of date, so the length is counted from memory.
  const length = lengthOf(
    row,
    legs,
    call?.legs.map((leg) => leg.positionS()),
  );
  return { hung_up_at: isoOrNull(length?.hungUpAt ?? null), duration: length?.durationS ?? null };
}

function stateOf(leg: CallLeg): NonNullable<ApiLeg['state']> {
  if (leg.isDone) return 'done';
  return legStates[leg.audio.state().at];
}

const legStates: Record<LegState['at'], NonNullable<ApiLeg['state']>> = {
  opening: 'waiting',
  waiting: 'waiting',
  live: 'live',
  resuming: 'resuming',
  'journal-only': 'failed',
  finishing: 'finishing',
  ended: 'done',
};

const iso = (ms: number): string => new Date(ms).toISOString();

const isoOrNull = (ms: number | null): string | null => (ms === null ? null : iso(ms));

/**
 * Parses stored JSON. If somebody edited the row by hand and it is no longer valid, the value is left out instead of
 * failing the request.
 */
function parsed(text: string | null): unknown {
  if (text === null) return null;
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return null;
  }
}

function object(text: string): Record<string, unknown> {
  const value = parsed(text);
  return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
}
