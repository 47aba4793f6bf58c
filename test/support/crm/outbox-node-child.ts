import { writeSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import type { KyselyPlugin, RootOperationNode } from 'kysely';
import { GuardedClient } from '../../../src/lib/guarded-fetch.ts';
import { newId } from '../../../src/lib/ids.ts';
import { OutboxConfig } from '../../../src/outbox/config.ts';
import { enqueueEvent } from '../../../src/outbox/enqueue.ts';
import { startOutbox } from '../../../src/outbox/outbox.ts';
import { openStore, type Store } from '../../../src/store/store.ts';
import { digestOf } from './crm.ts';
import { eventOf, silent } from './outbox.ts';

/*
 * One node. It stores and delivers events, and prints what it issued and what was acknowledged. With KILL=<point>:<n>
 * it kills itself with SIGKILL when it reaches that point for the nth time. The points surround every statement, commit
 * and request; they are added from outside, and the program knows none of them. With FAIL=<point>:<n> that statement,
 * commit or request fails once, before or after it was done.
 */
const env = process.env;
const say = (line: string): void => void writeSync(1, `${line}\n`);
const [killPoint, killAt] = (env['KILL'] ?? '').split(':');
const [failPoint, failAt] = (env['FAIL'] ?? '').split(':');
let passes = 0;

// This node's clock differs by minutes from those of the other nodes. Everything in this process reads the time from
// this clock.
const offsetMs = Number(env['CLOCK_OFFSET_MS'] ?? 0);
const machineNow = Date.now.bind(Date);
Date.now = () => machineNow() + offsetMs;

function pass(point: string): void {
  if (point === killPoint && ++passes >= Number(killAt)) process.kill(process.pid, 'SIGKILL');
  if (point === failPoint && ++passes === Number(failAt)) throw new Error('injected');
}

function labelOf(node: RootOperationNode): string {
  const text = JSON.stringify(node);
  const has = (part: string): boolean => text.includes(part);
  switch (node.kind) {
    case 'InsertQueryNode':
      return has('"event_calls"') ? 'sequence' : has('"events"') ? 'event' : 'endpoint';
    case 'SelectQueryNode':
      return has('"wakes"') ? 'wakes' : has('"events.body"') || has('"body"') ? 'heads' : 'look';
    case 'UpdateQueryNode':
      return has('"endpoints"')
        ? 'endpoints'
        : has('"next_attempt_at"')
          ? 'give-back'
          : has('"deliveries"')
            ? 'park'
            : 'claims';
    case 'RawNode':
      if (has('insert into lanes')) return 'lane';
      if (has('insert into deliveries')) return 'fan-out';
      if (has('with due')) return 'claim';
      if (has('update deliveries set state')) return 'delivered';
      if (has('update deliveries set attempts')) return 'failure';
      return has('update lanes set') ? 'lane-result' : 'other';
    default:
      return 'other';
  }
}

const points: KyselyPlugin = (() => {
  const labels = new WeakMap<object, string>();
  return {
    transformQuery: ({ node, queryId }) => {
      const label = labelOf(node);
      labels.set(queryId, label);
      pass(`before-${label}`);
      return node;
    },
    transformResult: ({ result, queryId }) => {
      pass(`after-${labels.get(queryId) ?? 'other'}`);
      return Promise.resolve(result);
    },
  };
})();

pass('before-open');
const opened = await openStore({
  dataDir: env['DATA'] ?? '',
  ballastBytes: 0,
  lowWaterBytes: 0,
  ...(env['DATABASE_URL'] ? { databaseUrl: env['DATABASE_URL'] } : {}),
});
pass('after-open');
const store: Store = {
  ...opened,
  kind: opened.kind,
  db: opened.db.withPlugin(points),
  acceptsNewCalls: opened.acceptsNewCalls,
  transaction: async (work) => {
    const result = await opened.transaction(async (tx) => {
      const done = await work(tx.withPlugin(points));
      pass('before-commit');
      // Strikes in the middle of a commit.
      if (killPoint === 'in-commit' && ++passes >= Number(killAt))
        setTimeout(() => process.kill(process.pid, 'SIGKILL'), Math.random() * 2);
      return done;
    });
    pass('after-commit');
    return result;
  },
};
const network = new GuardedClient({ trust: 'as-written' });
const outbox = await startOutbox({
  store,
  log: silent,
  config: OutboxConfig.parse({
    webhookUrl: env['CRM'], webhookSecret: env['SECRET'], pollMs: 100, leaseMs: Number(env['LEASE'] ?? 30_000),
  }),
  client: {
    send: async (request) => {
      pass('before-send');
      if (killPoint === 'in-send' && ++passes >= Number(killAt)) setTimeout(() => process.kill(process.pid, 'SIGKILL'), Math.random() * 3);
      const answer = await network.send(request);
      pass('after-send');
      return answer;
    },
  },
}); // prettier-ignore
pass('after-start');
say('open');

// The schedule has waits of hours, which this shortens like an operator's retry.
const hurry = setInterval(() => {
  void opened.db.updateTable('lanes').set({ next_attempt_at: 0 }).where('next_attempt_at', '>', 0).where('claim_id', 'is', null)
    .execute().then(() => outbox.wake(), () => undefined);
}, 150); // prettier-ignore

async function produce(callId: string): Promise<void> {
  for (let event = 0; event < Number(env['EVENTS'] ?? 0); event++) {
    const storing = store.transaction(async (tx) => {
      const made = await enqueueEvent(tx, eventOf(callId));
      // Printed before the commit: this event may arrive although its commit was never acknowledged.
      say(`issued ${made.id} ${made.callId} ${made.sequence} ${digestOf(made.body)}`);
      return made;
    });
    const stored = await storing.catch((error: unknown) => {
      if (failPoint === '') throw error;
      return undefined; // not accepted, and no acknowledgement is printed
    });
    if (stored) say(`ack ${stored.id}`);
    outbox.wake();
    await sleep(Number(env['PAUSE'] ?? 5));
  }
}

await Promise.all(Array.from({ length: Number(env['CALLS'] ?? 0) }, () => produce(newId('call'))));
say('produced');
for (;;) {
  const waiting = await opened.db
    .selectFrom('deliveries')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('state', '=', 'waiting')
    .executeTakeFirstOrThrow();
  if (waiting.count === 0) break;
  await sleep(50);
}
say('drained');
clearInterval(hurry);
await outbox[Symbol.asyncDispose]();
await network[Symbol.asyncDispose]();
await opened[Symbol.asyncDispose]();
