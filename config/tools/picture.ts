import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startBrowser } from '../../test/support/browser/browser.ts';
import { startApp } from '../../test/support/process/app.ts';

/**
 * Makes .github/page.webp, the picture of the README, anew (`npm run picture`): a real process with the default model,
 * a real test call, and the page after it. It needs Debian's chromium.
 */
const waitMs = 180_000;
const folder = mkdtempSync(join(tmpdir(), 'trunkline-picture-'));
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
  await page.keyboard.press('Home');
  // The one way to a WebP: a third of the bytes of a PNG.
  const session = await page.context().newCDPSession(page);
  const { data } = await session.send('Page.captureScreenshot', { format: 'webp', quality: 80 });
  writeFileSync(new URL('../../.github/page.webp', import.meta.url), Buffer.from(data, 'base64'));
} finally {
  rmSync(folder, { recursive: true, force: true });
}
