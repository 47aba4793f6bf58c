import { writeSync } from 'node:fs';
import { SaidDirections } from '../../../src/bridge/search/said-directions.ts';
import { SearchBacklog } from '../../../src/bridge/search/search-backlog.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { createLog } from '../../../src/lib/log.ts';
import { openStore } from '../../../src/store/store.ts';
import { WordMeaning } from '../meaning/word-meaning.ts';

/*
 * Puts earlier calls into the search and gives their words directions, as the bridge does, until somebody kills it.
 * Prints a line with the number of texts that have directions, again and again.
 *
 *   node indexing-child.ts <folder> [<database url>]
 */
const [dataDir = '', databaseUrl] = process.argv.slice(2);
const store = await openStore({
  ...{ dataDir, ballastBytes: 0, lowWaterBytes: 0 },
  ...(databaseUrl === undefined ? {} : { databaseUrl }),
});
const log = createLog({ level: 'silent' });
const backlog = new SearchBacklog({ store, clock: systemClock, log });
// The same node as before the kill: otherwise the next one waits for a minute.
const directions = new SaidDirections({ store, meaning: new WordMeaning(), node: 'one', clock: systemClock, log }); // prettier-ignore
for (;;) {
  const [given] = await store.db
    .selectFrom('said_directions')
    .select((eb) => eb.fn.countAll<number | string>().as('given'))
    .execute();
  const isOver = (await backlog.progress()) === undefined && (await directions.progress()) === undefined; // prettier-ignore
  const wanting = await store.db.selectFrom('said_wanting').select('id').limit(1).execute();
  writeSync(1, `${isOver && wanting.length === 0 ? 'over' : 'given'} ${given?.given ?? 0}\n`);
  await new Promise((resolve) => setTimeout(resolve, 20));
}
