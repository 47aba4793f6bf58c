import { parseJson } from '../../lib/json.ts';
import { round3 } from '../../lib/round.ts';
import type { Kysely, Selectable, Transaction, Updateable } from 'kysely';
import { z } from 'zod';
import { CallEvent, GapCause, Incomplete, Role, type Turn } from '../../protocol/events.ts';
import type { CallsTable, Database, LegsTable } from '../../store/schema.ts';
import type { LegRecord } from '../records/leg-record.ts';
import type { ToldLeg } from './told-leg.ts';
import type { GapSpan, Span } from '../records/incomplete.ts';
import type { CallRecord, CustomMetadata } from '../records/call-record.ts';
import type { Direction, StreamEncoding } from '../streams.ts';
import { insertKeys, partyKey, replaceAgentKey } from './call-keys.ts';
import type { CallContact } from '../../protocol/contact.ts';
import type { CallAgent } from '../records/call-agent.ts';
import type { ShortGaps } from '../records/gap.ts';
import { utteranceIdOf, type Result } from '../records/timeline.ts';
import { doubtfulOf } from '../../language/text/doubt.ts';

export type CallRow = Selectable<CallsTable>;
export type LegRow = Selectable<LegsTable>;
type Tx = Transaction<Database>;

export async function insertCall(tx: Tx, record: CallRecord, node: string): Promise<void> {
  await tx
    .insertInto('calls')
    .values({
      id: record.id,
      node,
      carrier: record.carrier,
      carrier_call_id: record.carrierCallId,
      state: 'live',
      direction: record.direction ?? null,
      from_number: record.from ?? null,
      to_number: record.to ?? null,
      started_at: record.startedAt,
      zero_at: null,
      hung_up_at: null,
      ended_at: null,
      deadline: null,
      end_reason: null,
      continues: record.continues,
      custom_metadata: JSON.stringify(record.metadata),
      overrides: JSON.stringify(record.overrides),
      warnings: '[]',
      counts: '{}',
      paused: 0,
      paused_at: null,
      statistics: null,
      incomplete: null,
      summary: null,
      summary_due: 0,
      has_recording: 0,
      recover_tries: 0,
      agent: agentColumn(record.agent),
      language: record.language ?? null,
    })
    .execute();
  await insertPartyKeys(tx, record);
  if (record.agent !== undefined) await replaceAgentKey(tx, record.id, record.agent.id);
}

/** Stores the agent who has the call now. */
export async function keepAgent(tx: Tx, id: string, agent: CallAgent | undefined): Promise<void> {
  await updateCall(tx, id, { agent: agentColumn(agent) });
  await replaceAgentKey(tx, id, agent?.id);
}

function agentColumn(agent: CallAgent | undefined): string | null {
  return agent === undefined ? null : JSON.stringify(agent);
}

export async function insertPartyKeys(
  tx: Tx,
  { id, from = '', to = '' }: Pick<CallRecord, 'id' | 'from' | 'to'>,
): Promise<void> {
  await insertKeys(
    tx,
    id,
    [from, to].flatMap((party) => partyKey(party) ?? []),
  );
}

export async function insertLeg(tx: Tx, callId: string, leg: LegRecord): Promise<void> {
  await tx
    .insertInto('legs')
    .values({
      id: leg.id,
      call_id: callId,
      role: leg.role,
      track: leg.track,
      encoding: leg.encoding,
      sample_rate: leg.sampleRate,
      channels: leg.channels,
      offset_ms: null,
      started_at: leg.startedAt,
      state: 'open',
      session_id: null,
      received: 0,
      acknowledged: 0,
      gaps: 0,
      paused: 0,
      filler: 0,
      reconnects: 0,
      cadence: null,
    })
    .execute();
}

export async function insertStream(
  tx: Tx,
  stream: { id: string; callId: string; carrierStreamId: string; openedAt: number },
): Promise<void> {
  await tx
    .insertInto('streams')
    .values({
      id: stream.id,
      call_id: stream.callId,
      carrier_stream_id: stream.carrierStreamId,
      opened_at: stream.openedAt,
      closed_at: null,
      end_reason: null,
    })
    .execute();
}

export async function updateCall(
  tx: Tx,
  id: string,
  changes: Updateable<CallsTable>,
): Promise<void> {
  await tx.updateTable('calls').set(changes).where('id', '=', id).execute();
}

/** Writes the counters of a leg, which are in memory while the leg is open. */
export async function updateLeg(tx: Tx, leg: ToldLeg): Promise<void> {
  const { received, acknowledged, gaps, paused, filler } = leg.audio.ledger();
  await tx
    .updateTable('legs')
    .set({
      received,
      acknowledged,
      gaps,
      paused,
      filler,
      reconnects: leg.reconnects,
      cadence: JSON.stringify(leg.cadence()),
      session_id: leg.audio.sessionId() ?? null,
      state: leg.isDone ? 'done' : 'open',
    })
    .where('id', '=', leg.record.id)
    .execute();
}

/** Removes the shared leg states of a call that no other node will have to continue. */
export async function forgetLegStates(tx: Tx, callId: string): Promise<void> {
  await tx.deleteFrom('leg_states').where('call_id', '=', callId).execute();
}

export function callRowOf(
  db: Pick<Kysely<Database>, 'selectFrom'>,
  callId: string,
): Promise<CallRow | undefined> {
  return db.selectFrom('calls').selectAll().where('id', '=', callId).executeTakeFirst();
}

export async function legsOf(db: Kysely<Database>, callId: string): Promise<LegRow[]> {
  return db.selectFrom('legs').selectAll().where('call_id', '=', callId).orderBy('id').execute();
}

/** The bytes of the whole recording of a finished leg: the received audio and the silence that we added. */
export function lengthOfRecording({
  received,
  filler,
  paused,
}: Pick<LegRow, 'received' | 'filler' | 'paused'>): number {
  return received + filler - paused;
}

/**
 * Stores the total length of all short gaps of the leg. The total is written each time the leg settles, and it replaces
 * the previous one.
 */
export async function keepShortGaps(
  tx: Tx,
  callId: string,
  leg: ToldLeg,
  short: ShortGaps,
): Promise<void> {
  await tx
    .insertInto('leg_results')
    .values({
      leg_id: leg.record.id,
      session_id: '',
      kind: 'short-gaps',
      key: '',
      call_id: callId,
      role: leg.record.role,
      start_s: 0,
      end_s: 0,
      text: JSON.stringify(short),
    })
    .onConflict((conflict) =>
      conflict
        .columns(['leg_id', 'session_id', 'kind', 'key'])
        .doUpdateSet((eb) => ({ text: eb.ref('excluded.text') })),
    )
    .execute();
}

export async function shortGapsOf(db: Kysely<Database>, callId: string): Promise<ShortGaps> {
  const rows = await db
    .selectFrom('leg_results')
    .select('text')
    .where('call_id', '=', callId)
    .where('kind', '=', 'short-gaps')
    .execute();
  const total = { count: 0, seconds: 0, bytes: 0 };
  for (const { text } of rows) {
    const { count, seconds, bytes } = JSON.parse(text) as ShortGaps;
    total.count += count;
    total.seconds = round3(total.seconds + seconds);
    total.bytes += bytes;
  }
  return total;
}

/** Stores the times of redacted words. The words themselves are not stored anywhere. */
export async function keepHidden(
  tx: Tx,
  callId: string,
  leg: ToldLeg,
  { sessionId, key, channel, start, end, hidden = [] }: Result,
): Promise<void> {
  await tx
    .insertInto('leg_results')
    .values({
      leg_id: leg.record.id,
      session_id: sessionId,
      kind: 'hidden',
      key,
      call_id: callId,
      role: leg.roleOf(channel),
      start_s: start,
      end_s: end,
      text: JSON.stringify(hidden),
    })
    .onConflict((conflict) => conflict.doNothing())
    .execute();
}

const HiddenSpans = z.array(z.object({ start: z.number(), end: z.number() }));

/** The times of redacted words in seconds of the call, unordered. */
export async function hiddenOf(db: Kysely<Database>, callId: string): Promise<Span[]> {
  const rows = await db
    .selectFrom('leg_results')
    .select('text')
    .where('call_id', '=', callId)
    .where('kind', '=', 'hidden')
    .execute();
  return rows.flatMap(({ text }) => HiddenSpans.parse(JSON.parse(text)));
}

/** The call time up to which the words of each leg are stored, by role. */
export async function toldUntilOf(
  db: Kysely<Database>,
  callId: string,
): Promise<Map<string, Map<string, number>>> {
  const rows = await db
    .selectFrom('leg_results')
    .select((eb) => ['leg_id', 'role', eb.fn.max('end_s').as('end_s')])
    .where('call_id', '=', callId)
    .where('kind', '=', 'call.transcript')
    .groupBy(['leg_id', 'role'])
    .execute();
  const legs = new Map<string, Map<string, number>>();
  for (const { leg_id, role, end_s } of rows)
    legs.set(leg_id, (legs.get(leg_id) ?? new Map<string, number>()).set(role, finite(end_s)));
  return legs;
}

type GapRow = GapSpan & { role: string };

/** The gaps that the call has declared, in order of time, including those from earlier runs of the process. */
export async function gapsOf(db: Kysely<Database>, callId: string): Promise<GapRow[]> {
  const rows = await db
    .selectFrom('leg_results')
    .select(['role', 'key', 'start_s', 'end_s'])
    .where('call_id', '=', callId)
    .where('kind', '=', 'call.gap')
    .orderBy('start_s')
    .orderBy('end_s')
    .execute();
  return rows.map(({ role, key, start_s, end_s }) => ({
    role,
    cause: causeOfKey(key),
    start: finite(start_s),
    end: finite(end_s),
  }));
}

/** The missing words of an ended call, according to its row. */
export function incompleteFrom(text: string | null): Incomplete | null {
  return text === null ? null : (Incomplete.safeParse(JSON.parse(text)).data ?? null);
}

function causeOfKey(key: string): GapCause {
  return GapCause.safeParse(key.split(':', 1)[0]).data ?? 'service';
}

/**
 * The stretches in which the call was paused, in seconds of the call. A pause that nobody ended lasts until the
 * call's end.
 */
export async function pausesOf(db: Kysely<Database>, callId: string): Promise<Span[]> {
  const rows = await db
    .selectFrom('events')
    .select('body')
    .where('call_id', '=', callId)
    .where('type', 'in', ['call.paused', 'call.resumed'])
    .orderBy('sequence')
    .execute();
  const spans: Span[] = [];
  for (const { body } of rows) {
    const event = CallEvent.safeParse(JSON.parse(body)).data;
    if (event?.type === 'call.paused') spans.push({ start: event.data.at, end: Infinity });
    const last = spans.at(-1);
    if (event?.type === 'call.resumed' && last !== undefined) last.end = event.data.at;
  }
  return spans;
}

/** The utterances whose sentiment is known. A neutral utterance has a row and no event. */
export async function judgedTurns(db: Kysely<Database>, callId: string): Promise<string[]> {
  const rows = await db
    .selectFrom('leg_results')
    .select(['leg_id', 'session_id', 'key'])
    .where('call_id', '=', callId)
    .where('kind', '=', 'call.sentiment')
    .execute();
  return rows.map((row) => utteranceIdOf(row.leg_id, row.session_id, row.key));
}

/** Every final of the call as a turn, in order of time. */
export async function turnsOf(db: Kysely<Database>, callId: string): Promise<Turn[]> {
  return (await turnsByCall(db, [callId])).get(callId) ?? [];
}

/** The words of turns as they were said, by utterance id. Only turns that are written otherwise have an entry. */
export async function spokenOf(db: Kysely<Database>, callId: string): Promise<Map<string, string>> {
  const rows = await db
    .selectFrom('leg_results')
    .select(['leg_id', 'session_id', 'key', 'spoken'])
    .where('call_id', '=', callId)
    .where('kind', '=', 'call.transcript')
    .where('spoken', 'is not', null)
    .execute();
  return new Map(
    rows.map((row) => [utteranceIdOf(row.leg_id, row.session_id, row.key), row.spoken ?? '']),
  );
}

/** A call's reason and names stand in its first finals: of so many the doubt of the recogniser is read. */
const finalsDoubted = 60;
const WordsWithDoubt = z.object({
  utterance_id: z.string(),
  words: z.array(z.object({ word: z.string(), confidence: z.number() })),
});

/** The words that the recogniser was not sure of, in the first finals of a call, by utterance id. */
export async function doubtfulWordsOf(
  db: Kysely<Database>,
  callId: string,
): Promise<Map<string, string[]>> {
  const rows = await db
    .selectFrom('events')
    .select('body')
    .where('call_id', '=', callId)
    .where('type', '=', 'call.transcript')
    .orderBy('sequence')
    .limit(finalsDoubted)
    .execute();
  return new Map(
    rows.flatMap(({ body }) => {
      const { data } = JSON.parse(body) as { data?: unknown };
      const heard = WordsWithDoubt.safeParse(data).data;
      return heard === undefined ? [] : [[heard.utterance_id, doubtfulOf(heard.words)] as const];
    }),
  );
}

export async function turnsByCall(
  db: Kysely<Database>,
  callIds: readonly string[],
): Promise<Map<string, Turn[]>> {
  if (callIds.length === 0) return new Map();
  const rows = await turnRows(db)
    .where('call_id', 'in', callIds)
    .orderBy('start_s')
    .orderBy('end_s')
    .execute();
  const byCall = Map.groupBy(rows, (row) => row.call_id);
  return new Map([...byCall].map(([id, some]) => [id, some.map(turnOf)]));
}

const turnColumns = ['call_id', 'leg_id', 'session_id', 'key', 'role', 'speaker', 'text', 'start_s', 'end_s'] as const; // prettier-ignore

/** The finals of calls, as `turnOf` takes them. */
export function turnRows(db: Kysely<Database>) {
  return db.selectFrom('leg_results').select(turnColumns).where('kind', '=', 'call.transcript');
}

export function turnOf(
  row: Awaited<ReturnType<ReturnType<typeof turnRows>['execute']>>[number],
): Turn {
  return {
    utterance_id: utteranceIdOf(row.leg_id, row.session_id, row.key),
    role: roleFrom(row.role),
    ...speakerFrom(row),
    text: row.text,
    start: finite(row.start_s),
    end: finite(row.end_s),
  };
}

/**
 * While the call goes on, the speaker comes from the live session. Later it comes from the recording, whose rows name
 * no session, and this is final.
 */
function speakerFrom(row: {
  session_id: string;
  speaker: number | null;
}): Pick<Turn, 'speaker' | 'speaker_provisional'> {
  if (row.speaker === null) return {};
  const isProvisional = row.session_id !== '';
  return { speaker: row.speaker, ...(isProvisional ? { speaker_provisional: true } : {}) };
}

/** Lists shorten the last turn to this many characters. */
const longestPreview = 200;

/** The facts about the words that the row of an ended call keeps for lists: who spoke, and the last turn. */
export function wordsInRow(turns: readonly Turn[]): Pick<CallRow, 'said_by' | 'last_turn'> {
  const last = turns.at(-1);
  const text = last && Array.from(last.text).slice(0, longestPreview).join('');
  return {
    said_by: [...new Set(turns.map(({ role }) => role))].toSorted().join(' '),
    last_turn:
      last === undefined
        ? null
        : JSON.stringify({
            role: last.role,
            speaker: last.speaker,
            text,
            speaker_provisional: last.speaker_provisional,
          }),
  };
}

export function recordFrom(row: CallRow): CallRecord {
  return {
    id: row.id,
    carrier: row.carrier,
    carrierCallId: row.carrier_call_id,
    direction: (row.direction ?? undefined) as Direction | undefined,
    from: row.from_number ?? undefined,
    to: row.to_number ?? undefined,
    startedAt: row.started_at,
    metadata: JSON.parse(row.custom_metadata) as CustomMetadata,
    overrides: JSON.parse(row.overrides) as Record<string, unknown>,
    continues: row.continues,
    ...(row.agent == null ? {} : { agent: JSON.parse(row.agent) as CallAgent }),
    ...(row.contact == null ? {} : { contact: JSON.parse(row.contact) as CallContact }),
    ...(row.language == null ? {} : { language: row.language }),
  };
}

export function legRecordFrom(row: LegRow, channelRoles: readonly [Role, Role]): LegRecord {
  return {
    id: row.id,
    role: roleFrom(row.role),
    channelRoles,
    track: row.track,
    startedAt: row.started_at,
    encoding: row.encoding as StreamEncoding,
    sampleRate: row.sample_rate,
    channels: row.channels === 2 ? 2 : 1,
    languages: languagesFrom(row.languages),
  };
}

/** The languages of a leg in its row. A row that somebody edited must not keep the process from starting. */
export function languagesFrom(text: string | null): string[] {
  if (text === null) return [];
  return z.array(z.string()).safeParse(parseJson(text)).data ?? [];
}

/** The languages of a leg as they are now. A commit that waits must not store later ones. */
export function languagesToKeep(leg: ToldLeg, call: CallRecord) {
  const languages = JSON.stringify(leg.language.all);
  return { callId: call.id, legId: leg.record.id, languages, language: call.language ?? null };
}

/** Stores the languages of a leg that are sure, and that of its call. */
export async function keepLanguages(
  tx: Tx,
  { callId, legId, languages, language }: ReturnType<typeof languagesToKeep>,
): Promise<void> {
  await tx.updateTable('legs').set({ languages }).where('id', '=', legId).execute();
  await updateCall(tx, callId, { language });
}

/** An earlier version stored times that were no finite numbers, as a service sent them. JSON cannot express them. */
export function finite(seconds: number): number {
  return Number.isFinite(seconds) ? seconds : 0;
}

/** An unknown role counts as the customer: a row that somebody edited must not keep the process from starting. */
export function roleFrom(text: string): Role {
  return Role.safeParse(text).data ?? 'customer';
}
