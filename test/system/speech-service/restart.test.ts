import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { createLog, type Logger } from '../../../src/lib/log.ts';
import type { LiveJobRecord } from '../../../src/protocol/job.ts';
import type { Recogniser } from '../../../src/hearing/recogniser.ts';
import { faultWords, noisyAudio } from '../../support/faults/live-faults.ts';
import { resumingClient } from '../../support/speech/resuming-client.ts';
import { speechProcess } from '../../support/speech/speech-process.ts';
import {
  connect,
  fixtureRecogniser,
  mulawOf,
  startTestService,
  telephony,
} from '../../support/speech/speech-service.ts';
import { temporaryFolder } from '../../support/store/store.ts';
import { until } from '../../support/process/until.ts';

async function jobOf(url: string, id: string): Promise<LiveJobRecord> {
  return until(async () => {
    const job = (await (await fetch(`${url}/v2/live/${id}`)).json()) as LiveJobRecord;
    return (job.status === 'done' || job.status === 'error') && job;
  }, 60_000);
}

test('a session goes on over kill -9 of the service: same address, same words, every byte once', async () => {
  await using folder = await temporaryFolder();
  let service = await speechProcess(folder.path);
  const { port } = service;
  const response = await fetch(`${service.url}/v2/live`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ ...telephony, endpointing: 0.2 }),
  });
  const { id, url } = (await response.json()) as { id: string; url: string };
  const client = resumingClient(url, { ackDeadlineMs: 2_000 });
  const audio = noisyAudio(5);
  const kills = [20_000, audio.length - 300];
  for (let at = 0; at < audio.length; at += 160) {
    client.send(audio.subarray(at, at + 160));
    await new Promise((resolve) => setImmediate(resolve));
    if (kills[0] !== undefined && at >= kills[0]) {
      kills.shift();
      // Most is acknowledged, and the last half second is on its way.
      await until(() => client.counter() >= at - 4_000);
      await service.kill();
      service = await speechProcess(folder.path, { port });
    }
  }
  await client.acknowledged();
  const stopped = client.stop();
  await stopped;
  const job = await jobOf(service.url, id);
  expect(job.result?.transcription?.full_transcript).toBe(faultWords);
  expect(client.finals().trim()).toBe(faultWords);
  expect(client.counter()).toBe(audio.length);
  const answer = await fetch(`${service.url}/v2/live/${id}/file`);
  expect(answer.status).toBe(200);
  const kept = Buffer.from(await answer.arrayBuffer()).subarray(58);
  const parts = audio.findIndex((byte, at) => byte !== kept[at]);
  expect({ bytes: kept.length, parts }).toEqual({ bytes: audio.length, parts: -1 });
  await service.kill();
}, 120_000);

test('a stopped session that a restart interrupted is finished by the next process, with nobody asking', async () => {
  await using recogniser = await fixtureRecogniser();
  await using first = await startTestService({ recogniser });
  const open = await first.post();
  const talker = await connect(open.url);
  talker.send(mulawOf('my card is lost'));
  await talker.until('transcript');
  const silent = await first.post();
  await first.service.drain?.(1_000);
  expect((await talker.closed).code).toBe(1012);
  await using second = await startTestService({
    recogniser,
    store: first.store,
    config: { abandonedS: 0.2, neverConnectedS: 0.3 },
  });
  expect(await second.ended(open.id)).toMatchObject({
    status: 'done',
    result: { transcription: { full_transcript: 'my card is lost' } },
  });
  expect((await second.job(open.id)).result?.messages.length).toBeGreaterThan(3);
  expect(await second.ended(silent.id)).toMatchObject({ status: 'error', error_code: 408 });
});

test('audio that comes while a process stops ends no session: it is not taken, and the next process has the rest', async () => {
  await using recogniser = await fixtureRecogniser();
  const { log, errors } = errorLog();
  await using first = await startTestService({ recogniser, log });
  const { id, url } = await first.post();
  const talker = await connect(url);
  talker.send(mulawOf('my card is lost'));
  await talker.until('transcript');
  // It does not hear that it is to stop, and goes on, as one does whose frames are on their way already.
  talker.socket.pause();
  const goesOn = setInterval(() => talker.socket.send(Buffer.alloc(160, 0xff)), 5);
  await first.service.drain?.(1_000);
  clearInterval(goesOn);
  // Audio that was sent by now arrives before the answer to the close.
  talker.socket.resume();
  await talker.closed;
  expect(errors).toEqual([]);
  await expectAllSaidByTheNext(recogniser, first.store, id);
});

/** The process after this one has the whole of what was said into the session. */
async function expectAllSaidByTheNext(
  recogniser: Recogniser,
  store: Awaited<ReturnType<typeof startTestService>>['store'],
  id: string,
): Promise<void> {
  await using next = await startTestService({ recogniser, store, config: { abandonedS: 0.2 } });
  expect(await next.ended(id)).toMatchObject({
    status: 'done',
    result: { transcription: { full_transcript: 'my card is lost' } },
  });
}

/** Takes sessions and decides nothing, as on a machine that does not get to it. */
function idle(recogniser: Recogniser): Recogniser {
  const stream = { push() {}, backlogS: 0, expect() {}, finish() {}, close() {} };
  return {
    mostProcesses: recogniser.mostProcesses,
    status: () => recogniser.status(),
    admits: (...given) => recogniser.admits(...given),
    open: () => ({ outcome: 'admitted', stream }),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

test('a stop that cannot wait for the last words leaves them to the next process', async () => {
  await using recogniser = await fixtureRecogniser();
  await using first = await startTestService({ recogniser: idle(recogniser) });
  const { id, url } = await first.post();
  const client = await connect(url);
  client.send(mulawOf('my card is lost'));
  await client.until('audio_chunk');
  client.socket.send('{"type":"stop_recording"}');
  await client.until('stop_recording');
  await first.service.drain?.(200);
  expect((await client.closed).code).toBe(1012);
  await expectAllSaidByTheNext(recogniser, first.store, id);
});

/** A log whose errors are kept. */
function errorLog(): { log: Logger; errors: string[] } {
  const errors: string[] = [];
  const log = createLog({
    level: 'error',
    destination: { write: (line) => void errors.push(line) },
  });
  return { log, errors };
}

test('a client that confirms its last words when the log of its session is put away already is no error', async () => {
  await using recogniser = await fixtureRecogniser();
  const { log, errors } = errorLog();
  await using service = await startTestService({ recogniser, log, config: { abandonedS: 0.2 } });
  const logOf = (id: string): string => join(service.store.dataDir, 'speech', `${id}.log`);
  const { id, url } = await service.post();
  const slow = await connect(url);
  slow.send(mulawOf('my card is lost'));
  await until(() => existsSync(logOf(id)));
  await slow.until('audio_chunk');
  // Its answer to the close comes when all is over; for that the service waits 5 s.
  slow.socket.pause();
  slow.socket.send('{"type":"stop_recording"}');
  await service.ended(id);
  await until(() => !existsSync(logOf(id)));
  slow.socket.resume();
  expect((await slow.closed).code).toBe(1000);
  expect(slow.finals()).toBe(' my card is lost');

  const away = await service.post();
  const first = await connect(away.url);
  first.send(mulawOf('my card is lost'));
  await first.until('audio_chunk');
  first.socket.terminate();
  await service.ended(away.id);
  await until(() => !existsSync(logOf(away.id)));
  const second = await connect(away.url);
  expect((await second.until('transcript', ({ data }) => data.is_final)).data.utterance.text).toBe(
    ' my card is lost',
  );
  await second.closed;
  await service.service[Symbol.asyncDispose]();
  expect(errors).toEqual([]);
});

test('the files of a lost node are deleted a day after they would have been', async () => {
  await using recogniser = await fixtureRecogniser();
  await using first = await startTestService({ recogniser });
  const old = await first.post();
  const fresh = await first.post();
  const long = Date.now() - 2 * 86_400_000;
  const { db } = first.store;
  await db.updateTable('speech_jobs').set({ node: 'a-node-that-is-gone' }).execute();
  await db.updateTable('speech_jobs').set({ created_at: long }).where('id', '=', old.id).execute();
  await first.service[Symbol.asyncDispose]();
  await using second = await startTestService({
    recogniser,
    store: first.store,
    config: { retentionDays: 0 },
  });
  await until(async () => (await second.http(`/v2/live/${old.id}`)).status === 404);
  expect((await second.http(`/v2/live/${fresh.id}`)).status).toBe(200);
});

test('a job older than the retention is deleted with its files', async () => {
  await using recogniser = await fixtureRecogniser();
  await using first = await startTestService({ recogniser });
  const { id, url } = await first.post();
  const client = await connect(url);
  client.send(mulawOf('hello'));
  client.stop();
  await client.closed;
  await first.ended(id);
  await first.service[Symbol.asyncDispose]();
  await using second = await startTestService({
    recogniser,
    store: first.store,
    config: { retentionDays: 0 },
  });
  await until(async () => (await second.http(`/v2/live/${id}`)).status === 404);
  expect((await second.http(`/v2/live/${id}/file`)).status).toBe(404);
});
