import { afterAll, beforeAll, expect, test } from 'vitest';
import { Problem } from '../../src/port/problem.ts';
import { eventExamples } from '../../src/protocol/event-examples.ts';
import type { CallEvent } from '../../src/protocol/events.ts';
import type { CallWrapUp } from '../../src/protocol/wrap-up.ts';
import { startBrowser, type Browser } from '../support/browser/browser.ts';
import {
  startRecordedApi,
  type Recorded,
  type RecordedApi,
} from '../support/browser/recorded-api.ts';
import {
  callId,
  eventId,
  recordedCall,
  recordedDeliveries,
  recordedEvents,
  recordedInstallation,
} from '../support/browser/recorded-call.ts';

const record: CallWrapUp['wrap_up'] = {
  ...eventExamples['call.wrapped'].data.wrap_up,
  reason: { text: 'Customer reported that the lamp is broken.', utterance_ids: ['utt_1'] },
};
const waiting: CallWrapUp = {
  ...{ call_id: callId, state: 'waiting', due_at: '2026-02-03T09:17:00.000Z' },
  ...{ wrap_up: record, text: '', revision: 0, edits: [], dispositions: [] },
};

let browser: Browser;
let api: RecordedApi;
const data: Recorded = {
  calls: [Object.assign(recordedCall(), { notes: null, tags: [] })],
  events: { [callId]: recordedEvents() },
  deliveries: recordedDeliveries(),
  installation: recordedInstallation,
  wrapUp: waiting,
};
beforeAll(async () => {
  [browser, api] = await Promise.all([startBrowser(), startRecordedApi(data)]);
});
afterAll(async () => {
  await browser[Symbol.asyncDispose]();
  await api[Symbol.asyncDispose]();
});

test('the wrap-up of a call that just ended is there by itself', async () => {
  const [call] = data.calls;
  if (!call) throw new Error('no call');
  const { ended_at } = call;
  call.ended_at = new Date().toISOString();
  const { page } = await browser.open(`${api.url}/#/calls/${callId}`);
  const panel = page.getByRole('region', { name: 'Wrap-up' });
  await panel.getByText('Customer reported that the lamp is broken.').waitFor();
  await panel.getByText('It is sent by itself in a moment').waitFor();
  expect(await panel.getByRole('button', { name: 'Show wrap-up' }).count()).toBe(0);
  call.ended_at = ended_at;
  await page.context().close();
});

test('a wrap-up is read, heard where its words were said, edited, and shown as it was told', async () => {
  const orders: unknown[] = [];
  data.onPost = (_path, body) => {
    orders.push(body);
    if (orders.length === 1) throw new Problem(409, 'somebody edited it meanwhile');
    const edits = [{ field: 'reason' as const, by: 'Dana', at: '2026-02-03T09:16:30.000Z' }];
    const reason = { text: 'The lamp broke.', utterance_ids: [] };
    const outcome = { value: 'open', utterance_ids: [] };
    return { ...waiting, state: 'delivered', revision: 1, edits, wrap_up: { ...record, reason, outcome } }; // prettier-ignore
  };
  const opened = await browser.open(`${api.url}/#/calls/${callId}`);
  const { page } = opened;
  const panel = page.getByRole('region', { name: 'Wrap-up' });
  await panel.getByRole('button', { name: 'Show wrap-up' }).click();
  await panel.getByText('It is sent by itself in a moment').waitFor();
  await panel.getByText(/Agent: call the customer back, by Fri,? 6 Feb 2026/).waitFor();
  await panel.getByText('Amount: US$89').waitFor();
  expect(await opened.violations()).toEqual([]);
  await opened.screenshot('call-wrap-up');

  // The words that prove a field are played.
  const second = recordedEvents().find((event) => event.type === 'call.transcript' && event.data.utterance_id === 'utt_1'); // prettier-ignore
  const start = (second as Extract<CallEvent, { type: 'call.transcript' }>).data.start;
  await panel.getByRole('button', { name: 'Customer reported that the lamp is broken.' }).click();
  const placeOf = () => page.evaluate<number>(`document.querySelector('audio').currentTime`);
  await expect.poll(placeOf, { timeout: 30_000 }).toBeGreaterThanOrEqual(start);

  await panel.getByRole('button', { name: 'Edit wrap-up' }).click();
  await panel.getByLabel('Reason').fill('The lamp broke.');
  await panel.getByLabel('Outcome').selectOption('open');
  await panel.getByRole('button', { name: 'Add a promise' }).click();
  await panel.getByLabel('Promise 2: what').fill('send photos');
  await panel.getByLabel('Promise 2: who').selectOption('customer');
  expect(await opened.violations()).toEqual([]);
  await panel.getByRole('button', { name: 'Save and send' }).click();
  // A refusal leaves what was written.
  await panel.getByText('Could not save').waitFor();
  expect(await panel.getByLabel('Reason').inputValue()).toBe('The lamp broke.');
  await panel.getByRole('button', { name: 'Save and send' }).click();
  await panel.getByText('Wrap-up saved and sent.').waitFor();
  await panel.getByText('Edited by Dana.').waitFor();
  expect(orders.at(-1)).toEqual({
    revision: 0,
    wrap_up: {
      reason: { text: 'The lamp broke.' },
      done: record.done,
      outcome: { value: 'open' },
      promises: [
        record.promises[0],
        { who: 'customer', what: 'send photos', until: null, utterance_ids: [] },
      ],
      disposition: null,
    },
  });

  // Somebody else edits it: the page shows what was told.
  const { data: example } = eventExamples['call.wrapped'];
  api.tell({
    ...eventExamples['call.wrapped'],
    id: eventId(60),
    sequence: 60,
    call: { ...eventExamples['call.wrapped'].call, id: callId },
    data: { ...example, revision: 2, wrap_up: { ...record, disposition: 'Damaged in transit' } },
  });
  await panel.getByText('Damaged in transit').waitFor();
  await page.context().close();
}, 90_000);

test('a disposition is chosen from the list of the installation, and a suggestion is marked as one', async () => {
  const orders: { wrap_up: CallWrapUp['wrap_up'] }[] = [];
  const suggested = { ...record, disposition: 'Delivery', disposition_by: 'words' as const };
  const dispositions = ['Refund', 'Delivery', 'Billing'];
  data.wrapUp = { ...waiting, wrap_up: suggested, dispositions };
  data.onPost = (_path, body) => {
    orders.push(body as (typeof orders)[number]);
    const chosen = { disposition: 'Refund', disposition_by: 'person' as const };
    return { ...waiting, state: 'delivered', revision: 1, wrap_up: { ...record, ...chosen }, dispositions }; // prettier-ignore
  };
  const opened = await browser.open(`${api.url}/#/calls/${callId}`);
  const panel = opened.page.getByRole('region', { name: 'Wrap-up' });
  await panel.getByRole('button', { name: 'Show wrap-up' }).click();
  await panel.getByText('Delivery (suggested)').waitFor();
  await panel.getByRole('button', { name: 'Edit wrap-up' }).click();
  const field = panel.getByLabel('Disposition');
  expect(await field.inputValue()).toBe('Delivery');
  expect(await field.getByRole('option').allTextContents()).toEqual(['None', 'Refund', 'Delivery (suggested)', 'Billing']); // prettier-ignore
  expect(await opened.violations()).toEqual([]);
  await field.selectOption('Refund');
  await panel.getByRole('button', { name: 'Save and send' }).click();
  await panel.getByText('Wrap-up saved and sent.').waitFor();
  expect(orders.map(({ wrap_up }) => wrap_up.disposition)).toEqual(['Refund']);
  expect(await panel.getByText('Refund', { exact: true }).count()).toBe(1);
  expect(await panel.getByText('(suggested)').count()).toBe(0);
  await opened.page.context().close();
}, 90_000);
