import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { GladiaClient } from '@gladiaio/sdk';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ErrorBody } from '../../../../src/protocol/error-body.ts';
import { UploadedFile } from '../../../../src/protocol/pre-recorded.ts';
import type { Recogniser } from '../../../../src/hearing/recogniser.ts';
import { TestClock } from '../../../support/clock/test-clock.ts';
import { until } from '../../../support/process/until.ts';
import {
  fixtureRecogniser,
  startTestService,
  type TestService,
  type TestServiceOptions,
} from '../../../support/speech/speech-service.ts';
import { audioForm, formOf, formType, RawUpload, wavOf } from '../../../support/speech/uploads.ts';
import { temporaryFolder, temporaryStore } from '../../../support/store/store.ts';

const key = 'a-key-of-the-test';
const maxBytes = 1_000_000;
const clock = new TestClock(1);
let recogniser: Recogniser;
let service: TestService;

const start = (options: TestServiceOptions = {}): Promise<TestService> =>
  startTestService({ recogniser, keys: [key], clock, ...options });

beforeAll(async () => {
  recogniser = await fixtureRecogniser();
  service = await start({ config: { jobs: { maxBytes } } });
});
afterAll(async () => {
  await service[Symbol.asyncDispose]();
  await recogniser[Symbol.asyncDispose]();
});

const post = (body: Buffer, type = formType, at = service): Promise<Response> =>
  at.http('/v2/upload', { method: 'POST', headers: { 'content-type': type }, body });

const raw = (headers: Record<string, string>, at = service): RawUpload =>
  new RawUpload(at.port, { 'x-service-key': key, 'content-type': formType, ...headers });

const onDisk = async (at = service): Promise<string[]> =>
  (await readdir(join(at.store.dataDir, 'speech', 'files'))).sort();

const inRows = async (at = service): Promise<string[]> =>
  (await at.store.db.selectFrom('speech_files').select('id').execute()).map(({ id }) => id).sort();

async function uploaded(response: Response): Promise<UploadedFile> {
  const body: unknown = await response.json();
  expect(response.status, JSON.stringify(body)).toBe(200);
  return UploadedFile.parse(body);
}

async function refusal(response: Response): Promise<ErrorBody> {
  const body = ErrorBody.parse(await response.json());
  expect(body.statusCode).toBe(response.status);
  return body;
}

describe('POST /v2/upload', () => {
  test('keeps the bytes, says what they are, and hands them out again', async () => {
    const wav = wavOf(160_000);
    const { audio_url, audio_metadata } = await uploaded(await post(audioForm(wav)));
    expect(audio_url).toBe(`${service.url}/file/${audio_metadata.id}`);
    expect(audio_metadata).toEqual({
      id: audio_metadata.id,
      filename: 'call.wav',
      extension: 'wav',
      size: wav.length,
      audio_duration: 10,
      number_of_channels: 1,
    });
    const back = await service.http(new URL(audio_url).pathname);
    expect(back.headers.get('content-type')).toBe('audio/wav');
    expect(back.headers.get('x-content-type-options')).toBe('nosniff');
    expect(back.headers.get('content-disposition')).toMatch(/^attachment; filename="call.wav"/);
    expect(Buffer.from(await back.arrayBuffer()).equals(wav)).toBe(true);
    expect(await inRows()).toEqual(await onDisk());
  });

  test('reads a form whose boundaries are cut anywhere, in a chunked body', async () => {
    // Nearly a boundary, many times over.
    const wav = Buffer.concat([
      wavOf(2_000),
      Buffer.from('\r\n--b0undary-of-this-tes\r\n-'.repeat(9)),
    ]);
    const form = audioForm(wav);
    for (const step of [1, 7, 31]) {
      const upload = raw({ 'transfer-encoding': 'chunked' });
      for (let at = 0; at < form.length; at += step)
        await upload.writeChunk(form.subarray(at, at + step));
      await upload.write(Buffer.from('0\r\n\r\n'));
      const { status, json } = await upload.answer;
      expect([status, json.audio_metadata?.size], String(step)).toEqual([200, wav.length]);
      upload.socket.destroy();
    }
  });

  test.each([
    [
      'form-data; name="audio"; filename="Gespräch mit Ülle – 電話.WAV"',
      'Gespräch mit Ülle – 電話.WAV',
    ],
    [`form-data; name="audio"; filename*=UTF-8''a%20%e2%82%ac.wav`, 'a €.wav'],
    ['form-data; name="audio"; filename="../../etc/passwd"', 'passwd'],
    ['form-data; name="audio"; filename="C:\\\\calls\\\\one.mp3"', 'one.mp3'],
    ['form-data; name="audio"; filename=""', 'audio'],
    ['form-data; name="audio"', 'audio'],
    [`form-data; name="audio"; filename="${'x'.repeat(2_000)}.wav"`, 'x'.repeat(255)],
  ])('keeps the name of %s', async (disposition, filename) => {
    const form = formOf({ disposition, type: 'audio/anything', body: wavOf(1_600) });
    const { audio_metadata } = await uploaded(await post(form));
    expect(audio_metadata.filename).toBe(filename);
    const back = await service.http(`/file/${audio_metadata.id}`);
    expect(back.headers.get('content-disposition')).toContain(
      `filename*=UTF-8''${encodeURIComponent(filename)}`,
    );
  });

  test.each([
    ['no part', formOf(), formType, 'audio is required'],
    [
      'another field',
      formOf({ disposition: 'form-data; name="file"; filename="a.wav"', body: wavOf(10) }),
      formType,
      'file must not be a file',
    ],
    [
      'a field beside the file',
      formOf(
        { disposition: 'form-data; name="audio"; filename="a.wav"', body: wavOf(10) },
        { disposition: 'form-data; name="language"', body: Buffer.from('en') },
      ),
      formType,
      'property language should not exist',
    ],
    [
      'two files',
      formOf(
        { disposition: 'form-data; name="audio"; filename="a.wav"', body: wavOf(10) },
        { disposition: 'form-data; name="audio"; filename="b.wav"', body: wavOf(10) },
      ),
      formType,
      'must be one file',
    ],
    ['no boundary', audioForm(wavOf(10)), 'multipart/form-data', 'boundary'],
    ['an end that is missing', audioForm(wavOf(900)).subarray(0, 600), formType, 'must be whole'],
    ['a body that is no form', Buffer.from('RIFF....'), formType, 'body must be whole'],
  ])('refuses %s with 400 and keeps nothing', async (_what, body, type, words) => {
    const before = await onDisk();
    const { statusCode, validation_errors } = await refusal(await post(body, type));
    expect([statusCode, validation_errors?.join()]).toEqual([400, expect.stringContaining(words)]);
    expect([await onDisk(), await inRows()]).toEqual([before, before]);
  });

  test('says 415 for other bodies and for what is no audio, 422 for what is empty or damaged, and keeps nothing', async () => {
    const before = await onDisk();
    expect((await post(wavOf(10), 'audio/wav')).status).toBe(415);
    expect((await post(audioForm(Buffer.from('no audio')))).status).toBe(415);
    expect((await post(audioForm(wavOf(1_000).subarray(0, 30)))).status).toBe(422);
    expect((await post(audioForm(Buffer.alloc(0)))).status).toBe(422);
    expect([await onDisk(), await inRows()]).toEqual([before, before]);
  });

  test('a body that is announced as too large is refused before it is sent', async () => {
    const upload = raw({ 'content-length': '9000000000', expect: '100-continue' });
    const { status, headers } = await upload.answer;
    expect([status, headers]).toEqual([413, expect.not.stringContaining('100 Continue')]);
    upload.socket.destroy();
  });

  test('a body that becomes too large is answered while the client still sends, and leaves nothing', async () => {
    const before = await onDisk();
    const upload = raw({ 'transfer-encoding': 'chunked' });
    await upload.writeChunk(audioForm(wavOf(maxBytes)).subarray(0, maxBytes));
    let isAnswered = false;
    const answered = upload.answer.finally(() => (isAnswered = true));
    for (let sent = 0; sent < 200 && !isAnswered; sent++)
      await upload.writeChunk(Buffer.alloc(65_536));
    const { status, json } = await answered;
    expect([status, json.message]).toEqual([413, expect.stringContaining('payload too large')]);
    // The rest of the body is read for a while, so that the client hears the answer; then the connection goes on.
    await upload.write(Buffer.from('0\r\n\r\n'));
    upload.socket.destroy();
    expect([await onDisk(), await inRows()]).toEqual([before, before]);
  });

  test('an upload that its client gives up leaves nothing', async () => {
    const before = await onDisk();
    const upload = raw({ 'content-length': '900000' });
    await upload.write(audioForm(wavOf(500_000)).subarray(0, 400_000));
    await until(async () => (await onDisk()).length > before.length);
    upload.socket.destroy();
    await until(async () => (await onDisk()).length === before.length);
    expect(await inRows()).toEqual(before);
  });

  test('an upload that brings no more bytes is answered with 408 after the deadline', async () => {
    await using own = await start({ clock: new TestClock(60) });
    const upload = raw({ 'content-length': '900000' }, own);
    await upload.write(audioForm(wavOf(500_000)).subarray(0, 400_000));
    const { status, json } = await upload.answer;
    expect([status, json.message]).toEqual([408, expect.stringContaining('30 s')]);
    expect([await onDisk(own), await inRows(own)]).toEqual([[], []]);
    upload.socket.destroy();
  });

  test('a stranger is refused before its body is asked for', async () => {
    const upload = raw({
      'x-service-key': 'wrong-key-0000',
      'content-length': '900000',
      expect: '100-continue',
    });
    const { status, headers } = await upload.answer;
    expect([status, headers.split('\r\n')[0]]).toEqual([401, 'HTTP/1.1 401 Unauthorized']);
    upload.socket.destroy();
  });

  test('twenty at once arrive whole; one more than are taken is told to come again', async () => {
    await using own = await start({ config: { jobs: { uploads: 20 } } });
    const held = Array.from({ length: 20 }, () => raw({ 'transfer-encoding': 'chunked' }, own));
    const forms = held.map((_, index) => audioForm(wavOf(300_000 + index * 1_000)));
    for (const [index, upload] of held.entries())
      await upload.writeChunk(forms[index]?.subarray(0, 100_000) ?? Buffer.alloc(0));
    await until(async () => (await onDisk(own)).length === 20);
    const oneMore = await post(audioForm(wavOf(1_600)), formType, own);
    expect([oneMore.status, oneMore.headers.get('retry-after')]).toEqual([429, '5']);
    const answers = held.map(async (upload, index) => {
      await upload.writeChunk(forms[index]?.subarray(100_000) ?? Buffer.alloc(0));
      await upload.write(Buffer.from('0\r\n\r\n'));
      const { status, json } = await upload.answer;
      upload.socket.destroy();
      return [status, json.audio_metadata?.size];
    });
    expect(await Promise.all(answers)).toEqual(
      forms.map((_, index) => [200, 300_044 + index * 1_000]),
    );
    expect(await inRows(own)).toEqual(await onDisk(own));
  });

  test('stored files stay within their bound, also while several come at once', async () => {
    await using own = await start({ config: { jobs: { storedMaxBytes: 1_000_000 } } });
    const answers = await Promise.all(
      Array.from({ length: 8 }, () => post(audioForm(wavOf(300_000)), formType, own)),
    );
    expect(answers.map(({ status }) => status).sort()).toEqual([
      ...Array.from({ length: 3 }, () => 200),
      ...Array.from({ length: 5 }, () => 507),
    ]);
    expect(await onDisk(own)).toHaveLength(3);
    expect(await inRows(own)).toEqual(await onDisk(own));
  });

  test('nothing is taken while the disk is under its mark, and with zero retention', async () => {
    await using low = await temporaryStore({ lowWaterBytes: 1_000, freeBytes: async () => 999 });
    await using full = await start({ store: low });
    const refused = await post(audioForm(wavOf(1_600)), formType, full);
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([503, '5']);
    await using zero = await start({ config: { zeroRetention: true } });
    const { statusCode, message } = await refusal(
      await post(audioForm(wavOf(1_600)), formType, zero),
    );
    expect([statusCode, message]).toEqual([403, expect.stringContaining('zero retention')]);
    expect([await onDisk(full), await onDisk(zero)]).toEqual([[], []]);
  });
});

describe('GET /file/{id}', () => {
  test('needs the key; what is not there is not found; ranges and HEAD are answered', async () => {
    const wav = wavOf(1_600);
    const { audio_metadata } = await uploaded(await post(audioForm(wav, 'page.html')));
    const path = `/file/${audio_metadata.id}`;
    expect((await fetch(service.url + path)).status).toBe(401);
    for (const other of ['/file/x', '/file/0f0e3a67-2f0b-4d4d-9a3c-3a4d2a8f6c55', '/file/..%2fx'])
      expect((await refusal(await service.http(other))).statusCode, other).toBe(404);
    const part = await service.http(path, { headers: { range: 'bytes=10-19' } });
    expect([part.status, part.headers.get('content-type')]).toEqual([
      206,
      'application/octet-stream',
    ]);
    expect(Buffer.from(await part.arrayBuffer())).toEqual(wav.subarray(10, 20));
    const head = await service.http(path, { method: 'HEAD' });
    expect([head.status, head.headers.get('content-length')]).toEqual([200, String(wav.length)]);
    const beyond = await service.http(path, { headers: { range: 'bytes=99999-' } });
    expect((await refusal(beyond)).statusCode).toBe(416);
  });
});

test('the released SDK uploads a path and a buffer', async () => {
  await using folder = await temporaryFolder();
  const path = join(folder.path, 'Anruf für später.wav');
  const wav = wavOf(16_000);
  await writeFile(path, wav);
  const client = new GladiaClient({ apiUrl: service.url, apiKey: key }).preRecordedV2();
  const byPath = await client.uploadFile(path);
  expect(byPath.audio_metadata).toMatchObject({
    filename: 'Anruf für später.wav',
    size: wav.length,
    audio_duration: 1,
  });
  const byBuffer = await client.uploadFile(new Blob([wav]));
  expect(byBuffer.audio_metadata).toMatchObject({ size: wav.length, number_of_channels: 1 });
});
