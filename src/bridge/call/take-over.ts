import { bytesPerSecondOf } from '../records/leg-record.ts';
import { within, wait } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import type { LostNode } from '../../nodes/membership.ts';
import {
  legRecordFrom,
  legsOf,
  recordFrom,
  toldUntilOf,
  type CallRow,
  type LegRow,
} from '../events/call-rows.ts';
import { legAfterLoss, type SharedLegState } from '../leg/after-loss.ts';
import { LegLedger } from '../records/ledger.ts';
import { canFetchTail, fetchTail } from '../recordings/tails.ts';
import { bridgeMetrics } from '../metrics.ts';
import type { RecoveredLeg } from '../journal/journal-recovery.ts';
import type { Call } from './call.ts';
import type { Calls } from './calls.ts';
import { leftLeg } from './call-leg.ts';
import type { CallEnvironment } from './environment.ts';
import { lengthOf } from './length.ts';
import { callKey } from '../records/call-record.ts';
import { stateFrom, triesLimit } from './call-recovery.ts';

/**
 * Number of calls that this node takes per round. Other nodes look at the same moment and take some of the rest; the
 * next round takes what remains.
 */
const callsPerRound = 64;
const callsAtOnce = 8;
/**
 * Limit of the wait for words that the lost node's session has heard. A stream that reconnects to the call is held
 * until this wait ends.
 */
const lastWordsMs = 6_000;
const askAgainMs = 250;
/**
 * Limit of the wait for the object store. Audio that it does not return in time becomes a gap. A call that is over
 * postpones its end this long; a call to which a stream comes back waits less.
 */
const storeAwayMs = 600_000;
/** An unrecorded stretch that is shorter than this is not reported. */
const leastUnrecordedS = 0.1;

type TakeOver = {
  calls: Calls;
  lost: readonly LostNode[];
  /** Milliseconds by which our clock is ahead of the database's. */
  aheadMs: number;
  log: Logger;
  /** True if the object store did not return its data in this round. */
  isStoreAway?: boolean;
};

/**
 * Continues unfinished calls of lost nodes here. If several nodes try to take one call, the fence number lets only one
 * succeed.
 */
export async function takeOverCalls(work: TakeOver): Promise<number> {
  const { calls, lost } = work;
  const { store } = calls.environment;
  const rows = await store.db
    .selectFrom('calls')
    .select(['id', 'carrier', 'carrier_call_id', 'node', 'fence', 'state'])
    .where(
      'node',
      'in',
      lost.map(({ node }) => node),
    )
    .where((where) => where.or([where('state', '<>', 'ended'), where('summary_due', '=', 1)]))
    .where('recover_tries', '<', triesLimit)
    .orderBy('id')
    .limit(callsPerRound)
    .execute();
  let taken = 0;
  const waiting = rows.values();
  const takeNext = async (): Promise<void> => {
    for (const row of waiting) {
      const from = lost.find(({ node }) => node === row.node);
      const key = callKey(row.carrier, row.carrier_call_id);
      if (from !== undefined && (await calls.inOrder(key, () => takeOne(work, row, from)))) taken++;
    }
  };
  await Promise.all(Array.from({ length: callsAtOnce }, takeNext));
  return taken;
}

async function takeOne(
  work: TakeOver,
  { id, fence, state }: Pick<CallRow, 'id' | 'fence' | 'state'>,
  from: LostNode,
): Promise<boolean> {
  const { calls, log } = work;
  const { store, node } = calls.environment;
  if (state !== 'live' && from.silentMs < storeAwayMs) {
    // One object is requested first, for the whole round. If the object store hangs, only this request waits for it and
    // not every call.
    work.isStoreAway ||= !(await canFetch(calls.environment, id));
    if (work.isStoreAway) {
      if (!calls.waitingForObjects.has(id))
        log.warn(
          { callId: id, node: from.node, waitsForMs: storeAwayMs - from.silentMs },
          'the object store did not answer; an ended call of a lost node waits for its audio there',
        );
      calls.waitingForObjects.add(id);
      return false;
    }
  }
  calls.waitingForObjects.delete(id);
  const row = await store.db
    .updateTable('calls')
    .set((eb) => ({ node, fence: fence + 1, recover_tries: eb('recover_tries', '+', 1) }))
    .where('id', '=', id)
    .where('node', '=', from.node)
    .where('fence', '=', fence)
    .where((each) =>
      each.exists(
        each
          .selectFrom('nodes')
          .select('nodes.node')
          .where('nodes.node', '=', from.node)
          .where((given) =>
            given.or([
              given('nodes.lost_at', 'is not', null),
              given('nodes.left_at', 'is not', null),
            ]),
          ),
      ),
    )
    .returningAll()
    .executeTakeFirst();
  if (row === undefined) return false;
  try {
    const call = await goOnWith(work, row, from);
    await store.db
      .updateTable('calls')
      .set({ recover_tries: 0 })
      .where('id', '=', id)
      .where('fence', '=', row.fence)
      .execute();
    bridgeMetrics.takenOver.inc();
    if (from.hasLeft)
      log.info({ callId: id, node: from.node }, 'a call of a node that stops goes on here');
    else log.warn({ callId: id, node: from.node }, 'a call of a lost node goes on here');
    call.goOn();
    return true;
  } catch (error) {
    log.error({ err: error, callId: id }, 'a call of a lost node could not be taken over');
    // The call stays for the next node that looks for lost calls. It is tried as often as after a start.
    await store.db
      .updateTable('calls')
      .set({ node: from.node })
      .where('id', '=', id)
      .where('node', '=', node)
      .where('fence', '=', row.fence)
      .execute();
    return false;
  }
}

/** Returns whether the object store can return its data of the call's legs. */
async function canFetch({ store, objects }: CallEnvironment, callId: string): Promise<boolean> {
  if (objects === undefined) return true;
  const legs = await legsOf(store.db, callId);
  const answers = await Promise.all(legs.map(({ id }) => canFetchTail(objects, id)));
  return answers.every(Boolean);
}

async function goOnWith(work: TakeOver, row: CallRow, from: LostNode): Promise<Call> {
  const { calls, aheadMs } = work;
  const env = calls.environment;
  const legs = await legsOf(env.store.db, row.id);
  const open = row.state === 'ended' ? [] : legs.filter(({ state }) => state === 'open');
  // Every leg is listed, also legs that continue: their earlier recording may be missing here, because the object store
  // did not return it in time.
  for (const leg of legs) env.lostRecordings?.lacks(leg.id, from.node);
  const found = await findLegs(env, row.id, open);
  // Times in the row are by the lost node's clock, which differs from ours.
  const lostAtMs = from.seenAt + from.aheadMs;
  const skewMs = aheadMs - from.aheadMs;
  const going = open.filter(({ id }) => row.state === 'live' || found.recovered.has(id));
  const call = calls.newCall(
    recordFrom(row),
    stateFrom(row, new Set(going.map(({ id }) => id)), lostAtMs),
    row.fence,
  );
  call.restore({
    pausedBy: row.paused,
    pausedAt: row.paused_at ?? 0,
    zeroAgoMs:
      row.zero_at === null ? undefined : Math.max(0, env.clock.now() - skewMs - row.zero_at),
  });
  if (row.state !== 'ended') await call.events.assistance.restore(env.store.db);
  try {
    call.events.knowLength(row.state === 'live' ? undefined : lengthOf(row, legs));
    openLegs(env, call, row, going, found, {
      // The node received audio at least until its last sign of life, and perhaps more until now.
      heardToMs: row.state === 'live' ? lostAtMs : (row.hung_up_at ?? lostAtMs),
      mayHaveHeardToMs:
        row.state === 'live' && !from.hasLeft ? env.clock.now() - skewMs : undefined,
    });
    tellLoss(call, row, from, found.unrecordedS);
    calls.adopt(call);
  } catch (error) {
    await call.abandon(); // a half-restored call must not write beside the node that takes it next
    throw error;
  }
  return call;
}

type FoundLegs = {
  recovered: Map<string, RecoveredLeg>;
  /** Legs whose last session was lost together with the node. Nobody knows which words the session still held. */
  silent: Set<string>;
  /** The call time up to which each leg has words, by role. */
  told: Map<string, Map<string, number>>;
  unrecordedS: number;
};

/** Restores the open legs from their shared states, their sessions and the object store. */
async function findLegs(
  env: CallEnvironment,
  callId: string,
  open: readonly LegRow[],
): Promise<FoundLegs> {
  const states = await sharedStates(env, callId);
  const told = await toldUntilOf(env.store.db, callId);
  const recovered = new Map<string, RecoveredLeg>();
  const silent = new Set<string>();
  let unrecordedS = 0;
  await Promise.all(
    open.map(async (leg) => {
      const state = states.get(leg.id);
      if (state === undefined) return;
      const heard = await heardBySession(env, leg, state);
      if (heard === 'lost') silent.add(leg.id);
      const rate = bytesPerSecondOf(legRecordFrom(leg, env.config.stereoRoles));
      const taken = await takeIn(env, state, heard === 'lost' ? undefined : heard, rate);
      recovered.set(leg.id, taken.leg);
      unrecordedS = Math.max(unrecordedS, taken.unrecordedBytes / rate);
    }),
  );
  return { recovered, silent, told, unrecordedS };
}

function openLegs(
  env: CallEnvironment,
  call: Call,
  row: CallRow,
  going: readonly LegRow[],
  { recovered, silent, told }: FoundLegs,
  { heardToMs, mayHaveHeardToMs }: { heardToMs: number; mayHaveHeardToMs: number | undefined },
): void {
  for (const record of going) {
    const about = legRecordFrom(record, env.config.stereoRoles);
    const untilS = told.get(record.id);
    const leg = call.openLeg(
      about,
      leftLeg(about, { recovered: recovered.get(record.id), offsetMs: record.offset_ms, untilS }),
    );
    leg.heardUntilS = Math.max(0, ...(untilS?.values() ?? []));
    if (silent.has(record.id)) call.holes.unsaid(leg);
    if (row.zero_at === null) continue;
    call.holes.lostWithNode(leg, (heardToMs - row.zero_at) / 1_000);
    if (mayHaveHeardToMs !== undefined) leg.unknownToS = (mayHaveHeardToMs - row.zero_at) / 1_000;
  }
}

function tellLoss(call: Call, row: CallRow, { hasLeft }: LostNode, unrecordedS: number): void {
  if (row.state !== 'ended')
    call.events.warn(
      hasLeft ? 'NODE_LEFT' : 'NODE_LOST',
      hasLeft
        ? 'the node that carried the call was stopped: it goes on at another; what it had not sent on yet is a gap'
        : 'the node that carried the call is lost: it goes on at another; what was only on the lost disk is a gap',
      true,
    );
  if (unrecordedS >= leastUnrecordedS)
    call.events.warn(
      'RECORDING_LACKS',
      `up to ${unrecordedS.toFixed(1)} s of a recording were only on the disk of the node that carried the call: they were heard, and the recording is silent there`,
      true,
    );
}

async function sharedStates(
  { store }: CallEnvironment,
  callId: string,
): Promise<Map<string, SharedLegState>> {
  const rows = await store.db
    .selectFrom('leg_states')
    .select(['leg_id', 'state'])
    .where('call_id', '=', callId)
    .execute();
  return new Map(rows.map(({ leg_id, state }) => [leg_id, JSON.parse(state) as SharedLegState]));
}

async function takeIn(
  env: CallEnvironment,
  state: SharedLegState,
  heard: number | undefined,
  rate: number,
): Promise<{ leg: RecoveredLeg; unrecordedBytes: number }> {
  const { journal, objects, recording } = env;
  const { legId, silence } = state;
  const file = journal.newFile(legId, silence, recording);
  const from = recording ? 0 : new LegLedger(state.ledger).settled;
  const kept = objects === undefined ? [] : await fetchTail(objects, legId, file, from, env.clock);
  await file.release(); // the leg opens the file again
  const { snapshot, gaps } = legAfterLoss({ ...state, recording }, heard, rate, kept);
  const leg = journal.takeIn(
    snapshot,
    gaps.map((gap) => ({ ...gap, cause: 'node' })),
    file,
  );
  // Audio outside every gap was recognised. If it is not here either, only the recording lacks it.
  const { end, counts } = snapshot.ledger;
  const here = kept.reduce((bytes, range) => bytes + range.end - range.start, 0);
  const unrecordedBytes = recording ? Math.max(0, end - here - counts.gaps) : 0;
  return { leg, unrecordedBytes };
}

/**
 * Returns how many bytes the leg's last session has heard. The session is told to stop, and its record then gives the
 * number. Returns undefined if there is no session or it does not answer in time; its words are then read later, with
 * the leg. If the session ran on the lost node, both may be lost.
 */
async function heardBySession(
  { speech, clock }: CallEnvironment,
  leg: LegRow,
  { current }: SharedLegState,
): Promise<number | 'lost' | undefined> {
  if (current === undefined) return undefined;
  const stop = new AbortController();
  const rate = bytesPerSecondOf(legRecordFrom(leg, ['customer', 'agent']));
  let heard: number | 'lost' | undefined;
  const ask = async (): Promise<void> => {
    await speech.endSession(current, stop.signal);
    while (!stop.signal.aborted) {
      const found = await speech.record(current.id, stop.signal, current.service);
      if (found.outcome === 'unknown') {
        heard = 'lost';
        return;
      }
      if (found.outcome === 'found' && ['done', 'error'].includes(found.record.status)) {
        const durationS = found.record.result?.metadata?.audio_duration;
        if (durationS == null) heard = found.record.status === 'error' ? 'lost' : undefined;
        else heard = Math.round(durationS * rate);
        return;
      }
      await wait(clock, askAgainMs, stop.signal);
    }
  };
  await within(
    clock,
    lastWordsMs,
    ask().catch(() => undefined),
  );
  stop.abort();
  return heard;
}
