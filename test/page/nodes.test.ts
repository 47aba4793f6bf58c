import { rm } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { fleetOf } from '../support/bridge/fleet.ts';
import { startBrowser } from '../support/browser/browser.ts';
import type { App } from '../support/process/app.ts';
import { postgresMissing, startPostgres } from '../support/store/postgres.ts';

const waitMs = 60_000;

test.skipIf(postgresMissing !== undefined)(
  'the installation shows the nodes of a fleet, and which of them is lost; one alone has no list',
  async () => {
    await using postgres = await startPostgres();
    await using fleet = await fleetOf(2, postgres);
    await using browser = await startBrowser();
    const [lost, left] = fleet.nodes as [App, App];
    const { page, ...opened } = await browser.open(`${left.url}/#/installation`);
    const rows = page.locator('.nodes tbody tr');
    await rows.filter({ hasText: 'this one' }).waitFor({ timeout: waitMs });
    expect(await rows.count()).toBe(2);
    await lost.end('SIGKILL');
    await rm(lost.dataDir, { recursive: true, force: true });
    await rows.filter({ hasText: 'Lost' }).waitFor({ timeout: waitMs });
    expect(await rows.filter({ hasText: 'Here' }).count()).toBe(1);
    await opened.screenshot('nodes');
    expect(await opened.violations()).toEqual([]);
    expect(opened.problems).toEqual([]);
  },
  4 * waitMs,
);
