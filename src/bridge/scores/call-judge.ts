import type { Kysely, Selectable, Transaction } from 'kysely';
import type { Hit } from '../../assist/hits.ts';
import { hitsOf } from '../../assist/hit-rows.ts';
import { isInScope } from '../../assist/rule-set.ts';
import { figureNames, itemsOf, type FigureName, type LoadedScorecard } from '../../assist/scorecard.ts'; // prettier-ignore
import type { Scorecards } from '../../assist/scorecards.ts';
import { isSampled, scoredItems, totalOf, withEdits, type ScoredItem } from '../../assist/scoring.ts'; // prettier-ignore
import { trialHits, understood } from '../../assist/trial.ts';
import type { Clock } from '../../lib/clock.ts';
import { reasonOf } from '../../lib/errors.ts';
import { every, type Loop } from '../../lib/every.ts';
import { firstId } from '../../lib/ids.ts';
import type { Logger } from '../../lib/log.ts';
import { TimeSlice } from '../../lib/time-slice.ts';
import { enqueueEvent, type StoredEvent } from '../../outbox/enqueue.ts';
import { agentKey } from '../../port/principal.ts';
import type {
  CallScore,
  DisputeOrder,
  ScoreReport,
  ScoreReview,
} from '../../protocol/call-scores.ts';
import type { CallEventData } from '../../protocol/events.ts';
import type { Database } from '../../store/schema.ts';
import type { CallScoresTable } from '../../store/score-tables.ts';
import type { Store } from '../../store/store.ts';
import type { ListeningPlaybooks } from '../api/assist-api.ts';
import { scopeOf } from '../api/call-scope.ts';
import { callInputs } from '../events/assist-inputs.ts';
import { lengthOf } from '../call/length.ts';
import { callRowOf, legsOf, recordFrom, type CallRow } from '../events/call-rows.ts';
import type { LiveFeed } from '../live-feed.ts';
import { eventCallOf } from '../records/call-record.ts';
import { agreementOf } from './score-agreement.ts';
import { reportOf } from './score-report.ts';

/** Ended calls are looked for this often. */
const lookMs = 5_000;
const firstLookMs = 3_000;
/** At most this many calls are judged in one round. */
const maxPerRound = 100;
/** After a start, calls that ended within this time are judged if they were not. */
const backMs = 24 * 3_600_000;
/** Calls of other nodes are judged here only where theirs did not do it within this time. */
const othersMs = 300_000;
/** A call may be this old when it ends. */
const longestCallMs = 24 * 3_600_000;
const sliceMs = 10;
/** A call that could not be judged is tried again after this time, at most this many calls of one process. */
const againMs = 600_000;
const mostAgain = 1_000;
/** Changes of one score that are kept. */
const maxChanges = 50;
/** Items, notes and disputes of one score. */
const maxBodyBytes = 500_000;
/** A report reads at most this many scores. */
export const maxScoresReported = 50_000;
/** Scores whose items a report compares with their rules. */
export const maxScoresCompared = 2_000;
/** Bodies that are read at once for it. */
const comparedAtOnce = 100;
const dayMs = 24 * 3_600_000;

type ScoreBody = {
  title: string;
  items: ScoredItem[];
  reviews: { by: string; at: number }[];
  disputes: { by: string; at: number; reason: string; answer: { by: string; at: number; text: string } | null }[]; // prettier-ignore
};
type ScoreRow = Selectable<CallScoresTable>;

type CallJudgeOptions = {
  store: Store;
  scorecards: Pick<Scorecards, 'current' | 'rulesOf' | 'problems'>;
  playbooks: Pick<ListeningPlaybooks, 'teach'>;
  teamsOf: (agent: string) => readonly string[];
  feed: Pick<LiveFeed, 'publish'>;
  wakeOutbox: () => void;
  node: string;
  clock: Clock;
  log: Logger;
};

export type ScoreRefusal = { refused: 'unknown' | 'live' | 'revision' | 'state' | 'answer'; why: string }; // prettier-ignore

/** Judges ended calls by the scorecards, and keeps what reviewers and agents say of the scores. */
export class CallJudge {
  readonly #options: CallJudgeOptions;
  readonly #looks: Loop;
  /** Calls that could not be judged, and when each is tried again. */
  readonly #again = new Map<string, number>();
  #isStopped = false;
  /** All calls that ended before were looked at. */
  #seenMs: number;

  constructor(options: CallJudgeOptions) {
    this.#options = options;
    const { clock, log } = options;
    this.#seenMs = clock.now() - backMs;
    this.#looks = every(clock, lookMs, () => this.#look(), {
      firstMs: firstLookMs,
      failed: (error) => {
        if (!this.#isStopped) log.warn({ err: error }, 'calls could not be scored; tried again');
      },
    });
  }

  /** Waits for nothing: a database that is silent never answers, and the next start goes on with what was not judged. */
  stop(): void {
    this.#isStopped = true;
    void this.#looks.stop();
  }

  async of(callId: string): Promise<CallScore[] | ScoreRefusal> {
    const { db } = this.#options.store;
    if ((await callRowOf(db, callId)) === undefined) return unknownCall;
    const rows = await db
      .selectFrom('call_scores')
      .selectAll()
      .where('call_id', '=', callId)
      .orderBy('scorecard')
      .execute();
    return rows.map(scoreJson);
  }

  /** Judges a call by a scorecard now, whatever its sample. A score that is there stays. */
  async score(callId: string, scorecard: string): Promise<CallScore | ScoreRefusal> {
    const { store, scorecards } = this.#options;
    const row = await callRowOf(store.db, callId);
    if (row === undefined) return unknownCall;
    if (row.state !== 'ended') return { refused: 'live', why: 'the call is not over yet' };
    const card = (await scorecards.current()).find(({ id }) => id === scorecard);
    if (card === undefined)
      return { refused: 'unknown', why: `there is no scorecard ${scorecard}` };
    await this.#judge(row, card);
    const kept = await rowOf(store.db, callId, scorecard);
    return kept === undefined ? unknownCall : scoreJson(kept);
  }

  async review(
    { callId, scorecard, by }: { callId: string; scorecard: string; by: string },
    { revision, items, dispute }: ScoreReview,
  ): Promise<CallScore | ScoreRefusal> {
    return this.#change(
      { callId, scorecard, revision, by: { kind: 'reviewer', name: by } },
      (row, body) => {
        // prettier-ignore
        const edit = withEdits(body.items, items);
        if ('wrong' in edit) return { refused: 'answer', why: edit.wrong };
        const waits = body.disputes.at(-1);
        const isDisputed = row.state === 'disputed' && waits !== undefined;
        if (dispute !== undefined && !isDisputed)
          return { refused: 'state', why: 'no dispute waits for an answer' };
        const at = this.#options.clock.now();
        body.items = edit.items;
        body.reviews = [...body.reviews, { by, at }].slice(-maxChanges);
        if (dispute === undefined || waits === undefined)
          return isDisputed ? 'disputed' : 'reviewed';
        waits.answer = { by, at, text: dispute.text };
        return 'settled';
      },
    );
  }

  async dispute(
    { callId, scorecard, by }: { callId: string; scorecard: string; by: string },
    { revision, reason }: DisputeOrder,
  ): Promise<CallScore | ScoreRefusal> {
    return this.#change(
      { callId, scorecard, revision, by: { kind: 'agent', name: by } },
      (row, body) => {
        // prettier-ignore
        if (row.state === 'disputed') return { refused: 'state', why: 'a dispute waits already' };
        if (body.disputes.length >= maxChanges)
          return { refused: 'state', why: 'it was disputed too often' };
        body.disputes.push({ by, at: this.#options.clock.now(), reason, answer: null });
        return 'disputed';
      },
    );
  }

  async report(
    days: number,
    by: 'agent' | 'team',
    agents: readonly string[] | undefined,
  ): Promise<ScoreReport> {
    const { store, clock, teamsOf } = this.#options;
    const rows = await store.db
      .selectFrom('call_scores')
      .select(['call_id', 'scorecard', 'agent', 'state', 'percent', 'critical_failed'])
      .select(['open_items', 'scored_at'])
      .where('call_id', '>=', firstId('call', clock.now() - days * dayMs))
      .orderBy('call_id', 'desc')
      .limit(maxScoresReported + 1)
      .execute();
    const allowed = agents && new Set(agents.map(agentKey));
    const seen = rows
      .slice(0, maxScoresReported)
      .filter(({ agent }) => allowed === undefined || (agent !== null && allowed.has(agentKey(agent)))); // prettier-ignore
    const agreement = agreementOf(await this.#compared(seen));
    return { days, by, ...reportOf(seen, by, teamsOf), agreement, left_out: rows.length > maxScoresReported }; // prettier-ignore
  }

  /** Changes a score that has this revision. Of two who change it at once, one is refused. */
  async #change(
    { callId, scorecard, revision, by }: ScoreChange,
    change: (row: ScoreRow, body: ScoreBody) => ScoreRow['state'] | ScoreRefusal,
  ): Promise<CallScore | ScoreRefusal> {
    const { db } = this.#options.store;
    const row = await rowOf(db, callId, scorecard);
    if (row === undefined) return { refused: 'unknown', why: 'the call has no such score' };
    const body = JSON.parse(row.body) as ScoreBody;
    const state = change(row, body);
    if (typeof state !== 'string') return state;
    const total = totalOf(body.items);
    const text = JSON.stringify(body);
    if (Buffer.byteLength(text) > maxBodyBytes)
      return { refused: 'answer', why: `the notes together are longer than ${maxBodyBytes} bytes` };
    const changed = await this.#options.store.transaction(async (tx) => {
      const call = await this.#lockedCall(tx, callId);
      if (call === undefined) return undefined;
      const updated = await tx
        .updateTable('call_scores')
        .set({
          state,
          percent: total.percent,
          critical_failed: total.criticalFailed ? 1 : 0,
          open_items: total.open,
          revision: revision + 1,
          body: text,
        })
        .where('call_id', '=', callId)
        .where('scorecard', '=', scorecard)
        .where('revision', '=', revision)
        .returningAll()
        .executeTakeFirst();
      if (updated === undefined) return undefined;
      const score = scoreJson(updated);
      return { score, event: await this.#told(tx, call, score, by) };
    });
    if (changed !== undefined) {
      this.#published(changed.event);
      return changed.score;
    }
    return { refused: 'revision', why: `it is at revision ${row.revision}` };
  }

  async #look(): Promise<void> {
    const { store, scorecards, node, clock } = this.#options;
    const live = (await scorecards.current()).filter(({ status }) => status === 'live');
    if (live.length === 0) return;
    const now = clock.now();
    const { rows, again } = await this.#rowsToJudge(now);
    const ids = [...again, ...rows].map(({ id }) => id);
    const known = await store.db
      .selectFrom('call_scores')
      .select(['call_id', 'scorecard'])
      .where('call_id', 'in', ids.length === 0 ? [''] : ids)
      .execute();
    const done = new Set(known.map(({ call_id, scorecard }) => `${call_id}/${scorecard}`));
    // Calls that wait for another node keep this from going on over them.
    let seenMs = rows.length < maxPerRound ? now - othersMs : (rows.at(-1)?.ended_at ?? 0);
    const slice = new TimeSlice(sliceMs);
    const judge = async (row: CallRow): Promise<void> => {
      await this.#judgeAll(row, live.filter((card) => !done.has(`${row.id}/${card.id}`) && isMeant(card, row))); // prettier-ignore
      await slice.stepped();
    };
    for (const row of again) await judge(row);
    const tried = new Set(again.map(({ id }) => id));
    for (const row of rows) {
      const endedMs = row.ended_at ?? now;
      if (tried.has(row.id) || this.#again.has(row.id)) continue;
      if (row.node !== node && endedMs > now - othersMs) seenMs = Math.min(seenMs, endedMs);
      else await judge(row);
    }
    // A summary that is still to come may lie before the newest call, so a little of the past is looked at again.
    this.#seenMs = Math.max(this.#seenMs, Math.min(seenMs, now - othersMs));
  }

  /** A call that cannot be judged now is tried again later and keeps no other one waiting. */
  async #judgeAll(row: CallRow, cards: readonly LoadedScorecard[]): Promise<void> {
    const { clock, log } = this.#options;
    try {
      for (const card of cards) await this.#judge(row, card);
      this.#again.delete(row.id);
    } catch (error) {
      const isKept = this.#again.has(row.id) || this.#again.size < mostAgain;
      if (isKept) this.#again.set(row.id, clock.now() + againMs);
      log.error({ callId: row.id, reason: reasonOf(error) }, `a call could not be scored; ${isKept ? 'tried again in ten minutes' : 'the next start tries it again'}`); // prettier-ignore
    }
  }

  /** Ended calls to look at: those since the last look, and those that failed and are due. */
  async #rowsToJudge(now: number): Promise<{ rows: CallRow[]; again: CallRow[] }> {
    const ended = this.#options.store.db
      .selectFrom('calls')
      .selectAll()
      .where('state', '=', 'ended')
      .where('summary_due', '=', 0);
    const due = [...this.#again].filter(([, at]) => at <= now).map(([id]) => id);
    const again = due.length === 0 ? [] : await ended.where('id', 'in', due).execute();
    // Erased calls, and those that are past the time in which calls are judged.
    const found = new Set(again.filter(({ ended_at }) => (ended_at ?? now) > now - backMs).map(({ id }) => id)); // prettier-ignore
    for (const id of due) if (!found.has(id)) this.#again.delete(id);
    const rows = await ended
      .where('id', '>=', firstId('call', this.#seenMs - longestCallMs))
      .where('ended_at', '>=', this.#seenMs)
      .orderBy('ended_at')
      .limit(maxPerRound)
      .execute();
    return { rows, again: again.filter(({ id }) => found.has(id)) };
  }

  async #judge(row: CallRow, card: LoadedScorecard): Promise<void> {
    const { store, scorecards, playbooks, clock } = this.#options;
    const set = scorecards.rulesOf(card);
    await playbooks.teach?.(set);
    const slice = new TimeSlice(sliceMs);
    const found: Hit[] = [];
    if (set.rules.length > 0) {
      const inputs = await understood(set, await callInputs(store.db, row.id));
      for (const hits of trialHits(set, scopeOf(recordFrom(row)), inputs)) {
        found.push(...hits);
        await slice.stepped();
      }
    }
    const hits = await hitsOf(store.db, row.id);
    const items = scoredItems(card, { found, hits, figures: figuresIn(row.statistics) });
    const total = totalOf(items);
    const body: ScoreBody = { title: card.title, items, reviews: [], disputes: [] };
    const agent = row.agent === null ? null : (JSON.parse(row.agent) as { id: string }).id;
    const event = await store.transaction(async (tx) => {
      const call = await this.#lockedCall(tx, row.id);
      if (call === undefined) return undefined;
      const kept = await tx
        .insertInto('call_scores')
        .values({
          ...{ call_id: row.id, scorecard: card.id, version: card.version, digest: card.digest },
          ...{ agent, state: 'auto', percent: total.percent, open_items: total.open, revision: 0 },
          critical_failed: total.criticalFailed ? 1 : 0,
          scored_at: clock.now(),
          body: JSON.stringify(body),
        })
        .onConflict((conflict) => conflict.doNothing())
        .returningAll()
        .executeTakeFirst();
      // Another node was first, and told it.
      if (kept === undefined) return undefined;
      return this.#told(tx, call, scoreJson(kept), { kind: 'rule', name: null });
    });
    if (event !== undefined) this.#published(event);
  }

  /** A call that is being erased is waited for, and then has no row. */
  #lockedCall(tx: Transaction<Database>, callId: string): Promise<CallRow | undefined> {
    const call = tx.selectFrom('calls').selectAll().where('id', '=', callId);
    return (this.#options.store.kind === 'postgres' ? call.forUpdate() : call).executeTakeFirst();
  }

  /** The event of a score, in the commit that keeps it: whatever is killed, it is told once. */
  async #told(
    tx: Transaction<Database>,
    call: CallRow,
    score: CallScore,
    by: ScoredBy,
  ): Promise<StoredEvent> {
    const { call_id: callId, reviews: _reviews, disputes: _disputes, ...told } = score;
    const record = recordFrom(call);
    return enqueueEvent(tx, {
      type: 'call.scored',
      callId,
      call: eventCallOf(record, lengthOf(call, await legsOf(tx, callId))),
      customMetadata: record.metadata,
      occurredAt: this.#options.clock.now(),
      data: { ...told, by },
    });
  }

  #published(event: StoredEvent): void {
    const { wakeOutbox, feed } = this.#options;
    wakeOutbox();
    feed.publish({ kind: 'event', event });
  }

  /** The items of the newest scores that a person changed, some at a time. */
  async #compared(scores: readonly { call_id: string; scorecard: string; state: string }[]) {
    const changed = scores.filter(({ state }) => state !== 'auto').slice(0, maxScoresCompared);
    const items: { scorecard: string; item: ScoredItem }[] = [];
    const slice = new TimeSlice(sliceMs);
    for (let at = 0; at < changed.length; at += comparedAtOnce) {
      const part = changed.slice(at, at + comparedAtOnce);
      const wanted = new Set(part.map(({ call_id, scorecard }) => `${call_id}/${scorecard}`));
      const rows = await this.#options.store.db
        .selectFrom('call_scores')
        .select(['call_id', 'scorecard', 'body'])
        .where('call_id', 'in', [...new Set(part.map(({ call_id }) => call_id))])
        .execute();
      for (const { call_id, scorecard, body } of rows) {
        if (!wanted.has(`${call_id}/${scorecard}`)) continue;
        for (const item of (JSON.parse(body) as ScoreBody).items) items.push({ scorecard, item });
        await slice.stepped();
      }
    }
    return items;
  }
}

type ScoredBy = CallEventData<'call.scored'>['by'];
type ScoreChange = { callId: string; scorecard: string; revision: number; by: ScoredBy };

const unknownCall = { refused: 'unknown', why: 'call not found' } as const;

function isMeant(card: LoadedScorecard, row: CallRow): boolean {
  if (row.duration_ms < card.min_duration * 1_000 || !isSampled(card, row.id)) return false;
  return isInScope(card.scope, scopeOf(recordFrom(row)));
}

async function rowOf(
  db: Kysely<Database>,
  callId: string,
  scorecard: string,
): Promise<ScoreRow | undefined> {
  return db
    .selectFrom('call_scores')
    .selectAll()
    .where('call_id', '=', callId)
    .where('scorecard', '=', scorecard)
    .executeTakeFirst();
}

/** Figures that a call with too many missing words has not. */
function figuresIn(statistics: string | null): Map<FigureName, number> {
  const told = (statistics === null ? {} : JSON.parse(statistics)) as Record<string, unknown>;
  const found = figureNames.flatMap((name): [FigureName, number][] => {
    const [group = '', field = ''] = name.split('.');
    const values = told[group] as Record<string, unknown> | null | undefined;
    const value = values?.[field];
    return typeof value === 'number' ? [[name, value]] : [];
  });
  return new Map(found);
}

function scoreJson(row: ScoreRow): CallScore {
  const { title, items, reviews, disputes } = JSON.parse(row.body) as ScoreBody;
  const total = totalOf(items);
  return {
    call_id: row.call_id,
    scorecard: row.scorecard,
    title,
    ...{ version: row.version, digest: row.digest, agent: row.agent, state: row.state },
    ...{ points: total.points, of: total.of, percent: total.percent, open: total.open },
    critical_failed: total.criticalFailed,
    revision: row.revision,
    scored_at: iso(row.scored_at),
    items,
    reviews: reviews.map(({ by, at }) => ({ by, at: iso(at) })),
    disputes: disputes.map(({ by, at, reason, answer }) => ({ by, at: iso(at), reason, answer: answer && { ...answer, at: iso(answer.at) } })), // prettier-ignore
  };
}

function iso(ms: number): string {
  return new Date(ms).toISOString();
}

/** The numbers of a scorecard for lists. */
export function countsOf(card: LoadedScorecard): { items: number; automatic: number } {
  const items = itemsOf(card);
  return { items: items.length, automatic: items.filter(({ auto }) => auto !== undefined).length };
}
