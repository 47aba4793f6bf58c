import { expect, test } from 'vitest';
import { startBrowser } from '../support/browser/browser.ts';
import { startRecordedApi } from '../support/browser/recorded-api.ts';
import {
  callId,
  recordedCall,
  recordedDeliveries,
  recordedEvents,
  recordedInstallation,
} from '../support/browser/recorded-call.ts';

test('the contact of a call stands under its parties, as text whatever the CRM says', async () => {
  await using browser = await startBrowser();
  const contact = {
    ...{ crm: 'crm', id: '51', name: '<img src=x onerror="document.title=1">Laura', company: null },
    tickets: [
      { id: '7', title: 'Broken kettle' },
      { id: '8', title: 'Late parcel' },
    ],
  };
  await using api = await startRecordedApi({
    calls: [Object.assign(recordedCall(), { notes: null, tags: [], contact })],
    events: { [callId]: recordedEvents() },
    deliveries: recordedDeliveries(),
    installation: recordedInstallation,
  });
  const { page } = await browser.open(`${api.url}/#/calls/${callId}`);
  const line = page.getByText('Open: Broken kettle, Late parcel');
  await line.waitFor();
  expect(await line.textContent()).toBe(`${contact.name} · Open: Broken kettle, Late parcel`);
  expect(await page.title()).not.toBe('1');
});
