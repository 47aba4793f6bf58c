import { expect, test } from 'vitest';
import { readFile } from 'node:fs/promises';
import type { Locator, Page, Route } from 'playwright-core';
import { Problem } from '../../src/port/problem.ts';
import { browserOfFile, eventually } from '../support/browser/page-tests.ts';
import { startRecordedApi, type Recorded } from '../support/browser/recorded-api.ts';
import { recordedDeliveries, recordedInstallation } from '../support/browser/recorded-call.ts';
import {
  jobId,
  jobIdOf,
  missingModel,
  recordedJob,
  recordedJobs,
  recordedResult,
} from '../support/browser/recorded-jobs.ts';

const browser = browserOfFile();

function recorded(change: Partial<Recorded> = {}): Recorded {
  return {
    calls: [],
    events: {},
    deliveries: recordedDeliveries(),
    installation: recordedInstallation,
    jobs: recordedJobs(),
    ...change,
  };
}

test.each([
  ['light', { width: 1_280 }],
  ['dark', { width: 1_280, dark: true }],
  ['narrow', { width: 390 }],
])('the jobs and one job are whole, accessible and quiet when %s', async (look, options) => {
  await using api = await startRecordedApi(recorded());
  const { page, ...opened } = await browser.open(`${api.url}/#/jobs`, options);
  for (const [name, hash, wanted] of [
    ['jobs', '#/jobs', '.jobs li:nth-child(4)'],
    ['job', `#/jobs/${jobId}`, '.summary'],
    ['job-processing', `#/jobs/${jobIdOf(3)}`, 'progress'],
    ['job-failed', `#/jobs/${jobIdOf(2)}`, '.error:not(:empty)'],
  ] as const) {
    await page.evaluate(`location.hash = '${hash}'`);
    await page.locator(wanted).waitFor();
    await opened.screenshot(`${name}-${look}`);
    expect(await opened.violations()).toEqual([]);
    const width = await page.evaluate<number>('document.documentElement.scrollWidth');
    expect(width).toBeLessThanOrEqual(options.width);
  }
  expect(opened.problems).toEqual([]);
  await page.context().close();
});

test('the list says each state, name, length and age; progress moves by itself', async () => {
  const data = recorded();
  await using api = await startRecordedApi(data);
  const { page } = await browser.open(`${api.url}/#/jobs`);
  const rows = page.locator('.jobs li');
  await eventually(() => rows.count()).toBe(4);
  expect(await rows.nth(0).textContent()).toContain('Queuedboard-2026-02.mp3');
  expect(await rows.nth(1).textContent()).toContain('10:12 of 30:30 done3 min');
  expect(await rows.nth(2).textContent()).toContain('the file holds no audio');
  expect(await rows.nth(2).textContent()).toContain('(422)2 hr');
  expect(await rows.nth(3).textContent()).toContain('Doneharbour meeting.wav1:001 day ago');
  const [, processing] = data.jobs ?? [];
  if (!processing) throw new Error('no job');
  processing.progress = { seconds_done: 1_000, seconds: 1_830 };
  await rows.nth(1).getByText('16:40 of 30:30 done').waitFor();
  Object.assign(processing, { status: 'done', result: recordedResult(), progress: undefined });
  await rows.nth(1).getByText('Done').waitFor();
  await page.context().close();
});

test('a job shows its words, speakers, entities, feelings, chapters and summary', async () => {
  await using api = await startRecordedApi(recorded());
  const { page } = await browser.open(`${api.url}/#/jobs/${jobId}`);
  await page.getByText('The team hires one until August.').waitFor();
  expect(await page.locator('.conversation .role').allTextContents()).toEqual(
    [1, 2, 1, 3, 2].map((speaker) => `Speaker ${speaker}`),
  );
  expect(await page.locator('.conversation .text').nth(1).textContent()).toBe(
    'Thank you, Oriane. The new crane is late again, and I am angry.',
  );
  expect(
    await page
      .locator('mark.entity')
      .evaluateAll((all) => all.map((one) => [one.textContent, one.dataset['type']])),
  ).toEqual([
    ['Oriane', 'First name'],
    ['the 21st of June', 'Date'],
    ['Lisbon', 'City'],
    ['$89', 'Amount'],
  ]);
  await page.getByText('negative', { exact: true }).first().waitFor();
  await page.getByText('Hiring a crane').waitFor();
  await page.getByRole('region', { name: 'Speakers' }).getByText('46 % · 0:11').waitFor();
  await page.getByRole('region', { name: 'Sentiment' }).getByText('1 of 3').first().waitFor();
  await page.getByText('25x real time').waitFor();
  await page.context().close();
});

test('a click on a word plays from there, and words are marked while they are heard', async () => {
  await using api = await startRecordedApi(recorded());
  const { page, ...opened } = await browser.open(`${api.url}/#/jobs/${jobId}`);
  // A word that an entity marks is a word too.
  await page.locator('.word', { hasText: 'Oriane' }).click();
  await eventually(() => heardS(page)).toBeGreaterThan(6);
  await page.locator('.word', { hasText: 'crane' }).first().click();
  await eventually(() => heardS(page)).toBeGreaterThan(8);
  await page.locator('.word.heard', { hasText: /late|again|and/ }).waitFor();
  await page.locator('.entry[aria-current=true]', { hasText: 'Oriane' }).waitFor();
  await opened.screenshot('job-heard');
  // The keyboard's way to the same: the time, an entity, a chapter.
  await page.getByRole('button', { name: 'Hear from 0:41' }).focus();
  await page.keyboard.press('Enter');
  await eventually(() => heardS(page)).toBeGreaterThan(41);
  await page.getByRole('button', { name: 'Lisbon, hear from 0:17' }).focus();
  await page.keyboard.press('Enter');
  await eventually(() => heardS(page)).toBeLessThan(30);
  await page.context().close();
});

test('the transcript is saved as txt, srt, vtt and json, under the name of the file', async () => {
  await using api = await startRecordedApi(recorded());
  const { page } = await browser.open(`${api.url}/#/jobs/${jobId}`);
  const [txt, srt, vtt, json] = [
    await saved(page, 'txt'),
    await saved(page, 'srt'),
    await saved(page, 'vtt'),
    await saved(page, 'json'),
  ];
  expect(txt.name).toBe('harbour meeting.txt');
  expect(txt.text.split('\n')[1]).toBe(
    '0:05 Speaker 2: Thank you, Oriane. The new crane is late again, and I am angry.',
  );
  expect(srt.text).toContain('00:00:00,400 --> 00:00:04,900');
  expect(vtt.text).toMatch(/^WEBVTT\n/);
  expect(JSON.parse(json.text)).toEqual(
    JSON.parse(JSON.stringify(recordedJob({ created_at: JSON.parse(json.text).created_at }))),
  );
  await page.context().close();
});

test('dropped files are sent one after the other and become jobs with what was ticked', async () => {
  const posts: [string, unknown][] = [];
  const data = recorded({ jobs: [], onPost: (path, body) => void posts.push([path, body]) });
  await using api = await startRecordedApi(data);
  const { page, problems } = await browser.open(`${api.url}/#/jobs`);
  await page.getByText('No jobs yet.').waitFor();
  await page.getByLabel('Sentiment').uncheck();
  await drop(page, ['one.wav', 'two.wav']);
  await eventually(() => page.locator('.jobs li').count()).toBe(2);
  expect(posts.map(([path]) => path)).toEqual([
    ...['/v2/upload', '/v2/pre-recorded', '/v2/upload', '/v2/pre-recorded'],
  ]);
  expect(posts[1]?.[1]).toEqual({
    audio_url: 'http://127.0.0.1/file/one.wav',
    subtitles: true,
    subtitles_config: { formats: ['srt', 'vtt'] },
    diarization: true,
    summarization: true,
    chapterization: true,
    named_entity_recognition: true,
    sentiment_analysis: false,
  });
  await page.getByLabel('Address of a file').fill('https://files.example.com/three.mp3');
  await page.keyboard.press('Enter');
  await page.locator('.jobs li', { hasText: 'three.mp3' }).waitFor();
  expect(posts.at(-1)?.[1]).toMatchObject({ audio_url: 'https://files.example.com/three.mp3' });
  expect(problems).toEqual([]);
  await page.context().close();
});

test('a refused file stays with the reason, is tried again without being sent again, and can be removed', async () => {
  const posts: string[] = [];
  let isFull = true;
  const data = recorded({
    jobs: [],
    onPost(path) {
      posts.push(path);
      if (path === '/v2/pre-recorded' && isFull) throw new Problem(429, '300 jobs are waiting');
    },
  });
  await using api = await startRecordedApi(data);
  const { page, ...opened } = await browser.open(`${api.url}/#/jobs`, { width: 390 });
  await page.locator('input[type=file]').setInputFiles([wavFile('one.wav'), wavFile('two.wav')]);
  await page
    .locator('.uploads li', { hasText: 'one.wav' })
    .getByText('300 jobs are waiting')
    .waitFor();
  await opened.screenshot('jobs-refused');
  expect(await opened.violations()).toEqual([]);
  await page.getByRole('button', { name: 'Remove: two.wav' }).click();
  isFull = false;
  await page.getByRole('button', { name: 'Try again: one.wav' }).click();
  await page.locator('.jobs li', { hasText: 'one.wav' }).waitFor();
  await eventually(() => page.locator('.uploads li').count()).toBe(0);
  expect(posts.filter((path) => path === '/v2/upload')).toHaveLength(2);
  await page.context().close();
});

test('a job is cancelled, and deleted only after a second word, by keyboard alone', async () => {
  const posts: string[] = [];
  const data = recorded({ onPost: (path) => void posts.push(path) });
  await using api = await startRecordedApi(data);
  const { page, ...opened } = await browser.open(`${api.url}/#/jobs/${jobIdOf(3)}`);
  await page.getByRole('button', { name: 'Cancel' }).focus();
  await page.keyboard.press('Enter');
  await page.getByText('cancelled by a request (499)').waitFor();
  await page.getByRole('button', { name: 'Delete' }).focus();
  await page.keyboard.press('Enter');
  await page.getByRole('button', { name: 'Keep it' }).waitFor();
  await opened.screenshot('job-delete');
  expect(await opened.violations()).toEqual([]);
  // The keyboard stands on the harmless answer; Escape takes the question away.
  expect(await focused(page)).toBe('Keep it');
  await page.keyboard.press('Escape');
  expect(await focused(page)).toBe('Delete');
  await page.keyboard.press('Enter');
  await page.keyboard.press('Shift+Tab');
  expect(await focused(page)).toBe('Delete for good');
  await page.keyboard.press('Enter');
  await page.getByText('The job was deleted').waitFor();
  expect(posts).toEqual([
    `/v2/pre-recorded/${jobIdOf(3)}/cancel`,
    `/v2/pre-recorded/${jobIdOf(3)}`,
  ]);
  await page.keyboard.press('Enter');
  await eventually(() => page.locator('.jobs li').count()).toBe(3);
  expect(opened.problems).toEqual([]);
  await page.context().close();
});

test('a callback that was given up is said in the list and on its job, and is tried again', async () => {
  const posts: string[] = [];
  const callback = {
    ...{ id: 'msg_1_success_request', job_id: jobId, event: 'transcription.success' },
    ...{ target: 'request' as const, host: 'crm.example.com', state: 'parked' as const },
    ...{ attempts: 5, reason: 'answered 503', can_retry: true, next_attempt_at: null },
    ...{ created_at: '2026-02-03T09:15:09.000Z', parked_at: '2026-02-03T09:27:49.000Z' },
  };
  const data = recorded({ callbacks: [callback] });
  data.onPost = (path) => {
    posts.push(path);
    data.callbacks = [];
    return { changed: 1 };
  };
  await using api = await startRecordedApi(data);
  const { page, ...opened } = await browser.open(`${api.url}/#/jobs`, { width: 390 });
  const row = page.locator('.jobs li', { hasText: 'harbour meeting.wav' });
  await row.getByText('Callback given up: answered 503').waitFor();
  await page.getByRole('link', { name: 'Jobs 1 parked' }).waitFor();
  await opened.screenshot('jobs-callback');
  expect(await opened.violations()).toEqual([]);
  await row.getByRole('link').click();
  await page.getByText('answered 503 · 5 attempts · given up').waitFor();
  await page.getByText('to crm.example.com').waitFor();
  await opened.screenshot('job-callback');
  expect(await opened.violations()).toEqual([]);
  await page.getByRole('button', { name: 'Try again: transcription.success' }).click();
  await page.getByText('Sent again.').waitFor();
  expect(posts).toEqual(['/api/job-callbacks/msg_1_success_request/retry']);
  await eventually(() => page.getByText('answered 503').count()).toBe(0);
  expect(opened.problems).toEqual([]);
  await page.context().close();
});

test('names, words and answers from outside are text, whatever they look like', async () => {
  const hostile = '<img src=x onerror="document.title=1"><script>document.title=2</script>';
  const result = recordedResult();
  const [utterance] = result.transcription?.utterances ?? [];
  if (!utterance) throw new Error('no utterance');
  utterance.text = hostile;
  utterance.words = [{ word: hostile, start: 1, end: 2, confidence: 1 }];
  result.summarization = { ...result.summarization!, results: hostile };
  result.named_entity_recognition!.results = [
    { entity_type: hostile, text: hostile, start: 1, end: 2 },
  ];
  const file = { ...recordedJob().file!, filename: hostile, source: 'javascript:alert(1)' };
  const data = recorded({ jobs: [recordedJob({ file, result })] });
  await using api = await startRecordedApi(data);
  const { page, problems } = await browser.open(`${api.url}/#/jobs`);
  await page.locator('.jobs li', { hasText: hostile }).getByRole('link').click();
  await page.locator('.summary').getByText(hostile).waitFor();
  await page.locator('.conversation').getByText(hostile).first().waitFor();
  expect(await page.locator('main img, main script, a[href^=javascript]').count()).toBe(0);
  expect(await page.title()).toBe(`${hostile} · Trunkline`);
  expect((await saved(page, 'json')).name).not.toMatch(/[<>"/]/);
  expect(problems).toEqual([]);
  await page.context().close();
});

test('an empty list, no connection, an unknown job and a process without a speech service are each said', async () => {
  const data = recorded({ jobs: [] });
  const first = await startRecordedApi(data);
  const { page } = await browser.open(`${first.url}/#/jobs`);
  await page.getByText('No jobs yet.').waitFor();
  await page.evaluate(`location.hash = '#/jobs/${jobIdOf(77)}'`);
  await page.getByText('Job not found.').waitFor();
  await page.getByRole('link', { name: '‹ Jobs' }).click();
  await page.getByText('No jobs yet.').waitFor();
  const { port } = new URL(first.url);
  await first[Symbol.asyncDispose]();
  await page.locator('main').getByText('No connection to Trunkline since').waitFor();
  data.jobs = recordedJobs();
  await using _second = await startRecordedApi(data, { port: Number(port) });
  await eventually(() => page.locator('.jobs li').count()).toBe(4);
  await page.context().close();

  const alone = { ...recordedInstallation, roles: ['bridge', 'console'] };
  await using api = await startRecordedApi(recorded({ installation: alone }));
  const opened = await browser.open(`${api.url}/#/jobs`);
  await opened.page
    .getByText(
      'No speech service runs in this process, only bridge and console, so there are no jobs',
    )
    .waitFor();
  expect(await opened.page.getByRole('button', { name: 'Choose files' }).isVisible()).toBe(false);
  expect(opened.problems).toEqual([]);
  await opened.screenshot('jobs-without-service');
  expect(await opened.violations()).toEqual([]);
  await opened.page.context().close();
});

test('the list is loading until it is there, older jobs are read when asked for, newer ones come by themselves', async () => {
  const at = (second: number) => new Date(Date.parse('2026-02-03T09:00:00Z') + second * 1_000);
  const job = (number: number) =>
    recordedJob({ id: jobIdOf(number), created_at: at(number).toISOString() });
  const jobs = Array.from({ length: 50 }, (_, number) => job(number));
  await using api = await startRecordedApi(recorded({ jobs }));
  const { page } = await browser.open(`${api.url}/#/calls`);
  await page.getByText('No calls yet.').waitFor();
  let answer = (): void => undefined;
  const isAsked = new Promise<void>((asked) => {
    const hold = async (route: Route): Promise<void> => {
      asked();
      await new Promise<void>((resolve) => (answer = resolve));
      await route.continue();
    };
    void page.route('**/v2/pre-recorded?*', hold, { times: 1 });
  });
  await page.getByRole('link', { name: 'Jobs' }).click();
  await isAsked;
  await page.getByText('Loading the jobs …').waitFor();
  answer();
  const rows = page.locator('.jobs li');
  await eventually(() => rows.count()).toBe(20);
  expect(await page.getByText('Loading the jobs …').count()).toBe(0);
  for (const count of [40, 50]) {
    await page.getByRole('button', { name: 'Older jobs' }).click();
    await eventually(() => rows.count()).toBe(count);
  }
  expect(await page.getByRole('button', { name: 'Older jobs' }).isVisible()).toBe(false);
  jobs.push(job(51));
  await eventually(() => rows.count()).toBe(51);
  const shown = await rows.evaluateAll((all) => all.map((one) => one.dataset['id']));
  expect(shown).toEqual(jobs.map(({ id }) => id).toReversed());
  await page.context().close();
});

test('behind a key the sign-in opens the jobs to the page', async () => {
  const apiKeys = ['correct-horse-battery'];
  await using api = await startRecordedApi(recorded(), { apiKeys });
  const { page, problems } = await browser.open(`${api.url}/#/jobs`);
  await page.getByLabel('API key').fill(apiKeys[0] ?? '');
  await page.keyboard.press('Enter');
  await eventually(() => page.locator('.jobs li').count()).toBe(4);
  await drop(page, ['mine.wav']);
  await page.locator('.jobs li', { hasText: 'mine.wav' }).waitFor();
  await page.evaluate(`location.hash = '#/jobs/${jobId}'`);
  await page.locator('.word', { hasText: 'crane' }).first().click();
  await eventually(() => heardS(page)).toBeGreaterThan(8);
  expect(problems).toEqual([]);
  await page.context().close();
});

function heardS(page: Page): Promise<number> {
  return page.evaluate<number>(`document.querySelector('audio').currentTime`);
}

function focused(page: Page): Promise<string> {
  return page.evaluate<string>('document.activeElement.textContent');
}

function wavFile(name: string) {
  return { name, mimeType: 'audio/wav', buffer: Buffer.alloc(4_000, 7) };
}

/** As a hand does it: the files are carried over the field and let go. */
async function drop(page: Page, names: string[]): Promise<void> {
  const zone: Locator = page.locator('.drop');
  const files = await page.evaluateHandle(`(() => {
    const carried = new DataTransfer();
    for (const name of ${JSON.stringify(names)})
      carried.items.add(new File(['RIFF'.repeat(100)], name));
    return carried;
  })()`);
  await zone.dispatchEvent('dragover', { dataTransfer: files });
  await zone.dispatchEvent('drop', { dataTransfer: files });
}

async function saved(page: Page, format: string): Promise<{ name: string; text: string }> {
  const button = page.getByRole('button', { name: `Save as ${format}` });
  const [download] = await Promise.all([page.waitForEvent('download'), button.click()]);
  const text = await readFile(await download.path(), 'utf8');
  return { name: download.suggestedFilename(), text };
}

test('speakers are asked for once their model is here: it is offered with its size, and installs with progress', async () => {
  const models = [missingModel('voice-encoder'), missingModel('whisper-tiny-en')];
  const asked: unknown[] = [];
  const data = recorded({
    models,
    onPost(path, body) {
      if (path === '/v2/pre-recorded') asked.push(body);
      if (path !== '/api/models/voice-encoder/install') return undefined;
      Object.assign(models[0]!, { state: 'installing', share: 0.4, detail: 'downloading' });
      return { items: models };
    },
  });
  await using api = await startRecordedApi(data);
  const { page, ...opened } = await browser.open(`${api.url}/#/jobs`);
  const speakers = page.getByRole('checkbox', { name: 'Speakers' });
  await eventually(() => speakers.isDisabled()).toBe(true);
  expect(await speakers.isChecked()).toBe(false);
  const address = page.getByLabel('Address of a file');
  await address.fill('https://files.example.com/first.wav');
  await address.press('Enter');
  await eventually(() => asked.length).toBe(1);
  expect(asked[0]).toMatchObject({ diarization: false, summarization: true });

  await page.getByRole('button', { name: 'Install, 76 MB: whisper-tiny-en' }).waitFor();
  await opened.screenshot('jobs-offers');
  expect(await opened.violations()).toEqual([]);
  await page.getByRole('button', { name: 'Install, 28 MB: voice-encoder' }).click();
  await page.getByRole('progressbar', { name: 'Installing voice-encoder' }).waitFor();
  await page.getByText('40 %').waitFor();
  Object.assign(models[0]!, { state: 'installed', share: null, detail: null });
  await eventually(() => speakers.isChecked()).toBe(true);
  await address.fill('https://files.example.com/second.wav');
  await address.press('Enter');
  await eventually(() => asked.length).toBe(2);
  expect(asked[1]).toMatchObject({ diarization: true });
  await page.context().close();
});

test('an installation that failed says why, and offers to try again', async () => {
  const failed = { state: 'failed' as const, detail: 'no source has voice-encoder' };
  const models = [{ ...missingModel('voice-encoder'), ...failed }];
  await using api = await startRecordedApi(recorded({ models }));
  const { page } = await browser.open(`${api.url}/#/jobs`, { width: 390 });
  await page.getByText('no source has voice-encoder').waitFor();
  await page.getByRole('button', { name: 'Try again, 28 MB: voice-encoder' }).waitFor();
  const width = await page.evaluate<number>('document.documentElement.scrollWidth');
  expect(width).toBeLessThanOrEqual(390);
  await page.context().close();
});
