import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { describe, expect, test } from 'vitest';
import { UploadedFile } from '../../../../src/protocol/pre-recorded.ts';
import { JobsConfig } from '../../../../src/speech-service/config.ts';
import { openFiles, type Files } from '../../../../src/speech-service/files/files.ts';
import type { Store } from '../../../../src/store/store.ts';
import { TestClock } from '../../../support/clock/test-clock.ts';
import { until } from '../../../support/process/until.ts';
import { silentLog } from '../../../support/recognition/recogniser.ts';
import { speechProcess } from '../../../support/speech/speech-process.ts';
import { startTestService } from '../../../support/speech/speech-service.ts';
import { audioForm, formType, RawUpload, wavOf } from '../../../support/speech/uploads.ts';
import { mediaProbe } from '../../../support/speech/media-probe.ts';
import { temporaryFolder, temporaryStore } from '../../../support/store/store.ts';

const hourMs = 3_600_000;

function filesIn(
  store: Store & { dataDir: string },
  clock: TestClock,
  config: { storedMaxBytes?: number } = {},
): Promise<Files> {
  return openFiles({
    config: JobsConfig.parse(config),
    zeroRetention: false,
    store,
    folder: join(store.dataDir, 'files'),
    node: 'node-1',
    probe: mediaProbe,
    publicUrl: () => 'http://127.0.0.1:1',
    clock,
    log: silentLog,
  });
}

const receive = (files: Files, bytes = 1_600): ReturnType<Files['receive']> =>
  files.receive(Readable.from([wavOf(bytes)]), { filename: 'a.wav' }, new AbortController().signal);

async function upload(url: string, body: Buffer): Promise<UploadedFile> {
  const headers = { 'content-type': formType };
  const answer = await fetch(`${url}/v2/upload`, { method: 'POST', headers, body });
  return UploadedFile.parse(await answer.json());
}

test('a file that no job used goes after its time; one that a job reads stays', async () => {
  await using store = await temporaryStore();
  const clock = new TestClock(0);
  await using files = await filesIn(store, clock, { storedMaxBytes: 5_000 });
  const unused = await receive(files);
  const used = await receive(files);
  await store.db
    .insertInto('speech_jobs')
    .values({
      id: 'job-1',
      kind: 'pre-recorded',
      node: 'node-1',
      status: 'queued',
      created_at: 0,
      post_session_metadata: '{}',
      zero_retention: 0,
      callbacks_due: 0,
      file_id: used.id,
    })
    .execute();
  clock.setWallAhead(23 * hourMs);
  expect(await files.sweep()).toBe(0);
  // A clock that was set ahead is believed after an hour.
  clock.setWallAhead(25 * hourMs);
  expect(await files.sweep()).toBe(0);
  await until(async () => {
    await clock.pass(hourMs / 4);
    return (await files.get(unused.id)) === undefined;
  });
  const folder = join(store.dataDir, 'files');
  await until(async () => (await readdir(folder)).length === 1);
  expect(await files.get(used.id)).toEqual(used);
  // Its room is free again, and the deletion of a file by its owner frees the rest.
  const other = await receive(files);
  await expect(receive(files, 3_000)).rejects.toMatchObject({ status: 507 });
  await files.remove(used.id);
  await files.remove(used.id);
  expect((await receive(files, 3_000)).size).toBe(3_044);
  expect((await readdir(folder)).sort()).not.toContain(used.id);
  expect(await files.get(other.id)).toEqual(other);
});

test('a file is deleted by its id, at once and for good, unless a job reads it', async () => {
  await using service = await startTestService();
  const { audio_metadata } = await upload(service.url, audioForm(wavOf(100)));
  const path = `${service.url}/file/${audio_metadata.id}`;
  const jobOf = service.store.db.updateTable('speech_jobs').set({ file_id: null });
  await service.store.db
    .insertInto('speech_jobs')
    .values({
      id: 'job-1',
      kind: 'pre-recorded',
      node: 'another',
      status: 'done',
      created_at: 0,
      post_session_metadata: '{}',
      zero_retention: 0,
      callbacks_due: 0,
      file_id: audio_metadata.id,
    })
    .execute();
  expect((await fetch(path, { method: 'DELETE' })).status).toBe(403);
  await jobOf.where('id', '=', 'job-1').execute();
  expect((await fetch(path, { method: 'DELETE' })).status).toBe(202);
  expect((await fetch(path)).status).toBe(404);
  expect((await fetch(path, { method: 'DELETE' })).status).toBe(404);
  expect(await readdir(join(service.store.dataDir, 'speech', 'files'))).toEqual([]);
});

describe('what a crash leaves', () => {
  test('nothing of an upload that was cut off by kill -9 is left after the next start', async () => {
    await using folder = await temporaryFolder();
    const held = join(folder.path, 'speech', 'files');
    const first = await speechProcess(folder.path);
    const wav = wavOf(50_000);
    const kept = (await upload(first.url, audioForm(wav))).audio_metadata.id;
    const cut = new RawUpload(first.port, {
      'content-type': formType,
      'content-length': '900000',
    });
    await cut.write(audioForm(wavOf(800_000)).subarray(0, 500_000));
    await until(async () => (await readdir(held)).length === 2);
    await first.kill();
    await cut.closed;
    expect(await readdir(held)).toHaveLength(2);
    await using second = await speechProcess(folder.path);
    expect(await readdir(held)).toEqual([kept]);
    const back = await fetch(`${second.url}/file/${kept}`);
    expect(Buffer.from(await back.arrayBuffer()).equals(wav)).toBe(true);
  });

  test('a row without its bytes is answered as not found, and can be deleted', async () => {
    await using service = await startTestService();
    const { audio_metadata } = await upload(service.url, audioForm(wavOf(100)));
    const folder = join(service.store.dataDir, 'speech', 'files');
    await writeFile(join(folder, 'notes.txt'), 'of a person');
    await rm(join(folder, audio_metadata.id));
    const answer = await service.http(`/file/${audio_metadata.id}`);
    expect([answer.status, (await answer.json()) as object]).toEqual([
      404,
      expect.objectContaining({ message: 'Not found' }),
    ]);
    expect(await readFile(join(folder, 'notes.txt'), 'utf8')).toBe('of a person');
  });
});

test('a file on the disk of another node is not "not found": the client is told to ask again', async () => {
  await using service = await startTestService();
  const { audio_metadata } = await upload(service.url, audioForm(wavOf(100)));
  await service.store.db.updateTable('speech_files').set({ node: 'another' }).execute();
  const answer = await service.http(`/file/${audio_metadata.id}`);
  expect([answer.status, answer.headers.get('retry-after')]).toEqual([503, '1']);
});

test('memory has its level after one large upload, and 300 MB more do not move it', async () => {
  await using folder = await temporaryFolder();
  await using service = await speechProcess(folder.path);
  const form = audioForm(wavOf(1_000_000));
  const end = form.indexOf('\r\n--b0undary', 1_000);
  const piece = Buffer.alloc(1_000_000, 7);
  const send = async (megabytes: number): Promise<number> => {
    const client = new RawUpload(service.port, {
      'content-type': formType,
      'content-length': String(form.length + megabytes * piece.length),
    });
    let most = 0;
    await client.write(form.subarray(0, end));
    for (let sent = 0; sent < megabytes; sent++) {
      await client.write(piece);
      if (sent % 20 === 0) most = Math.max(most, await service.rssBytes());
    }
    await client.write(form.subarray(end));
    const { status, json } = await client.answer;
    client.socket.destroy();
    expect([status, json.audio_metadata?.size]).toEqual([200, 1_000_044 + megabytes * 1_000_000]);
    return Math.max(most, await service.rssBytes());
  };
  const level = await send(100);
  expect((await send(300)) - level).toBeLessThan(64 * 1_048_576);
});
