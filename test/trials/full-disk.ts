/**
 * A day's work on a disk that becomes full three times: twenty exact calls at a time, one call that lasts the whole trial,
 * uploads and jobs, on a small file system that somebody else fills to its last byte and frees again. A call may be
 * refused while there is no room; one that was let in loses no word and says none twice, and a job that was taken has its
 * words. TRIAL_MINUTES (10) is its length, TRIAL_LOG a file for the log of the process. It needs root, to mount the file
 * system. `npm run trials -- full-disk`.
 */
import { statfsSync, writeFileSync } from 'node:fs';
import { open, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { carriers } from '../../src/carriers/all.ts';
import { findCall, getCall } from '../../src/player/api-client.ts';
import { playCall } from '../../src/player/play-call.ts';
import { provenConfig, provenEnv } from '../support/carriers/proven-config.ts';
import { startApp, type App } from '../support/process/app.ts';
import { until } from '../support/process/until.ts';
import { tones, type FixtureWord } from '../support/recognition/fixture-model.ts';
import { jobsApi, wavOf } from '../support/speech/jobs.ts';
import { speechApi, type SpeechHttp } from '../support/speech/speech-service.ts';
import { mountSmallDisk, smallDiskMissing } from '../support/store/small-disk.ts';

const minutes = Math.min(120, Math.max(1, Number(process.env['TRIAL_MINUTES'] ?? 10)));
/** Recordings of twenty lanes take 20 MiB a minute. With less room the trial itself would keep the disk full. */
const diskMebibytes = 320 + 24 * minutes;
const markMebibytes = 64;
const ballastMebibytes = 32;
const lanes = 20;
const timesFull = 3;
const fullForS = 15;
const rateHz = 8_000;
const mebibyte = 1_048_576;
const sentences = ['my card is lost', 'one two three', 'the order please', 'great refund', 'four five', 'hello monday'] as const; // prettier-ignore

type Tally = {
  calls: number;
  refused: number;
  words: number;
  lost: number;
  repeated: number;
  jobs: number;
  jobsRefused: number;
  wrong: string[];
};

/** The sentences of a call, each with a pause behind it, up to a length in seconds. */
function spokenFor(seconds: number, first: number): { text: string; samples: Int16Array } {
  const parts: Int16Array[] = [];
  const said: string[] = [];
  for (let lengthS = 0, at = first; lengthS < seconds; at++) {
    const sentence = sentences[at % sentences.length] ?? sentences[0];
    const part = tones(sentence.split(' ') as FixtureWord[], { leadS: 0.1, tailS: 1.2 });
    parts.push(part);
    said.push(sentence);
    lengthS += part.length / rateHz;
  }
  const samples = new Int16Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    samples.set(part, at);
    at += part.length;
  }
  return { text: said.join(' '), samples };
}

/** One call, played at the pace of speech. A call that the process let in has all of its words, or is a finding. */
async function exactCall(app: App, seconds: number, first: number, tally: Tally): Promise<void> {
  const { text, samples } = spokenFor(seconds, first);
  let carrierCallId = '';
  await playCall({
    player: carriers.twilio.player,
    secrets: carriers.twilio.playerSecrets(provenConfig()),
    to: app.url,
    legs: [{ leg: 'customer', samples, rateHz }],
    speed: 1,
    onStarted: ({ callId }) => (carrierCallId = callId),
  }).catch(() => undefined);
  const listed = await findCall({ url: app.url }, carrierCallId).catch(() => undefined);
  if (listed === undefined) {
    tally.refused++;
    await sleep(2_000);
    return;
  }
  const call = await until(async () => {
    const found = await getCall({ url: app.url }, listed.id).catch(() => undefined);
    return found?.state === 'ended' && found;
  }, 180_000).catch(() => undefined);
  if (call === undefined) {
    tally.wrong.push(`${listed.id} of ${Math.round(seconds)} s did not end`);
    return;
  }
  const heard = call.transcript.map((turn) => turn.text.trim()).join(' ');
  tally.calls++;
  tally.words += text.split(' ').length;
  const [expected, found] = [text.split(' '), heard.split(' ')];
  const both = commonLength(expected, found);
  tally.lost += expected.length - both;
  tally.repeated += found.length - both;
  if (expected.length > both || found.length > both) {
    const turns = call.transcript.map(({ start, end, text: said }) => `${start}-${end} ${said}`);
    tally.wrong.push(`${call.id}: ${turns.join(' | ')} for "${text}", ${JSON.stringify(call.incomplete)}`); // prettier-ignore
  }
}

/** The length of the longest sequence of words that both have in this order. */
function commonLength(expected: readonly string[], found: readonly string[]): number {
  let above = new Array<number>(found.length + 1).fill(0);
  for (const word of expected) {
    const row = [0];
    for (const [at, other] of found.entries())
      row.push(word === other ? (above[at] ?? 0) + 1 : Math.max(above[at + 1] ?? 0, row[at] ?? 0));
    above = row;
  }
  return above.at(-1) ?? 0;
}

async function jobsUntil(endMs: number, speech: SpeechHttp, tally: Tally): Promise<void> {
  const jobs = jobsApi(speech);
  const audio = wavOf('my card is lost', { tailS: 200 });
  while (performance.now() < endMs)
    try {
      const { audio_url } = await jobs.upload(audio);
      const id = await jobs.begin({ audio_url });
      const job = await jobs.ended(id, 240_000);
      tally.jobs++;
      const text = job.result?.transcription?.full_transcript?.trim();
      if (text !== 'my card is lost')
        tally.wrong.push(`job ${id}: ${job.status} ${job.error_code ?? ''} "${text ?? ''}"`);
      // The upload goes with its job.
      await speech.http(`/v2/pre-recorded/${id}`, { method: 'DELETE' });
    } catch (error) {
      // No room for an upload is an answer, and a person tries again.
      if (!/answered (?:507|503|429)/.test(String(error))) tally.wrong.push(`a job: ${String(error)}`); // prettier-ignore
      tally.jobsRefused++;
      await sleep(2_000);
    }
}

/** Fills the disk to its last byte, holds it full, frees it. Answers with the least that was free. */
async function fill(path: string): Promise<number> {
  const filler = join(path, 'filler');
  const file = await open(filler, 'w');
  const block = Buffer.alloc(mebibyte, 1);
  let isFull = false;
  let leastFreeBytes = Infinity;
  for (const endMs = performance.now() + fullForS * 1_000; performance.now() < endMs;) {
    await file.write(isFull ? block.subarray(0, 4_096) : block).catch(() => (isFull = true));
    const { bavail, bsize } = statfsSync(path);
    leastFreeBytes = Math.min(leastFreeBytes, bavail * bsize);
    if (isFull) await sleep(50);
  }
  await file.close();
  await rm(filler);
  return leastFreeBytes;
}

/** The reasons for which streams were refused, as the log has them. */
function refusals(app: App): Map<string, number> {
  const counts = new Map<string, number>();
  for (const line of app.lines) {
    const reason = /"reason":"([^"]*)".*"msg":"[^"]*refused/.exec(line)?.[1];
    if (reason !== undefined) counts.set(reason, (counts.get(reason) ?? 0) + 1);
  }
  return counts;
}

async function run(): Promise<number> {
  if (smallDiskMissing !== undefined) {
    console.log(`BROKEN: ${smallDiskMissing}; nothing was tried`);
    return 1;
  }
  using disk = mountSmallDisk(diskMebibytes);
  await using app = await startApp({
    dataDir: join(disk.path, 'data'),
    env: {
      ...provenEnv(),
      TRUNKLINE_DISK_LOW_WATER_BYTES: String(markMebibytes * mebibyte),
      TRUNKLINE_DISK_BALLAST_BYTES: String(ballastMebibytes * mebibyte),
      TRUNKLINE_REJOIN_WAIT_MS: '500',
      // On a busy machine the frames of this trial come late. Silence for them would cut a tone, and its word in two.
      TRUNKLINE_QUIET_FILL_MS: '0',
      TRUNKLINE_RECORDING: 'on',
      TRUNKLINE_RECOGNISERS: '2',
    },
  });
  const tally: Tally = {
    calls: 0,
    refused: 0,
    words: 0,
    lost: 0,
    repeated: 0,
    jobs: 0,
    jobsRefused: 0,
    wrong: [],
  };
  const lengthMs = minutes * 60_000;
  const endMs = performance.now() + lengthMs;
  const least: number[] = [];
  const filling = async (): Promise<void> => {
    for (let time = 0; time < timesFull; time++) {
      await sleep(lengthMs / timesFull / 2);
      least.push(await fill(disk.path));
      console.log(`full for ${fullForS} s, at least ${Math.round((least.at(-1) ?? 0) / 1_024)} KiB were free`); // prettier-ignore
      await sleep(Math.max(0, lengthMs / timesFull / 2 - fullForS * 1_000));
    }
  };
  const lane = async (first: number): Promise<void> => {
    for (let at = first; performance.now() < endMs; at++) await exactCall(app, 18, at, tally);
  };
  await Promise.all([
    filling(),
    exactCall(app, minutes * 60 - 20, 0, tally),
    jobsUntil(endMs, speechApi(app.url), tally),
    ...Array.from({ length: lanes }, (_, first) => lane(first)),
  ]);
  const { calls, refused, words, lost, repeated, jobs, jobsRefused, wrong } = tally;
  console.log(
    `${minutes} min: ${calls} calls with ${words} words, lost ${lost}, repeated ${repeated} (${refused} refused), ${jobs} jobs (${jobsRefused} uploads refused), disk full ${least.length} times: ${wrong.length} wrong`,
  );
  for (const [why, count] of refusals(app)) console.log(`refused ${count} times: ${why}`);
  const logPath = process.env['TRIAL_LOG'];
  if (logPath !== undefined) writeFileSync(logPath, app.lines.join('\n'));
  for (const one of wrong.slice(0, 20)) console.log(`WRONG ${one}`);
  const isTried = calls >= lanes && least.length === timesFull && least.every((bytes) => bytes < mebibyte); // prettier-ignore
  if (!isTried) console.log('BROKEN: the disk was not full, or too few calls were played');
  return wrong.length === 0 && isTried ? 0 : 1;
}

process.exitCode = await run();
