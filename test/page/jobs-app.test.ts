import { expect, test } from 'vitest';
import { readdir, readFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import type { PreRecordedJobList } from '../../src/protocol/job.ts';
import { startBrowser } from '../support/browser/browser.ts';
import { startApp } from '../support/process/app.ts';
import { wavOf } from '../support/speech/jobs.ts';

const key = 'correct-horse-battery';
const waitMs = 60_000;

test('in the real program a dropped WAV becomes words, to be heard, saved and deleted', async () => {
  await using app = await startApp({ env: { TRUNKLINE_API_KEYS: key } });
  await using browser = await startBrowser();
  const { page, ...opened } = await browser.open(`${app.url}/#/jobs`);
  await signIn(page);
  await page.getByText('No jobs yet.').waitFor();
  await drop(page, 'my card.wav', wavOf('my card is lost'));
  const row = page.locator('.jobs li', { hasText: 'my card.wav' });
  await row.getByText('Done').waitFor({ timeout: waitMs });
  await row.getByRole('link').click();
  await page.locator('.conversation .text', { hasText: /my card is lost/i }).waitFor();
  await page.locator('.word', { hasText: 'lost' }).click();
  await expect
    .poll(() => page.evaluate<number>(`document.querySelector('audio').currentTime`), {
      timeout: waitMs,
    })
    .toBeGreaterThan(0.5);
  const button = page.getByRole('button', { name: 'Save as srt' });
  const [download] = await Promise.all([page.waitForEvent('download'), button.click()]);
  expect(download.suggestedFilename()).toBe('my card.srt');
  expect(await readFile(await download.path(), 'utf8')).toMatch(
    /^1\r?\n00:00:0\d,\d{3} --> 00:00:0\d,\d{3}\r?\n.*my card is lost/i,
  );
  await opened.screenshot('jobs-app-done');
  expect(await opened.violations()).toEqual([]);
  await page.getByRole('button', { name: 'Delete' }).click();
  await page.getByRole('button', { name: 'Delete for good' }).click();
  await page.getByText('The job was deleted').waitFor();
  expect(await jobsOf(app.url)).toEqual([]);
  expect(opened.problems).toEqual([]);

  // A file without audio is refused at once, with the reason of the service.
  await page.getByRole('link', { name: '‹ Jobs' }).click();
  await drop(page, 'letter.wav', Buffer.from('Dear all, this is no sound. '.repeat(40)));
  const refused = page.locator('.uploads li', { hasText: 'letter.wav' });
  await refused.getByText('Failed', { exact: true }).waitFor({ timeout: waitMs });
  await opened.screenshot('jobs-app-refused');
  await page.context().close();
});

test('a page on another port, to which the browser sends the cookie, posts no job and no file', async () => {
  await using app = await startApp({ env: { TRUNKLINE_API_KEYS: key } });
  await using browser = await startBrowser();
  const { page } = await browser.open(`${app.url}/#/jobs`);
  await signIn(page);
  await page.getByText('No jobs yet.').waitFor();
  const wav = wavOf('my card is lost');
  const html = `<!doctype html><title>elsewhere</title>
    <form method="post" enctype="multipart/form-data" action="${app.url}/v2/upload">
    <input type="file" name="audio"></form>`;
  const elsewhere = createServer((_request, response) => {
    response.writeHead(200, { 'content-type': 'text/html' }).end(html);
  });
  await new Promise<void>((resolve) => elsewhere.listen(0, '127.0.0.1', resolve));
  const { port } = elsewhere.address() as AddressInfo;
  try {
    const other = await page.context().newPage();
    await other.goto(`http://127.0.0.1:${port}/`);
    // A form with a file needs nobody's leave: the browser sends it, and takes the page along.
    const [answer] = await Promise.all([
      other.waitForResponse(`${app.url}/v2/upload`),
      other.evaluate(`(() => {
        const bytes = Uint8Array.from(atob('${wav.toString('base64')}'), (one) => one.charCodeAt(0));
        const carried = new DataTransfer();
        carried.items.add(new File([bytes], 'evil.wav'));
        document.querySelector('input').files = carried.files;
        document.forms[0].submit();
      })()`),
    ]);
    const { cookie, 'sec-fetch-site': site } = await answer.request().allHeaders();
    // The cookie came along: it is our own check that refuses.
    expect([cookie?.startsWith('trunkline_session='), site]).toEqual([true, 'same-site']);
    expect(answer.status()).toBe(401);
    expect(await filesOf(app.dataDir)).toEqual([]);
    expect(await jobsOf(app.url)).toEqual([]);
  } finally {
    elsewhere.closeAllConnections();
    await new Promise((resolve) => elsewhere.close(resolve));
  }
  await page.context().close();
});

async function signIn(page: Page): Promise<void> {
  await page.getByLabel('API key').fill(key);
  await page.keyboard.press('Enter');
}

async function jobsOf(url: string): Promise<unknown[]> {
  const response = await fetch(`${url}/v2/pre-recorded`, { headers: { 'x-service-key': key } });
  return ((await response.json()) as PreRecordedJobList).items;
}

/** The files that were taken; the folder is made with the first of them, or at the start. */
async function filesOf(dataDir: string): Promise<string[]> {
  return readdir(join(dataDir, 'speech', 'files')).catch(() => []);
}

async function drop(page: Page, name: string, bytes: Buffer): Promise<void> {
  const files = await page.evaluateHandle(`(() => {
    const bytes = Uint8Array.from(atob('${bytes.toString('base64')}'), (one) => one.charCodeAt(0));
    const carried = new DataTransfer();
    carried.items.add(new File([bytes], ${JSON.stringify(name)}));
    return carried;
  })()`);
  await page.locator('.drop').dispatchEvent('drop', { dataTransfer: files });
}
