import { expect, test } from 'vitest';
import { browserOfFile } from '../support/browser/page-tests.ts';
import { startRecordedApi, type Recorded } from '../support/browser/recorded-api.ts';
import {
  callId,
  recordedCall,
  recordedEvents,
  recordedInstallation,
} from '../support/browser/recorded-call.ts';
import { recordedScore, recordedScoreReport } from '../support/browser/recorded-scores.ts';

const browser = browserOfFile();
const whole = 'document.documentElement.scrollWidth <= innerWidth';

const base = (): Recorded => ({
  calls: [recordedCall()],
  events: { [callId]: recordedEvents() },
  deliveries: [],
  installation: recordedInstallation,
  scores: [recordedScore()],
  scoreReport: recordedScoreReport(),
});

test('a reviewer sees the evidence, hears it, completes a score and answers a dispute; notes stay text', async () => {
  const sent: { path: string; body: unknown }[] = [];
  const data = { ...base(), onPost: (path: string, body: unknown) => sent.push({ path, body }) };
  await using api = await startRecordedApi(data);
  const { page, ...opened } = await browser.open(`${api.url}/#/calls/${callId}`, { width: 1_440 });
  const panel = page.locator('.score-panel');
  await panel.getByText('Service <i>quality</i>').waitFor();
  expect(await panel.locator('.score-item').first().textContent()).toContain('Agent: “my name is Omar”'); // prettier-ignore
  await panel.getByRole('button', { name: 'Did the agent greet and give a name? Hear from 0:01' }).click(); // prettier-ignore
  await page.waitForFunction(`document.querySelector('audio').currentTime >= 1 || document.querySelector('audio').error`); // prettier-ignore
  for (const [width, look] of [
    [1_440, 'light'],
    [390, 'dark'],
    [390, 'light'],
    [1_440, 'dark'],
  ] as const) {
    // prettier-ignore
    await page.setViewportSize({ width, height: 900 });
    await page.emulateMedia({ colorScheme: look });
    expect([width, await page.evaluate(whole)]).toEqual([width, true]);
    expect([width, look, await opened.violations()]).toEqual([width, look, []]);
    await opened.screenshot(`score-${width}-${look}`);
  }
  await panel.getByLabel('Was the question answered?', { exact: true }).selectOption('yes');
  await panel.getByLabel('Note: Was the question answered?').fill('The refund was promised.');
  data.scores = [recordedScore({ state: 'disputed', revision: 1, disputes: [{ by: 'Omar', at: '2026-02-04T09:00:00.000Z', reason: 'The line was bad.', answer: null }] })]; // prettier-ignore
  await panel.getByRole('button', { name: 'Keep the review' }).click();
  await panel.getByText('Kept.').waitFor();
  expect(sent[0]).toMatchObject({ path: `/api/calls/${callId}/scores/service-quality`, body: { revision: 0 } }); // prettier-ignore
  expect((sent[0]?.body as { items: unknown[] }).items).toEqual([
    { id: 'greeted', answer: 'yes' },
    { id: 'polite', answer: 'no', note: 'He <b>shouted</b>.' },
    { id: 'silence', answer: '12.4' },
    { id: 'solved', answer: 'yes', note: 'The refund was promised.' },
  ]);
  await panel.getByText('The line was bad.').waitFor();
  await panel.getByLabel('Answer to the dispute').fill('Agreed.');
  expect(await opened.violations()).toEqual([]);
  await panel.getByRole('button', { name: 'Keep and settle' }).click();
  await expect.poll(() => sent.length).toBe(2);
  expect(sent[1]?.body).toMatchObject({ revision: 1, dispute: { text: 'Agreed.' } });
  await page.context().close();
});

test('scores over time stand by agent or team with what waits; a dispute is sent with its reason', async () => {
  const sent: { path: string; body: unknown }[] = [];
  const data = { ...base(), onPost: (path: string, body: unknown) => sent.push({ path, body }) };
  await using api = await startRecordedApi(data);
  const { page, ...opened } = await browser.open(`${api.url}/#/scores`, { width: 1_440 });
  await page.getByRole('heading', { name: 'Waiting for a person' }).waitFor();
  expect(await page.locator('tbody tr').first().textContent()).toContain('a17');
  for (const [width, look] of [
    [1_440, 'light'],
    [390, 'dark'],
  ] as const) {
    await page.setViewportSize({ width, height: 900 });
    await page.emulateMedia({ colorScheme: look });
    expect([width, await page.evaluate(whole)]).toEqual([width, true]);
    expect([width, look, await opened.violations()]).toEqual([width, look, []]);
    await opened.screenshot(`scores-${width}-${look}`);
  }
  await page.getByLabel('By', { exact: true }).selectOption('team');
  await page.waitForURL(/by=team/);
  await page.getByRole('link', { name: callId }).click();
  const panel = page.locator('.score-panel');
  await panel.getByText('Dispute this score').click();
  await panel.getByLabel('Reason').fill('The line was bad.');
  await panel.getByRole('button', { name: 'Send the dispute' }).click();
  await expect.poll(() => sent.length).toBe(1);
  expect(sent[0]).toEqual({ path: `/api/calls/${callId}/scores/service-quality/dispute`, body: { revision: 0, reason: 'The line was bad.' } }); // prettier-ignore
  expect(opened.problems).toEqual([]);
  await page.context().close();
});
