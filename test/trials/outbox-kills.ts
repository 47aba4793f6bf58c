import { violations } from '../support/crm/delivery-checker.ts';
import { startCrm } from '../support/crm/crm.ts';
import { secret } from '../support/crm/outbox.ts';
import { killAtPoints, killPoints, OutboxRun } from '../support/crm/outbox-run.ts';
import { postgresMissing, startPostgres } from '../support/store/postgres.ts';
import { seeded } from '../support/store/power-cut.ts';
import { temporaryFolder } from '../support/store/store.ts';

/**
 * Kills of a node on both stores: at each named point, then 100 at random moments; and each named
 * statement, commit and request failing once. PARTS=sqlite-named,postgres-random takes some of the six,
 * EVERY=3 a third of the failures.
 */
export async function run(): Promise<string[]> {
  const wanted = process.env['PARTS']?.split(',');
  const lines: string[] = [];
  for (const kind of ['sqlite', 'postgres'] as const) {
    if (kind === 'postgres' && postgresMissing !== undefined) continue;
    for (const [name, part] of [
      ['named', named],
      ['failing', failing],
      ['random', random],
    ] as const) {
      if (wanted !== undefined && !wanted.includes(`${kind}-${name}`)) continue;
      await using postgres = kind === 'postgres' ? await startPostgres() : undefined;
      const databaseUrl = await postgres?.newDatabase();
      lines.push(
        `${kind}, ${name}: ${await part(databaseUrl === undefined ? {} : { databaseUrl })}`,
      );
    }
  }
  return lines;
}

type Database = { databaseUrl?: string };

async function named(database: Database): Promise<string> {
  return atPoints(database, killPoints, 'KILL');
}

async function failing(database: Database): Promise<string> {
  const every = Number(process.env['EVERY'] ?? 1);
  const points = killPoints
    .filter((point) => !/open|^in-/.test(point))
    .filter((_, index) => index % every === 0);
  return atPoints(database, points, 'FAIL');
}

async function atPoints(
  database: Database,
  points: readonly string[],
  what: 'KILL' | 'FAIL',
): Promise<string> {
  await using folder = await temporaryFolder();
  let requests = 0;
  await using crm = await startCrm([secret], () => (++requests % 5 === 0 ? 500 : 200));
  const run = await killAtPoints(
    { dataDir: folder.path, crm, ...database },
    points,
    seeded(11),
    what,
  );
  return verdict(run, violations(run.history(crm)));
}

async function random(database: Database): Promise<string> {
  await using folder = await temporaryFolder();
  await using crm = await startCrm([secret]);
  const run = new OutboxRun();
  const node = { dataDir: folder.path, crm, ...database };
  for (let round = 0; round < 100; round++) {
    const child = run.start(node, { CALLS: '5', EVENTS: '200', LEASE: '2000' });
    await child.saw('ack');
    await new Promise((resolve) => setTimeout(resolve, Math.random() * 300));
    child.process.kill('SIGKILL');
    await child.ended;
    run.note(child);
  }
  const last = run.start(node);
  await last.ended;
  run.note(last);
  return verdict(run, violations(run.history(crm)));
}

function verdict(run: OutboxRun, problems: string[]): string {
  if (problems.length > 0) throw new Error(problems.join('; '));
  return `${run.crashes} kills or failures, ${run.acknowledged.size} events acknowledged, 0 lost, 0 out of order, 0 altered`;
}

if (import.meta.main) for (const line of await run()) console.log(line);
