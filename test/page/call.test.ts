import { afterAll, beforeAll, beforeEach, expect, test } from 'vitest';
import { readFile } from 'node:fs/promises';
import type { Page } from 'playwright-core';
import type { ApiCall } from '../../src/protocol/api.ts';
import { Problem } from '../../src/port/problem.ts';
import { startBrowser, type Browser, type OpenPage } from '../support/browser/browser.ts';
import { eventually } from '../support/browser/page-tests.ts';
import {
  startRecordedApi,
  type Recorded,
  type RecordedApi,
} from '../support/browser/recorded-api.ts';
import {
  callId,
  recordedCall,
  recordedDeliveries,
  recordedEvents,
  recordedInstallation,
} from '../support/browser/recorded-call.ts';

let browser: Browser;
let api: RecordedApi;
const data: Recorded = {
  calls: [],
  events: {},
  deliveries: recordedDeliveries(),
  installation: recordedInstallation,
};
beforeAll(async () => {
  [browser, api] = await Promise.all([startBrowser(), startRecordedApi(data)]);
});
afterAll(async () => {
  await browser[Symbol.asyncDispose]();
  await api[Symbol.asyncDispose]();
});
beforeEach(() => {
  data.calls = [withNotes()];
  data.events = { [callId]: recordedEvents() };
  delete data.onPost;
});

function withNotes(change: Partial<ApiCall> = {}): ApiCall {
  return Object.assign(recordedCall(change), { notes: null, tags: ['refund'] });
}

async function openCall(query = '', options: { dark?: boolean; width?: number } = {}) {
  const opened = await browser.open(`${api.url}/#/calls/${callId}${query}`, options);
  await opened.page.getByText('Oriane Vasquez').first().waitFor();
  await opened.page.getByText('Customer above, agent below · 1:00').waitFor();
  return opened;
}

const placeOf = (page: Page) =>
  page.evaluate<number>(`document.querySelector('audio').currentTime`);
const isPaused = (page: Page) => page.evaluate<boolean>(`document.querySelector('audio').paused`);
const close = ({ page }: OpenPage) => page.context().close();
/** A player gives up a range that it no longer needs. */
const troubles = ({ problems }: OpenPage) =>
  problems.filter((one) => !/^failed: media .* net::ERR_ABORTED$/.test(one));
const litWord = (page: Page) => page.locator('.word.heard').allTextContents();

test('the word that is heard is lit, and keys go from word to word and from turn to turn', async () => {
  const opened = await openCall();
  const { page } = opened;
  // Slowly, so that a slow machine sees each word.
  await page.evaluate(`document.querySelector('audio').defaultPlaybackRate = 0.25`);
  await page.locator('.word', { hasText: 'damaged.' }).click();
  await page.locator('.word.heard', { hasText: 'damaged.' }).waitFor();
  await page.keyboard.press('Space');
  await eventually(() => isPaused(page)).toBe(true);
  // The person who paused sees where.
  expect(await litWord(page)).toHaveLength(1);
  await opened.screenshot('call-heard');
  expect(await opened.violations()).toEqual([]);
  await page.keyboard.press('p');
  await page.locator('.word.heard', { hasText: 'Harbor' }).waitFor();
  await page.keyboard.press('Space');
  await eventually(() => isPaused(page)).toBe(true);
  const [at] = await litWord(page);
  await page.keyboard.press('.');
  await eventually(() => litWord(page)).not.toEqual([at]);
  await page.keyboard.press('n');
  await page.locator('.word.heard', { hasText: 'My' }).waitFor();
  const before = await placeOf(page);
  await page.keyboard.press('ArrowRight');
  await eventually(() => placeOf(page)).toBeGreaterThan(before + 4.5);
  await page.keyboard.press('ArrowLeft');
  await eventually(() => placeOf(page)).toBeLessThan(before + 4);
  // Keys that a field or a button needs stay with it.
  await page.keyboard.press('Space');
  await eventually(() => isPaused(page)).toBe(true);
  await page.getByLabel('Notes', { exact: true }).focus();
  await page.keyboard.type('n. p');
  expect(await isPaused(page)).toBe(true);
  expect(troubles(opened)).toEqual([]);
  await close(opened);
});

test('a click on a digit of a written number plays from the word that was said for it', async () => {
  const turn = recordedEvents().findLast(({ type }) => type === 'call.transcript');
  const starts = {
    my: 40,
    number: 40.5,
    is: 41,
    four: 42,
    seven: 43,
    two: 44,
    nine: 45,
    one: 52,
    six: 53,
  };
  const words = Object.entries(starts).map(([word, start]) => ({
    word: ` ${word}`,
    start,
    end: word === 'nine' ? 52 : start + 0.5,
    confidence: 1,
  }));
  data.events = {
    [callId]: recordedEvents().map((event) =>
      event.type !== 'call.transcript' || event.id !== turn?.id
        ? event
        : {
            ...event,
            data: { ...event.data, text: 'My number is 472916.', start: 40, end: 54, words },
          },
    ),
  };
  const opened = await openCall();
  const { page } = opened;
  await page.evaluate(`document.querySelector('audio').defaultPlaybackRate = 0.25`);
  await page.getByText('My number is 472916.').locator('.word', { hasText: /^9$/ }).click();
  await page.locator('.word.heard', { hasText: /^9$/ }).waitFor();
  await page.keyboard.press('Space');
  await eventually(() => isPaused(page)).toBe(true);
  const place = await placeOf(page);
  expect([place >= starts.nine, place < starts.one]).toEqual([true, true]);
  expect(await litWord(page)).toEqual(['9']);
  expect(troubles(opened)).toEqual([]);
  await close(opened);
});

test('the chart has axes, tells what a point is, and plays it by mouse and by keyboard', async () => {
  const opened = await openCall();
  const { page } = opened;
  const chart = page.locator('svg.course');
  expect(await chart.locator('text').allTextContents()).toEqual([
    ...['Positive', 'Neutral', 'Negative'],
    ...['0:00', '0:15', '0:30', '0:45'],
  ]);
  expect(await chart.getAttribute('aria-label')).toContain(
    'Customer: 1 positive, 1 neutral, 1 negative, last positive',
  );
  const angry = chart.getByRole('button', { name: /^0:06 Customer, negative: “My name/ });
  await angry.hover();
  await page.locator('.tip', { hasText: '0:06 Customer, negative' }).waitFor();
  await opened.screenshot('call-chart');
  await angry.click();
  await eventually(() => placeOf(page)).toBeGreaterThan(4);
  expect(await placeOf(page)).toBeLessThan(8);
  await page.mouse.move(0, 0);
  await eventually(() => page.locator('.tip').isVisible()).toBe(false);
  await chart.locator('.dot[tabindex="0"]').focus();
  await page.keyboard.press('End');
  await page.locator('.tip', { hasText: 'Oh, that is wonderful.' }).waitFor();
  await page.keyboard.press('Enter');
  await eventually(() => placeOf(page)).toBeGreaterThan(41);
  await page.keyboard.press('Escape');
  expect(await page.locator('.tip').isVisible()).toBe(false);
  await close(opened);
});

test('a link opens the call at its second, and a key copies one', async () => {
  const opened = await openCall('?t=42.5', { width: 390 });
  const { page } = opened;
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  const line = page.locator('.entry[aria-current=true]', { hasText: 'Oh, that is wonderful.' });
  await line.waitFor();
  await eventually(() => isInWindow(page, '.entry[aria-current=true]')).toBe(true);
  expect(await page.locator('.word.heard').count()).toBe(1);
  // Nobody is startled: it plays when asked to.
  expect(await isPaused(page)).toBe(true);
  await page.keyboard.press('l');
  await page.getByText('Link copied. It opens the call at 0:42.').waitFor();
  expect(await page.evaluate('navigator.clipboard.readText()')).toBe(
    `${api.url}/#/calls/${callId}?t=42.5`,
  );
  await page.keyboard.press('Space');
  await eventually(() => placeOf(page)).toBeGreaterThan(42.5);
  await close(opened);
});

const isInWindow = (page: Page, selector: string) =>
  page.evaluate<boolean>(
    `(() => { const { top, bottom } = document.querySelector('${selector}').getBoundingClientRect(); return top >= 0 && bottom <= innerHeight; })()`,
  );

test('the transcript is copied, and saved in five forms; what fails is said', async () => {
  const opened = await openCall();
  const { page } = opened;
  await page.context().grantPermissions(['clipboard-read', 'clipboard-write']);
  await page.getByRole('button', { name: 'Copy transcript' }).click();
  await page.getByText('Transcript copied.').waitFor();
  const copied = await page.evaluate<string>('navigator.clipboard.readText()');
  expect(copied.split('\n')[0]).toBe('0:00 Agent: Harbor Books, this is Robert. How can I help?');
  for (const [format, name] of [
    ['txt', 'Text'],
    ['srt', 'Subtitles (SRT)'],
    ['vtt', 'Subtitles (WebVTT)'],
    ['csv', 'Table (CSV)'],
    ['json', 'Data (JSON)'],
  ] as const) {
    await page.getByText('Download').click();
    if (format === 'txt') {
      await opened.screenshot('call-download');
      expect(await opened.violations()).toEqual([]);
    }
    const [saved] = await Promise.all([
      page.waitForEvent('download'),
      page.getByRole('button', { name, exact: true }).click(),
    ]);
    expect(saved.suggestedFilename()).toBe(`${callId}.${format}`);
    expect(await readFile(await saved.path(), 'utf8')).toMatch(new RegExp(`^${format}\nagent: `));
  }
  await page.route('**/transcript?*', (route) =>
    route.fulfill({ status: 409, json: { message: 'no words yet' } }),
  );
  await page.getByText('Download').click();
  await page.getByRole('button', { name: 'Text', exact: true }).click();
  await page.getByText('That did not work: no words yet').waitFor();
  await close(opened);
});

test('a call is erased after a second word only, by keyboard alone; a refusal is said', async () => {
  const posts: string[] = [];
  let isRefused = true;
  data.onPost = (path) => {
    posts.push(path);
    if (isRefused) throw new Problem(409, 'the phone call is still going on');
  };
  const opened = await openCall();
  const { page } = opened;
  const erase = page.getByRole('button', { name: 'Erase', exact: true });
  await erase.focus();
  await page.keyboard.press('Enter');
  await page.getByText('Erase this call with its recording, words and events?').waitFor();
  await opened.screenshot('call-erase');
  expect(await opened.violations()).toEqual([]);
  const focused = () => page.evaluate<string>('document.activeElement.textContent');
  expect(await focused()).toBe('Keep it');
  await page.keyboard.press('Escape');
  expect(await focused()).toBe('Erase');
  expect(posts).toEqual([]);
  await page.keyboard.press('Enter');
  await page.keyboard.press('Shift+Tab');
  await page.keyboard.press('Enter');
  await page.getByText('That did not work: the phone call is still going on').waitFor();
  isRefused = false;
  await page.getByRole('button', { name: 'Erase for good' }).click();
  await page.getByText('This call was erased.').waitFor();
  expect(await page.locator('#main').textContent()).toBe('‹ CallsThis call was erased.');
  expect(await focused()).toBe('‹ Calls');
  expect(posts).toEqual([`/api/calls/${callId}`, `/api/calls/${callId}`]);
  await close(opened);
});

test('the links of a call are closed on its page, after a second word', async () => {
  const posts: string[] = [];
  data.onPost = (path) => void posts.push(path);
  const opened = await openCall();
  const { page } = opened;
  await page.getByRole('button', { name: 'Close its links' }).click();
  await page.getByRole('button', { name: 'Keep them' }).click();
  expect(posts).toEqual([]);
  await page.getByRole('button', { name: 'Close its links' }).click();
  await opened.screenshot('call-close-links');
  expect(await opened.violations()).toEqual([]);
  await page.getByRole('button', { name: 'Close them for good' }).click();
  await page.getByText('Its links are closed. They no longer open the call.').waitFor();
  expect(posts).toEqual([`/api/calls/${callId}/links`]);
  await close(opened);
});

test('a live call keeps who, how long and Pause in sight, pauses by a key, and copies what was said as its value', async () => {
  const posts: string[] = [];
  const live = { state: 'live' as const, ended_at: null, recording: false, paused: false };
  data.calls = [withNotes(live)];
  // The service may tell the value beside the words.
  data.events = {
    [callId]: recordedEvents(12).map((event) =>
      event.type !== 'call.entities'
        ? event
        : {
            ...event,
            data: {
              ...event.data,
              results: event.data.results.map((one) =>
                one.entity_type === 'DATE' ? { ...one, value: '2026-06-21' } : one,
              ),
            },
          },
    ),
  };
  data.onPost = (path) => {
    posts.push(path);
    return withNotes({ ...live, paused: true });
  };
  const opened = await browser.open(`${api.url}/#/calls/${callId}`, { width: 390 });
  const { page } = opened;
  const said = page.getByRole('region', { name: 'Said so far' });
  await said.getByText(/Sun,? 21 Jun 2026/).waitFor();
  await said.getByText('“the 21st of June”').waitFor();
  await said.getByRole('button', { name: 'Copy 2026-06-21' }).click();
  await said.getByText('Copied 2026-06-21.').waitFor();
  await page.evaluate('window.scrollTo(0, document.documentElement.scrollHeight)');
  const bar = page.locator('.call-bar');
  await eventually(() => bar.evaluate((one) => Math.round(one.getBoundingClientRect().top))).toBe(
    0,
  );
  expect(await bar.getByRole('button', { name: 'Pause' }).isVisible()).toBe(true);
  await page.keyboard.press('m');
  await bar.getByText('Paused').waitFor();
  expect(posts).toEqual([`/api/calls/${callId}/pause`]);
  await opened.screenshot('call-live-said');
  expect(await opened.violations()).toEqual([]);
  await close(opened);
});

test('a live call offers no erasure', async () => {
  data.calls = [withNotes({ state: 'live', ended_at: null, recording: false })];
  const opened = await browser.open(`${api.url}/#/calls/${callId}`);
  await opened.page.getByText('Oriane Vasquez').first().waitFor();
  const erase = opened.page.getByRole('button', { name: 'Erase', exact: true });
  expect(await erase.isVisible()).toBe(false);
  await close(opened);
});

test('notes and tags are kept, what is being written is not overwritten, and a failure loses nothing', async () => {
  const bodies: unknown[] = [];
  let isRefused = false;
  data.onPost = (_path, body) => {
    bodies.push(body);
    if (isRefused) throw new Problem(500, 'the disk does not answer');
  };
  const opened = await openCall();
  const { page } = opened;
  const notes = page.getByLabel('Notes', { exact: true });
  await notes.fill('Called back on Monday.');
  // Somebody else changes the call meanwhile.
  api.tell({ type: 'call', call: withNotes({ paused: true }) });
  await page.getByRole('button', { name: 'Save notes' }).click();
  await page.getByText('Notes saved.').waitFor();
  await page.getByLabel('Add a tag').fill('VIP');
  await page.keyboard.press('Enter');
  await page.getByText('Tag added.').waitFor();
  await page.getByRole('button', { name: 'Remove tag refund' }).click();
  await page.getByText('Tag removed.').waitFor();
  expect(bodies).toEqual([
    { notes: 'Called back on Monday.' },
    { tags: ['refund', 'VIP'] },
    { tags: ['VIP'] },
  ]);
  await opened.screenshot('call-notes');
  expect(await opened.violations()).toEqual([]);
  isRefused = true;
  await notes.fill('Called back on Tuesday.');
  await page.getByRole('button', { name: 'Save notes' }).click();
  await page.getByText('Could not save: the disk does not answer').waitFor();
  expect(await notes.inputValue()).toBe('Called back on Tuesday.');
  isRefused = false;
  // A person who leaves the view without a click leaves the notes as they are.
  await page.evaluate(`location.hash = '#/calls'`);
  // The refused one was the same.
  await eventually(() => bodies.length).toBe(5);
  expect(bodies.at(-1)).toEqual({ notes: 'Called back on Tuesday.' });
  await page.evaluate(`location.hash = '#/calls/${callId}'`);
  await eventually(() => notes.inputValue()).toBe('Called back on Tuesday.');
  await close(opened);
});

test('theme, time zone and keys are chosen on the page and remembered', async () => {
  const opened = await openCall();
  const { page } = opened;
  await page.getByText('Display').click();
  await page.getByLabel('Dark').check();
  await page.getByLabel('Time zone').selectOption('Asia/Tokyo');
  await opened.screenshot('display-menu');
  expect(await opened.violations()).toEqual([]);
  const scheme = () => page.evaluate<string>('getComputedStyle(document.body).colorScheme');
  await page.getByText('3 Feb 2026, 18:15:00 GMT+9').first().waitFor();
  await page.getByText('Times are in Asia/Tokyo.').waitFor();
  expect(await scheme()).toBe('dark');
  await page.reload();
  await page.getByText('3 Feb 2026, 18:15:00 GMT+9').first().waitFor();
  expect(await scheme()).toBe('dark');
  const kept = await page.evaluate<Record<string, string>>('({ ...localStorage })');
  expect(kept).toEqual({ 'trunkline.theme': 'dark', 'trunkline.time-zone': 'Asia/Tokyo' });
  await page.getByText('Display').click();
  await page.getByLabel('System').check();
  await page.keyboard.press('Escape');
  expect(await scheme()).toBe('light dark');
  await page.keyboard.press('?');
  const dialog = page.getByRole('dialog', { name: 'Keyboard shortcuts' });
  await dialog.getByText('Play from the next word').waitFor();
  await opened.screenshot('shortcuts');
  expect(await opened.violations()).toEqual([]);
  await dialog.getByLabel('Use these keys').uncheck();
  await page.keyboard.press('Escape');
  await eventually(() => dialog.count()).toBe(0);
  await page.locator('.word', { hasText: 'damaged.' }).click();
  await eventually(() => isPaused(page)).toBe(false);
  await page.keyboard.press('Space');
  await page.keyboard.press('?');
  await dialog.waitFor();
  expect(await isPaused(page)).toBe(false);
  expect(troubles(opened)).toEqual([]);
  await close(opened);
});

test('a time zone that the browser does not know is the computer’s', async () => {
  const opened = await browser.open(api.url);
  const { page } = opened;
  await page.evaluate(`localStorage.setItem('trunkline.time-zone', 'Mars/Olympus')`);
  await page.reload();
  await page.locator('.calls li').waitFor();
  await page.getByText('Display').click();
  expect(await page.getByLabel('Time zone').inputValue()).toBe('');
  await close(opened);
});

test('words, numbers, notes and metadata are text, whatever they look like', async () => {
  const hostile = '<img src=x onerror="document.title=1"><script>alert(1)</script>&amp;';
  const call = withNotes({ from: hostile, custom_metadata: { [hostile]: hostile } });
  data.calls = [Object.assign(call, { notes: hostile, tags: [hostile] })];
  data.events = {
    [callId]: recordedEvents().map((event) =>
      event.type === 'call.transcript' || event.type === 'call.summary'
        ? (JSON.parse(
            JSON.stringify(event, (key, value: unknown) =>
              ['text', 'word', 'headline', 'emotion'].includes(key) ? hostile : value,
            ),
          ) as typeof event)
        : event,
    ),
  };
  const opened = await browser.open(`${api.url}/#/calls/${callId}`, { width: 390 });
  const { page } = opened;
  await page.locator('.conversation .text', { hasText: hostile }).first().waitFor();
  await page.locator('.details dt', { hasText: hostile }).waitFor();
  await page.locator('.tags li', { hasText: hostile }).waitFor();
  await page.locator('.summary', { hasText: hostile }).waitFor();
  expect(await page.getByLabel('Notes', { exact: true }).inputValue()).toBe(hostile);
  expect(await page.locator('main img, main script').count()).toBe(0);
  expect(await page.title()).toContain(hostile);
  expect(await overflow(page)).toEqual([]);
  expect(troubles(opened)).toEqual([]);
  await close(opened);
});

/** Elements that stick out of the window sideways; what is meant to be off the screen or scrolls by itself is not. */
const overflow = (page: Page) =>
  page.evaluate<string[]>(`(() => {
    const { clientWidth: width, scrollWidth } = document.documentElement;
    const isMeant = (one) => one.closest('.skip, .off-screen, .wide, .goes-on .role');
    const out = [...document.querySelectorAll('body *')].filter((one) => {
      const { left, right, width: own } = one.getBoundingClientRect();
      const isOut = own > 0 && (right > width + 0.5 || left < -0.5);
      return isOut && one.checkVisibility() && !isMeant(one);
    });
    const page = scrollWidth > width ? ['the page scrolls sideways'] : [];
    return [...page, ...out.map((one) => one.outerHTML.slice(0, 120))];
  })()`);

test.each([
  ['light', { width: 1280 }],
  ['dark', { width: 1280, dark: true }],
  ['narrow', { width: 390 }],
  ['narrow-dark', { width: 390, dark: true }],
  // A window of 1280 pixels at 200 % is laid out as one of 640.
  ['zoomed', { width: 640 }],
])('everything is within the window and accessible when %s', async (look, options) => {
  const opened = await openCall('', options);
  const { page } = opened;
  const check = async (name: string, isAudited = true) => {
    await opened.screenshot(`call-page-${name}-${look}`);
    expect(await overflow(page)).toEqual([]);
    if (isAudited) expect(await opened.violations()).toEqual([]);
  };
  await page.getByText('Evidence').click();
  await page.locator('.ledger').first().waitFor();
  await page.locator('.word', { hasText: 'damaged.' }).click();
  await page.locator('.word.heard').first().waitFor();
  await page.keyboard.press('Space');
  await page.locator('svg.course .dot').first().hover();
  await check('tip');
  await page.getByText('Download').click();
  await check('download', false);
  await page.getByText('Display').click();
  await check('display');
  await page.keyboard.press('Escape');
  await page.getByRole('button', { name: 'Erase', exact: true }).click();
  await check('erase', false);
  await page.keyboard.press('Escape');
  await page.getByText('Talk time').click();
  await page.keyboard.press('?');
  await page.getByRole('dialog').waitFor();
  await check('shortcuts');
  expect(troubles(opened)).toEqual([]);
  await close(opened);
});
