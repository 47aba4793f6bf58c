import { Router, type Request, type Response } from 'express';
import type { Kysely } from 'kysely';
import type { Clock } from '../../lib/clock.ts';
import { every, type Loop } from '../../lib/every.ts';
import { firstId, newId } from '../../lib/ids.ts';
import { round3 } from '../../lib/round.ts';
import type { LiveFeedMessage } from '../../protocol/api.ts';
import { typesNamed } from '../../outbox/config.ts';
import { Problem } from '../../port/problem.ts';
import type { Database } from '../../store/schema.ts';
import type { Store } from '../../store/store.ts';
import { callJson, callsJson } from './call-json.ts';
import type { Calls } from '../call/calls.ts';
import { found } from './query.ts';
import type { FeedEvent, FeedMessage, LiveFeed } from '../live-feed.ts';

/** Bytes that may wait unsent for one watcher. A slower one is cut off and comes back with Last-Event-ID. */
export const maxUnsentBytes = 4_000_000;
/** Messages that may wait for one watcher while its past is read from the store; with more it is cut off. */
export const maxMessagesWaiting = 10_000;
export const maxWatchers = 1_000;
const heartbeatMs = 15_000;
const levelsMs = 250;
/** Changes of a call within this time are told once. */
const gatherMs = 100;

type Watch = {
  callId: string | undefined;
  /** Of a listener: the types that it asked for. It gets these events and nothing that only a page can use. */
  types: ReadonlySet<string> | undefined;
  response: Response;
  /** What comes while the past is still being sent waits here, so that the order holds. */
  waiting: string[] | undefined;
  seen: Set<string>;
};

type LiveApiOptions = { store: Store; calls: Calls; feed: LiveFeed; clock: Clock };

/** GET /api/live and /api/calls/{id}/live: server-sent events, resumable. One feed watcher serves them all. */
export class LiveApi implements Disposable {
  readonly router: Router = Router();
  readonly #options: LiveApiOptions;
  readonly #watches = new Set<Watch>();
  readonly #changed = new Set<string>();
  #gathering = false;
  #stopFeed: (() => void) | undefined;
  #loops: Loop[] = [];

  constructor(options: LiveApiOptions) {
    this.#options = options;
    this.router.get('/api/live', (request, response) =>
      this.#serve(request, response, undefined, typesAsked(request)),
    );
    this.router.get('/api/calls/:id/live', async (request, response) => {
      await found(callJson(options.store.db, request.params.id, (id) => options.calls.get(id)));
      await this.#serve(request, response, request.params.id);
    });
  }

  [Symbol.dispose](): void {
    for (const watch of this.#watches) watch.response.end();
    this.#stop();
  }

  async #serve(
    request: Request,
    response: Response,
    callId: string | undefined,
    types?: ReadonlySet<string>,
  ): Promise<void> {
    if (this.#watches.size >= maxWatchers)
      throw new Problem(503, 'too many event streams are open');
    const watch: Watch = { callId, types, response, waiting: [], seen: new Set() };
    response.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    });
    response.write('retry: 1000\n\n');
    this.#start();
    // Entered before the past is read: what happens meanwhile waits behind it and is not missed.
    this.#watches.add(watch);
    response.on('close', () => {
      this.#watches.delete(watch);
      if (this.#watches.size === 0) this.#stop();
    });
    try {
      await this.#sendPast(watch, lastEventId(request));
    } catch {
      // The head is out: closing is the only answer left, and the watcher comes back by itself.
      response.destroy();
      return;
    }
    const waiting = watch.waiting ?? [];
    watch.waiting = undefined;
    watch.seen.clear();
    for (const text of waiting) this.#write(watch, text);
  }

  async #sendPast(watch: Watch, lastId: string | undefined): Promise<void> {
    const { store, calls, feed } = this.#options;
    const { db } = store;
    const now = (text: string): void => void watch.response.write(text);
    if (watch.callId !== undefined) {
      const past = await eventsOfCall(db, watch.callId, lastId);
      if (past.outcome === 'reset') now(messageText({ type: 'reset' }));
      now(callText(await callJson(db, watch.callId, (id) => calls.get(id))));
      for (const event of past.events) this.#writePast(watch, event);
      return;
    }
    if (lastId !== undefined) {
      const missed = feed.since(lastId);
      const past = missed.outcome === 'known' ? missed.events : await eventsAfter(db, lastId);
      if (past === undefined) now(messageText({ type: 'reset' }));
      for (const event of past ?? []) this.#writePast(watch, event);
    }
    if (watch.types !== undefined) {
      // A place to come back to before the first event: ids begin with their time.
      now(`id: ${newId('evt')}\n${messageText({ type: 'listening' })}`);
      return;
    }
    const rows = await db
      .selectFrom('calls')
      .selectAll()
      .where('state', '<>', 'ended')
      .orderBy('id')
      .limit(2_000)
      .execute();
    for (const call of await callsJson({ db, rows, live: (id) => calls.get(id) }))
      now(callText(call));
  }

  #writePast(watch: Watch, event: FeedEvent): void {
    if (watch.seen.has(event.id) || watch.types?.has(event.type) === false) return;
    watch.seen.add(event.id);
    watch.response.write(eventText(event));
  }

  #start(): void {
    if (this.#stopFeed !== undefined) return;
    this.#stopFeed = this.#options.feed.watch((message) => this.#take(message));
    const { clock } = this.#options;
    this.#loops = [
      every(clock, heartbeatMs, () => this.#everyone(': here\n\n')),
      every(clock, levelsMs, () => this.#sendLevels()),
    ];
  }

  #stop(): void {
    this.#stopFeed?.();
    this.#stopFeed = undefined;
    for (const loop of this.#loops) void loop.stop();
    this.#loops = [];
  }

  #take(message: FeedMessage): void {
    switch (message.kind) {
      case 'event':
        return this.#tell(message.event.callId, eventText(message.event), message.event);
      case 'partial':
        return this.#tell(message.callId, messageText(message.message));
      case 'deleted':
        return this.#tell(
          message.callId,
          messageText({ type: 'call-deleted', call_id: message.callId }),
        );
      case 'reset':
        for (const watch of this.#pages())
          if (watch.callId === undefined) this.#write(watch, messageText({ type: 'reset' }));
        return;
      case 'call':
        this.#changed.add(message.callId);
        if (this.#gathering) return;
        this.#gathering = true;
        this.#options.clock.after(gatherMs, () => void this.#tellChanged());
    }
  }

  async #tellChanged(): Promise<void> {
    this.#gathering = false;
    const ids = [...this.#changed];
    this.#changed.clear();
    const { store, calls } = this.#options;
    for (const id of ids) {
      if (!this.#pages().some((watch) => watch.callId === undefined || watch.callId === id))
        continue;
      // A store that cannot be read now is told of by its own health; the next change comes again.
      const call = await callJson(store.db, id, (one) => calls.get(one)).catch(() => undefined);
      if (call !== undefined) this.#tell(id, callText(call));
    }
  }

  #tell(callId: string, text: string, event?: { id: string; type: string }): void {
    for (const watch of this.#watches) {
      if (watch.callId !== undefined && watch.callId !== callId) continue;
      if (watch.types !== undefined && (event === undefined || !watch.types.has(event.type))) continue; // prettier-ignore
      if (event !== undefined && watch.seen.has(event.id)) continue;
      if (watch.waiting !== undefined) {
        if (event !== undefined) watch.seen.add(event.id);
        // Cut off, a watcher comes back and asks for what it missed; memory without a bound would be everybody's.
        if (watch.waiting.length < maxMessagesWaiting) watch.waiting.push(text);
        else watch.response.destroy();
      } else this.#write(watch, text);
    }
  }

  /** Whoever shows calls, and not only takes events. */
  #pages(): Watch[] {
    return [...this.#watches].filter((watch) => watch.types === undefined);
  }

  #everyone(text: string): void {
    for (const watch of this.#watches) if (watch.waiting === undefined) this.#write(watch, text);
  }

  #write(watch: Watch, text: string): void {
    if (watch.response.writableLength > maxUnsentBytes) watch.response.destroy();
    else watch.response.write(text);
  }

  #sendLevels(): void {
    const levels = this.#options.calls.all
      .filter((call) => call.state === 'live')
      .flatMap((call) =>
        call.legs.map((leg) => ({
          call_id: call.record.id,
          leg_id: leg.record.id,
          level: round3(leg.level),
        })),
      );
    if (levels.length === 0) return;
    for (const watch of this.#pages()) {
      if (watch.waiting !== undefined) continue;
      const own =
        watch.callId === undefined
          ? levels
          : levels.filter((level) => level.call_id === watch.callId);
      if (own.length > 0) this.#write(watch, messageText({ type: 'levels', levels: own }));
    }
  }
}

/** A page that was loaded anew has no header to send: the query says the same. */
function lastEventId(request: Request): string | undefined {
  const header = request.headers['last-event-id'];
  const query: unknown = request.query['last_event_id'];
  const id = typeof header === 'string' ? header : typeof query === 'string' ? query : '';
  return /^[\w-]{1,100}$/.test(id) ? id : undefined;
}

/** Which events a listener wants: types, or presets of them, with commas. Without it the stream is that of a page. */
function typesAsked(request: Request): ReadonlySet<string> | undefined {
  const query: unknown = request.query['events'];
  if (query === undefined) return undefined;
  const chosen = typesNamed(typeof query === 'string' ? query.split(',') : []);
  if ('problem' in chosen) throw new Problem(400, chosen.problem);
  return new Set(chosen);
}

function eventText(event: FeedEvent): string {
  return `id: ${event.id}\nevent: ${event.type}\ndata: ${event.body}\n\n`;
}

function messageText(message: Exclude<LiveFeedMessage, { type: `call.${string}` }>): string {
  return `event: ${message.type}\ndata: ${JSON.stringify(message)}\n\n`;
}

function callText(call: unknown): string {
  return call === undefined
    ? ''
    : `event: call\ndata: ${JSON.stringify({ type: 'call', call })}\n\n`;
}

/** More than this was missed: loading anew is cheaper than catching up. */
export const maxMissedEvents = 5_000;

/** Events commit in another order than they got their ids by at most this much. */
const overlapMs = 2_000;

/** From the rows: the events of one call after the given one; all of them when it is not known. */
async function eventsOfCall(
  db: Kysely<Database>,
  callId: string,
  lastId: string | undefined,
): Promise<{ outcome: 'all' | 'rest' | 'reset'; events: FeedEvent[] }> {
  const last =
    lastId === undefined
      ? undefined
      : await db
          .selectFrom('events')
          .select('sequence')
          .where('id', '=', lastId)
          .where('call_id', '=', callId)
          .executeTakeFirst();
  const rows = await db
    .selectFrom('events')
    .select(['id', 'call_id', 'sequence', 'type', 'body'])
    .where('call_id', '=', callId)
    .where('sequence', '>', last?.sequence ?? 0)
    .orderBy('sequence')
    .execute();
  const outcome = lastId === undefined ? 'all' : last === undefined ? 'reset' : 'rest';
  return { outcome, events: rows.map(feedEvent) };
}

/**
 * From the rows: the events of every call after the given one, by the time in the ids and a little before
 * it, so that none is missed; a watcher knows repetitions by their id. Undefined when there are too many.
 */
async function eventsAfter(db: Kysely<Database>, lastId: string): Promise<FeedEvent[] | undefined> {
  const timeMs = timeOf(lastId);
  if (timeMs === undefined) return undefined;
  const rows = await db
    .selectFrom('events')
    .select(['id', 'call_id', 'sequence', 'type', 'body'])
    .where('id', '>', firstId('evt', Math.max(0, timeMs - overlapMs)))
    .where('id', '<>', lastId)
    .orderBy('id')
    .limit(maxMissedEvents + 1)
    .execute();
  return rows.length > maxMissedEvents ? undefined : rows.map(feedEvent);
}

const timeLength = 'evt_'.length + 10;
const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';

/** The milliseconds that an id of ours begins with. */
function timeOf(id: string): number | undefined {
  if (!/^evt_[0-9A-HJKMNP-TV-Z]{26}$/.test(id)) return undefined;
  let timeMs = 0;
  for (const digit of id.slice('evt_'.length, timeLength))
    timeMs = timeMs * 32 + alphabet.indexOf(digit);
  return timeMs;
}

function feedEvent(row: {
  id: string;
  call_id: string;
  sequence: number;
  type: string;
  body: string;
}): FeedEvent {
  return {
    id: row.id,
    callId: row.call_id,
    sequence: row.sequence,
    type: row.type,
    body: row.body,
  };
}
