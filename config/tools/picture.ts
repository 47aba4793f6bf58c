import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startBrowser } from '../../test/support/browser/browser.ts';
import { startApp } from '../../test/support/process/app.ts';

/**
 * Makes .github/page.webp, the picture in the README (`npm run picture`), from a real process with the default model
 * and a real test call. It needs Debian's chromium. It also writes .github/page.txt, the words on the page, which
 * test/unit/picture.test.ts compares with the script of the call.
 */
const waitMs = 180_000;
const folder = mkdtempSync(join(tmpdir(), 'trunkline-picture-'));
const beside = (name: string): URL => new URL(`../../.github/${name}`, import.meta.url);
try {
  await using app = await startApp({
    dataDir: folder,
    env: { TRUNKLINE_MODEL: 'moonshine-tiny-en' },
  });
  await using browser = await startBrowser();
  const { page } = await browser.open(app.url, { width: 1200 });
  await page.setViewportSize({ width: 1200, height: 820 });
  await page.getByRole('button', { name: /test call/i }).click({ timeout: waitMs });
  await page.getByRole('heading', { name: 'Summary' }).waitFor({ timeout: waitMs });
  await page.locator('.call-bar .state[data-state=ended]').waitFor({ timeout: waitMs });
  // A running call is followed to its newest words. A call opened after its end is shown from its beginning.
  await page.reload();
  await page.getByRole('heading', { name: 'Summary' }).waitFor({ timeout: waitMs });
  await page.getByText(/^Customer above, agent below · /).waitFor({ timeout: waitMs });
  // The only way to a WebP, which has a third of the bytes of a PNG.
  const session = await page.context().newCDPSession(page);
  const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: 80 });
  const turns = await page
    .locator('.conversation .entry.utterance:not(.partial)')
    .evaluateAll((entries) =>
      entries.map((entry) => {
        const textOf = (part: string): string => entry.querySelector(part)?.textContent ?? '';
        return `${textOf('.role')}: ${textOf('.text')}\n`;
      }),
    );
  writeFileSync(beside('page.webp'), Buffer.from(data, 'base64'));
  writeFileSync(beside('page.txt'), turns.join(''));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
