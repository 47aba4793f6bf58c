import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { callAt, endedCallAt } from '../support/bridge/fleet.ts';
import { browserOfFile, eventually } from '../support/browser/page-tests.ts';
import { twilioStop } from '../support/carriers/carrier-client.ts';
import { startApp } from '../support/process/app.ts';
import { numberedFrame } from '../support/speech/audio.ts';
import { FakeSpeech } from '../support/speech/fake-speech.ts';
import { temporaryFolder } from '../support/store/store.ts';

const browser = browserOfFile();
const whole = 'document.documentElement.scrollWidth <= innerWidth';
const playbook = `id: shop
status: live
rules:
  - { id: it, title: Says <b>f3</b>, when: { phrase: { any: [f3] } }, then: [{ tag: t }] }
`;

test('an admin edits a playbook with completion, sees mistakes at their line and hits on past calls, and saves', async () => {
  await using speech = await FakeSpeech.start({ words: 'frames' });
  await using folder = await temporaryFolder();
  const file = join(folder.path, 'assist', 'shop.yaml');
  await mkdir(join(folder.path, 'assist'));
  await writeFile(file, playbook);
  const env = { TRUNKLINE_ROLES: 'bridge,console', TRUNKLINE_SPEECH_URL: speech.url, TRUNKLINE_QUIET_FILL_MS: '0', TRUNKLINE_ASSIST_STARTER: 'off' }; // prettier-ignore
  await using app = await startApp({ dataDir: folder.path, env });
  const { client, say } = await callAt(app);
  say(Buffer.concat(Array.from({ length: 100 }, (_, number) => numberedFrame(number))));
  client.send(twilioStop);
  const { call } = await endedCallAt(app);

  const { page, ...opened } = await browser.open(`${app.url}/#/playbooks`, { width: 1_280 });
  const field = page.getByLabel('Text of the playbook');
  // The menus of the page have options of their own.
  const completions = page.getByRole('listbox', { name: 'Completions' }).getByRole('option');
  await page.getByText('1 hit in the newest 1 call').waitFor();
  await page.getByText('Says <b>f3</b>: 1 in 1 of 1 calls').click();
  expect(await page.locator('.playbook-hits a').first().getAttribute('href')).toContain(`#/calls/${call.id}?t=`); // prettier-ignore

  // The keyboard alone: what may stand here, chosen with the arrows, taken with Enter. Tab leaves the field.
  await field.press('Control+End');
  await field.pressSequentially('  - id: more\n    title: More\n    wh');
  await completions.filter({ hasText: /^when/ }).waitFor();
  await field.press('ArrowDown');
  expect(await field.getAttribute('aria-activedescendant')).not.toBe('');
  expect(await opened.violations()).toEqual([]);
  await field.press('Enter');
  await field.pressSequentially('{ phrase: { any: [f61] } }\n    ');
  await field.press('Control+Space');
  expect(await completions.allTextContents()).toContain('then needed, a list');
  await field.press('Escape');
  expect(await completions.count()).toBe(0);
  await page.getByRole('button', { name: /^Line \d: .*then/ }).click();
  expect(await page.locator('.yaml-numbers .wrong').allTextContents()).toEqual(['5']);
  expect(await field.getAttribute('aria-invalid')).toBe('true');
  await field.press('Control+End');
  await field.pressSequentially('then: [{ tag: more }]\n');
  await page.getByText('2 hits in the newest 1 call').waitFor();
  await field.press('Tab');
  expect(await field.evaluate((element) => element.matches(':focus'))).toBe(false);
  for (const [width, look] of [
    [1_280, 'dark'],
    [390, 'dark'],
    [390, 'light'],
  ] as const) {
    await page.setViewportSize({ width, height: 900 });
    await page.emulateMedia({ colorScheme: look });
    expect([width, await page.evaluate(whole)]).toEqual([width, true]);
    expect([width, look, await opened.violations()]).toEqual([width, look, []]);
    await opened.screenshot(`playbooks-${width}-${look}`);
  }

  // A look at the call and back loses nothing.
  await page.locator('.playbook-hits summary').first().click();
  await page.locator('.playbook-hits a').first().click();
  await page.waitForURL(/#\/calls\//);
  await page.goBack();
  await page.getByText('2 hits in the newest 1 call').waitFor();
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('Saved as shop.yaml.').waitFor();
  expect(await readFile(file, 'utf8')).toContain('any: [f61]');

  // Somebody else wrote the file meanwhile: nothing is overwritten, and nothing that was typed is lost unasked.
  await writeFile(file, playbook);
  await field.press('Control+End');
  await field.pressSequentially('# mine\n');
  await page.getByRole('button', { name: 'Save', exact: true }).click();
  await page.getByText('shop.yaml was changed meanwhile').waitFor();
  expect(await field.inputValue()).toContain('# mine');
  await page.getByRole('button', { name: 'Read it again' }).click();
  await page.getByRole('button', { name: 'Read it again' }).last().click();
  await eventually(() => field.inputValue()).toBe(playbook);
  expect(await readFile(file, 'utf8')).toBe(playbook);

  // A deletion says which rules go, and Escape means no. Somebody else's change meanwhile is not deleted.
  const remove = page.getByRole('button', { name: 'Delete', exact: true });
  const question = page.getByRole('group', { name: 'Delete this playbook?' });
  await remove.click();
  await question.getByText('Says <b>f3</b>').waitFor();
  expect(await opened.violations()).toEqual([]);
  await opened.screenshot('playbooks-delete');
  await page.keyboard.press('Escape');
  expect(await question.isVisible()).toBe(false);
  await writeFile(file, `${playbook}# theirs\n`);
  await remove.click();
  await question.getByRole('button', { name: 'Delete it' }).click();
  await page.getByText('not deleted: shop.yaml was changed meanwhile').waitFor();
  await page.getByRole('button', { name: 'Read it again' }).click();
  await page.getByRole('button', { name: 'Read it again' }).last().click();
  await eventually(() => field.inputValue()).toBe(`${playbook}# theirs\n`);
  await remove.click();
  await question.getByRole('button', { name: 'Delete it' }).click();
  await page.getByText('shop.yaml is deleted.').waitFor();
  expect(await readdir(join(folder.path, 'assist'))).toEqual([]);
  expect(await remove.isVisible()).toBe(false);
  expect(opened.problems.filter((problem) => !/ERR_ABORTED|409/.test(problem))).toEqual([]);
  await page.context().close();
});
