import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { TestClock } from '../../support/clock/test-clock.ts';
import { crmRowsOf, deliverThrough, keepEvent, senderTo } from '../../support/crm/crm-schedule.ts';
import { GenericDouble } from '../../support/crm/doubles/generic.ts';
import { temporaryStore } from '../../support/store/store.ts';
import { queuedOf } from '../../../src/outbox/sender.ts';
import { eventExamples } from '../../../src/protocol/event-examples.ts';

const page = new URL('../../../config/docs/crm.md', import.meta.url);

/** The requests to an API of one's own for the example of a call: what the page shows must be what is sent. */
async function sentForTheExample() {
  await using store = await temporaryStore();
  const crm = new GenericDouble();
  crm.people = [
    { id: '51', phones: ['+15550100123'], at: '2026-01-01T00:00:00Z', name: 'Oriane Vasquez' },
  ];
  const clock = new TestClock(1);
  await using sender = senderTo(crm, clock, crmRowsOf(store));
  for (const type of ['call.completed', 'call.wrapped'] as const) {
    const item = queuedOf(eventExamples[type]);
    await keepEvent(store, item);
    await deliverThrough(() => sender, item, clock);
  }
  return crm.requests
    .filter(({ method }) => method === 'PUT')
    .map(({ method, path, body }) => ({ request: `${method} ${path.replace('/api', '')}`, body }));
}

test('the page on CRMs shows each body that an API of one’s own gets, as the program makes it', async () => {
  const text = await readFile(page, 'utf8');
  const shown = [...text.matchAll(/^`(PUT [^`]+)`[^\n]*\n\n```json\n([^`]+)```/gm)].map(
    ([, request, body]) => ({ request, body: JSON.parse(body ?? '') as { text: string } }),
  );
  const sent = await sentForTheExample();
  expect(shown.map(({ request }) => request)).toEqual(sent.map(({ request }) => request));
  for (const [index, { request, body }] of shown.entries()) {
    const made = sent[index]?.body as { text: string };
    // The page shows the beginning of a long text.
    if (body.text.endsWith('…')) {
      expect(made.text.startsWith(body.text.slice(0, -1)), request).toBe(true);
      made.text = body.text;
    }
    expect(made, request).toEqual(body);
  }
});

test('the task of a promise says who is called at which number, and where the call is', async () => {
  const task = (await sentForTheExample()).find(({ request }) => request.includes('/tasks/'))?.body;
  const { page_url } = eventExamples['call.completed'].data;
  expect(task).toMatchObject({
    call: eventExamples['call.wrapped'].call.id,
    title: 'Call the customer back',
    until: '2026-02-06',
    number: eventExamples['call.wrapped'].call.from,
    name: 'Oriane Vasquez',
    contact: 51,
    page_url,
    text: expect.stringContaining(
      'Links open without a sign-in until Tuesday 10 February 2026.',
    ) as string,
  });
});
