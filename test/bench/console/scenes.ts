import type { ApiCall } from '../../../src/protocol/api.ts';
import type { Browser, OpenPage } from '../../support/browser/browser.ts';
import {
  startRecordedApi,
  type Recorded,
  type RecordedApi,
} from '../../support/browser/recorded-api.ts';
import {
  callId,
  manyCalls,
  recordedCall,
  recordedDeliveries,
  recordedEvents,
  recordedInstallation,
} from '../../support/browser/recorded-call.ts';
import { jobId, recordedJobs } from '../../support/browser/recorded-jobs.ts';

/** A scene that a person may look at: a view in a state, told by what can be read of it when it stands there. */
export type Scene = {
  name: string;
  hash: string;
  shown: string;
  data?: Partial<Recorded>;
  apiKeys?: string[];
  /** Requests that wait, fail, or have no answer at all. */
  answers?: 'none' | 'errors' | 'cut';
  /** The acts of a person once it stands there. */
  act?: (open: OpenPage) => Promise<void>;
};

const refused = { seconds: 31.25, causes: [{ cause: 'refused' as const, seconds: 31.25 }] };
const liveCall: Partial<ApiCall> = { state: 'live', ended_at: null, recording: false };

const installationInTrouble = {
  ...recordedInstallation,
  health: {
    store: { state: 'ok' as const },
    disk: { state: 'down' as const, detail: '1 MiB free on the data disk, under the mark' },
    speech: {
      state: 'degraded' as const,
      detail: 'the service refuses our sessions: status 400: endpointing must be at most 10',
    },
    delivery: {
      state: 'degraded' as const,
      detail: 'crm does not take events since 09:14: connect ECONNREFUSED 10.0.0.7:443',
    },
  },
};

const inspect = async ({ page }: OpenPage): Promise<void> => {
  await page
    .getByRole('button', { name: /Inspect/ })
    .first()
    .click();
  await page.locator('figure.message').first().waitFor();
};

const openCarrier = async ({ page }: OpenPage): Promise<void> => {
  await page.locator('.carriers summary', { hasText: 'Twilio' }).click();
};

const openFilters = async ({ page }: OpenPage): Promise<void> => {
  await page.getByText('Filters', { exact: true }).click();
};

export const scenes: Scene[] = [
  { name: 'calls', hash: '#/calls', shown: '.calls li' },
  { name: 'calls, filters', hash: '#/calls?sort=longest', shown: '.calls li', act: openFilters },
  { name: 'calls, empty', hash: '#/calls', shown: 'text=No calls yet', data: { calls: [] } },
  { name: 'calls, loading', hash: '#/calls', shown: '[data-state=loading]', answers: 'none' },
  { name: 'calls, error', hash: '#/calls', shown: '[data-state=error]', answers: 'errors' },
  { name: 'calls, away', hash: '#/calls', shown: '.calls li', answers: 'cut' },
  { name: 'call', hash: `#/calls/${callId}`, shown: 'text=Customer above, agent below' },
  {
    name: 'call, live',
    hash: `#/calls/${callId}`,
    shown: '.conversation .text',
    data: { calls: [recordedCall(liveCall)], events: { [callId]: recordedEvents(9) } },
  },
  {
    name: 'call, incomplete',
    hash: `#/calls/${callId}`,
    shown: 'text=31.3 s without words',
    data: { calls: [recordedCall({ incomplete: refused })], installation: installationInTrouble },
  },
  {
    name: 'call, error',
    hash: `#/calls/${callId}`,
    shown: '[data-state=error]',
    answers: 'errors',
  },
  { name: 'call, away', hash: `#/calls/${callId}`, shown: '.conversation .text', answers: 'cut' },
  { name: 'jobs', hash: '#/jobs', shown: '.jobs li, .jobs tr' },
  { name: 'jobs, empty', hash: '#/jobs', shown: '.intake', data: { jobs: [] } },
  { name: 'job', hash: `#/jobs/${jobId}`, shown: '.conversation .text' },
  { name: 'deliveries', hash: '#/deliveries', shown: '.deliveries tbody tr' },
  {
    name: 'deliveries, inspect',
    hash: '#/deliveries',
    shown: '.deliveries tbody tr',
    act: inspect,
  },
  {
    name: 'deliveries, empty',
    hash: '#/deliveries',
    shown: '.empty',
    data: { deliveries: [] },
  },
  {
    name: 'deliveries, CRM refuses',
    hash: '#/deliveries',
    shown: '.deliveries tbody tr',
    data: { installation: installationInTrouble },
  },
  {
    name: 'deliveries, error',
    hash: '#/deliveries',
    shown: '[data-state=error]',
    answers: 'errors',
  },
  { name: 'installation', hash: '#/installation', shown: '.cards .panel', act: openCarrier },
  {
    name: 'installation, error',
    hash: '#/installation',
    shown: '[data-state=error]',
    answers: 'errors',
  },
  {
    name: 'sign-in',
    hash: '#/calls',
    shown: 'input[type=password]',
    apiKeys: ['a-key-of-the-bench-24-long'],
  },
];

export async function apiOf({ data, apiKeys }: Scene): Promise<RecordedApi> {
  const calls = [recordedCall(), recordedCall({ id: `${callId}2`, incomplete: refused })];
  return startRecordedApi(
    {
      calls: [...calls, ...manyCalls(3)],
      events: { [callId]: recordedEvents() },
      deliveries: recordedDeliveries(),
      installation: recordedInstallation,
      jobs: recordedJobs(),
      ...data,
    },
    apiKeys === undefined ? {} : { apiKeys },
  );
}

/** The scene as it stands in a window of its own, and when its first picture and its own words were there. */
export async function openScene(
  browser: Browser,
  api: RecordedApi,
  scene: Scene,
  look: { dark?: boolean; width?: number },
): Promise<OpenPage & { paintMs: number; shownMs: number }> {
  const open = await browser.open('about:blank', look);
  try {
    return { ...open, ...(await stand(api, scene, open)) };
  } catch (error) {
    await open.screenshot('bench-failed');
    // A page that stays open would hold the end of its server.
    await open.page.context().close();
    throw error;
  }
}

async function stand(
  api: RecordedApi,
  { hash, shown, answers, act }: Scene,
  open: OpenPage,
): Promise<{ paintMs: number; shownMs: number }> {
  const { page } = open;
  if (answers === 'none' || answers === 'errors')
    await page.route(
      ({ pathname }) => /^\/(api|v2)\//.test(pathname) && pathname !== '/api/session',
      async (route) => {
        if (answers === 'errors')
          await route.fulfill({ status: 500, json: { message: 'the disk does not answer' } });
      },
    );
  await page.goto(`${api.url}/${hash}`);
  await page.locator(shown).filter({ visible: true }).first().waitFor();
  const [paintMs, shownMs] = await page.evaluate<[number, number]>(
    `[performance.getEntriesByName('first-contentful-paint')[0].startTime, performance.now()]`,
  );
  if (answers === 'cut') {
    await page.locator('#connection[data-state=live]').waitFor();
    await api[Symbol.asyncDispose]();
    await page.locator('#away').getByText('No connection').waitFor();
  }
  await act?.(open);
  return { paintMs, shownMs };
}
