import { expect, test } from 'vitest';
import { readFileSync } from 'node:fs';
import type { Installation } from '../../src/protocol/api.ts';
import { startApp, type App } from '../support/process/app.ts';
import { startBrowser, type OpenPage } from '../support/browser/browser.ts';
import { realModel } from '../support/recognition/real-model.ts';

const script = JSON.parse(
  readFileSync(new URL('../../src/player/conversation/script.json', import.meta.url), 'utf8'),
) as { turns: { leg: string; text: string }[] };

const waitMs = 120_000;

const real = await realModel();

test.skipIf(!real)(
  `from the empty page to the finished test call, by one click and by keyboard alone${real ? '' : ' (the speech model is missing)'}`,
  async () => {
    // The program as a newcomer has it, with the default model, and nothing but the page to act through.
    await using app = await startApp({
      env: { TRUNKLINE_MODEL: real!.model, TRUNKLINE_MODELS: real!.models },
    });
    await using browser = await startBrowser();
    await expect.poll(() => recogniserState(app), { timeout: waitMs }).toBe('ready');
    const byMouse = await browser.open(app.url);
    const byKeyboard = await browser.open(app.url);
    await byMouse.page.getByText('No calls yet.').waitFor();
    await byMouse.screenshot('first-1-empty');
    const pressedAt = performance.now();
    await byMouse.page.getByRole('button', { name: /test call/i }).click();
    await words(byMouse, 'agent');
    const agentS = (performance.now() - pressedAt) / 1_000;
    await words(byMouse, 'customer');
    const customerS = (performance.now() - pressedAt) / 1_000;
    console.log(
      `first words after the press: agent ${agentS.toFixed(1)} s, customer ${customerS.toFixed(1)} s`,
    );

    await toButtonByKeyboard(byKeyboard);
    await byKeyboard.page.keyboard.press('Enter');
    await words(byKeyboard, 'agent');
    // From the call back to the list, and into the other call, without a mouse.
    await byKeyboard.page.keyboard.press('Tab');
    await byKeyboard.page.keyboard.press('Enter');
    await expect.poll(() => byKeyboard.page.url(), { timeout: waitMs }).toMatch(/#\/calls$/);
    await expect
      .poll(() => byKeyboard.page.locator('.calls li').count(), { timeout: waitMs })
      .toBe(2);
    expect(byKeyboard.problems).toEqual([]);
    await byKeyboard.page.context().close();

    await byMouse.screenshot('first-2-live');
    // The playbook that comes with the program has hints for the agent while the customer speaks.
    const hints = byMouse.page.getByRole('region', { name: 'Hints' });
    await hints.getByText('Look up the order and check the refund').waitFor({ timeout: waitMs });
    await byMouse.screenshot('first-2-hints');
    await hints
      .getByRole('button', { name: /^Useful: / })
      .first()
      .click();
    await expect
      .poll(() => hints.locator('[aria-pressed="true"]').count(), { timeout: waitMs })
      .toBe(1);
    await byMouse.page.getByRole('heading', { name: 'Summary' }).waitFor({ timeout: waitMs });
    await byMouse.page.getByText('Customer above, agent below').waitFor({ timeout: waitMs });
    await byMouse.screenshot('first-3-ended');
    const heard = await byMouse.page.locator('.conversation .text').allTextContents();
    expect(wordsFound(heard.join(' '))).toBeGreaterThan(0.8);
    for (const type of ['Name', 'Amount'])
      await byMouse.page.locator(`mark[data-type="${type}"]`).first().waitFor();
    // Each fact of the call stands there once, also where the speech service is told it as well.
    const facts = await byMouse.page.locator('.details dd').allTextContents();
    expect(facts.filter((fact) => fact === '+15550100123')).toHaveLength(1);
    await byMouse.page.locator('.mood[data-sentiment=negative]').first().waitFor();
    await byMouse.page.locator('.mood[data-sentiment=positive]').first().waitFor();
    expect(byMouse.problems).toEqual([]);
    expect(await byMouse.violations()).toEqual([]);
    await byMouse.page.context().close();
  },
  3 * waitMs,
);

async function recogniserState(app: App): Promise<string> {
  const facts = (await (await app.get('/api/installation')).json()) as Installation;
  return facts.recogniser?.state ?? 'none';
}

async function words({ page }: OpenPage, role: string): Promise<void> {
  await page.locator(`.entry[data-role=${role}] .text`).first().waitFor({ timeout: waitMs });
}

/** The link to the content, the name, eight views, two menus and a filter stand before the button. */
const mostStops = 14;

async function toButtonByKeyboard({ page }: OpenPage): Promise<void> {
  for (let stops = 0; stops < mostStops; stops++) {
    await page.keyboard.press('Tab');
    const name = await page.evaluate<string>('document.activeElement.textContent');
    if (/test call/i.test(name)) return;
  }
  throw new Error('the button cannot be reached with Tab');
}

/** The share of the script's longer words that are on the page; how well they are heard is the recogniser's test. */
function wordsFound(text: string): number {
  const heard = text.toLowerCase();
  const wanted = script.turns.flatMap(
    ({ text: said }) => said.toLowerCase().match(/[a-z]{5,}/g) ?? [],
  );
  return wanted.filter((word) => heard.includes(word)).length / wanted.length;
}
