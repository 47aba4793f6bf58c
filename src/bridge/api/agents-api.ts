import { Router, type Request, type Response } from 'express';
import type { Clock } from '../../lib/clock.ts';
import { storable } from '../../lib/storable.ts';
import { enqueueEvent, type StoredEvent } from '../../outbox/enqueue.ts';
import { Problem } from '../../port/problem.ts';
import { BindAgent, type EventAgent } from '../../protocol/agents.ts';
import { check } from '../../protocol/validation.ts';
import type { Store } from '../../store/store.ts';
import type { Calls } from '../call/calls.ts';
import { lengthOf } from '../call/length.ts';
import { callRowOf, keepAgent, legsOf, recordFrom } from '../events/call-rows.ts';
import type { LiveFeed } from '../live-feed.ts';
import { agentFrom, eventAgentOf, isSameAgent } from '../records/call-agent.ts';
import { eventCallOf } from '../records/call-record.ts';
import { callJson } from './call-json.ts';
import { found, invalid } from './query.ts';

type AgentsApiOptions = {
  store: Store;
  calls: Calls;
  feed: LiveFeed;
  outbox: { wake(): void };
  clock: Clock;
};

/** Routes by which a program says who has a call: a running one, or one that is over. */
export function agentsApi(options: AgentsApiOptions): Router {
  const { store, calls } = options;
  const router = Router();

  router.put('/api/calls/:id/agent', async (request, response) => {
    const parsed = check(BindAgent, request.body);
    if (!parsed.ok) throw invalid(parsed.validationErrors);
    await bind(request, response, eventAgentOf(storable(parsed.value)));
  });

  router.delete('/api/calls/:id/agent', (request, response) => bind(request, response, undefined));

  async function bind(
    request: Request<{ id: string }>,
    response: Response,
    agent: EventAgent | undefined,
  ): Promise<void> {
    const { id } = request.params;
    const call = calls.get(id);
    if (call === undefined) await bindEnded(options, id, agent);
    else if (!(await call.binding.bind(agent, 'api')))
      throw new Problem(503, 'the agent could not be stored: try again', {
        headers: { 'retry-after': '5' },
      });
    response.json(await found(callJson(store.db, id, (one) => calls.get(one))));
  }

  return router;
}

/** The row of a call that no node runs any more is written here. */
async function bindEnded(
  { store, feed, outbox, clock }: AgentsApiOptions,
  id: string,
  agent: EventAgent | undefined,
): Promise<void> {
  const event = await store.transaction(async (tx): Promise<StoredEvent | undefined> => {
    const row = await callRowOf(tx, id);
    if (row === undefined) throw new Problem(404, 'call not found');
    const record = recordFrom(row);
    const previous = record.agent;
    if (isSameAgent(previous, agent)) return undefined;
    record.agent = agent && { ...agentFrom(agent, 'api'), since: clock.now() };
    await keepAgent(tx, id, record.agent);
    const length = lengthOf(row, await legsOf(tx, id));
    return enqueueEvent(tx, {
      type: 'call.agent',
      callId: id,
      call: eventCallOf(record, length),
      customMetadata: record.metadata,
      occurredAt: clock.now(),
      data: {
        agent: agent ?? null,
        previous: previous === undefined ? null : eventAgentOf(previous),
        by: 'api',
        at: length?.durationS ?? 0,
      },
    });
  });
  if (event === undefined) return;
  outbox.wake();
  feed.publish({ kind: 'event', event });
  feed.publish({ kind: 'call', callId: id });
}
