import { afterAll, beforeAll, describe, expect, test, vi } from 'vitest';
import { check, violations } from '../../support/crm/delivery-checker.ts';
import { startCrm, type Crm } from '../../support/crm/crm.ts';
import { secret } from '../../support/crm/outbox.ts';
import { killAtPoints, killPoints, OutboxRun } from '../../support/crm/outbox-run.ts';
import { postgresMissing, startPostgres, type TestPostgres } from '../../support/store/postgres.ts';
import { seeded } from '../../support/store/power-cut.ts';
import { temporaryFolder } from '../../support/store/store.ts';
import { until } from '../../support/process/until.ts';
import { setTimeout as sleep } from 'node:timers/promises';

// Processes are started one after the other: on a busy machine that takes a while.
vi.setConfig({ testTimeout: 240_000 });

/** Refuses now and then, so that failures and retries have their turn. */
async function moody(): Promise<Crm> {
  let requests = 0;
  return startCrm([secret], () => (++requests % 5 === 0 ? 500 : 200));
}

describe('killed and started again', () => {
  test('at a sample of the named points nothing acknowledged is lost, altered or out of order', async () => {
    expect(killPoints.length).toBeGreaterThanOrEqual(30);
    await using folder = await temporaryFolder();
    await using crm = await moody();
    const points = killPoints.filter((_, index) => index % 5 === 0);
    const run = await killAtPoints({ dataDir: folder.path, crm }, points, seeded(7));
    const history = run.history(crm);
    expect(violations(history)).toEqual([]);
    expect(check(history).lost).toEqual([]);
    expect(run.acknowledged.size).toBeGreaterThan(10);
    expect(run.crashes).toBeGreaterThan(points.length / 2);
  });
});

describe.skipIf(postgresMissing !== undefined)('three nodes on one Postgres', () => {
  let postgres: TestPostgres;
  beforeAll(async () => {
    postgres = await startPostgres();
  });
  afterAll(async () => {
    await postgres[Symbol.asyncDispose]();
  });

  test('share the work; one killed, one paused beyond its lease: nothing lost, order kept', async () => {
    const databaseUrl = await postgres.newDatabase();
    await using crm = await startCrm([secret]);
    const folders = [await temporaryFolder(), await temporaryFolder(), await temporaryFolder()];
    const run = new OutboxRun();
    const settings = { CALLS: '4', EVENTS: '15', PAUSE: '60', LEASE: '5000' };
    const nodes = folders.map((folder, node) =>
      run.start(
        { dataDir: folder.path, databaseUrl, crm },
        { ...settings, CLOCK_OFFSET_MS: String((node - 1) * 240_000) },
      ),
    );
    await Promise.all(nodes.map((node) => node.saw('ack')));
    const [killed, paused, well] = nodes as [
      (typeof nodes)[0],
      (typeof nodes)[0],
      (typeof nodes)[0],
    ];
    killed.process.kill('SIGKILL');
    paused.process.kill('SIGSTOP');
    // The pause is the fault: longer than the lease of five seconds.
    await sleep(7_500);
    paused.process.kill('SIGCONT');
    await Promise.all([killed.ended, paused.ended, well.ended]);
    for (const node of nodes) run.note(node);
    run.crashes++; // the pause
    const last = run.start({ dataDir: folders[0]!.path, databaseUrl, crm }, { LEASE: '5000' });
    await last.ended;
    run.note(last);
    await until(() => crm.arrivals.length >= run.acknowledged.size);
    expect(violations(run.history(crm))).toEqual([]);
    for (const folder of folders) await folder[Symbol.asyncDispose]();
  });

  test('killed at a sample of the named points, a node loses nothing either', async () => {
    await using folder = await temporaryFolder();
    await using crm = await moody();
    const points = killPoints.filter((_, index) => index % 7 === 3);
    const databaseUrl = await postgres.newDatabase();
    const run = await killAtPoints({ dataDir: folder.path, databaseUrl, crm }, points, seeded(9));
    expect(violations(run.history(crm))).toEqual([]);
    expect(run.acknowledged.size).toBeGreaterThan(5);
    expect(run.crashes).toBeGreaterThan(points.length / 2);
  });

  test('in the normal case do no work twice', async () => {
    const databaseUrl = await postgres.newDatabase();
    await using crm = await startCrm([secret]);
    const folders = [await temporaryFolder(), await temporaryFolder(), await temporaryFolder()];
    const run = new OutboxRun();
    const nodes = folders.map((folder) =>
      run.start({ dataDir: folder.path, databaseUrl, crm }, { CALLS: '4', EVENTS: '10' }),
    );
    await Promise.all(nodes.map((node) => node.ended));
    for (const node of nodes) run.note(node);
    expect(run.crashes).toBe(0);
    expect(run.acknowledged.size).toBe(120);
    expect(violations(run.history(crm))).toEqual([]);
    expect(check(run.history(crm)).repeated).toBe(0);
    for (const folder of folders) await folder[Symbol.asyncDispose]();
  });
});
