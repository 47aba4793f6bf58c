import { expect, test } from 'vitest';
import { browserOfFile, eventually } from '../support/browser/page-tests.ts';
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

const browser = browserOfFile();

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
const languagesModel = {
  ...{ name: 'whisper-base', gain: 'hears Spanish and more', megabytes: 145, share: null },
  ...{ state: 'missing' as const, detail: null, command: 'npx trunkline models pull whisper-base' },
  cost: '400 MB of memory; live: a speaking leg takes about 0.1 of a core',
  languages: ['es', 'fr', 'en'],
};

test('one look tells which parts are on and which are missing, with the step to each', async () => {
  const posts: string[] = [];
  const data = recorded({
    models: [...models, languagesModel],
    endpoints: [],
    onPost: (path) => void posts.push(path),
  });
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
  const languages = offers.locator('li', { hasText: 'whisper-base' });
  await languages.getByText('a speaking leg takes about 0.1 of a core').waitFor();
  await languages.getByText('3 languages').click();
  await languages.getByText('English, French, Spanish').waitFor();
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

test('a CRM is chosen, tried, connected and disconnected on the page', async () => {
  const posts: [string, unknown][] = [];
  const data = recorded({ endpoints: [], onPost: (path, body) => void posts.push([path, body]) });
  await using api = await startRecordedApi(data);
  const { page, ...opened } = await browser.open(`${api.url}/#/installation`);
  await page.getByRole('link', { name: 'Connect a CRM' }).click();
  const choice = page.getByLabel('Connect a CRM or a webhook');
  await eventually(() => page.evaluate<string>('document.activeElement.id')).toBe('crm-choice');
  await choice.selectOption('Zendesk');
  const form = page.getByRole('form', { name: 'Connection' });
  await form.getByText('Admin Center, Apps and integrations').waitFor();
  // A field that is needed is asked for before anything is sent.
  await form.getByRole('button', { name: 'Try it' }).click();
  expect(posts).toEqual([]);
  await form.getByLabel('Token or key').fill('wrong');
  await form.getByLabel('The part before .zendesk.com.').fill('example');
  await form.getByRole('button', { name: 'Try it' }).click();
  await page.getByText('Something is missing:').waitFor();
  await page.getByText('contacts: the CRM answers 401').waitFor();
  await page.getByRole('button', { name: 'Make what is missing at Zendesk' }).click();
  await eventually(() => posts.at(-1)?.[0]).toBe('/api/connections/trial?setup=true');
  await page.getByText('contacts: the CRM answers 401').waitFor();
  await opened.screenshot('installation-connect');
  expect(await opened.violations()).toEqual([]);
  await form.getByLabel('Token or key').fill('a-token-of-the-page-test');
  await form.getByRole('button', { name: 'Try it' }).click();
  await page.getByText('Everything is in place. You can connect it.').waitFor();
  await form.getByRole('button', { name: 'Connect' }).click();
  await page.getByText('crm is connected. It gets each call from now on.').waitFor();
  const setting = { preset: 'zendesk', token: 'a-token-of-the-page-test', options: { subdomain: 'example' } }; // prettier-ignore
  expect(posts.at(-1)).toEqual(['/api/connections/crm', setting]);
  // The token is gone from the page.
  expect(await page.content()).not.toContain('a-token-of-the-page-test');
  await page.getByRole('button', { name: 'Disconnect crm' }).click();
  await page.getByRole('button', { name: 'Keep it' }).click();
  await page.getByRole('button', { name: 'Disconnect crm' }).click();
  await page.getByRole('button', { name: 'Disconnect', exact: true }).click();
  await page.getByText('crm is disconnected.').waitFor();
  await eventually(() => page.locator('.connections li:visible').count()).toBe(0);
  await page.context().close();
});

test('a webhook gets its secret once, and a CRM without a plain token asks for its proof', async () => {
  const posts: [string, unknown][] = [];
  const data = recorded({ onPost: (path, body) => void posts.push([path, body]) });
  await using api = await startRecordedApi(data);
  const { page } = await browser.open(`${api.url}/#/installation/crm`);
  const choice = page.getByLabel('Connect a CRM or a webhook');
  await choice.selectOption({ value: 'webhook' });
  const form = page.getByRole('form', { name: 'Connection' });
  await form.getByLabel('Address').fill('https://hooks.example.com/calls');
  await form.getByRole('button', { name: 'Connect' }).click();
  await page.getByText('whsec_of-the-page-test').waitFor();
  expect(posts.at(-1)).toEqual([
    '/api/connections/hook',
    { events: 'completed', url: 'https://hooks.example.com/calls' },
  ]);
  await choice.selectOption('Dynamics 365');
  await form.getByLabel('Address of its API').fill('https://example.crm.dynamics.com');
  await form.getByLabel('Client ID').fill('an-id');
  await form.getByLabel('Client secret').fill('a-secret-of-the-page-test');
  await form.getByRole('button', { name: 'Connect' }).click();
  await page.getByText('crm is connected.').waitFor();
  expect(posts.at(-1)).toEqual([
    '/api/connections/crm',
    {
      preset: 'dynamics',
      url: 'https://example.crm.dynamics.com',
      auth: { kind: 'client_credentials', clientId: 'an-id', clientSecret: 'a-secret-of-the-page-test' }, // prettier-ignore
    },
  ]);
  await page.context().close();
});
