import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { startApp } from '../../support/process/app.ts';
import { until } from '../../support/process/until.ts';
import {
  connect,
  mulawOf,
  speechApi,
  startTestService,
} from '../../support/speech/speech-service.ts';
import { temporaryStore } from '../../support/store/store.ts';

const sentence = mulawOf('my card is lost');

async function audioFiles(dataDir: string): Promise<string[]> {
  return (await readdir(join(dataDir, 'speech'))).filter((name) => name.endsWith('.audio'));
}

test('with TRUNKLINE_RECORDING=off no audio is left of a session that ended, and none is handed out', async () => {
  await using app = await startApp({ env: { TRUNKLINE_RECORDING: 'off' } });
  const api = speechApi(app.url);
  const job = await api.postWhenFree();
  const client = await connect(job.url);
  client.send(sentence);
  client.stop();
  await client.closed;
  const file = await api.http(`/v2/live/${job.id}/file`);
  const answer = file.status === 200 ? (await file.arrayBuffer()).byteLength : await file.json();
  expect(answer).toMatchObject({ statusCode: 404 });
  await until(async () => (await audioFiles(app.dataDir)).length === 0);
});

test('without a recording a running session holds only the audio that a resume still needs', async () => {
  await using service = await startTestService({ recording: { kept: false, days: 30 } });
  const job = await service.post();
  const client = await connect(job.url);
  const quiet = Buffer.alloc(8_000 * 20, 0xff);
  const path = join(service.store.dataDir, 'speech', `${job.id}.audio`);
  client.send(Buffer.concat([sentence, quiet]), 8_000);
  await client.until('transcript', (message) => message.data.is_final);
  // Audio is released when more of it comes, about once for each second.
  await until(async () => {
    client.send(Buffer.alloc(8_000, 0xff), 8_000);
    const stored = await readFile(path).catch(() => Buffer.alloc(0));
    if (stored.length < sentence.length) return false;
    return stored.subarray(0, sentence.length).every((byte) => byte === 0);
  });
  const sent = (await readFile(path)).length;
  expect((await readFile(path)).subarray(sent - 8_000).every((byte) => byte === 0xff)).toBe(true);
  client.socket.terminate();
  const again = await connect(job.url);
  again.send(sentence);
  again.stop();
  await again.closed;
  const { result } = await service.ended(job.id);
  expect(result?.transcription?.full_transcript).toBe('my card is lost my card is lost');
  await until(async () => (await audioFiles(service.store.dataDir)).length === 0);
});

test('the audio of a session is deleted after the days of recordings, its words stay', async () => {
  await using store = await temporaryStore();
  let id = '';
  {
    await using service = await startTestService({ store, recording: { kept: true, days: 30 } });
    const job = await service.post();
    id = job.id;
    const speaker = await connect(job.url);
    speaker.send(sentence);
    speaker.stop();
    await speaker.closed;
    expect(await audioFiles(store.dataDir)).toContain(`${id}.audio`);
  }
  await using service = await startTestService({ store, recording: { kept: true, days: 0 } });
  await until(async () => !(await audioFiles(store.dataDir)).includes(`${id}.audio`));
  expect((await service.job(id)).result?.transcription?.full_transcript).toBe('my card is lost');
  expect((await service.http(`/v2/live/${id}/file`)).status).toBe(404);
});

test.each([
  { roles: 'speech', kept: true },
  { roles: 'bridge,speech', kept: false },
])(
  'where others reach the host, roles $roles keep the audio of sessions unless told otherwise: $kept',
  async ({ roles, kept }) => {
    const key = 'a-key-of-the-tests-24-long';
    await using app = await startApp({
      env: { HOST: '0.0.0.0', TRUNKLINE_API_KEYS: key, TRUNKLINE_ROLES: roles },
    });
    const url = `http://127.0.0.1:${new URL(app.url).port}`;
    const api = speechApi(url, key);
    const job = await api.postWhenFree();
    const client = await connect(job.url.replace(/^wss?:\/\/[^/]+/, url.replace('http', 'ws')));
    client.send(sentence);
    client.stop();
    await client.closed;
    if (!kept) await until(async () => (await audioFiles(app.dataDir)).length === 0);
    const file = await api.http(`/v2/live/${job.id}/file`);
    await file.arrayBuffer();
    expect(file.status).toBe(kept ? 200 : 404);
  },
);
