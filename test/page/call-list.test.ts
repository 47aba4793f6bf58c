import { afterAll, beforeAll, expect, test } from 'vitest';
import { openStore } from '../../src/store/store.ts';
import { startBrowser, type Browser } from '../support/browser/browser.ts';
import { eventually } from '../support/browser/page-tests.ts';
import { startRecordedApi } from '../support/browser/recorded-api.ts';
import { manyCalls, recordedCall, recordedInstallation } from '../support/browser/recorded-call.ts';
import { startApp, type App } from '../support/process/app.ts';
import { storeCalls, type StoredCall } from '../support/store/many-calls.ts';
import { temporaryFolder } from '../support/store/store.ts';

let browser: Browser;
let app: App;
let stored: StoredCall[];
let closing: AsyncDisposableStack;

beforeAll(async () => {
  closing = new AsyncDisposableStack();
  const folder = closing.use(await temporaryFolder());
  {
    await using store = await openStore({ dataDir: folder.path });
    // A call every ten hours: 2025-01-01 to 2025-03-18.
    stored = await storeCalls(store, 184, { everyMs: 36_000_000 });
  }
  app = closing.use(await startApp({ dataDir: folder.path }));
  browser = closing.use(await startBrowser());
});
afterAll(() => closing.disposeAsync());

async function opened(hash: string, options = {}) {
  const open = await browser.open(`${app.url}/${hash}`, options);
  const rows = open.page.locator('.calls li:visible');
  return { ...open, rows };
}

test('a call is found by its number as people write it, and the address of the list can be kept', async () => {
  const { page, rows, problems, ...open } = await opened('#/calls');
  const one = stored[77];
  if (one === undefined) throw new Error('no call');
  await eventually(() => rows.count()).toBe(50);
  await page.keyboard.press('/');
  const asWritten = `001 (${one.from.slice(2, 5)}) ${one.from.slice(5, 8)}-${one.from.slice(8)}`;
  await page.keyboard.type(asWritten);
  await page.keyboard.press('Enter');
  await eventually(() => rows.count()).toBe(1);
  expect(await rows.first().getAttribute('data-id')).toBe(one.id);
  expect(await page.evaluate('document.activeElement.name')).toBe('search');
  await page.getByText('One call.').waitFor();
  const kept = page.url();
  await page.goBack();
  await eventually(() => rows.count()).toBe(50);
  expect(await page.getByLabel('Search').inputValue()).toBe('');
  expect(problems).toEqual([]);
  const sent = await browser.open(kept);
  await sent.page.locator(`.calls li[data-id=${one.id}]`).waitFor();
  expect(await sent.page.getByLabel('Search').inputValue()).toBe(asWritten);
  await sent.page.context().close();
  await page.getByLabel('Search').fill('refund');
  await page.keyboard.press('Enter');
  await eventually(() => rows.count()).toBe(stored.filter((_, at) => at % 100 === 1).length);
  expect(await rows.locator('.tags').allTextContents()).toEqual(['Refund', 'Refund']);
  // Without Enter: a pause of the hand is enough.
  await page.getByLabel('Search').fill('nobody');
  await page.getByText('No call matches these filters.').waitFor();
  await open.screenshot('calls-none-found');
  expect(await open.violations()).toEqual([]);
  await page.getByRole('link', { name: 'Clear filters' }).click();
  await eventually(() => rows.count()).toBe(50);
  await page.context().close();
});

test('a wide window shows sixteen calls at once, and who comes back from a call finds the place again', async () => {
  const { page, rows } = await opened('#/calls', { width: 1440 });
  await eventually(() => rows.count()).toBe(50);
  const inWindow = () =>
    rows.evaluateAll(
      (all) => all.filter((one) => one.getBoundingClientRect().bottom <= 900).length,
    );
  await eventually(inWindow).toBeGreaterThanOrEqual(16);
  // Almost every call is over: no row says so.
  expect(await page.locator('.calls').getByText('Ended', { exact: true }).count()).toBe(0);
  for (const hash of ['#/calls', '#/calls?sort=oldest']) {
    await page.evaluate(`location.hash = '${hash}'`);
    await eventually(() => rows.count()).toBe(50);
    const far = rows.nth(40).locator('a');
    await far.scrollIntoViewIfNeeded();
    const before = await page.evaluate<number>('scrollY');
    expect(before).toBeGreaterThan(100);
    await far.press('Enter');
    await page.locator('.call-view').waitFor();
    await eventually(() => page.evaluate<number>('scrollY')).toBe(0);
    await page.goBack();
    await eventually(() => page.evaluate<number>('Math.round(scrollY)')).toBe(Math.round(before));
    expect(await rows.count()).toBe(50);
  }
  await page.context().close();
});

test('filters hold together, the order is another, and pages lead on and back', async () => {
  const { page, rows, problems } = await opened('#/calls');
  await page.getByText('Filters', { exact: true }).click();
  await page.getByLabel('Carrier', { exact: true }).fill('telnyx');
  await page.keyboard.press('Enter');
  await page.waitForURL(/carrier=telnyx/);
  await page.getByLabel('Direction', { exact: true }).selectOption('outbound');
  await page.getByLabel('From day').fill('2025-02-01');
  await page.getByLabel('To day').fill('2025-02-28');
  await page.waitForURL(/from_date=2025-02-01&to_date=2025-02-28/);
  const wanted = stored.filter(({ carrier }, at) => {
    const day = new Date(Date.UTC(2025, 0, 1) + at * 36_000_000).toISOString().slice(0, 10);
    return carrier === 'telnyx' && at % 5 === 0 && day >= '2025-02-01' && day <= '2025-02-28';
  });
  const ids = () => rows.evaluateAll((all) => all.map((one) => one.dataset['id']));
  await eventually(ids).toEqual(wanted.map(({ id }) => id).reverse());
  await page.getByRole('link', { name: 'Clear filters' }).click();
  // The heading of a column sorts by it, and the field of the order says the same.
  const order = page.getByLabel('Order', { exact: true });
  const byAge = page.getByRole('link', { name: 'Started, newest first, show the oldest first' });
  // The filtered list has a heading of the same name, which is there for some ms after the click that clears it.
  await byAge.and(page.locator('[href="#/calls?sort=oldest"]')).click();
  await eventually(ids).toEqual(stored.slice(0, 50).map(({ id }) => id));
  expect(await order.inputValue()).toBe('oldest');
  await page.getByRole('link', { name: 'Length, show the longest first' }).click();
  const longest = stored.toSorted((a, b) => b.durationMs - a.durationMs).map(({ id }) => id);
  await eventually(ids).toEqual(longest.slice(0, 50));
  for (const from of [50, 100, 150]) {
    // By the keyboard: a list that is just being drawn can move away under a mouse.
    await page.getByRole('link', { name: 'Next page' }).press('Enter');
    await eventually(ids).toEqual(longest.slice(from, from + 50));
  }
  expect(await page.getByRole('link', { name: 'Next page' }).isVisible()).toBe(false);
  await page.getByRole('link', { name: 'Previous page' }).press('Enter');
  await eventually(ids).toEqual(longest.slice(100, 150));
  expect(problems).toEqual([]);
  // A reader who opens a page in the middle has not come from the one before.
  await page.reload();
  await eventually(ids).toEqual(longest.slice(100, 150));
  await page.getByRole('link', { name: 'First page' }).click();
  await eventually(ids).toEqual(longest.slice(0, 50));
  await page.context().close();
});

test('two fields that change at once are both kept', async () => {
  const { page, rows } = await opened('#/calls');
  await eventually(() => rows.count()).toBe(50);
  // In one turn of the page, before it hears that the address changed: what a fast hand does to a busy one.
  await page.evaluate(`for (const [name, value] of [['direction', 'outbound'], ['from_date', '2025-02-01']]) {
    const field = document.querySelector('.call-filters [name=' + name + ']');
    field.value = value;
    field.dispatchEvent(new Event('change', { bubbles: true }));
  }`);
  await page.waitForURL(/direction=outbound&from_date=2025-02-01$/);
  expect(await page.getByLabel('Direction', { exact: true }).inputValue()).toBe('outbound');
  expect(await page.getByLabel('From day').inputValue()).toBe('2025-02-01');
  await page.context().close();
});

test('an address that asks for what does not exist is told so, in the words of the answer', async () => {
  const { page, rows } = await opened('#/calls?carier=twilio&state=asleep');
  await page.getByText('carier must not be present, did you mean carrier?').waitFor();
  await page.getByText(/state must be/).waitFor();
  expect(await rows.count()).toBe(0);
  await page.getByRole('link', { name: 'Clear filters' }).click();
  await eventually(() => rows.count()).toBe(50);
  await page.context().close();
});

test('a column that was hidden stays hidden in this browser, and nothing of a call is kept', async () => {
  const { page, rows } = await opened('#/calls?sort=oldest');
  await rows.first().locator('.words').waitFor();
  await page.getByText('Columns', { exact: true }).click();
  await page.getByLabel('About', { exact: true }).uncheck();
  await page.keyboard.press('Escape');
  await eventually(() => page.locator('.calls .words:visible').count()).toBe(0);
  await page.reload();
  await eventually(() => rows.count()).toBe(50);
  expect(await page.locator('.calls .words:visible').count()).toBe(0);
  expect(await page.evaluate('JSON.stringify({ ...localStorage })')).toBe(
    '{"trunkline.calls-hidden":"words"}',
  );
  await page.context().close();
});

test.each([
  ['light', {}],
  ['dark', { dark: true }],
  ['narrow', { width: 390 }],
  // 1280 pixels at 200 %.
  ['zoomed', { width: 640 }],
])('the list with all its filters is whole and accessible when %s', async (look, options) => {
  const { page, rows, problems, ...open } = await opened(
    '#/calls?direction=inbound&from_date=2025-01-03&sort=longest',
    options,
  );
  await eventually(() => rows.count()).toBe(50);
  await page.getByLabel('From day').waitFor();
  await open.screenshot(`calls-filters-${look}`);
  expect(await open.violations()).toEqual([]);
  const width = 'document.documentElement.scrollWidth - document.documentElement.clientWidth';
  expect(await page.evaluate(width)).toBe(0);
  await page.getByText('Columns', { exact: true }).click();
  await page.getByLabel('About', { exact: true }).waitFor();
  await open.screenshot(`calls-columns-${look}`);
  expect(await open.violations()).toEqual([]);
  expect(await page.evaluate(width)).toBe(0);
  expect(problems).toEqual([]);
  await page.context().close();
});

test('a call that begins moves no row of a filtered list, and is one click away', async () => {
  const calls = manyCalls(4);
  for (const call of calls) call.state = 'ended';
  const data = { calls, events: {}, deliveries: [], installation: recordedInstallation };
  await using api = await startRecordedApi(data);
  const { page } = await browser.open(`${api.url}/#/calls?state=ended`);
  const rows = page.locator('.calls li:visible');
  await eventually(() => rows.count()).toBe(4);
  await page.locator('#connection[data-state=live]').waitFor();
  const began = recordedCall({ id: 'call_7ZZZZZZZZZZZZZZZZZZZZZZZZZ', from: '+15550107777' });
  calls.push(began);
  api.tell({ type: 'call', call: began });
  const again = page.getByRole('button', { name: 'One call has begun since' });
  await again.waitFor();
  expect(await rows.count()).toBe(4);
  const [first] = calls;
  if (first === undefined) throw new Error('no call');
  api.tell({ type: 'call', call: { ...first, from: '+15550108888' } });
  await rows.getByText('+15550108888').waitFor();
  await again.click();
  await eventually(() => rows.count()).toBe(5);
  expect(await again.isVisible()).toBe(false);
  api.tell({ type: 'call-deleted', call_id: first.id });
  await eventually(() => rows.count()).toBe(4);
  await page.context().close();
});
