import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Page } from 'playwright-core';
import { eventExamples } from '../../src/protocol/event-examples.ts';
import type { OpenPage } from '../support/browser/browser.ts';
import { browserOfFile } from '../support/browser/page-tests.ts';
import {
  startRecordedApi,
  type Recorded,
  type RecordedApi,
} from '../support/browser/recorded-api.ts';
import {
  callId,
  manyCalls,
  recordedCall,
  recordedDeliveries,
  recordedEvents,
  recordedInstallation,
} from '../support/browser/recorded-call.ts';
import { jobId, jobIdOf, recordedJobs } from '../support/browser/recorded-jobs.ts';

const browser = browserOfFile();

/** The widths of a large and a small screen, a tablet and a telephone. 720 is the small screen at 200 %. */
const widths = [1_920, 1_440, 768, 720, 390];

type PageScene = {
  name: string;
  hash: string;
  /** An element that is there when the scene is whole. */
  whole: string;
  data?: (all: Recorded) => Partial<Recorded>;
  act?: (page: Page) => Promise<unknown>;
};

const record = eventExamples['call.wrapped'].data.wrap_up;
const call = recordedCall({
  notes: 'Wants to be called back on Tuesday.',
  tags: ['refund', 'vip'],
});
const longCall = recordedCall({
  id: 'call_01JK5S0000000000000000LONG',
  from: 'sip:a-very-long-name-of-a-person-who-calls@a-very-long-host.example.com',
  to: '+15550100200',
  tags: ['a-tag-that-has-no-place-to-break-and-is-forty-letters-long'],
  incomplete: { seconds: 31.25, causes: [{ cause: 'refused', seconds: 31.25 }] },
  custom_metadata: { agent_name: 'Maximiliane Featherstonehaugh-Cholmondeley' },
});
const live = recordedCall({ id: 'call_01JK5S000000000000000LIVE', state: 'live', ended_at: null, recording: false, started_at: new Date().toISOString() }); // prettier-ignore

function everything(): Recorded {
  const events = recordedEvents();
  return {
    calls: [call, longCall, live, ...manyCalls(12)],
    events: { [callId]: events, [live.id]: recordedEvents(9) },
    deliveries: recordedDeliveries(),
    installation: recordedInstallation,
    jobs: recordedJobs(),
    wrapUp: { call_id: callId, state: 'waiting', due_at: '2026-02-03T09:17:00.000Z', wrap_up: record, text: '', revision: 0, edits: [], dispositions: ['Refund', 'Delivery'] }, // prettier-ignore
    saved: [{ name: 'Refunds of this month', query: 'q=refund', saved_at: '2026-02-03T09:15:00.000Z' }], // prettier-ignore
  };
}

const ofCall = `#/calls/${callId}`;
const ofLive = `#/calls/${live.id}`;
const press = (name: string | RegExp) => (page: Page) =>
  page.getByRole('button', { name }).first().click();

const scenes: PageScene[] = [
  { name: 'calls', hash: '#/calls', whole: '.calls li:nth-child(10)' },
  { name: 'calls-filters', hash: '#/calls?direction=inbound', whole: '.filter-fields' },
  { name: 'calls-none', hash: '#/calls', whole: '.page-state[data-state=empty]', data: () => ({ calls: [] }) }, // prettier-ignore
  { name: 'calls-columns', hash: '#/calls', whole: '.menu[open] fieldset', act: (page) => page.getByText('Columns').click() }, // prettier-ignore
  { name: 'call', hash: ofCall, whole: '.talk, .summary' },
  { name: 'call-erase', hash: ofCall, whole: '.summary', act: press('Erase') },
  { name: 'call-wrap-up', hash: ofCall, whole: '.wrap-up dl', act: press('Show wrap-up') },
  { name: 'call-wrap-up-edit', hash: ofCall, whole: '.promise-rows input', act: async (page) => (await press('Show wrap-up')(page), press('Edit wrap-up')(page)) }, // prettier-ignore
  { name: 'call-download', hash: ofCall, whole: '.menu[open] .panel', act: (page) => page.getByText('Download', { exact: true }).click() }, // prettier-ignore
  { name: 'call-keys', hash: ofCall, whole: 'dialog[open]', act: async (page) => (await page.locator('.summary').first().waitFor(), page.keyboard.press('?')) }, // prettier-ignore
  { name: 'call-live', hash: ofLive, whole: '.conversation .text' },
  { name: 'call-paused', hash: ofLive, whole: '.state[data-state=paused]', data: (all) => ({ calls: all.calls.map((one) => ({ ...one, paused: true })) }) }, // prettier-ignore
  { name: 'call-long-names', hash: `#/calls/${longCall.id}`, whole: '.call-bar h1' },
  { name: 'call-gone', hash: '#/calls/call_01JK5S000000000000000NONE', whole: '.error:not(:empty)' }, // prettier-ignore
  { name: 'search', hash: '#/search?q=angry', whole: '.found mark' },
  { name: 'search-help', hash: '#/search', whole: '.search-language', act: (page) => page.getByText('How to search').click() }, // prettier-ignore
  { name: 'search-none', hash: '#/search?q=zeppelin', whole: '.page-state[data-state=empty]' },
  { name: 'search-saved', hash: '#/search?q=angry', whole: '.saved-searches a', act: (page) => page.getByText('Saved searches').click() }, // prettier-ignore
  { name: 'jobs', hash: '#/jobs', whole: '.jobs li:nth-child(4)' },
  { name: 'job', hash: `#/jobs/${jobId}`, whole: '.summary' },
  { name: 'job-running', hash: `#/jobs/${jobIdOf(3)}`, whole: 'progress' },
  { name: 'job-failed', hash: `#/jobs/${jobIdOf(2)}`, whole: '.error:not(:empty)' },
  { name: 'deliveries', hash: '#/deliveries', whole: '.deliveries tbody tr' },
  { name: 'delivery', hash: '#/deliveries', whole: '.delivery-panel .message', act: press(/Inspect/) }, // prettier-ignore
  { name: 'installation', hash: '#/installation', whole: '.cards .panel' },
  { name: 'installation-crm', hash: '#/installation/crm', whole: '#crm-choice' },
  { name: 'nowhere', hash: '#/nonsense', whole: 'main h1' },
];

let api: RecordedApi;
let opened: OpenPage;
const data = everything();
beforeAll(async () => {
  api = await startRecordedApi(data);
  opened = await browser.open(`${api.url}/#/nonsense`, { width: 1_440 });
});
afterAll(async () => {
  await opened.page.context().close();
  await api[Symbol.asyncDispose]();
});

test.each(scenes)('the scene $name is whole at four widths, at 200 % and dark', async (scene) => {
  const { page } = opened;
  const before = opened.problems.length;
  // A dialog of the scene before may be open.
  await page.keyboard.press('Escape');
  await page.evaluate(`location.hash = '#/nonsense'`);
  if (scene.data) {
    Object.assign(data, scene.data(data));
    await page.reload();
  }
  await page.evaluate(`location.hash = '${scene.hash}'`);
  await scene.act?.(page);
  await page.locator(scene.whole).first().waitFor();
  const wide: string[] = [];
  const look = async (width: number): Promise<void> => {
    await page.setViewportSize({ width, height: 900 });
    const whole = await page.evaluate<number>('document.documentElement.scrollWidth');
    if (whole > width) wide.push(`${whole} at ${width}`);
  };
  for (const width of widths) await look(width);
  await page.emulateMedia({ colorScheme: 'dark' });
  await opened.screenshot(`scene-${scene.name}-390-dark`);
  const dark = await opened.violations();
  await look(1_440);
  await page.emulateMedia({ colorScheme: 'light' });
  await opened.screenshot(`scene-${scene.name}-1440`);
  const light = await opened.violations();
  expect({ wide, dark, light }).toEqual({ wide: [], dark: [], light: [] });
  // A call that is not there is answered so.
  const isAnswered = scene.name === 'call-gone';
  const told = opened.problems.slice(before).filter((one) => !isAnswered || !one.includes('404'));
  expect(told).toEqual([]);
  if (scene.data) {
    Object.assign(data, everything());
    await page.reload();
  }
});
