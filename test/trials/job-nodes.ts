import { jobsOverNodes } from './jobs/job-nodes.ts';
import { postgresMissing, startPostgres } from '../support/store/postgres.ts';

/**
 * JOB_COUNT small jobs on one node, and on three of which one is killed midway: none is lost, none is done twice. The
 * nodes share this machine's cores, so more of them are faster only where one leaves cores idle.
 */
if (postgresMissing) throw new Error(postgresMissing);
const jobs = Number(process.env['JOB_COUNT'] ?? 1_000);
await using postgres = await startPostgres();
let isBroken = false;
for (const { nodes, isOneKilled } of [
  { nodes: 1, isOneKilled: false },
  { nodes: 3, isOneKilled: false },
  { nodes: 3, isOneKilled: true },
]) {
  const databaseUrl = await postgres.newDatabase();
  const { seconds, doneBy, wrong } = await jobsOverNodes({ databaseUrl, jobs, nodes, isOneKilled });
  for (const line of wrong) console.log(line);
  isBroken ||= wrong.length > 0;
  console.log(
    `${nodes} node${nodes === 1 ? '' : 's'}${isOneKilled ? ', one killed' : ''}: ${jobs} jobs in ${seconds.toFixed(1)} s ` +
      `(${(jobs / seconds).toFixed(1)} a second), by node ${doneBy.join(' + ')}, wrong ${wrong.length}`,
  );
}
process.exitCode = isBroken ? 1 : 0;
