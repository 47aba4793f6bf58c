import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startBrowser } from '../../test/support/browser/browser.ts';
import { startApp } from '../../test/support/process/app.ts';

/**
 * Makes .github/page.webp, the picture of the README, anew (`npm run picture`): a real process with the default model,
 * a real test call, and the page after it. It needs Debian's chromium. Beside the picture it writes .github/page.txt,
 * the words that the page showed: test/unit/picture.test.ts compares them with the script of the call.
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
  // A call that goes on is followed to its newest words; one that is opened after its end is read from its beginning.
  await page.reload();
  await page.getByRole('heading', { name: 'Summary' }).waitFor({ timeout: waitMs });
  await page.getByText(/^Customer above, agent below · /).waitFor({ timeout: waitMs });
  // The one way to a WebP: a third of the bytes of a PNG.
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
