import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { systemClock } from '../../../../src/lib/clock.ts';
import { ErrorBody } from '../../../../src/protocol/error-body.ts';
import { UploadedFile } from '../../../../src/protocol/pre-recorded.ts';
import { JobsConfig } from '../../../../src/speech-service/config.ts';
import { FileError } from '../../../../src/speech-service/files/file-error.ts';
import { MediaError } from '../../../../src/hearing/media/media.ts';
import { openFiles, type Files } from '../../../../src/speech-service/files/files.ts';
import { forbiddenHosts, forbiddenUrls } from '../../../support/faults/url-spellings.ts';
import { silentLog } from '../../../support/recognition/recogniser.ts';
import { audioHost, type AudioHost } from '../../../support/speech/audio-host.ts';
import { startTestService } from '../../../support/speech/speech-service.ts';
import { audioForm, formType, wavOf } from '../../../support/speech/uploads.ts';
import { mediaProbe } from '../../../support/speech/media-probe.ts';
import { temporaryStore } from '../../../support/store/store.ts';

const stack = new AsyncDisposableStack();
let host: AudioHost;
let files: Files;
let folder: string;
beforeAll(async () => {
  const store = stack.use(await temporaryStore());
  host = stack.use(await audioHost());
  folder = join(store.dataDir, 'files');
  files = stack.use(
    await openFiles({
      config: JobsConfig.parse({
        maxBytes: 1_000_000,
        stallS: 3,
        transferS: 4,
        audioHosts: [host.host],
      }),
      zeroRetention: false,
      store,
      folder,
      node: 'node-1',
      probe: mediaProbe,
      publicUrl: () => 'https://stt.example.com',
      clock: systemClock,
      log: silentLog,
    }),
  );
});
afterAll(() => stack.disposeAsync());

const fetched = (url: string, signal = new AbortController().signal) => files.fetch(url, signal);

type Failure = { status: number; message: string };

async function failure(url: string, signal?: AbortSignal): Promise<Failure> {
  const error: unknown = await fetched(url, signal).then(
    () => new Error('it was fetched'),
    (error: unknown) => error,
  );
  if (error instanceof FileError || error instanceof MediaError)
    return { status: error.status, message: error.message };
  throw error as Error;
}

test('the file of an address is kept, and nothing that is ours goes out for it', async () => {
  const url = `${host.url('Anruf%20eins.WAV')}?signature=a-secret`;
  const file = await fetched(url);
  expect(file).toMatchObject({
    node: 'node-1',
    filename: 'Anruf eins.WAV',
    extension: 'wav',
    size: 16_044,
    durationS: 1,
    channels: 1,
    source: url,
  });
  expect(await files.get(file.id)).toEqual(file);
  expect(await readFile(files.pathOf(file.id))).toEqual(wavOf(16_000));
  await fetched(host.url('again.wav'));
  expect(Object.keys(host.requests.at(-1) ?? {}).sort()).toEqual([
    'accept',
    'accept-encoding',
    'connection',
    'host',
    'user-agent',
  ]);
  expect(host.requests.at(-1)?.['accept-encoding']).toBe('identity');
});

test('a file that its caller probes is kept without facts, whatever it is', async () => {
  const file = await files.fetch(host.url('text'), new AbortController().signal, {
    isProbed: false,
  });
  expect(file).toMatchObject({ durationS: 0, channels: 0, size: 10 });
});

test('redirects are followed a few times, with each address judged', async () => {
  const to = (target: string): string => host.url(`to:${encodeURIComponent(target)}`);
  expect((await fetched(to(to('/one.wav').replace(/^.*?to/, '/to')))).size).toBe(16_044);
  for (const target of ['http://127.0.0.1:9/x.wav', 'http://169.254.169.254/', 'http://10.0.0.1/x'])
    expect(await failure(to(target)), target).toMatchObject({
      status: 422,
      message: expect.stringMatching(/^the audio of 127\.0\.0\.1:\d+ could not be fetched:/),
    });
  expect(await failure(to('file:///etc/passwd'))).toMatchObject({ status: 422 });
});

describe.concurrent('what cannot be had ends in an error that says why, and leaves nothing', () => {
  test.each([
    ['status:404', 422, 'answered 404'],
    ['status:401', 422, 'answered 401'],
    ['status:500', 502, 'answered 500'],
    ['status:204', 502, 'answered 204'],
    ['status:206', 502, 'answered 206'],
    ['loop', 502, 'too many redirects'],
    ['silent', 504, 'timeout'],
    ['stops', 504, 'no byte came for 3 s'],
    ['drips', 504, 'did not end within its deadline'],
    ['endless', 413, 'a file may have 1000000 bytes'],
    ['announces:9000000000', 413, 'a file may have 1000000 bytes'],
    ['breaks', 502, 'broke off before its announced end'],
    ['empty', 422, 'sent an empty file'],
    ['page', 422, 'sent a page instead of audio'],
    ['bomb', 415, 'compressed'],
    ['text', 415, 'neither audio nor video'],
  ])('%s: %i', async (path, status, words) => {
    const error = await failure(`${host.url(path)}?token=very-secret`);
    expect(error).toEqual({ status, message: expect.stringContaining(words) });
    expect(error.message).not.toContain('secret');
    if (path !== 'text') expect(error.message).toContain(host.host);
  });

  test('a host that does not exist, or where nobody listens', async () => {
    expect(await failure('http://127.0.0.1:1/a.wav')).toEqual({
      status: 422,
      message: expect.stringContaining('TRUNKLINE_JOBS_AUDIO_HOSTS'),
    });
    expect(await failure('http://nowhere.invalid/a.wav?x=secret')).toMatchObject({
      status: 502,
      message: expect.stringMatching(/^the audio of nowhere\.invalid could not be fetched: dns/),
    });
  });

  test('pages of video services', async () => {
    for (const url of ['https://www.youtube.com/watch?v=x', 'https://youtu.be/x'])
      expect(await failure(url)).toMatchObject({
        status: 422,
        message: expect.stringContaining('give the address of an audio or video file'),
      });
  });

  test('every spelling of a private address', async () => {
    const urls = [...forbiddenHosts.map((name) => `http://${name}/a.wav`), ...forbiddenUrls];
    expect(urls.length).toBeGreaterThan(200);
    const errors = await Promise.all(urls.map((url) => failure(url)));
    const wasRefused = ({ status, message }: Failure): boolean =>
      // A name that no name server knows is as good as refused: `localhost.` on some machines.
      status === 422 || message.includes('could not be fetched: dns');
    expect(urls.filter((_, at) => !wasRefused(errors[at] as Failure))).toEqual([]);
  });

  test('a fetch that its caller gives up', async () => {
    const giveUp = new AbortController();
    const fails = failure(host.url('drips'), giveUp.signal);
    giveUp.abort();
    expect((await fails).status).toBeGreaterThanOrEqual(400);
  });
});

test('no byte of a failed upload is left', async () => {
  const ids = (await readdir(folder)).sort();
  for (const id of ids) expect(await files.get(id), id).toBeDefined();
  expect(ids.length).toBeGreaterThan(0);
});

test('our own addresses are known by the public one, by loopback, and by the host that was asked', async () => {
  const id = '0f0e3a67-2f0b-4d4d-9a3c-3a4d2a8f6c55';
  const asked = { headers: { host: 'box.lan:8080' } } as never;
  for (const base of [
    'https://stt.example.com',
    'http://stt.example.com:8080',
    'http://127.0.0.1:8080',
    'http://localhost',
    'http://[::1]:1',
  ])
    expect(files.ownId(`${base}/file/${id.toUpperCase()}`), base).toBe(id);
  expect(files.ownId(`http://box.lan:8080/file/${id}`, asked)).toBe(id);
  for (const url of [
    `http://box.lan:8080/file/${id}`,
    `https://stt.example.com.evil.test/file/${id}`,
    `https://stt.example.com/other/file/${id}`,
    `https://stt.example.com/file/${id}x`,
    'https://stt.example.com/file/',
    `ftp://stt.example.com/file/${id}`,
    'nonsense',
  ])
    expect(files.ownId(url), url).toBeUndefined();
});

test('POST /v2/upload with an address keeps what it leads to, and says 422 for what cannot be had', async () => {
  await using service = await startTestService({
    config: { jobs: { audioHosts: [host.host], maxBytes: 1_000_000 } },
  });
  const upload = (audio_url: unknown): Promise<Response> =>
    service.http('/v2/upload', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ audio_url }),
    });
  const url = host.url('one.wav');
  const stored = UploadedFile.parse(await (await upload(url)).json());
  expect(stored.audio_metadata).toMatchObject({ filename: 'one.wav', size: 16_044, source: url });
  // An address of ours is the file itself: fetching it from ourselves would need a key.
  const again = UploadedFile.parse(await (await upload(stored.audio_url)).json());
  expect(again).toEqual(stored);
  for (const [audio_url, status, words] of [
    [host.url('status:404'), 422, 'answered 404'],
    [host.url('status:500'), 422, 'answered 500'],
    [host.url('endless'), 413, 'payload too large'],
    ['http://10.0.0.1/a.wav', 422, 'private address'],
    [stored.audio_url.replace(/.{4}$/, '0000'), 422, 'not here'],
    ['ftp://host/a.wav', 400, 'Validation failed'],
    [undefined, 400, 'Validation failed'],
  ] as const) {
    const answer = await upload(audio_url);
    const { message } = ErrorBody.parse(await answer.json());
    expect([answer.status, message], String(audio_url)).toEqual([
      status,
      expect.stringContaining(words),
    ]);
  }
  const form = await service.http('/v2/upload', {
    method: 'POST',
    headers: { 'content-type': formType },
    body: audioForm(wavOf(100)),
  });
  expect(form.status).toBe(200);
});
