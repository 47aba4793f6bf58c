import { afterAll, beforeAll, expect, test } from 'vitest';
import { startBrowser, type Browser } from '../support/browser/browser.ts';
import {
  recordedEndpoint,
  startRecordedApi,
  type Recorded,
} from '../support/browser/recorded-api.ts';
import {
  callId,
  recordedCall,
  recordedDeliveries,
  recordedEvents,
  recordedInstallation,
} from '../support/browser/recorded-call.ts';

let browser: Browser;
beforeAll(async () => {
  browser = await startBrowser();
});
afterAll(() => browser[Symbol.asyncDispose]());

const eventually = <T>(look: () => T) => expect.poll(look, { timeout: 30_000 });

function recorded(change: Partial<Recorded> = {}): Recorded {
  return {
    calls: [recordedCall()],
    events: { [callId]: recordedEvents() },
    deliveries: recordedDeliveries(),
    installation: recordedInstallation,
    ...change,
  };
}

const models = (['installed', 'missing'] as const).map((state) => ({
  name: state === 'installed' ? 'voice-encoder' : 'whisper-tiny-en',
  gain: 'halves the wrong words of recordings',
  megabytes: 28,
  state,
  share: null,
  detail: null,
  command: 'npx trunkline models pull',
}));

test('one look tells which parts are on and which are missing, with the step to each', async () => {
  const posts: string[] = [];
  const data = recorded({ models, endpoints: [], onPost: (path) => void posts.push(path) });
  await using api = await startRecordedApi(data);
  const { page, ...opened } = await browser.open(`${api.url}/#/installation`);
  const overview = page.getByRole('region', { name: 'On and missing' });
  const line = (name: string) => overview.locator('.features li', { hasText: name });
  await line('Speech recognition').getByText('English · model moonshine-tiny-en').waitFor();
  await line('Carriers').getByText('Twilio').waitFor();
  await line('CRM').getByText('No CRM and no webhook is connected.').waitFor();
  await line('Redaction').getByText('TRUNKLINE_REDACT').waitFor();
  await line('Language model').getByText('some-model: answered in 412 ms').waitFor();
  const offers = overview.getByRole('list', { name: 'Models' });
  await offers.locator('li', { hasText: 'voice-encoder' }).getByText('Installed').waitFor();
  await offers.getByRole('button', { name: 'Install, 28 MB: whisper-tiny-en' }).click();
  await eventually(() => posts).toEqual(['/api/models/whisper-tiny-en/install']);
  await opened.screenshot('installation-overview');
  expect(await opened.violations()).toEqual([]);
  expect(opened.problems).toEqual([]);
  await page.context().close();
});

test('a language model that does not answer and an endpoint that takes nothing stand there with the reason', async () => {
  const failed = { at: '2026-02-03T09:16:00.000Z', status: 401, reason: 'answers 401', call_id: callId }; // prettier-ignore
  const data = recorded({
    endpoints: [{ ...recordedEndpoint, last_success_at: null, last_failure: failed }],
    tried: { model: 'some-model', ms: 3, problem: 'it could not be reached', todo: 'start it' },
  });
  await using api = await startRecordedApi(data);
  const { page } = await browser.open(`${api.url}/#/installation`);
  const line = (name: string) => page.locator('.features li', { hasText: name });
  await line('Language model').getByText('Not well').waitFor();
  await line('Language model').getByText('it could not be reached. To do: start it.').waitFor();
  await line('CRM crm').getByText('Takes nothing').waitFor();
  await line('CRM crm').getByText('answers 401').waitFor();
  data.tried = { model: 'some-model', ms: 80 };
  await line('Language model').getByRole('button', { name: 'Try it' }).click();
  await line('Language model').getByText('answered in 80 ms').waitFor();
  await page.context().close();
});

test('settings set by hand stand there with their variables, and a secret is not shown', async () => {
  await using api = await startRecordedApi(recorded());
  const { page } = await browser.open(`${api.url}/#/installation`);
  const row = (name: string) => page.locator('.settings tbody tr', { hasText: name });
  await row('TRUNKLINE_PUBLIC_URL').getByText('https://trunkline.example.net').waitFor();
  await row('TWILIO_AUTH_TOKEN').getByText('set, secret').waitFor();
  await row('TWILIO_AUTH_TOKEN').getByText('the file, as carriers.twilioAuthToken').waitFor();
  await page.context().close();
});
