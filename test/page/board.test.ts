import { expect, test } from 'vitest';
import { browserOfFile } from '../support/browser/page-tests.ts';
import { startRecordedApi } from '../support/browser/recorded-api.ts';
import { recordedBoard } from '../support/browser/recorded-board.ts';
import { recordedInstallation } from '../support/browser/recorded-call.ts';

const browser = browserOfFile();
const base = { calls: [], events: {}, deliveries: [], installation: recordedInstallation };
const whole = 'document.documentElement.scrollWidth <= innerWidth';

test('the board shows running calls, those that need help first, and is narrowed by team, agent and need', async () => {
  const board = recordedBoard(40);
  await using api = await startRecordedApi({ ...base, board });
  const { page, ...opened } = await browser.open(`${api.url}/#/board`, { width: 1_440 });
  const rows = page.locator('.board li');
  await page.getByText('40 calls', { exact: true }).waitFor();
  // The words of callers and CRMs stay text.
  await rows.filter({ hasText: 'Laura <b>Nilsson</b> 3' }).first().waitFor();
  const first = await rows.first().textContent();
  expect(first).toContain('Customer speaks of a lawyer +1');
  expect(await rows.nth(1).textContent()).toContain('Customer asks for a manager');
  expect(await rows.nth(2).textContent()).toContain('Customer is unhappy');
  for (const [width, look] of [
    [1_440, 'light'],
    [390, 'light'],
    [390, 'dark'],
    [1_440, 'dark'],
  ] as const) {
    // prettier-ignore
    await page.setViewportSize({ width, height: 900 });
    await page.emulateMedia({ colorScheme: look });
    expect(await page.evaluate(whole)).toBe(true);
    expect([width, look, await opened.violations()]).toEqual([width, look, []]);
    await opened.screenshot(`board-${width}-${look}`);
  }
  await page.getByLabel('Team').selectOption('north');
  await page.getByText('17 of 40 calls', { exact: true }).waitFor();
  await page.getByLabel('Agent', { exact: true }).fill('agent 2');
  await page.getByText('5 of 40 calls', { exact: true }).waitFor();
  expect(page.url()).toContain('#/board?team=north&agent=agent+2');
  await page.getByRole('button', { name: 'Needs help' }).click();
  await page.getByText('1 of 40 calls', { exact: true }).waitFor();
  await page.getByLabel('Agent', { exact: true }).fill('nobody');
  await page.getByText('No running call fits these filters.').waitFor();
  expect(opened.problems).toEqual([]);
  await page.context().close();
});

test('a row that is held keeps its place until the focus leaves; calls come, change and go; the keyboard opens a call', async () => {
  const board = recordedBoard(30);
  await using api = await startRecordedApi({ ...base, board });
  const { page, ...opened } = await browser.open(`${api.url}/#/board`);
  const rows = page.locator('.board li');
  await page.getByText('30 calls', { exact: true }).waitFor();
  await page.locator('#main').focus();
  for (const key of ['j', 'j', 'k', 'j']) await page.keyboard.press(key);
  const focused = () => page.evaluate<string>('document.activeElement.closest("li").dataset.id');
  expect(await focused()).toBe('call_board-0001');
  const changed = { ...board[20]!, alerts: { count: 1, level: 'urgent' as const, title: 'Threat' } }; // prettier-ignore
  api.tellBoard([changed], ['call_board-0002']);
  await rows.filter({ hasText: 'Ended' }).waitFor();
  expect(await focused()).toBe('call_board-0001');
  expect(await rows.nth(2).getAttribute('data-id')).toBe('call_board-0002');
  await page.getByLabel('Team').focus();
  // Now the rows may move: the urgent call is among the first, and the ended one is gone.
  await rows.nth(1).filter({ hasText: 'Threat' }).waitFor();
  await page.getByText('29 calls', { exact: true }).waitFor();
  await page.locator('#main').focus();
  for (const key of ['j', 'j', 'Enter']) await page.keyboard.press(key);
  await page.waitForURL(/#\/calls\/call_board-0020$/);
  expect(opened.problems.filter((one) => !one.includes('404'))).toEqual([]);
  await page.context().close();
});

test('of five hundred calls only the rows on the screen exist, wherever the page is scrolled to', async () => {
  const board = recordedBoard(500);
  await using api = await startRecordedApi({ ...base, board });
  const { page } = await browser.open(`${api.url}/#/board`);
  await page.getByText('500 calls', { exact: true }).waitFor();
  const rows = page.locator('.board li');
  expect(await rows.count()).toBeLessThan(40);
  await page.evaluate('scrollTo(0, document.body.scrollHeight)');
  await page.locator('.board li[aria-posinset="500"]').waitFor();
  expect(await rows.count()).toBeLessThan(40);
  await page.context().close();
});
