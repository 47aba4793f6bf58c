import { expect, test } from 'vitest';
import { startBrowser } from '../support/browser/browser.ts';
import { startApp } from '../support/process/app.ts';

const key = 'correct-horse-battery-staple';
const ofTheLibrary =
  /^(?:nested-interactive|heading-order|region|select-name|scrollable-region-focusable):/;
const waitMs = 60_000;

test('a person tries the API on its own page: with a key, with the curl for it, and no other host is asked', async () => {
  await using app = await startApp({ env: { TRUNKLINE_API_KEYS: key } });
  await using browser = await startBrowser();
  const { page, ...opened } = await browser.open(`${app.url}/docs`);
  const partOf = (name: string) => page.locator('.opblock-tag', { hasText: name }).first();
  await partOf('Calls').waitFor({ timeout: waitMs });
  await opened.screenshot('docs');
  for (const [part, path] of [
    ['Live transcription', '/v2/live'],
    ['Pre-recorded transcription', '/v2/pre-recorded/{id}'],
    ['Deliveries', '/api/test-events'],
  ] as const) {
    await partOf(part).click();
    await page.locator('.opblock', { hasText: path }).first().waitFor();
    await partOf(part).click();
  }
  await partOf('Calls').click();
  const operation = page.locator('.opblock-get', { hasText: '/api/calls' }).first();
  await operation.waitFor({ timeout: waitMs });
  expect(opened.problems).toEqual([]);

  await page.getByRole('button', { name: 'Authorize', exact: true }).click();
  await page.locator('.modal-ux input').first().fill(key);
  await page
    .locator('.modal-ux .auth-btn-wrapper button', { hasText: 'Authorize' })
    .first()
    .click();
  await page.locator('.modal-ux .btn-done').first().click();
  await operation.locator('.opblock-summary-control').click();
  await operation.getByRole('button', { name: 'Execute' }).click();
  const curl = operation.locator('.curl-command');
  await curl.waitFor({ timeout: waitMs });
  expect(await curl.innerText()).toContain(`${app.url}/api/calls`);
  const status = operation.locator('.live-responses-table .response-col_status').last();
  await status.waitFor({ timeout: waitMs });
  expect(await status.innerText()).toContain('200');
  expect(await operation.locator('.live-responses-table .response-col_description').last().innerText()).toContain('next_cursor'); // prettier-ignore
  await opened.screenshot('docs-tried');
  expect(opened.problems.filter((problem) => problem.startsWith('other host'))).toEqual([]);
  expect(opened.problems).toEqual([]);
  // The library's own markup lacks names of lists and levels of headings; only its colours are ours to mend.
  const violations = (await opened.violations()).filter((one) => !ofTheLibrary.test(one));
  expect(violations).toEqual([]);

  const narrow = await browser.open(`${app.url}/docs`, { width: 390 });
  await narrow.page.locator('.opblock-tag').first().waitFor({ timeout: waitMs });
  const texts = narrow.page.locator('.opblock-tag > small').filter({ visible: true });
  const widths = await texts.evaluateAll((all) => all.map((one) => one.clientWidth));
  expect(widths.length).toBeGreaterThan(3);
  expect(Math.min(...widths)).toBeGreaterThan(300);
  expect(await narrow.page.evaluate('document.documentElement.scrollWidth')).toBe(390);
  await narrow.screenshot('docs-narrow');
});
