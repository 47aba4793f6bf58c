import { createLog } from '../../../src/lib/log.ts';
import { OutboxConfig } from '../../../src/outbox/config.ts';
import { enqueueEvent } from '../../../src/outbox/enqueue.ts';
import { startOutbox } from '../../../src/outbox/outbox.ts';
import { openStore } from '../../../src/store/store.ts';
import { eventOf } from '../../support/crm/outbox.ts';

/* A node that delivers ended calls and their wrap-ups to a CRM until all are delivered: it is killed and started again by the trial. */

const { DATA = '', CRM = '', PASSWORD = '', CALLS = '0', NUMBERS = '[]' } = process.env;
const numbers = JSON.parse(NUMBERS) as string[];
const calls = Number(CALLS);
const store = await openStore({ dataDir: DATA, ballastBytes: 0, lowWaterBytes: 0 });
const outbox = await startOutbox({
  store,
  log: createLog({ level: 'silent' }),
  config: OutboxConfig.parse({
    pollMs: 100,
    endpoints: [
      { name: 'crm', preset: 'tryton', url: CRM, token: PASSWORD, options: { user: 'admin' } },
    ],
  }),
});
const known = await store.db
  .selectFrom('event_calls')
  .select((eb) => eb.fn.countAll<number>().as('count'))
  .executeTakeFirstOrThrow();
for (let call = known.count; call < calls; call++) {
  const callId = `call_${String(call).padStart(4, '0')}`;
  const from = numbers[call % numbers.length] ?? null;
  const told = [eventOf(callId, 'call.completed'), eventOf(callId, 'call.wrapped')];
  // Both in one commit: a kill between them would leave a call without its wrap-up.
  await store.transaction(async (tx) => {
    for (const event of told) await enqueueEvent(tx, { ...event, call: { ...event.call, from } });
  });
}
outbox.wake();
for (;;) {
  const { count } = await store.db
    .selectFrom('deliveries')
    .select((eb) => eb.fn.countAll<number>().as('count'))
    .where('state', '=', 'delivered')
    .executeTakeFirstOrThrow();
  console.log(`delivered ${count}`);
  if (count >= calls * 2) break;
  await new Promise((resolve) => setTimeout(resolve, 200));
}
console.log('all');
process.exit(0);
