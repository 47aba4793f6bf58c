import { Router, type Request, type Response } from 'express';
import type { Clock } from '../../lib/clock.ts';
import { every, type Loop } from '../../lib/every.ts';
import { newId } from '../../lib/ids.ts';
import { round3 } from '../../lib/round.ts';
import type { LiveFeedMessage } from '../../protocol/api.ts';
import { typesNamed } from '../../outbox/config.ts';
import { isByToken } from '../../port/keys.ts';
import { mayReadScores } from '../../port/principal.ts';
import { agentsAllowed, isOneOf } from '../../port/principal.ts';
import { Problem } from '../../port/problem.ts';
import type { Store } from '../../store/store.ts';
import { callJson, callsJson } from './call-json.ts';
import { eventsAfter, eventsOfCall } from '../events/past-events.ts';
import type { Calls } from '../call/calls.ts';
import { found } from './query.ts';
import type { FeedEvent, FeedMessage, LiveFeed } from '../live-feed.ts';

/**
 * At most this many bytes wait unsent for one watcher. A slower watcher is disconnected and comes back with
 * Last-Event-ID.
 */
export const maxUnsentBytes = 4_000_000;
/**
 * At most this many messages wait for one watcher while its past events are read from the store. A watcher with more
 * is disconnected.
 */
export const maxMessagesWaiting = 10_000;
export const maxWatchers = 1_000;
const maxAgentsKept = 5_000;
const heartbeatMs = 15_000;
const levelsMs = 250;
/** All changes of one call within this time are sent as one message. */
const gatherMs = 100;

type Watch = {
  callId: string | undefined;
  /** The agents whose calls the watcher may see. Undefined: all calls. */
  agents: readonly string[] | undefined;
  /** Messages of calls whose agent is still being looked up, in their order. Bounded by `maxMessagesWaiting`. */
  lookUps: { last: Promise<void>; count: number };
  /**
   * The event types that a listener requested. A listener receives only these events and none of the messages for
   * pages. Undefined if the client is a page.
   */
  types: ReadonlySet<string> | undefined;
  /** Event types that this client does not get, because they tell more than its key or token opens. */
  hidden: ReadonlySet<string>;
  response: Response;
  /** Live messages wait here while stored events are still being sent, so that the client gets everything in order. */
  waiting: string[] | undefined;
  seen: Set<string>;
};

const hiddenFromNobody: ReadonlySet<string> = new Set();
const scoresOfCalls: ReadonlySet<string> = new Set(['call.scored']);
/** They may have links that open more of their call, without a key and for longer, than a token does. */
const hiddenFromTokens: ReadonlySet<string> = new Set([
  ...scoresOfCalls,
  'call.summary',
  'call.completed',
  'call.transcript.revised',
]);

type LiveApiOptions = { store: Store; calls: Calls; feed: LiveFeed; clock: Clock };

/**
 * Serves `GET /api/live` and `/api/calls/{id}/live` as resumable server-sent events. One watcher of the feed serves
 * all clients.
 */
export class LiveApi implements Disposable {
  readonly router: Router = Router();
  readonly #options: LiveApiOptions;
  readonly #watches = new Set<Watch>();
  readonly #changed = new Set<string>();
  /** The agents of calls that were told of lately, for watchers who may see some calls only. */
  readonly #agents = new Map<string, string>();
  #agentsGeneration = 0;
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
    const agents = agentsAllowed(response);
    const lookUps = { last: Promise.resolve(), count: 0 };
    const isWithoutScores = mayReadScores(response) ? hiddenFromNobody : scoresOfCalls;
    const hidden = isByToken(response) ? hiddenFromTokens : isWithoutScores;
    const watch: Watch = {
      callId,
      agents,
      lookUps,
      types,
      hidden,
      response,
      waiting: [],
      seen: new Set(),
    };
    response.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    });
    response.write('retry: 1000\n\n');
    this.#start();
    // The watcher is registered before stored events are read. Live events wait until the stored ones are sent, so none
    // is missed.
    this.#watches.add(watch);
    response.on('close', () => {
      this.#watches.delete(watch);
      if (this.#watches.size === 0) this.#stop();
    });
    try {
      await this.#sendPast(watch, lastEventId(request));
    } catch {
      // The headers are already sent, so the connection can only be closed. The watcher reconnects by itself.
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
    const maySee = async (id: string): Promise<boolean> =>
      watch.agents === undefined || isOneOf(watch.agents, await this.#agentOf(id));
    if (lastId !== undefined) {
      const missed = feed.since(lastId);
      const past = missed.outcome === 'known' ? missed.events : await eventsAfter(db, lastId);
      if (past === undefined) now(messageText({ type: 'reset' }));
      for (const event of past ?? []) if (await maySee(event.callId)) this.#writePast(watch, event);
    }
    if (watch.types !== undefined) {
      // Gives the client an id to resume from before the first event. Ids begin with their time.
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
      if (await maySee(call.id)) now(callText(call));
  }

  #writePast(watch: Watch, event: FeedEvent): void {
    if (watch.seen.has(event.id) || watch.types?.has(event.type) === false) return;
    if (watch.hidden.has(event.type)) return;
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
    this.#forgetAgents();
    for (const loop of this.#loops) void loop.stop();
    this.#loops = [];
  }

  #take(message: FeedMessage): void {
    switch (message.kind) {
      case 'event':
        if (message.event.type === 'call.agent') this.#forgetAgents();
        return this.#tell(message.event.callId, eventText(message.event), message.event);
      case 'partial':
        return this.#tell(message.callId, messageText(message.message));
      case 'deleted':
        return this.#tell(
          message.callId,
          messageText({ type: 'call-deleted', call_id: message.callId }),
        );
      case 'reset':
        this.#forgetAgents();
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
      // If the store cannot be read, the health check reports it. The call is sent again with its next change.
      const call = await callJson(store.db, id, (one) => calls.get(one)).catch(() => undefined);
      if (call !== undefined) this.#tell(id, callText(call));
    }
  }

  #tell(callId: string, text: string, event?: { id: string; type: string }): void {
    for (const watch of this.#watches) {
      if (watch.callId !== undefined && watch.callId !== callId) continue;
      if (watch.types !== undefined && (event === undefined || !watch.types.has(event.type))) continue; // prettier-ignore
      if (event !== undefined && (watch.seen.has(event.id) || watch.hidden.has(event.type))) continue; // prettier-ignore
      if (watch.agents === undefined) this.#give(watch, text, event);
      else this.#giveWhereAllowed(watch, watch.agents, { callId, text, event });
    }
  }

  #give(watch: Watch, text: string, event: { id: string } | undefined): void {
    if (watch.waiting !== undefined) {
      if (event !== undefined) watch.seen.add(event.id);
      // A watcher that is disconnected comes back and asks for the events it missed. An unbounded queue would take
      // memory from everybody.
      if (watch.waiting.length < maxMessagesWaiting) watch.waiting.push(text);
      else watch.response.destroy();
    } else this.#write(watch, text);
  }

  /** Gives a message of a call to somebody who may see some calls only, after the messages before it. */
  #giveWhereAllowed(
    watch: Watch,
    agents: readonly string[],
    { callId, text, event }: { callId: string; text: string; event: { id: string } | undefined },
  ): void {
    if (watch.lookUps.count >= maxMessagesWaiting) {
      watch.response.destroy();
      return;
    }
    watch.lookUps.count++;
    watch.lookUps.last = watch.lookUps.last.then(async () => {
      // If the agent cannot be read, the watcher is cut off and comes back.
      const agent = await this.#agentOf(callId).catch(() => undefined);
      watch.lookUps.count--;
      if (agent === undefined) watch.response.destroy();
      else if (isOneOf(agents, agent)) this.#give(watch, text, event);
    });
  }

  /** The id of the agent who has this call, and no text for nobody. */
  async #agentOf(callId: string): Promise<string> {
    const known = this.#agents.get(callId);
    if (known !== undefined) return known;
    const generation = this.#agentsGeneration;
    const row = await this.#options.store.db
      .selectFrom('calls')
      .select('agent')
      .where('id', '=', callId)
      .executeTakeFirst();
    const agent = row?.agent == null ? '' : (JSON.parse(row.agent) as { id: string }).id;
    // The call may have got another agent while its row was read.
    if (generation !== this.#agentsGeneration) return agent;
    for (const oldest of this.#agents.keys()) {
      if (this.#agents.size < maxAgentsKept) break;
      this.#agents.delete(oldest);
    }
    this.#agents.set(callId, agent);
    return agent;
  }

  #forgetAgents(): void {
    this.#agents.clear();
    this.#agentsGeneration++;
  }

  /** The watchers that are pages. Clients that only requested event types are left out. */
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
      const { agents } = watch;
      const own = levels.filter(
        ({ call_id: id }) =>
          (watch.callId === undefined || watch.callId === id) &&
          (agents === undefined || isOneOf(agents, this.#agents.get(id) ?? '')),
      );
      if (own.length > 0) this.#write(watch, messageText({ type: 'levels', levels: own }));
    }
  }
}

/** A page that was reloaded cannot send the header, so it sends the same id in the query. */
function lastEventId(request: Request): string | undefined {
  const header = request.headers['last-event-id'];
  const query: unknown = request.query['last_event_id'];
  const id = typeof header === 'string' ? header : typeof query === 'string' ? query : '';
  return /^[\w-]{1,100}$/.test(id) ? id : undefined;
}

/**
 * The event types that a listener wants: types or presets, separated by commas. Without them, the client is treated
 * as a page.
 */
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
