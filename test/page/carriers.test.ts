import { expect, test } from 'vitest';
import { trunkline } from '../support/process/command.ts';
import { startApp } from '../support/process/app.ts';
import { startBrowser } from '../support/browser/browser.ts';

const waitMs = 60_000;
const settings = { TRUNKLINE_TELNYX_TOKEN: 'telnyx-secret-of-the-tests' };

test(
  'a carrier is connected with the page beside it: its address is copied, its light turns green',
  async () => {
    await using app = await startApp({ env: settings });
    await using browser = await startBrowser();
    const { page, ...opened } = await browser.open(`${app.url}/#/installation`);
    const row = page.locator('.carriers details', { hasText: 'Telnyx' });
    const light = row.locator('summary .state');
    await light.getByText('Set, no stream yet').waitFor({ timeout: waitMs });
    // By keyboard: what else the view loads may move the row between a press and a release of the mouse.
    await row.locator('summary').press('Enter');
    const address = `${app.url.replace('http', 'ws')}/carriers/telnyx`;
    await row.getByText(address, { exact: true }).waitFor();
    await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
    await row.getByRole('button', { name: 'Copy the stream address' }).click();
    await row.getByText('Copied.').waitFor({ timeout: waitMs });
    expect(await page.evaluate('navigator.clipboard.readText()')).toBe(address);

    // A test call of ours speaks this carrier's protocol and shows nothing of the carrier itself.
    await row.getByRole('button', { name: 'Place a test call of Telnyx' }).click();
    await page.getByText('telnyx · inbound').waitFor({ timeout: waitMs });
    await page.goBack();
    await light.getByText('Set, no stream yet').waitFor({ timeout: waitMs });
    await row.locator('summary').press('Enter');

    const to = app.url.replace('http', 'ws');
    const placed = ['call', '--carrier', 'telnyx', '--to', to, '--no-watch', '--speed', '40'];
    const { ended, lines } = trunkline(placed, settings);
    expect(await ended, lines.join('\n')).toBe(0);
    await light.getByText('Stream came').waitFor({ timeout: waitMs });
    expect(await light.getAttribute('data-state')).toBe('ok');
    // A stream that was refused since then is said where the light is, with its reason.
    const wrong = new WebSocket(`${address}?token=wrong`);
    await new Promise((resolve) => wrong.addEventListener('close', resolve));
    await light.getByText('Refused').waitFor({ timeout: waitMs });
    await row.getByText('Last refused').waitFor({ timeout: waitMs });
    expect(await row.locator('dd').last().innerText()).toContain('stream token unknown');
    const again = trunkline(placed, settings);
    expect(await again.ended, again.lines.join('\n')).toBe(0);
    await light.getByText('Stream came').waitFor({ timeout: waitMs });
    expect(await light.getAttribute('data-state')).toBe('ok');
    // The row that the reader opened is still open, and no other light is on.
    expect(await row.getByText(address, { exact: true }).isVisible()).toBe(true);
    expect(await page.locator('.carriers .state[data-state=ok]').count()).toBe(1);
    await opened.screenshot('carriers-light');
    expect(await opened.violations()).toEqual([]);
    expect(opened.problems).toEqual([]);
    for (const [name, look] of [
      ['narrow', { width: 390 }],
      ['dark', { dark: true }],
    ] as const) {
      const other = await browser.open(`${app.url}/#/installation`, look);
      // A carrier that nobody set up has no row until it is chosen.
      const twilio = other.page.locator('.carriers summary', { hasText: 'Twilio' });
      await other.page.getByLabel('Connect a carrier').selectOption('twilio');
      await twilio.waitFor();
      await other.screenshot(`carriers-${name}`);
      expect(await other.violations()).toEqual([]);
      expect(await other.page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(
        true,
      );
      await other.page.context().close();
    }
  },
  4 * waitMs,
);
