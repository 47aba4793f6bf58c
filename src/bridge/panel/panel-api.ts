import { Router, type Response } from 'express';
import type { Kysely } from 'kysely';
import type { Clock } from '../../lib/clock.ts';
import { every, type Loop } from '../../lib/every.ts';
import type { PublicUrl } from '../../port/addresses.ts';
import { Problem } from '../../port/problem.ts';
import {
  PanelTokenRequest,
  type MintedPanelToken,
  type PanelHolder,
  type PanelMessage,
  type PanelTokenList,
} from '../../protocol/panel.ts';
import { check } from '../../protocol/validation.ts';
import type { Database } from '../../store/schema.ts';
import type { Store } from '../../store/store.ts';
import { callItems } from '../api/call-json.ts';
import { invalid } from '../api/query.ts';
import { storable } from '../../lib/storable.ts';
import type { AgentSetting } from '../../protocol/agents.ts';
import type { Calls } from '../call/calls.ts';
import { tagKey } from '../events/call-keys.ts';
import type { FeedMessage, LiveFeed } from '../live-feed.ts';
import { eventAgentOf } from '../records/call-agent.ts';
import { panelGrantOf } from './panel-door.ts';
import { reaches, type PanelGrant } from './panel-grant.ts';
import type { PanelTokens } from './panel-tokens.ts';

type PanelApiOptions = {
  store: Store;
  tokens: PanelTokens;
  calls: Calls;
  feed: LiveFeed;
  agents: readonly AgentSetting[];
  teamsOf: (agent: string) => readonly string[];
  publicUrl: PublicUrl;
  clock: Clock;
};

type PanelWatch = {
  grant: PanelGrant;
  response: Response;
  /** The calls that it was told of. */
  shown: Set<string>;
};

export const maxPanelWatchers = 1_000;
/** A panel that does not read this many bytes is cut off and comes back. */
export const maxPanelUnreadBytes = 200_000;
const heartbeatMs = 15_000;
/** All changes of one call within this time are told once. */
const gatherMs = 100;
/** An agent has no more calls at once than this. */
const maxCallsShown = 20;

/** Routes by which tokens of the panel are made, listed and revoked, and what the panel asks before it shows a call. */
export class PanelApi implements Disposable {
  readonly router: Router = Router();
  readonly #options: PanelApiOptions;
  readonly #watches = new Set<PanelWatch>();
  readonly #changed = new Set<string>();
  #gathering = false;
  #stopFeed: (() => void) | undefined;
  readonly #heartbeat: Loop;

  constructor(options: PanelApiOptions) {
    this.#options = options;
    this.#serveTokens();
    this.router.get('/api/panel/me', (_request, response) => {
      response.json(this.#holderOf(grantShown(response)));
    });
    this.router.get('/api/panel/live', (_request, response) => this.#serve(response));
    this.#heartbeat = every(options.clock, heartbeatMs, () => {
      for (const { response } of this.#watches) response.write(': here\n\n');
    });
  }

  [Symbol.dispose](): void {
    void this.#heartbeat.stop();
    for (const { response } of this.#watches) response.end();
    this.#stopFeed?.();
  }

  #serveTokens(): void {
    const { tokens, publicUrl } = this.#options;
    this.router.post('/api/panel/tokens', async (request, response) => {
      const parsed = check(PanelTokenRequest, request.body);
      if (!parsed.ok) throw invalid(parsed.validationErrors);
      const { scope, agent, call_id: callId, teams, label, life_s: lifeS } = storable(parsed.value);
      const { id, token, expiresAt } = await tokens.mint({ scope, agent, callId, teams, label, lifeS }); // prettier-ignore
      response.status(201).json({
        id,
        token,
        url: `${publicUrl(request)}/panel#t=${token}`,
        expires_at: new Date(expiresAt).toISOString(),
      } satisfies MintedPanelToken);
    });
    this.router.get('/api/panel/tokens', async (_request, response) => {
      response.json({
        items: (await tokens.list()).map((row) => ({
          id: row.id,
          scope: row.scope,
          agent: row.agent,
          call_id: row.call_id,
          teams: row.teams === null ? null : (JSON.parse(row.teams) as string[]),
          label: row.label,
          created_at: new Date(row.created_at).toISOString(),
          expires_at: new Date(row.expires_at).toISOString(),
          revoked_at: row.revoked_at === null ? null : new Date(row.revoked_at).toISOString(),
        })),
      } satisfies PanelTokenList);
    });
    this.router.delete('/api/panel/tokens/:id', async (request, response) => {
      if (!(await tokens.revoke(request.params.id)))
        throw new Problem(404, 'there is no such token');
      response.status(204).end();
    });
  }

  #holderOf({ scope, agent, callId, teams, expiresAt }: PanelGrant): PanelHolder {
    const known = this.#options.agents.find(({ id }) => id === agent);
    return {
      scope,
      agent: agent === undefined ? null : eventAgentOf(known ?? { id: agent }),
      call_id: callId ?? null,
      teams: teams === undefined ? null : [...teams],
      expires_at: new Date(expiresAt).toISOString(),
    };
  }

  /** Tells which calls the holder of the token has, at once and with each change. */
  async #serve(response: Response): Promise<void> {
    const grant = grantShown(response);
    if (this.#watches.size >= maxPanelWatchers)
      throw new Problem(503, 'too many panels are open at this node');
    response.writeHead(200, {
      'content-type': 'text/event-stream; charset=utf-8',
      'cache-control': 'no-store',
      'x-accel-buffering': 'no',
    });
    response.write('retry: 1000\n\n');
    const watch: PanelWatch = { grant, response, shown: new Set() };
    this.#watches.add(watch);
    this.#stopFeed ??= this.#options.feed.watch((message) => this.#take(message));
    response.on('close', () => {
      this.#watches.delete(watch);
      if (this.#watches.size > 0) return;
      this.#stopFeed?.();
      this.#stopFeed = undefined;
    });
    try {
      const ids = await callsWithin(this.#options.store.db, grant);
      for (const id of ids) this.#changed.add(id);
      response.write(textOf({ type: 'calls', call_ids: ids }));
      await this.#tellChanged();
    } catch {
      // The headers are already sent, so the connection can only be closed. The panel comes back by itself.
      response.destroy();
    }
  }

  #take(message: FeedMessage): void {
    if (message.kind === 'partial') return;
    if (message.kind === 'reset') {
      for (const { response } of this.#watches) response.destroy();
      return;
    }
    if (message.kind === 'deleted') {
      for (const watch of this.#watches) this.#forget(watch, message.callId);
      return;
    }
    if (message.kind === 'event' && !changesCall.has(message.event.type)) return;
    this.#changed.add(message.kind === 'event' ? message.event.callId : message.callId);
    if (this.#gathering) return;
    this.#gathering = true;
    this.#options.clock.after(gatherMs, () => void this.#tellChanged());
  }

  async #tellChanged(): Promise<void> {
    this.#gathering = false;
    const ids = [...this.#changed];
    this.#changed.clear();
    if (ids.length === 0) return;
    const { store, calls } = this.#options;
    // If the store cannot be read, the health check reports it. The call is told again with its next change.
    const items = await callItems({ db: store.db, ids, live: (id) => calls.get(id) }).catch(
      () => [],
    );
    for (const call of items) {
      const agent = call.agent?.id;
      for (const watch of this.#watches)
        if (reaches(watch.grant, { id: call.id, agent }, this.#options.teamsOf)) {
          watch.shown.add(call.id);
          this.#write(watch, textOf({ type: 'call', call }));
        } else this.#forget(watch, call.id);
    }
  }

  /** A panel learns nothing of calls that it never had. */
  #forget(watch: PanelWatch, callId: string): void {
    if (watch.shown.delete(callId)) this.#write(watch, textOf({ type: 'gone', call_id: callId }));
  }

  #write({ response }: PanelWatch, text: string): void {
    if (response.writableLength > maxPanelUnreadBytes) response.destroy();
    else response.write(text);
  }
}

const changesCall: ReadonlySet<string> = new Set(['call.started', 'call.agent', 'call.ended']);

function textOf(message: PanelMessage): string {
  return `event: ${message.type}\ndata: ${JSON.stringify(message)}\n\n`;
}

function grantShown(response: Response): PanelGrant {
  const grant = panelGrantOf(response);
  if (grant === undefined)
    throw new Problem(409, 'a key has no panel: ask with a token, as "authorization: Bearer ..."');
  return grant;
}

/** The running calls of an agent, or the call of a token. */
async function callsWithin(db: Kysely<Database>, grant: PanelGrant): Promise<string[]> {
  if (grant.callId !== undefined) return [grant.callId];
  if (grant.agent === undefined) return [];
  const rows = await db
    .selectFrom('call_keys')
    .innerJoin('calls', 'calls.id', 'call_keys.call_id')
    .select('calls.id')
    .where('call_keys.kind', '=', 'agent')
    .where('call_keys.key', '=', tagKey(grant.agent))
    .where('calls.state', '<>', 'ended')
    .orderBy('calls.id', 'desc')
    .limit(maxCallsShown)
    .execute();
  return rows.map(({ id }) => id).toReversed();
}
