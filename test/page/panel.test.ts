import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { Frame, Page } from 'playwright-core';
import { expect, test } from 'vitest';
import { callAt } from '../support/bridge/fleet.ts';
import type { AnyJson } from '../support/bridge/test-bridge.ts';
import { browserOfFile, eventually } from '../support/browser/page-tests.ts';
import { twilioStop } from '../support/carriers/carrier-client.ts';
import { startApp, type App } from '../support/process/app.ts';
import { until } from '../support/process/until.ts';
import { numberedFrame } from '../support/speech/audio.ts';
import { FakeSpeech } from '../support/speech/fake-speech.ts';
import { temporaryFolder } from '../support/store/store.ts';

const key = 'key-of-the-operator-in-the-test';
const withKey = { 'x-service-key': key, 'content-type': 'application/json' };
const axeFile = new URL('../../node_modules/axe-core/axe.min.js', import.meta.url);

const playbook = `
id: shop
version: 1
status: live
checklists: [{ id: open, title: Opening, steps: [{ id: told, title: Say that the call is recorded, required: true }] }]
rules:
  - { id: first, title: Refund, when: { phrase: { any: [f3] } }, then: [{ hint: { title: Look up the order, say: May I have the order number?, priority: 95 } }] }
  - { id: second, title: Told, when: { phrase: { any: [f61] } }, then: [{ step: open.told }, { hint: { title: Offer a call back, priority: 95 } }] }
`;

const audio = Buffer.concat(Array.from({ length: 300 }, (_, number) => numberedFrame(number)));

/** The three lines that put the panel into a desktop, on a page of another origin. */
const desktopPage = (panel: string, token: string) => `<!doctype html><title>Desktop</title>
<script>addEventListener('message', ({ origin, source, data }) => { (window.told ??= []).push([origin, data.type]);
  if (origin === '${panel}' && data.type === 'trunkline.ready') source.postMessage({ type: 'trunkline.token', token: '${token}' }, origin); });</script>
<iframe src="${panel}/panel" title="Call assistant" width="360" height="760"></iframe>`;

async function startDesktop(): Promise<AsyncDisposable & { url: string; page: string }> {
  const desktop = { url: '', page: '' };
  const server = createServer((_request, response) => {
    response.setHeader('content-type', 'text/html').end(desktop.page);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  // Another site than 127.0.0.1 in the eyes of a browser.
  desktop.url = `http://localhost:${(server.address() as AddressInfo).port}`;
  return Object.assign(desktop, {
    [Symbol.asyncDispose]: async () => {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  });
}

const ask = async (app: App, method: string, path: string, body?: unknown): Promise<AnyJson> =>
  (
    await app.get(path, {
      method,
      headers: withKey,
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    })
  ).json();

const panelIn = (page: Page, app: App): Promise<Frame> =>
  until(() => page.frames().find((frame) => frame.url() === `${app.url}/panel`));

async function violationsIn(frame: Frame): Promise<string[]> {
  await frame.evaluate(await readFile(axeFile, 'utf8'));
  return frame.evaluate(`axe.run().then(({ violations }) => violations.flatMap(({ id, nodes }) => nodes.map(({ html }) => id + ': ' + html)))`); // prettier-ignore
}

const { open } = browserOfFile();

test('in a frame of another origin, without cookies: the panel shows the call when it begins, its hints, words and notes, and pauses it by a key', async () => {
  await using speech = await FakeSpeech.start({ words: 'frames' });
  await using folder = await temporaryFolder();
  await using desktop = await startDesktop();
  await mkdir(join(folder.path, 'assist'), { recursive: true });
  await writeFile(join(folder.path, 'assist', 'shop.yaml'), playbook);
  await mkdir(join(folder.path, 'knowledge'));
  await writeFile(join(folder.path, 'knowledge', 'late.html'), '<h1>Late fee</h1><p>Six pounds.</p><img src=x onerror="window.stolen = 1">'); // prettier-ignore
  await using app = await startApp({
    dataDir: folder.path,
    env: {
      TRUNKLINE_ROLES: 'bridge,console',
      TRUNKLINE_SPEECH_URL: speech.url,
      TRUNKLINE_API_KEYS: key,
      TRUNKLINE_PANEL_ORIGINS: desktop.url,
      TRUNKLINE_QUIET_FILL_MS: '0',
    },
  });
  const { token } = await ask(app, 'POST', '/api/panel/tokens', { scope: 'agent', agent: 'a17' });
  desktop.page = desktopPage(app.url, token as string);
  const opened = await open(desktop.url, { width: 400 });
  const { page } = opened;
  const panel = await panelIn(page, app);
  await panel.getByText('No call now.').waitFor();

  const { client, say } = await callAt({ url: app.url, get: (path, init) => app.get(path, { ...init, headers: withKey }) }); // prettier-ignore
  const { items } = await until(async () => {
    const list = await ask(app, 'GET', '/api/calls');
    return list.items.length > 0 && list;
  });
  const { id } = items[0];
  await ask(app, 'PUT', `/api/calls/${id}/agent`, { id: 'a17', name: 'Omar' });
  const heading = panel.getByRole('heading', { level: 1 });
  await heading.waitFor();
  // The page around the frame is told of the call, and of nothing before it handed the token over.
  await eventually(() => page.evaluate('window.told.map(([, type]) => type)')).toEqual(['trunkline.ready', 'trunkline.call']); // prettier-ignore

  say(audio.subarray(0, 16_000));
  await panel.getByRole('heading', { name: 'Look up the order' }).waitFor();
  await panel.getByRole('heading', { name: 'Offer a call back' }).waitFor();
  await panel.getByText('Opening 1/1').waitFor();
  await panel.getByRole('log').getByText('f61').first().waitFor();
  expect(await violationsIn(panel)).toEqual([]);
  await opened.screenshot('panel-in-desktop');

  // A typed question finds an article, which opens in place: the token of the panel is in no address.
  await until(async () => (await ask(app, 'GET', '/api/knowledge/articles')).articles.length === 1);
  await heading.press('/');
  await page.keyboard.type('how much is the late fee');
  await page.keyboard.press('Enter');
  const found = panel.getByRole('article').filter({ hasText: 'Late fee' });
  await found.getByText('The whole article').click();
  await eventually(() => found.locator('.article-text').textContent()).toBe('Six pounds.');
  expect(await violationsIn(panel)).toEqual([]);
  expect(await panel.evaluate('window.stolen')).toBeUndefined();

  // Keys work while the frame has the focus: X dismisses the newest hint, M pauses and resumes.
  await heading.press('x');
  const verdictOf = async (rule: string) =>
    (await ask(app, 'GET', `/api/calls/${id}/assist`)).hits.find((hit: AnyJson) => hit.rule === rule)?.verdict; // prettier-ignore
  await eventually(() => verdictOf('second')).toBe('dismissed');
  await panel.getByRole('button', { name: 'Useful: Refund', exact: true }).click();
  await eventually(() => verdictOf('first')).toBe('useful');
  await heading.press('m');
  await panel.getByRole('button', { name: 'Resume' }).waitFor();
  expect((await ask(app, 'GET', `/api/calls/${id}`)).paused).toBe(true);
  await heading.press('m');
  await panel.getByRole('button', { name: 'Pause' }).waitFor();
  await panel.getByLabel('Notes', { exact: true }).fill('Wants 3 lamps');
  await panel.getByRole('button', { name: 'Save notes' }).click();
  await eventually(async () => (await ask(app, 'GET', `/api/calls/${id}`)).notes).toBe('Wants 3 lamps'); // prettier-ignore

  // A frame of 320 px scrolls in one direction only.
  await page.evaluate(`document.querySelector('iframe').width = 320`);
  await eventually(() => panel.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true); // prettier-ignore
  const wordsEnd = `Math.max(...[...document.querySelectorAll('.conversation *')].map((one) => one.getBoundingClientRect().right)) <= innerWidth`; // prettier-ignore
  await eventually(() => panel.evaluate(wordsEnd)).toBe(true);
  await page.emulateMedia({ colorScheme: 'dark' });
  expect(await violationsIn(panel)).toEqual([]);
  await opened.screenshot('panel-320-dark');

  client.send(twilioStop);
  await panel.getByRole('region', { name: 'Wrap-up' }).waitFor();
  expect(await page.context().cookies()).toEqual([]);
  expect(opened.problems.filter((problem) => !problem.startsWith('other host'))).toEqual([]);
}, 90_000);

test('a page whose origin is not listed gets no panel in its frame, and no token that it sends is taken', async () => {
  await using speech = await FakeSpeech.start();
  await using desktop = await startDesktop();
  await using app = await startApp({
    env: {
      TRUNKLINE_ROLES: 'bridge,console',
      TRUNKLINE_SPEECH_URL: speech.url,
      TRUNKLINE_API_KEYS: key,
    },
  });
  const { url } = await ask(app, 'POST', '/api/panel/tokens', { scope: 'agent', agent: 'a17' });
  desktop.page = `<!doctype html><title>Other</title><iframe src="${url as string}"></iframe>`;
  const opened = await open(desktop.url);
  await eventually(() => opened.problems.join('\n')).toContain('frame-ancestors');
  // Without a frame the same address opens the panel, and the token leaves the address.
  const alone = await open(url as string);
  await alone.page.getByText('No call now.').waitFor();
  await eventually(() => alone.page.url()).toBe(`${app.url}/panel`);
  const answer = await app.get('/panel');
  expect(answer.headers.get('content-security-policy')).toContain("frame-ancestors 'self'");
  expect(answer.headers.get('x-frame-options')).toBeNull();
  for (const path of ['/', '/panel/demo']) {
    const page = await app.get(path);
    expect(page.headers.get('content-security-policy')).toContain("frame-ancestors 'none'");
  }
}, 60_000);

test('a supervisor’s token shows the board in a frame of another origin, without cookies, and a call of it', async () => {
  await using speech = await FakeSpeech.start({ words: 'frames' });
  await using desktop = await startDesktop();
  await using app = await startApp({
    env: {
      TRUNKLINE_ROLES: 'bridge,console',
      TRUNKLINE_SPEECH_URL: speech.url,
      TRUNKLINE_API_KEYS: key,
      TRUNKLINE_PANEL_ORIGINS: desktop.url,
    },
  });
  const { token } = await ask(app, 'POST', '/api/panel/tokens', { scope: 'supervisor' });
  desktop.page = desktopPage(app.url, token as string);
  const opened = await open(desktop.url, { width: 400 });
  const { page } = opened;
  const panel = await until(() => page.frames().find((frame) => frame.url().startsWith(`${app.url}/panel`))); // prettier-ignore
  await panel.getByText('No call is running.').waitFor();
  const { say } = await callAt({ url: app.url, get: (path, init) => app.get(path, { ...init, headers: withKey }) }); // prettier-ignore
  say(audio.subarray(0, 16_000));
  const row = panel.getByRole('list', { name: 'Running calls' }).getByRole('link');
  await row.waitFor();
  expect(await violationsIn(panel)).toEqual([]);
  await page.evaluate(`document.querySelector('iframe').width = 320`);
  await eventually(() => panel.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true); // prettier-ignore
  await page.emulateMedia({ colorScheme: 'dark' });
  expect(await violationsIn(panel)).toEqual([]);
  await opened.screenshot('panel-board');
  // A key leads to the call, and a link back to all of them.
  await panel.getByLabel('Agent').first().blur();
  await page.keyboard.press('j');
  await row.press('Enter');
  await panel.getByRole('log').getByText('f3').first().waitFor();
  expect(await violationsIn(panel)).toEqual([]);
  await panel.getByRole('link', { name: 'All calls' }).click();
  await row.waitFor();
  expect(await page.context().cookies()).toEqual([]);
  expect(opened.problems.filter((problem) => !problem.startsWith('other host') && !problem.includes('ERR_ABORTED'))).toEqual([]); // prettier-ignore
}, 90_000);

test('the demo shows the panel in a fake desktop, with a call of its own', async () => {
  await using app = await startApp({ env: { TRUNKLINE_ROLES: 'bridge,speech,console' } });
  const opened = await open(`${app.url}/panel/demo`);
  const { page } = opened;
  const panel = await panelIn(page, app);
  await panel.getByText('No call now.').waitFor();
  await page.getByRole('button', { name: 'Place a test call' }).click();
  await panel.getByRole('heading', { level: 1 }).waitFor();
  await page.getByText('trunkline.call').waitFor();
  expect(await opened.violations()).toEqual([]);
  await opened.screenshot('panel-demo');
  expect(opened.problems).toEqual([]);
}, 60_000);
