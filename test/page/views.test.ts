import { describe, expect, test } from 'vitest';
import type { ApiCall } from '../../src/protocol/api.ts';
import { eventExamples } from '../../src/protocol/event-examples.ts';
import type { CallEvent } from '../../src/protocol/events.ts';
import { browserOfFile, eventually } from '../support/browser/page-tests.ts';
import {
  recordedEndpoint,
  startRecordedApi,
  type Recorded,
} from '../support/browser/recorded-api.ts';
import {
  callId,
  eventId,
  manyCalls,
  recordedCall,
  recordedDeliveries,
  recordedEvents,
  recordedInstallation,
} from '../support/browser/recorded-call.ts';

const browser = browserOfFile();

function recorded(change: Partial<Recorded> = {}): Recorded {
  return {
    calls: [recordedCall(), ...manyCalls(3)],
    events: { [callId]: recordedEvents() },
    deliveries: recordedDeliveries(),
    installation: recordedInstallation,
    ...change,
  };
}

const views = [
  ['calls', '#/calls', '.calls li'],
  ['call', `#/calls/${callId}`, '.summary'],
  ['deliveries', '#/deliveries', '.deliveries tbody tr'],
  ['installation', '#/installation', '.cards .panel'],
] as const;

test.each([
  ['light', { dark: false }],
  ['dark', { dark: true }],
  ['narrow', { width: 390 }],
])('every view is whole, accessible and quiet when %s', async (look, options) => {
  await using api = await startRecordedApi(recorded());
  const { page, ...opened } = await browser.open(api.url, options);
  await page.waitForSelector('#connection[data-state=live]');
  for (const [name, hash, selector] of views) {
    await page.evaluate(`location.hash = '${hash}'`);
    await page.waitForSelector(selector);
    if (name === 'deliveries')
      await page
        .getByRole('button', { name: /Inspect/ })
        .first()
        .click();
    if (name === 'call') await page.getByText('Customer above, agent below').waitFor();
    await opened.screenshot(`${name}-${look}`);
    expect(await opened.violations()).toEqual([]);
  }
  expect(opened.problems).toEqual([]);
  await page.context().close();
});

test('one call shows its words, marks, feelings, gaps, pauses, figures and books', async () => {
  await using api = await startRecordedApi(recorded());
  const { page } = await browser.open(`${api.url}/#/calls/${callId}`);
  const texts = page.locator('.conversation .text');
  await eventually(() => texts.count()).toBe(5);
  // The marks' types stand outside the text: it reads and copies as it was said.
  expect(await texts.nth(1).textContent()).toBe(
    'My name is Oriane Vasquez, and order 472916 arrived damaged. I am really angry.',
  );
  expect(
    await page
      .locator('mark.entity')
      .evaluateAll((all) => all.map((one) => [one.textContent, one.dataset['type']])),
  ).toEqual([
    ['Oriane Vasquez', 'Name'],
    ['472916', 'Reference number'],
    ['$89', 'Amount'],
    ['the 21st of June', 'Date'],
  ]);
  await page.getByText('negative', { exact: true }).waitFor();
  await page.getByText('Agent: 0.8 s without words').waitFor();
  await page.getByText('Paused for 0:10').waitFor();
  await page.getByText('Key pressed: *').waitFor();
  await page.getByText('53 % · 0:21').waitFor();
  await page.getByText('4 s · longest 4 s').waitFor();
  expect(await page.locator('svg.course').getAttribute('aria-label')).toContain(
    'Customer: 1 positive, 1 neutral, 1 negative, last positive',
  );
  expect(await page.locator('.ledger').textContent()).toContain(
    'Received458 kBAcknowledged357 kBPaused102 kBGaps0 B',
  );
  await page.getByRole('heading', { name: 'Summary' }).waitFor();
  // One chapter beside a summary would say the same once more.
  expect(await page.getByText('Refund that never came', { exact: true }).count()).toBe(0);
  const said = page.getByRole('region', { name: 'Said so far' });
  expect(await said.locator('strong').allTextContents()).toEqual([
    ...['Oriane Vasquez', '472916', '$89', 'the 21st of June'],
  ]);
  const length = () =>
    page
      .locator('audio')
      .evaluate((audio) => Math.round((audio as { duration?: number }).duration ?? 0));
  await eventually(length).toBe(60);
  // A call that is over is read from its beginning.
  expect(await page.evaluate<number>('scrollY')).toBe(0);
  await page.locator('.panels').getByText('Parked').waitFor();
  await page.context().close();
});

test('a call that lacks words says so in the list and above its words, and can be picked out', async () => {
  const incomplete = { seconds: 31.25, causes: [{ cause: 'refused' as const, seconds: 31.25 }] };
  const events = recordedEvents().map((event) =>
    event.type === 'call.ended'
      ? { ...event, data: { ...event.data, incomplete, talk: null, dead_air: null } }
      : event,
  );
  const other = recordedCall({ id: 'call_01JK5S000000000123456789AB', from: '+15550109999' });
  const looked = [
    { ordered: 3, already: 1, without_recording: 996, waiting: 0, next: 'call_1' },
    { ordered: 2, already: 0, without_recording: 1, waiting: 0, next: null },
  ];
  const data = recorded({
    calls: [recordedCall({ incomplete }), other, ...manyCalls(2)],
    events: { [callId]: events },
    onPost: () => looked.shift(),
  });
  await using api = await startRecordedApi(data);
  const { page, ...opened } = await browser.open(`${api.url}/#/calls`);
  const rows = page.locator('.calls li:visible');
  await eventually(() => rows.count()).toBe(4);
  await opened.screenshot('calls-incomplete');
  await page.getByRole('button', { name: 'Incomplete only' }).click();
  await eventually(() => rows.count()).toBe(1);
  await rows.locator('.incomplete').waitFor();
  await page.getByRole('button', { name: 'Transcribe all again' }).click();
  await page.getByText('Transcribing 6 again, 997 have no recording.').waitFor();
  expect(await opened.violations()).toEqual([]);
  await rows.first().click();
  await page.getByText('31.3 s without words: the speech service refused it').waitFor();
  await page.getByText('Too much is missing for talk figures.').waitFor();
  await opened.screenshot('call-incomplete');
  expect(await opened.violations()).toEqual([]);
  await page.context().close();
});

test('a receiver that takes nothing and a service that refuses are shouted on every view, and a call can be read again', async () => {
  const incomplete = { seconds: 3, causes: [{ cause: 'refused' as const, seconds: 3 }] };
  const detail = 'crm takes no events since 09:16:00 UTC: connect ECONNREFUSED 127.0.0.1:9';
  const refused = 'the service refuses our sessions: status 400: endpointing must be at most 10';
  const health = {
    delivery: { state: 'degraded' as const, detail },
    speech: { state: 'degraded' as const, detail: refused },
  };
  const pending = recordedDeliveries().filter(({ state }) => state === 'pending');
  const [head] = pending;
  if (head === undefined) throw new Error('nothing is pending');
  const posts: string[] = [];
  const data = recorded({
    calls: [recordedCall({ incomplete })],
    installation: { ...recordedInstallation, health },
    deliveries: Array.from({ length: 8 }, (_, at) => ({
      ...head,
      id: `${head.id}${at}`,
      sequence: head.sequence + at,
      ...(at === 0 ? { attempts: 2, reason: 'connect ECONNREFUSED 127.0.0.1:9' } : {}),
    })),
    onPost: (path) => void posts.push(path),
  });
  await using api = await startRecordedApi(data);
  const { page, ...opened } = await browser.open(`${api.url}/#/deliveries/pending`);
  await page.getByText('connect ECONNREFUSED 127.0.0.1:9').first().waitFor();
  await page.getByText('7 more wait behind it').waitFor();
  await page.locator('#trouble', { hasText: detail }).waitFor();
  await page.locator('#trouble', { hasText: refused }).waitFor();
  await opened.screenshot('deliveries-blocked');
  expect(await opened.violations()).toEqual([]);
  await page.evaluate(`location.hash = '#/calls/${callId}'`);
  await page.getByText('is not delivered (2 attempts): connect ECONNREFUSED').waitFor();
  await page.getByRole('button', { name: 'Transcribe again' }).click();
  await page
    .getByText('Transcribing the recording again; the new words will appear here.')
    .waitFor();
  await opened.screenshot('call-read-again');
  expect(posts).toEqual([`/api/calls/${callId}/transcribe`]);
  // The words of the recording take the place of those that were heard.
  const [last] = recordedEvents().slice(-1);
  if (last === undefined) throw new Error('no event');
  const { entities: _, ...rest } = eventExamples['call.transcript.revised'].data;
  const revised = {
    ...eventExamples['call.transcript.revised'],
    call: last.call,
    data: { ...rest, entities: [], incomplete: null },
  };
  // As whoever opens the feed again reads it once more.
  for (let time = 0; time < 2; time++) api.tell(revised);
  api.tell({ type: 'call', call: recordedCall({ incomplete: null }) });
  const first = eventExamples['call.transcript.revised'].data.transcript[0];
  await page
    .locator('.conversation .text', { hasText: first?.text ?? '-' })
    .first()
    .waitFor();
  await eventually(() => page.locator('.missing:visible').count()).toBe(0);
  expect(await page.locator('.conversation .text').count()).toBe(rest.transcript.length);
  await page.context().close();
});

test('speakers of one channel are nobody in particular while they speak, and numbered once they were told apart', async () => {
  const legs = recordedCall({})
    .legs.slice(0, 1)
    .map((leg) => ({ ...leg, role: 'mixed' as const }));
  const events = recordedEvents().filter(({ type }) => type !== 'call.ended');
  await using api = await startRecordedApi(
    recorded({ calls: [recordedCall({ legs, statistics: null })], events: { [callId]: events } }),
  );
  const opened = await browser.open(`${api.url}/#/calls/${callId}`);
  const { page } = opened;
  await page.getByText('All speakers in one channel · 1:00').waitFor();
  const example = eventExamples['call.transcript.revised'];
  const turns = [0, 1].map((speaker) => ({
    ...{ role: 'mixed' as const, speaker, start: speaker * 2, end: speaker * 2 + 1 },
    text: `words of voice ${speaker}`,
  }));
  const [event] = recordedEvents();
  const call = event?.call ?? example.call;
  api.tell({ ...example, call, data: { ...example.data, transcript: turns, incomplete: null } });
  for (const number of [1, 2])
    await page
      .locator('.role', { hasText: `Speaker ${number}` })
      .first()
      .waitFor();
  await page.getByText('All speakers share one channel').waitFor();
  expect(await opened.violations()).toEqual([]);
  await opened.screenshot('call-mixed');
  await page.context().close();
});

test('speakers of one channel have numbers while they speak, marked as not yet sure, and lose the mark once the recording was read', async () => {
  const legs = recordedCall({})
    .legs.slice(0, 1)
    .map((leg) => ({ ...leg, role: 'mixed' as const }));
  const events = recordedEvents()
    .filter(({ type }) => type === 'call.started' || type === 'call.transcript')
    .map((event) => ('leg' in event ? { ...event, leg: { ...event.leg, role: 'mixed' } } : event)) as CallEvent[]; // prettier-ignore
  const labels = [0, 1, 0, 1];
  const transcript = recordedCall({}).transcript.map((turn, at) => ({
    ...{ ...turn, role: 'mixed' as const, utterance_id: `utt_${at}` },
    // Nobody knows about the last one yet.
    ...(labels[at] === undefined ? {} : { speaker: labels[at], speaker_provisional: true }),
  }));
  const live = { state: 'live' as const, ended_at: null, statistics: null, legs, transcript };
  await using api = await startRecordedApi(
    recorded({ calls: [recordedCall(live)], events: { [callId]: events } }),
  );
  const opened = await browser.open(`${api.url}/#/calls/${callId}`);
  const { page } = opened;
  await page.locator('.role', { hasText: 'Speaker 2 · not yet sure' }).first().waitFor();
  const names = () => page.locator('.conversation .role').allTextContents();
  expect(await names()).toEqual([
    ...labels.map((speaker) => `Speaker ${speaker + 1} · not yet sure`),
    'Speaker',
  ]);
  expect(await opened.violations()).toEqual([]);
  await opened.screenshot('call-mixed-live');
  const example = eventExamples['call.transcript.revised'];
  const settled = transcript.map(({ role, text, start, end }, at) => ({ role, text, start, end, speaker: at % 2 })); // prettier-ignore
  const { call } = recordedEvents()[0] ?? example;
  api.tell({ ...example, call, data: { ...example.data, transcript: settled, incomplete: null } });
  await eventually(names).toEqual([0, 1, 0, 1, 0].map((speaker) => `Speaker ${speaker + 1}`));
  await page.context().close();
});

test('a click on a word, and a key on its time, play the recording from there', async () => {
  await using api = await startRecordedApi(recorded());
  const { page } = await browser.open(`${api.url}/#/calls/${callId}`);
  await page.getByText('Customer above, agent below · 1:00').waitFor();
  const heard = () => page.evaluate<number>(`document.querySelector('audio').currentTime`);
  await page.locator('.word', { hasText: 'damaged.' }).click();
  await eventually(heard).toBeGreaterThan(7);
  expect(await heard()).toBeLessThan(10);
  await page.locator('[aria-current=true]', { hasText: 'Oriane' }).waitFor();
  await page.getByRole('button', { name: 'Hear from 0:41' }).focus();
  await page.keyboard.press('Enter');
  await eventually(heard).toBeGreaterThan(41);
  await page.context().close();
});

test('partials are grey until the final takes their place, and nobody hears them read out', async () => {
  const live = recordedCall({
    state: 'live',
    ended_at: null,
    recording: false,
    started_at: new Date().toISOString(),
  });
  const all = recordedEvents();
  const data = recorded({ calls: [live], events: { [callId]: all.slice(0, 3) } });
  await using api = await startRecordedApi(data);
  const { page } = await browser.open(`${api.url}/#/calls/${callId}`);
  await page.getByText('this is Robert').waitFor();
  const [transcript] = all.slice(3);
  if (transcript?.type !== 'call.transcript' || !transcript.leg)
    throw new Error('not a transcript');
  const said = transcript.data;
  const partial = (text: string) =>
    api.tell({
      type: 'partial',
      call_id: callId,
      leg_id: 'leg_customer',
      role: 'customer',
      utterance: { ...said, session_id: transcript.leg?.session_id ?? '', text },
    });
  partial('My name');
  await page.locator('.partial', { hasText: 'My name' }).waitFor();
  partial('My name is Oriane');
  await page.locator('.partial', { hasText: 'My name is Oriane' }).waitFor();
  expect(await page.locator('.partials').getAttribute('aria-hidden')).toBe('true');
  api.tell(transcript);
  await page.locator('[role=log] .text', { hasText: 'arrived damaged' }).waitFor();
  await eventually(() => page.locator('.partial').count()).toBe(0);
  // Overtaken partials change nothing.
  partial('My na');
  api.tell({ type: 'levels', levels: [{ call_id: callId, leg_id: 'leg_agent', level: 0.49 }] });
  await eventually(() =>
    page.locator('.level[data-role=agent] i').evaluate((bar) => bar.style.transform),
  ).toBe('scaleX(0.7)');
  expect(await page.locator('.partial').count()).toBe(0);
  await page.context().close();
});

test('pause and resume go to the call, and the page says so', async () => {
  const live: ApiCall = recordedCall({ state: 'live', ended_at: null, recording: false });
  const posts: string[] = [];
  const data = recorded({
    calls: [live],
    onPost(path) {
      posts.push(path);
      live.paused = path.endsWith('/pause');
      return live;
    },
  });
  await using api = await startRecordedApi(data);
  const { page } = await browser.open(`${api.url}/#/calls/${callId}`);
  await page.getByRole('button', { name: 'Pause' }).click();
  await page.getByRole('button', { name: 'Resume' }).waitFor();
  await page.locator('.heading .state', { hasText: 'Paused' }).waitFor();
  await page.getByRole('button', { name: 'Resume' }).click();
  await page.getByRole('button', { name: 'Pause' }).waitFor();
  expect(posts).toEqual([`/api/calls/${callId}/pause`, `/api/calls/${callId}/resume`]);
  await page.context().close();
});

test('after a cut the page goes on after the last event it saw, and nothing is missing or twice', async () => {
  const all = recordedEvents();
  const data = recorded({
    events: { [callId]: all.slice(0, 3) },
    calls: [recordedCall({ state: 'live', ended_at: null })],
  });
  await using api = await startRecordedApi(data);
  const { page } = await browser.open(`${api.url}/#/calls/${callId}`);
  await page.getByText('this is Robert').waitFor();
  data.events[callId] = all.slice(0, 6);
  for (const event of all.slice(3, 6)) api.tell(event);
  await page.getByRole('log').getByText('Oriane Vasquez').waitFor();
  // While the page is away, the rest of the call happens.
  data.events[callId] = all;
  data.calls = [recordedCall()];
  api.cut();
  await page.getByText('Oh, that is wonderful.').first().waitFor();
  await page.getByRole('heading', { name: 'Summary' }).waitFor();
  expect(api.resumedFrom).toEqual(['', eventId(6)]);
  expect(await page.locator('.conversation .text').count()).toBe(5);
  await page.context().close();
});

test('a page without a model says why there are no words, until there is one', async () => {
  const { recogniser } = recordedInstallation;
  if (!recogniser) throw new Error('no recogniser');
  const waiting = {
    ...recogniser,
    state: 'no-model' as const,
    detail: 'model moonshine-tiny-en, 43 % fetched',
  };
  const data = recorded({
    installation: { ...recordedInstallation, recogniser: waiting, insecure: true },
  });
  await using api = await startRecordedApi(data);
  const opened = await browser.open(api.url);
  await opened.page.getByText('No words yet: model moonshine-tiny-en, 43 % fetched').waitFor();
  await opened.page.getByText('Open to strangers.').waitFor();
  await opened.screenshot('calls-without-model');
  expect(await opened.violations()).toEqual([]);
  data.installation = recordedInstallation;
  await eventually(() => opened.page.locator('#model').isHidden()).toBe(true);
  await opened.page.context().close();
});

test('a parked call is inspected beside the list, tried again and released', async () => {
  const posts: [string, unknown][] = [];
  const data = recorded({ onPost: (path, body) => void posts.push([path, body]) });
  await using api = await startRecordedApi(data);
  const { page, ...opened } = await browser.open(api.url, { width: 1440 });
  await page.getByRole('link', { name: 'Deliveries 1 call' }).waitFor();
  await page.getByRole('link', { name: /Deliveries/ }).click();
  await page.getByLabel('State').selectOption('Parked');
  const row = page.locator('.deliveries tbody tr');
  await eventually(() => row.count()).toBe(1);
  await row.getByRole('button', { name: /Inspect/ }).click();
  const panel = page.getByRole('complementary', { name: '+15550100123 → +15550100200 to crm' });
  // The event that the others wait for is the one that is shown.
  await panel.getByRole('heading', { name: '#13' }).waitFor();
  await panel.locator('dd', { hasText: 'the endpoint answers 422' }).waitFor();
  await panel.locator('dd', { hasText: '{"error":"unknown case"}' }).waitFor();
  await panel.getByText('422 · 12 ms').waitFor();
  await panel.getByText('POST https://crm.example.net/hook').waitFor();
  await panel.locator('pre', { hasText: '"error": "unknown case"' }).waitFor();
  await opened.screenshot('deliveries-inspect');
  expect(await opened.violations()).toEqual([]);
  await panel.getByRole('button', { name: 'Retry now' }).click();
  await panel.getByText('One event is on the way.').waitFor();
  await panel.getByRole('button', { name: 'Release the call' }).click();
  await panel.getByRole('button', { name: 'Send again from here' }).click();
  await eventually(() => posts.length).toBe(3);
  const parked = data.deliveries.find(({ state }) => state === 'parked');
  expect(posts.map(([path]) => path)).toEqual([
    `/api/deliveries/${parked?.id}/retry`,
    `/api/calls/${callId}/deliveries/release`,
    `/api/calls/${callId}/deliveries/retry`,
  ]);
  expect(posts[1]?.[1]).toEqual({ endpoint: 'crm' });
  expect(posts[2]?.[1]).toEqual({ from: 13, endpoint: 'crm' });
  // Another event of the call, by its button; then back to the list alone, without a mouse.
  await panel.getByRole('button', { name: '1 call.started' }).click();
  await panel.getByRole('button', { name: 'Send again', exact: true }).waitFor();
  await page.keyboard.press('Escape');
  await panel.waitFor({ state: 'hidden' });
  expect(await page.evaluate<string>('location.hash')).toBe('#/deliveries?state=parked');
  await page.goBack();
  await panel.waitFor();
  expect(opened.problems).toEqual([]);
  await page.context().close();
});

test('an endpoint says whether it takes what it is sent, since when not, and why', async () => {
  const reason = 'the endpoint answers 401';
  const at = '2026-02-03T09:16:00.000Z';
  const endpoints = [
    recordedEndpoint,
    {
      ...recordedEndpoint,
      name: 'tickets',
      host: 'tickets.example.net',
      preset: null,
      last_success_at: null,
      last_failure: { at, status: 401, reason, call_id: callId },
      waiting_calls: 12,
      parked_calls: 0,
    },
    { ...recordedEndpoint, name: 'old', disabled_at: at, reason: 'it answered 410' },
    { ...recordedEndpoint, name: 'new', last_success_at: null, last_failure: null },
  ];
  const posts: string[] = [];
  const data = recorded({ endpoints, onPost: (path) => void posts.push(path) });
  await using api = await startRecordedApi(data);
  const { page, ...opened } = await browser.open(`${api.url}/#/deliveries`);
  const card = (name: string) => page.locator(`.endpoint[data-name=${name}]`);
  await card('crm').getByText('Refused some calls').waitFor();
  await card('tickets').getByText('Takes nothing').waitFor();
  await card('tickets').getByText(reason).waitFor();
  await card('tickets').getByText('none yet').waitFor();
  await card('old').getByText('Switched off').waitFor();
  await card('new').getByText('Nothing sent yet').waitFor();
  await opened.screenshot('deliveries-endpoints');
  expect(await opened.violations()).toEqual([]);
  await card('tickets').getByRole('link', { name: '12 calls' }).click();
  await eventually(() => page.evaluate<string>('location.hash')).toBe(
    '#/deliveries?endpoint=tickets&state=pending',
  );
  await eventually(() => page.getByLabel('Endpoint', { exact: true }).inputValue()).toBe('tickets');
  await page.getByText('No call is like this.').waitFor();
  await card('old').getByRole('button', { name: 'Switch old on' }).click();
  await eventually(() => posts).toEqual(['/api/deliveries/endpoints/old/enable']);
  await page.context().close();
});

test('all of a thousand live calls are in the list, and only those on the screen move', async () => {
  const calls = manyCalls(1_000);
  await using api = await startRecordedApi(recorded({ calls }));
  const { page, problems } = await browser.open(api.url);
  await page.locator('.count', { hasText: '1000' }).waitFor();
  expect(await page.locator('.calls li').count()).toBe(1_000);
  const levels = calls.flatMap((call) =>
    call.legs.map((leg) => ({ call_id: call.id, leg_id: leg.id, level: 0.5 })),
  );
  const moved = () => page.locator('.level i[style*=transform]').count();
  await eventually(async () => {
    api.tell({ type: 'levels', levels });
    return moved();
  }).toBeGreaterThan(0);
  expect(await moved()).toBeLessThan(100);
  // The last row moves once it is looked at, and is told what was said meanwhile.
  const last = calls[0];
  const [leg] = last?.legs ?? [];
  if (!last || !leg) throw new Error('no call');
  const row = page.locator(`li[data-id=${last.id}]`);
  await row.scrollIntoViewIfNeeded();
  const utterance = {
    utterance_id: '1',
    session_id: '1',
    start: 1,
    end: 2,
    text: 'still here',
    language: 'en',
  };
  api.tell({ type: 'partial', call_id: last.id, leg_id: leg.id, role: 'agent', utterance });
  await row.getByText('Agent: still here').waitFor();
  await eventually(async () => {
    api.tell({ type: 'levels', levels });
    return row.locator('.level i[style*=transform]').count();
  }).toBe(2);
  expect(problems).toEqual([]);
  await page.context().close();
});

describe('behind a key', () => {
  const apiKeys = ['correct-horse-battery'];

  test('the page asks for it, keeps only a cookie that no script reads, and asks again after a restart', async () => {
    const first = await startRecordedApi(recorded(), { apiKeys });
    const opened = await browser.open(`${first.url}/#/calls/${callId}`);
    const { page } = opened;
    await page.getByLabel('API key').waitFor();
    expect(opened.problems).toEqual([]);
    await opened.screenshot('sign-in-light');
    expect(await opened.violations()).toEqual([]);
    await page.getByLabel('API key').fill('wrong-key-entirely');
    await page.keyboard.press('Enter');
    await page.getByText('This API key is not valid.').waitFor();
    await page.getByLabel('API key').fill(apiKeys[0] ?? '');
    await page.keyboard.press('Enter');
    await page.getByText('Oriane Vasquez').first().waitFor();
    const [cookie] = await page.context().cookies();
    expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict' });
    const kept = 'JSON.stringify([document.cookie, { ...localStorage }, { ...sessionStorage }])';
    expect(await page.evaluate(kept)).toBe('["",{},{}]');
    // Sessions live in memory: the next process knows nothing of them.
    const { port } = new URL(first.url);
    await first[Symbol.asyncDispose]();
    await using second = await startRecordedApi(recorded(), { apiKeys, port: Number(port) });
    await page.getByLabel('API key').waitFor({ timeout: 30_000 });
    await page.getByLabel('API key').fill(apiKeys[0] ?? '');
    await page.keyboard.press('Enter');
    await page.getByText('Oriane Vasquez').first().waitFor();
    expect(second.resumedFrom).toHaveLength(1);
    await page.context().close();
  });
});

test('the newest words stay in view, and whoever reads further up is left there', async () => {
  const events = Array.from({ length: 60 }, (_, at) => {
    const [, transcript] = recordedEvents();
    if (transcript?.type !== 'call.transcript') throw new Error('not a transcript');
    const start = at * 10;
    const data = {
      ...transcript.data,
      utterance_id: `u${at}`,
      text: `Line ${at}.`,
      words: [],
      start,
      end: start + 5,
    };
    return { ...transcript, id: eventId(at + 10), sequence: at + 1, data };
  });
  const live = recordedCall({ state: 'live', ended_at: null, recording: false });
  const data = recorded({ calls: [live], events: { [callId]: events.slice(0, 58) } });
  await using api = await startRecordedApi(data);
  const { page } = await browser.open(`${api.url}/#/calls/${callId}`);
  const shown = (line: number) =>
    page.evaluate<boolean>(
      `(() => { const box = [...document.querySelectorAll('.text')].find((one) => one.textContent === 'Line ${line}.')?.getBoundingClientRect(); return box !== undefined && box.top >= 0 && box.bottom <= innerHeight; })()`,
    );
  await eventually(() => shown(57)).toBe(true);
  for (const event of events.slice(58, 59)) api.tell(event);
  await eventually(() => shown(58)).toBe(true);
  await page.evaluate('scrollTo(0, 200)');
  for (const event of events.slice(59)) api.tell(event);
  await page.getByText('Line 59.').waitFor();
  expect(await shown(59)).toBe(false);
  expect(await page.evaluate<number>('scrollY')).toBe(200);
  await page.context().close();
});

test('an outage is said on every view, with what becomes of the calls, and goes with it', async () => {
  const data = recorded({
    installation: {
      ...recordedInstallation,
      recogniser: null,
      health: {
        disk: { state: 'down', detail: '1 MiB free on the data disk, under the mark of 256 MiB' },
        speech: { state: 'degraded', detail: 'not reachable; 2 legs wait' },
        outbox: { state: 'ok' },
      },
    },
  });
  await using api = await startRecordedApi(data);
  const { page } = await browser.open(`${api.url}/#/calls`);
  const notice = page.getByRole('complementary', { name: 'Notices' });
  await notice.getByText('Disk: 1 MiB free on the data disk').waitFor();
  for (const [, hash, shown] of [...views, ['jobs', '#/jobs', 'h1'] as const]) {
    await page.evaluate(`location.hash = '${hash}'`);
    await page.waitForSelector(shown);
    await notice
      .getByText('Speech: not reachable; 2 legs wait. Audio is kept and transcribed later.')
      .waitFor();
  }
  data.installation = {
    ...recordedInstallation,
    health: { disk: { state: 'ok' }, speech: { state: 'ok' } },
  };
  await eventually(() => notice.getByText('Speech').isVisible()).toBe(false);
  await page.context().close();
});

test('a call shows the facts that an operator should know; without words there is no empty summary', async () => {
  const message = 'the samples look like A-law, the stream says mu-law';
  const warned = recordedCall({ warnings: [{ code: 'companding', message }] });
  const events = recordedEvents().flatMap((event): CallEvent[] => {
    if (event.type === 'call.started') return [event];
    if (event.type !== 'call.summary') return [];
    const summary = { ...event.data.summary, text: '' };
    return [{ ...event, data: { ...event.data, summary, chapters: [] } }];
  });
  await using api = await startRecordedApi(
    recorded({ calls: [warned], events: { [callId]: events } }),
  );
  const { page } = await browser.open(`${api.url}/#/calls/${callId}`);
  await page.getByRole('heading', { name: 'Warnings' }).waitFor();
  await page.getByText(message).waitFor();
  await page.getByText('No summary: no words were heard.').waitFor();
  await page.context().close();
});

test('nothing of an erased call stays on the page', async () => {
  await using api = await startRecordedApi(recorded());
  const { page } = await browser.open(`${api.url}/#/calls/${callId}`);
  await page.getByText('Oriane Vasquez').first().waitFor();
  api.tell({ type: 'call-deleted', call_id: callId });
  await page.getByText('This call was erased.').waitFor();
  expect(await page.locator('#main').textContent()).toBe('‹ CallsThis call was erased.');
  expect(await page.title()).toBe('Call · Trunkline');
  await page.context().close();
});

test('on a telephone the numbers are whole and every button is within reach', async () => {
  await using api = await startRecordedApi(recorded());
  const { page } = await browser.open(`${api.url}/#/calls`, { width: 375 });
  await page.locator('.calls li').first().waitFor();
  const cut = await page
    .locator('.calls .who')
    .evaluateAll((all) => all.filter((one) => one.scrollWidth > one.clientWidth).length);
  expect(cut).toBe(0);
  const overlaid = await page.locator('.calls li').evaluateAll(
    (all) =>
      all.filter((one) => {
        const end = (name: string) => one.querySelector(name)?.getBoundingClientRect();
        const [who, time] = [end('.who'), end('.clock')];
        return who && time && who.right > time.left && who.bottom > time.top;
      }).length,
  );
  expect(overlaid).toBe(0);
  await page.evaluate(`location.hash = '#/deliveries/parked'`);
  const right = (of: string) =>
    page
      .locator(of)
      .evaluateAll((all) => Math.max(...all.map((one) => one.getBoundingClientRect().right)));
  await page.getByRole('button', { name: /Inspect/ }).waitFor();
  expect(await right('.deliveries button')).toBeGreaterThan(0);
  expect(await right('.deliveries button')).toBeLessThanOrEqual(375);
  await page.getByRole('button', { name: /Inspect/ }).click();
  await page.getByRole('button', { name: 'Retry now' }).waitFor();
  expect(await right('.delivery-panel button')).toBeGreaterThan(0);
  expect(await right('.delivery-panel button')).toBeLessThanOrEqual(375);
  // The panel is what the person sees next.
  const top = () =>
    page.locator('.delivery-panel').evaluate((one) => one.getBoundingClientRect().top);
  await eventually(top).toBeLessThan(450);
  expect(await top()).toBeGreaterThanOrEqual(0);
  await page.context().close();
});

test('an address that names no page says so, and no list of calls stands there', async () => {
  await using api = await startRecordedApi(recorded());
  const { page, ...opened } = await browser.open(`${api.url}/#/nonsense`);
  await page.getByRole('heading', { name: 'Page not found' }).waitFor();
  expect(await page.locator('.calls').count()).toBe(0);
  expect(await opened.violations()).toEqual([]);
  await page.getByRole('link', { name: 'Show the calls' }).click();
  await page.locator('.calls li').first().waitFor();
  await page.context().close();
});
