import { expect, test } from 'vitest';
import { browserOfFile, eventually } from '../support/browser/page-tests.ts';
import { startRecordedApi, type Recorded } from '../support/browser/recorded-api.ts';
import {
  callId,
  manyCalls,
  recordedCall,
  recordedDeliveries,
  recordedEvents,
  recordedInstallation,
} from '../support/browser/recorded-call.ts';

const browser = browserOfFile();

function recorded(change: Partial<Recorded> = {}): Recorded {
  return {
    calls: [recordedCall(), ...manyCalls(3).map((call) => ({ ...call, transcript: [] }))],
    events: { [callId]: recordedEvents() },
    deliveries: recordedDeliveries(),
    installation: recordedInstallation,
    ...change,
  };
}

test('a word is searched, the address keeps it, and its line plays from the word itself', async () => {
  await using api = await startRecordedApi(recorded());
  const { page, ...opened } = await browser.open(`${api.url}/#/calls`, { width: 1440 });
  await page.getByRole('link', { name: 'Search', exact: true }).click();
  const box = page.getByRole('searchbox', { name: 'Words' });
  await eventually(() => page.evaluate<string>('document.activeElement.name')).toBe('q');
  await box.fill('damaged');
  await page.keyboard.press('Enter');
  const found = page.locator('.found > li');
  await eventually(() => found.count()).toBe(1);
  expect(await page.evaluate<string>('location.hash')).toBe('#/search?q=damaged');
  expect(await found.locator('mark').allTextContents()).toEqual(['damaged']);
  await page.getByText('One call, the newest words first.').waitFor();
  await opened.screenshot('search');
  expect(await opened.violations()).toEqual([]);
  // The moment at which sound begins, by the player itself.
  await page.evaluate(
    `(() => { const audio = document.querySelector('audio'); audio.addEventListener('playing', () => (audio.dataset.from = audio.currentTime)); })()`,
  );
  // Without a mouse: to the place, and play.
  await page.evaluate('document.activeElement.blur()');
  await page.keyboard.press('j');
  await page.keyboard.press('Enter');
  const began = () => page.locator('audio').getAttribute('data-from');
  await eventually(began).not.toBeNull();
  const line = recordedEvents().find((event) => event.type === 'call.transcript' && event.data.text.includes('damaged')); // prettier-ignore
  if (line?.type !== 'call.transcript') throw new Error('no such line');
  const word = line.data.words.find((one) => one.word.startsWith('damaged'));
  expect(Math.abs(Number(await began()) - (word?.start ?? -1))).toBeLessThan(0.15);
  await opened.screenshot('search-playing');
  expect(await opened.violations()).toEqual([]);
  // The line leads to the same words in the call.
  await found.getByRole('link', { name: /damaged/ }).click();
  await page.getByText('Oriane Vasquez').first().waitFor();
  expect(await page.evaluate<string>('location.hash')).toMatch(/^#\/calls\/\w+\?t=\d/);
  await page.goBack();
  await eventually(() => found.count()).toBe(1);
  // An erasure that somebody orders meanwhile takes it away at once.
  api.tell({ type: 'call-deleted', call_id: callId });
  await eventually(() => found.count()).toBe(0);
  expect(await page.locator('main').textContent()).not.toContain('damaged.');
  expect(opened.problems).toEqual([]);
  await page.context().close();
});

test('filters stand in the address and in the question, and a wrong query says what to correct', async () => {
  const asked: Record<string, string>[] = [];
  const data = recorded({ onPost: (_path, query) => void asked.push(query as Record<string, string>) }); // prettier-ignore
  await using api = await startRecordedApi(data);
  const { page } = await browser.open(`${api.url}/#/search?q=angry&direction=inbound`);
  await eventually(() => page.locator('.found > li').count()).toBe(1);
  expect(await page.getByLabel('Direction').inputValue()).toBe('inbound');
  await page.getByLabel('Carrier').fill('twilio');
  await page.keyboard.press('Enter');
  await eventually(() => asked.at(-1)?.['carrier']).toBe('twilio');
  expect(asked.at(-1)).toMatchObject({ q: 'angry', direction: 'inbound' });
  expect(await page.evaluate<string>('location.hash')).toContain('carrier=twilio');
  await page.getByRole('searchbox').fill('"angry');
  await page.getByText('a quotation mark is not closed').waitFor();
  expect(await page.locator('.found > li').count()).toBe(0);
  await page.getByRole('searchbox').fill('zeppelin');
  await page.getByText('No call has these words.').waitFor();
  await page.getByRole('link', { name: 'Clear the search' }).click();
  await page.getByText('Enter words from a call').waitFor();
  await page.context().close();
});

test('a search is saved under a name, opened again and removed, and its calls leave as files', async () => {
  const data = recorded();
  await using api = await startRecordedApi(data);
  const { page, ...opened } = await browser.open(`${api.url}/#/search?q=angry`, { width: 390, dark: true }); // prettier-ignore
  await eventually(() => page.locator('.found > li').count()).toBe(1);
  await page.getByText('Saved searches').click();
  await page.getByText('Nothing is saved yet.').waitFor();
  await page.getByRole('button', { name: 'Save this search' }).click();
  await page.getByLabel('Name of this search').fill('Angry callers');
  await opened.screenshot('search-save-narrow-dark');
  expect(await opened.violations()).toEqual([]);
  await page.keyboard.press('Enter');
  await page.getByText('Saved as “Angry callers”.').waitFor();
  expect(data.saved).toMatchObject([{ name: 'Angry callers', query: 'q=angry' }]);
  await page.evaluate(`location.hash = '#/search?q=wonderful'`);
  await page.locator('.found mark', { hasText: 'wonderful' }).waitFor();
  await page.getByText('Saved searches').click();
  await page.getByRole('link', { name: 'Angry callers' }).click();
  await page.locator('.found mark', { hasText: 'angry' }).waitFor();
  await page.getByText('Saved searches').click();
  await page.getByRole('button', { name: 'Remove Angry callers' }).click();
  await page.getByText('Nothing is saved yet.').waitFor();
  expect(data.saved).toEqual([]);
  await page.keyboard.press('Escape');
  await page.getByText('Download', { exact: true }).click();
  const links = page.locator('.menu a[download]');
  expect(await links.evaluateAll((all) => all.map((one) => one.getAttribute('href')))).toEqual(
    ['txt', 'srt', 'vtt', 'csv', 'jsonl', 'json'].map(
      (format) => `/api/search/export?q=angry&format=${format}`,
    ),
  );
  await opened.screenshot('search-download-narrow-dark');
  expect(await opened.violations()).toEqual([]);
  const wide = await page.evaluate<number>('document.documentElement.scrollWidth');
  expect(wide).toBeLessThanOrEqual(390);
  // Without a call found, the menu stands alone at the right edge.
  await page.evaluate(`location.hash = '#/search?q=zeppelin'`);
  await page.getByText('No call has these words.').waitFor();
  await page.getByText('Saved searches').click();
  const save = await page.getByRole('button', { name: 'Save this search' }).boundingBox();
  expect((save?.x ?? 0) + (save?.width ?? 999)).toBeLessThanOrEqual(390);
  expect(opened.problems).toEqual([]);
  await page.context().close();
});

test('while older calls are indexed, the page says how far back they are found', async () => {
  const [from, reached, oldest] = ['2026-03-01T00:00:00Z', '2026-02-19T00:00:00Z', '2026-02-09T00:00:00Z']; // prettier-ignore
  const data = recorded({ indexing: { from: from ?? '', reached: reached ?? '', oldest: oldest ?? '' } }); // prettier-ignore
  await using api = await startRecordedApi(data);
  const { page, ...opened } = await browser.open(`${api.url}/#/search?q=angry`);
  await page.getByText('Older calls are being added to the search, 50 %. Calls since 19 Feb 2026').waitFor(); // prettier-ignore
  expect(await opened.violations()).toEqual([]);
  await page.context().close();
});
