import { Router, type Response } from 'express';
import type { Clock } from '../../lib/clock.ts';
import { every, type Loop } from '../../lib/every.ts';
import { TimeSlice } from '../../lib/time-slice.ts';
import { agentKey, agentsAllowed } from '../../port/principal.ts';
import { Problem } from '../../port/problem.ts';
import type { BoardMessage } from '../../protocol/board-messages.ts';
import type { CallEvent } from '../../protocol/events.ts';
import type { Store } from '../../store/store.ts';
import type { ListeningPlaybooks } from '../api/assist-api.ts';
import type { Calls } from '../call/calls.ts';
import type { FeedMessage, LiveFeed } from '../live-feed.ts';
import { BoardCall, typesOnBoard } from './board-call.ts';
import { boardFacts, runningCalls } from './board-rows.ts';

/** A board shows at most so many calls. */
export const maxCallsOnBoard = 2_000;
export const maxBoardWatchers = 200;
/** A watcher that does not read this many bytes is cut off and comes back. */
export const maxBoardUnreadBytes = 4_000_000;
/** All changes of one call within this time are told once. */
const gatherMs = 250;
const heartbeatMs = 15_000;
/** After an empty or failed reading, and after another node's feed was cut, all calls are read again after this time. */
const againMs = 1_000;
const readAtOnce = 50;
/** A call whose events keep coming while its rows are read is taken as it was read last. */
const maxReadings = 3;
const sliceMs = 8;

type BoardOptions = {
  store: Store;
  calls: Pick<Calls, 'get'>;
  feed: LiveFeed;
  playbooks: Pick<ListeningPlaybooks, 'current'>;
  teamsOf: (agent: string) => readonly string[];
  clock: Clock;
};

type BoardWatch = {
  response: Response;
  /** The agents whose calls it shows, in the form that is compared. Undefined: all calls. */
  agents: ReadonlySet<string> | undefined;
  shown: Set<string>;
  /** False until it was told of all calls. */
  isWhole: boolean;
};

/**
 * The board: one feed of all running calls for everybody who watches. While somebody does, the cards are kept in
 * memory; they come from the rows and follow the events of all nodes.
 */
export class Board implements Disposable {
  readonly router: Router = Router();
  readonly #options: BoardOptions;
  readonly #watches = new Set<BoardWatch>();
  readonly #calls = new Map<string, BoardCall>();
  /** Calls whose rows must be read, and how often they were read in a row. */
  readonly #unread = new Map<string, number>();
  readonly #changed = new Set<string>();
  #generation = 0;
  #leftOut = 0;
  #isLoaded = false;
  #isBusy = false;
  #stopFeed: (() => void) | undefined;
  #loops: Loop[] = [];
  #cancelReload: (() => void) | undefined;

  constructor(options: BoardOptions) {
    this.#options = options;
    this.router.get('/api/board/live', (_request, response) => {
      this.#serve(response);
    });
  }

  [Symbol.dispose](): void {
    for (const { response } of this.#watches) response.end();
    this.#stop();
  }

  #serve(response: Response): void {
    if (this.#watches.size >= maxBoardWatchers)
      throw new Problem(503, 'too many boards are open at this node');
    response.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    });
    response.write('retry: 1000\n\n');
    const agents = agentsAllowed(response);
    const allowed = agents && new Set(agents.map(agentKey));
    const watch: BoardWatch = { response, agents: allowed, shown: new Set(), isWhole: false };
    this.#watches.add(watch);
    response.on('close', () => {
      this.#watches.delete(watch);
      if (this.#watches.size === 0) this.#stop();
    });
    this.#start();
    if (this.#isLoaded) this.#tell();
  }

  #start(): void {
    if (this.#stopFeed !== undefined) return;
    const { feed, clock } = this.#options;
    this.#stopFeed = feed.watch((message) => this.#take(message));
    this.#loops = [
      every(clock, gatherMs, () => this.#turn()),
      every(clock, heartbeatMs, () => {
        for (const { response } of this.#watches) response.write(': here\n\n');
      }),
    ];
    void this.#load();
  }

  #stop(): void {
    this.#stopFeed?.();
    this.#stopFeed = undefined;
    for (const loop of this.#loops) void loop.stop();
    this.#loops = [];
    this.#cancelReload?.();
    this.#cancelReload = undefined;
    this.#generation++;
    this.#isLoaded = false;
    this.#calls.clear();
    this.#unread.clear();
    this.#changed.clear();
  }

  #take(message: FeedMessage): void {
    switch (message.kind) {
      case 'reset':
        return this.#loadSoon();
      case 'deleted':
        return this.#forget(message.callId);
      case 'call':
        return this.#mark(message.callId);
      case 'partial': {
        const call = this.#calls.get(message.callId);
        if (call?.spoke(this.#options.clock.now()) === true) this.#changed.add(message.callId);
        return;
      }
      case 'event':
        return this.#takeEvent(message.event);
    }
  }

  #takeEvent({ callId, type, body }: { callId: string; type: string; body: string }): void {
    if (type === 'call.ended') return this.#forget(callId);
    if (type === 'call.started' || type === 'call.agent') return this.#mark(callId);
    if (!typesOnBoard.has(type)) return;
    const call = this.#calls.get(callId);
    // Without a card the call is new here, or is being read: then its rows are read after this event.
    if (call === undefined || this.#unread.has(callId)) return this.#mark(callId);
    if (call.take(JSON.parse(body) as CallEvent)) this.#changed.add(callId);
  }

  #mark(callId: string): void {
    this.#unread.set(callId, 0);
  }

  #forget(callId: string): void {
    this.#unread.delete(callId);
    this.#calls.delete(callId);
    this.#changed.add(callId);
  }

  /** Reads everything anew, at most once a second: a node that comes and goes must not keep the database busy. */
  #loadSoon(): void {
    this.#cancelReload ??= this.#options.clock.after(againMs, () => {
      this.#cancelReload = undefined;
      void this.#load();
    });
  }

  async #load(): Promise<void> {
    const generation = ++this.#generation;
    try {
      const { ids, of } = await runningCalls(this.#options.store.db, maxCallsOnBoard);
      if (generation !== this.#generation) return;
      this.#leftOut = of - ids.length;
      const running = new Set(ids);
      for (const id of this.#calls.keys()) if (!running.has(id)) this.#forget(id);
      for (const id of ids) this.#mark(id);
      await this.#readMarked(() => generation === this.#generation);
      if (generation !== this.#generation) return;
      this.#isLoaded = true;
      for (const watch of this.#watches) watch.isWhole = false;
      this.#tell();
    } catch {
      // The database's health check reports that it cannot be read.
      if (generation === this.#generation) this.#loadSoon();
    }
  }

  async #turn(): Promise<void> {
    if (!this.#isLoaded) return;
    try {
      await this.#readMarked(() => this.#isLoaded);
    } catch {
      // The calls stay marked and are read in the next turn.
    }
    this.#tell();
  }

  async #readMarked(isWanted: () => boolean): Promise<void> {
    if (this.#isBusy) return;
    this.#isBusy = true;
    const { store, calls, playbooks } = this.#options;
    const options = { db: store.db, rules: playbooks.current, live: (id: string) => calls.get(id) };
    const slice = new TimeSlice(sliceMs);
    try {
      const marked = [...this.#unread.keys()];
      for (let at = 0; at < marked.length && isWanted(); at += readAtOnce) {
        const ids = marked.slice(at, at + readAtOnce).filter((id) => this.#unread.has(id));
        const readings = new Map(ids.map((id) => [id, (this.#unread.get(id) ?? 0) + 1]));
        for (const [id, times] of readings) this.#unread.set(id, times);
        const read = await boardFacts(options, ids);
        if (!isWanted()) return;
        for (const { facts, isFirm } of read) {
          const { id } = facts.item;
          // It was marked again, or forgotten, while it was read.
          const times = this.#unread.get(id);
          if (times === undefined) continue;
          this.#calls.set(id, new BoardCall(facts));
          this.#changed.add(id);
          if (times === readings.get(id) && (isFirm || times >= maxReadings))
            this.#unread.delete(id);
        }
        // The rest has ended or is erased.
        const found = new Set(read.map(({ facts }) => facts.item.id));
        for (const id of ids) if (!found.has(id)) this.#forget(id);
        await slice.stepped();
      }
    } finally {
      this.#isBusy = false;
    }
  }

  /** Tells every watcher of what changed. Watchers with the same rights get the same text. */
  #tell(): void {
    const changed = [...this.#changed];
    this.#changed.clear();
    const cards = new Map<string, string>();
    const { clock, teamsOf } = this.#options;
    const cardOf = (id: string, call: BoardCall): string => {
      const known = cards.get(id);
      if (known !== undefined) return known;
      const text = JSON.stringify(call.card(teamsOf));
      cards.set(id, text);
      return text;
    };
    const at = new Date(clock.now()).toISOString();
    let shared: string | undefined;
    for (const watch of this.#watches) {
      const isWhole = !watch.isWhole;
      if (!isWhole && changed.length === 0) continue;
      const { agents } = watch;
      if (agents === undefined && !isWhole && shared !== undefined) {
        note(watch, changed, this.#calls);
        this.#write(watch, shared);
        continue;
      }
      const told: string[] = [];
      const gone: string[] = [];
      if (isWhole) watch.shown.clear();
      for (const id of isWhole ? this.#calls.keys() : changed) {
        const call = this.#calls.get(id);
        if (call !== undefined && isAllowed(agents, call)) {
          watch.shown.add(id);
          told.push(cardOf(id, call));
        } else if (watch.shown.delete(id) || (agents === undefined && !isWhole)) gone.push(id);
      }
      if (told.length === 0 && gone.length === 0 && !isWhole) continue;
      watch.isWhole = true;
      const rest = { type: 'board', at, whole: isWhole, gone, left_out: agents === undefined ? this.#leftOut : 0 } satisfies Omit<BoardMessage, 'cards'>; // prettier-ignore
      const text = `event: board\ndata: ${JSON.stringify(rest).slice(0, -1)},"cards":[${told.join(',')}]}\n\n`;
      if (agents === undefined && !isWhole) shared = text;
      this.#write(watch, text);
    }
  }

  #write({ response }: BoardWatch, text: string): void {
    if (response.writableLength > maxBoardUnreadBytes) response.destroy();
    else response.write(text);
  }
}

function isAllowed(agents: ReadonlySet<string> | undefined, { agentId }: BoardCall): boolean {
  if (agents === undefined) return true;
  return agentId !== undefined && agents.has(agentKey(agentId));
}

/** Keeps in mind what a watcher was shown by a text that was made for another. */
function note(
  { shown }: BoardWatch,
  changed: readonly string[],
  calls: ReadonlyMap<string, BoardCall>,
): void {
  for (const id of changed)
    if (calls.has(id)) shown.add(id);
    else shown.delete(id);
}
