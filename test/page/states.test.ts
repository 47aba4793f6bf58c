import { expect, test } from 'vitest';
import { browserOfFile } from '../support/browser/page-tests.ts';
import { startRecordedApi, type Recorded } from '../support/browser/recorded-api.ts';
import {
  callId,
  recordedCall,
  recordedDeliveries,
  recordedEvents,
  recordedInstallation,
} from '../support/browser/recorded-call.ts';

const browser = browserOfFile();

const patient = { timeout: 30_000 };

function recorded(change: Partial<Recorded> = {}): Recorded {
  return {
    calls: [recordedCall()],
    events: { [callId]: recordedEvents() },
    deliveries: recordedDeliveries(),
    installation: recordedInstallation,
    jobs: [],
    ...change,
  };
}

const views = [
  ['calls', '#/calls', '.calls li'],
  ['call', `#/calls/${callId}`, '.conversation .text'],
  ['jobs', '#/jobs', '.intake'],
  ['deliveries', '#/deliveries', '.deliveries tbody tr'],
  ['installation', '#/installation', '.cards .panel'],
] as const;

/** Claims that a page must never make about data that it could not read. */
const claims =
  /No (words|webhook|endpoint|calls|live|jobs|event|deliveries|pending|open|sentiment)/;

test('a server that stops under an open page is told on every view, and what is there stays', async () => {
  const data = recorded();
  const first = await startRecordedApi(data);
  const port = Number(new URL(first.url).port);
  const { page, ...opened } = await browser.open(`${first.url}/#/calls/${callId}`);
  await page.getByText('Oriane Vasquez').first().waitFor();
  await first[Symbol.asyncDispose]();
  const away = page.locator('#away');
  await away.getByText(/No connection to Trunkline since \d\d:\d\d:\d\d, trying again/).waitFor();
  await away.getByText('What you see is from then.').waitFor();
  expect(await page.locator('.conversation .text').count()).toBe(5);
  await opened.screenshot('state-away-with-words');
  expect(await opened.violations()).toEqual([]);
  const since = await away.textContent();
  // Views that are opened now have nothing to show, and claim nothing.
  for (const [name, hash] of [...views, ['call', '#/calls/call_other'] as const]) {
    await page.evaluate(`location.hash = '${hash}'`);
    const told = page.locator('main .page-state[data-state=away]:visible');
    // The list of calls is known from before; everything else has to be read.
    if (name === 'calls') await page.locator('.calls li').waitFor();
    else await told.first().waitFor();
    await opened.screenshot(`state-away-${name}`);
    expect(await page.locator('main').innerText()).not.toMatch(claims);
    expect(await opened.violations()).toEqual([]);
  }
  // The same trouble goes on: its beginning stays.
  expect(await away.textContent()).toBe(since);
  await page.evaluate(`location.hash = '#/calls/${callId}'`);
  await page.locator('main .page-state[data-state=away]:visible').first().waitFor();
  await using second = await startRecordedApi(data, { port });
  expect(second.url).toBe(first.url);
  await page.getByText('Oriane Vasquez').first().waitFor(patient);
  await page.locator('#connection[data-state=live]').waitFor(patient);
  await expect.poll(() => away.isVisible(), patient).toBe(false);
  expect(await page.locator('main .page-state[data-state=away]:visible').count()).toBe(0);
  await page.context().close();
});

test('a list that loads, one that is empty and one that failed look different, and a button reads again', async () => {
  const data = recorded({ calls: [], events: {}, deliveries: [] });
  await using api = await startRecordedApi(data);
  const { page, ...opened } = await browser.open('about:blank');
  const failing = new Set([
    ...['/api/calls?', '/api/live', '/api/deliveries', '/api/installation', '/v2/'],
  ]);
  const held: { pathname: string; go: () => void }[] = [];
  let hold = true;
  await page.route(
    ({ pathname, search }) => [...failing].some((one) => (pathname + search).startsWith(one)),
    async (route) => {
      const { pathname } = new URL(route.request().url());
      if (hold) await new Promise<void>((go) => held.push({ pathname, go }));
      await route.fulfill({ status: 500, json: { message: 'the disk does not answer' } });
    },
  );
  await page.goto(`${api.url}/#/calls`);
  const state = page.locator('main .page-state:visible').first();
  await state.getByText('Loading the calls …').waitFor();
  hold = false;
  for (const { go } of held.splice(0)) go();
  await state.getByText('Could not read the calls: the disk does not answer').waitFor();
  await opened.screenshot('state-error');
  expect(await opened.violations()).toEqual([]);
  for (const [hash, what] of [
    ['#/deliveries', 'deliveries'],
    ['#/installation', 'installation'],
    ['#/jobs', 'jobs'],
  ] as const) {
    await page.evaluate(`location.hash = '${hash}'`);
    await state.getByText(`Could not read the ${what}: the disk does not answer`).waitFor();
    expect(await page.locator('main').innerText()).not.toMatch(claims);
  }
  await page.evaluate(`location.hash = '#/calls'`);
  await state.getByText('Could not read the calls').waitFor();
  // A feed that fails or comes back makes the page read the list by itself. While its answer is awaited nothing does,
  // and what was asked before has failed already.
  hold = true;
  const isFeedHeld = (): boolean => held.some(({ pathname }) => pathname === '/api/live');
  await expect.poll(isFeedHeld, patient).toBe(true);
  for (const one of failing) if (one !== '/api/live') failing.delete(one);
  await state.getByRole('button', { name: 'Try again' }).click();
  await state.getByText('No calls yet.').waitFor();
  await opened.screenshot('state-empty');
  await page.context().close();
});

test('a call whose words or deliveries cannot be read does not say that there are none', async () => {
  await using api = await startRecordedApi(recorded());
  const { page, ...opened } = await browser.open('about:blank');
  const isFailing = ({ pathname }: URL): boolean => /^\/api\/.*(events$|deliveries)/.test(pathname);
  await page.route(isFailing, (route) =>
    route.fulfill({ status: 500, json: { message: 'the disk does not answer' } }),
  );
  await page.goto(`${api.url}/#/calls/${callId}`);
  await page.getByText('Could not read the words: the disk does not answer').waitFor();
  await page.getByText('Could not read the deliveries: the disk does not answer').waitFor();
  await opened.screenshot('state-call-error');
  expect(await page.locator('main').innerText()).not.toMatch(claims);
  expect(await opened.violations()).toEqual([]);
  await page.unroute(isFailing);
  await page.locator('.transcript').getByRole('button', { name: 'Try again' }).click();
  await page.getByText('Oriane Vasquez').first().waitFor();
  await page.context().close();
});

test('a proxy that answers in place of Trunkline is no connection either', async () => {
  await using api = await startRecordedApi(recorded());
  const { page } = await browser.open('about:blank');
  await page.route('**/api/**', (route) =>
    route.fulfill({ status: 502, contentType: 'text/html', body: '<h1>Bad Gateway</h1>' }),
  );
  await page.goto(api.url);
  await page
    .locator('main')
    .getByText(/No connection to Trunkline since/)
    .waitFor();
  await page.unroute('**/api/**');
  await page.locator('.calls li').first().waitFor(patient);
  await page.context().close();
});
