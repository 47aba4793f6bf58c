import { writeSync } from 'node:fs';
import { openStore } from '../../../src/store/store.ts';

/*
 * Writes rows and prints which of them were acknowledged. `ack N` is printed with one write call after the commit of
 * row N resolved, so a trace of system calls shows it in its place among the syncs.
 *
 *   node store-writer-child.ts <folder> <rows> <at once> [hold]
 */
const [dataDir = '', rows = '0', atOnce = '1', hold] = process.argv.slice(2);
const say = (line: string): void => void writeSync(1, `${line}\n`);

const store = await openStore({
  dataDir,
  ballastBytes: 0,
  lowWaterBytes: 0,
  onFailure: () => say('store failed'),
});
const { next } = await store.db
  .selectFrom('event_calls')
  .select((eb) => eb.fn.coalesce(eb.fn.max('last_sequence'), eb.lit(0)).as('next'))
  .executeTakeFirstOrThrow();
let row = next;
const last = row + Number(rows);
say('open');

/** Turns of this thread's event loop while a commit waits. There would be none if a sync blocked the thread. */
let turns = 0;
const clock = setInterval(() => turns++, 5);

async function write(): Promise<void> {
  while (row < last) {
    const number = ++row;
    const body = String(number).repeat(40);
    await store.transaction(async (tx) => {
      await tx
        .insertInto('events')
        .values({
          id: `e${number}`,
          call_id: 'c',
          sequence: number,
          type: 't',
          occurred_at: 0,
          body,
        })
        .execute();
      await tx
        .insertInto('event_calls')
        .values({ call_id: `c${number}`, last_sequence: number, erased_at: null })
        .execute();
    });
    say(`ack ${number}`);
  }
}

const results = await Promise.allSettled(Array.from({ length: Number(atOnce) }, write));
clearInterval(clock);
const refused = results.find((result) => result.status === 'rejected');
if (refused?.status === 'rejected') say(`refused ${String(refused.reason)}`);
say(`turns ${turns}`);
say('done');
if (hold === 'hold') setInterval(() => undefined, 1_000);
else {
  await store[Symbol.asyncDispose]();
  say('closed');
}
