import { spawn } from 'node:child_process';
import {
  chmod,
  mkdir,
  mkdtemp,
  open,
  readdir,
  readFile,
  rm,
  stat,
  writeFile,
} from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { basename, join, resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { cuttingProxy } from '../../support/faults/cutting-proxy.ts';
import { startApp, type App } from '../../support/process/app.ts';
import { endsWithUs } from '../../support/process/ends-with-us.ts';
import { until } from '../../support/process/until.ts';
import { tones } from '../../support/recognition/fixture-model.ts';
import { wavFile, wavOf } from '../../support/speech/jobs.ts';

const root = resolve(import.meta.dirname, '../../..');
const key = 'a-key-of-this-test-that-is-long';

/** A web server with recordings. What has no bytes is answered with silence: a fetch that waits. */
type Web = AsyncDisposable & { url: string; asked: string[] };

async function startWeb(files: Record<string, Buffer | undefined>): Promise<Web> {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    const path = new URL(request.url ?? '', 'http://web').pathname;
    asked.push(path);
    if (!Object.hasOwn(files, path)) response.writeHead(404).end();
    else if (files[path]) response.writeHead(200).end(files[path]);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    asked,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((done) => server.close(done));
    },
  };
}

let web: Web;
let app: App;
let folder: string;

beforeAll(async () => {
  web = await startWeb({ '/rec/call.wav': wavOf('my refund please'), '/silent.wav': undefined });
  app = await startApp({
    env: { TRUNKLINE_API_KEYS: key, TRUNKLINE_JOBS_AUDIO_HOSTS: new URL(web.url).host },
  });
  folder = await mkdtemp(join(tmpdir(), 'trunkline-transcribe-'));
}, 120_000);
afterAll(async () => {
  await app[Symbol.asyncDispose]();
  await web[Symbol.asyncDispose]();
  await rm(folder, { recursive: true, force: true });
});

/** A folder of its own for each test, with these recordings in it. */
async function recordings(files: Record<string, Buffer | string>): Promise<string> {
  const own = await mkdtemp(join(folder, 'of-'));
  for (const [name, content] of Object.entries(files)) await writeFile(join(own, name), content);
  return own;
}

const environment = (): Record<string, string> => ({
  PATH: process.env['PATH'] ?? '',
  HOME: folder,
  TRUNKLINE_DATA: folder,
  TRUNKLINE_URL: app.url,
  TRUNKLINE_API_KEYS: key,
});

const cli = [
  '--disable-proto=delete',
  '--disable-warning=ExperimentalWarning',
  join(root, 'src/cli.ts'),
];

function begin(cwd: string, words: string[], env: Record<string, string> = {}) {
  const child = endsWithUs(
    spawn(process.execPath, [...cli, 'transcribe', ...words], {
      cwd,
      env: { ...environment(), ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    }),
  );
  let errors = '';
  child.stderr.on('data', (piece) => (errors += String(piece)));
  const exited = new Promise<number | null>((done) => child.once('close', done));
  return { child, exited, errors: () => errors };
}

async function transcribe(cwd: string, words: string[], env: Record<string, string> = {}) {
  const { child, exited, errors } = begin(cwd, words, env);
  const [out, code] = await Promise.all([text(child.stdout), exited]);
  return { code, out, errors: errors() };
}

const contentOf = (...path: string[]): Promise<string> => readFile(join(...path), 'utf8');
const jsonLines = (out: string) =>
  out
    .split('\n')
    .filter(Boolean)
    .map((line) => JSON.parse(line) as Record<string, unknown>);

const jobIds = async (): Promise<string[]> => {
  const response = await app.get('/v2/pre-recorded', { headers: { 'x-service-key': key } });
  return ((await response.json()) as { items: { id: string }[] }).items.map(({ id }) => id);
};
const jobOf = async (id: string): Promise<Record<string, unknown>> => {
  const response = await app.get(`/v2/pre-recorded/${id}`, { headers: { 'x-service-key': key } });
  return (await response.json()) as Record<string, unknown>;
};
/** The one job that is there now and was not before. */
const newJob = (before: string[]): Promise<string> =>
  until(async () => (await jobIds()).find((id) => !before.includes(id)), 60_000);

describe('trunkline transcribe', () => {
  test('one file: its words lie beside it, and are never overwritten by chance', async () => {
    const own = await recordings({ 'call.wav': wavOf('my card is lost') });
    const first = await transcribe(own, ['call.wav']);
    expect(first).toMatchObject({ code: 0, out: '' });
    expect(first.errors).toMatch(
      /call\.wav: uploading .*\n[^]*call\.wav: done in .* s, English: call\.txt\n/,
    );
    expect(await contentOf(own, 'call.txt')).toBe('my card is lost\n');
    await writeFile(join(own, 'call.txt'), 'corrected by hand\n');
    const second = await transcribe(own, ['call.wav']);
    expect(second.code).toBe(1);
    expect(second.errors).toMatch(/call\.txt is there already; --force overwrites it/);
    expect(await contentOf(own, 'call.txt')).toBe('corrected by hand\n');
    expect((await transcribe(own, ['call.wav', '--force'])).code).toBe(0);
    expect(await contentOf(own, 'call.txt')).toBe('my card is lost\n');
    expect((await readdir(own)).sort()).toEqual(['call.txt', 'call.wav']);
  });

  test('only the owner of the files may read the words', async () => {
    const cwd = await recordings({ 'call.wav': wavOf('my refund please') });
    const words = ['call.wav', '--json', '--subtitles', 'srt'];
    expect((await transcribe(cwd, words)).code).toBe(0);
    for (const name of ['call.json', 'call.srt'])
      expect((await stat(join(cwd, name))).mode & 0o777).toBe(0o600);
  });

  test('several files, one without audio, one that is missing: the others are done', async () => {
    const own = await recordings({
      'a.wav': wavOf('hello'),
      'b.wav': 'this is no audio',
      'd.wav': wavOf('goodbye'),
    });
    const { code, errors } = await transcribe(own, [
      ...['a.wav', 'b.wav', 'c.wav', 'd.wav', '.'],
      ...['--output', 'out', '--parallel', '2'],
    ]);
    expect(code).toBe(1);
    expect(errors).toContain('c.wav: failed: there is no such file');
    expect(errors).toContain('.: failed: is a folder');
    expect(errors).toMatch(/b\.wav: failed: the service cannot use it: \S+/);
    expect(errors).toContain('2 of 5 done, 3 failed');
    expect((await readdir(join(own, 'out'))).sort()).toEqual(['a.txt', 'd.txt']);
    expect(await contentOf(own, 'out', 'd.txt')).toBe('goodbye\n');
  });

  test('channels are turns, subtitles are files of their own', async () => {
    const own = await recordings({
      'call.wav': wavFile([tones('my card is lost'), tones('hello please', { leadS: 4 })]),
    });
    const { code } = await transcribe(own, ['call.wav', '--subtitles', 'srt,vtt']);
    expect(code).toBe(0);
    expect(await contentOf(own, 'call.txt')).toBe(
      '[00:00:00] Channel 1: my card is lost\n[00:00:04] Channel 2: hello please\n',
    );
    expect(await contentOf(own, 'call.srt')).toMatch(
      /^1\r?\n00:00:0\d,\d{3} --> [^]*my card is lost/,
    );
    expect(await contentOf(own, 'call.vtt')).toMatch(/^WEBVTT[^]*hello please/);
  });

  test('JSON: a file with the whole record, or a line for each on stdout and nothing else', async () => {
    const own = await recordings({ 'call.wav': wavOf('my card is lost'), 'bad.wav': 'no audio' });
    expect((await transcribe(own, ['call.wav', '--json', '--sentences'])).code).toBe(0);
    expect((await readdir(own)).sort()).toEqual(['bad.wav', 'call.json', 'call.wav']);
    const record = JSON.parse(await contentOf(own, 'call.json')) as Record<string, unknown>;
    expect(record).toMatchObject({
      status: 'done',
      file: { filename: 'call.wav' },
      request_params: { sentences: true },
      result: { transcription: { full_transcript: 'my card is lost' } },
    });
    const { code, out } = await transcribe(own, [
      ...['bad.wav', 'call.wav', 'missing.wav', '--json', '--output', '-'],
    ]);
    expect(code).toBe(1);
    const lines = Object.fromEntries(jsonLines(out).map((line) => [line['input'], line]));
    expect(lines).toMatchObject({
      'call.wav': { status: 'done', result: { transcription: { languages: ['en'] } } },
      'bad.wav': { status: 'error', error_code: 415, error_message: expect.any(String) as string },
      'missing.wav': { status: 'error', error_code: null, error_message: 'there is no such file' },
    });
  });

  test('an address is fetched by the service, and its words come into the working folder', async () => {
    const own = await recordings({});
    const url = `${web.url}/rec/call.wav?token=secret`;
    const { code, errors } = await transcribe(own, [url]);
    expect({ code, errors }).toMatchObject({ code: 0 });
    expect(errors).not.toContain('secret');
    expect(web.asked).toContain('/rec/call.wav');
    expect(await contentOf(own, 'call.txt')).toBe('my refund please\n');
    const gone = await transcribe(own, [`${web.url}/gone.wav`]);
    expect(gone.code).toBe(1);
    expect(gone.errors).toMatch(/gone\.wav of 127\.0\.0\.1:\d+: failed: .*404/);
  });

  test('names in any language, and names that would break a form, are kept', async () => {
    const names = ['Gespräch 通话 №5.wav', 'a"b\\c%22.wav', "it's; filename=x.wav"];
    const own = await recordings(Object.fromEntries(names.map((name) => [name, wavOf('thanks')])));
    const { code, out } = await transcribe(own, [...names, '--json', '--output', '-']);
    expect(code).toBe(0);
    const files = jsonLines(out).map(({ input, file }) => [
      input,
      (file as { filename: string }).filename,
    ]);
    // A folder in a name is cut off by the service, and browsers have no other sign for a quote than this.
    const kept = new Map(
      names.map((name) => [name, name.replaceAll('"', '%22').replace(/^.*\\/, '')]),
    );
    expect(new Map(files as [string, string][])).toEqual(kept);
    expect((await transcribe(own, [names[0] ?? ''])).code).toBe(0);
    expect(await contentOf(own, 'Gespräch 通话 №5.txt')).toBe('thanks\n');
  });

  test('a result that cannot be had is reported, and the words are written all the same', async () => {
    const own = await recordings({ 'call.wav': wavOf('my card is lost') });
    const { code, errors } = await transcribe(own, ['call.wav', '--translate', 'de']);
    expect(code).toBe(1);
    expect(errors).toMatch(/translat/i);
  });

  test('Ctrl-C cancels the jobs that are at work, and says so', async () => {
    const own = await recordings({});
    const before = await jobIds();
    const run = begin(own, [`${web.url}/silent.wav`]);
    const id = await newJob(before);
    await until(() => run.errors().includes('transcribing') || run.errors().includes('waiting'));
    run.child.kill('SIGINT');
    expect(await run.exited).toBe(130);
    expect(run.errors()).toContain('cancelling; Ctrl-C once more ends at once');
    expect(run.errors()).toContain(`cancelled (job ${id})`);
    expect(await jobOf(id)).toMatchObject({ status: 'error', error_code: 499 });
  });

  test('a second Ctrl-C ends at once, also when the service says nothing', async () => {
    const own = await recordings({});
    const before = await jobIds();
    await using wire = await cuttingProxy(Number(new URL(app.url).port));
    const url = `http://127.0.0.1:${wire.port}`;
    const run = begin(own, [`${web.url}/silent.wav`, '--url', url]);
    const id = await newJob(before);
    await until(() => run.errors().includes('transcribing'));
    // From here on every connection is taken and never answered.
    const silence = setInterval(() => wire.freeze(), 1);
    run.child.kill('SIGINT');
    await until(() => run.errors().includes('cancelling'));
    const startedMs = performance.now();
    run.child.kill('SIGINT');
    expect(await run.exited).toBe(130);
    expect(performance.now() - startedMs).toBeLessThan(5_000);
    clearInterval(silence);
    await app.get(`/v2/pre-recorded/${id}/cancel`, {
      method: 'POST',
      headers: { 'x-service-key': key },
    });
  });

  test('a service that is killed and started again while the command waits costs nothing but time', async () => {
    const own = await recordings({ 'call.wav': wavOf('my card is lost') });
    const dataDir = await mkdtemp(join(folder, 'data-'));
    const env = { TRUNKLINE_JOBS_AUDIO_HOSTS: new URL(web.url).host };
    const first = await startApp({ dataDir, env });
    const { url } = first;
    const options = ['--url', url, '--parallel', '1'];
    const run = begin(own, [`${web.url}/silent.wav`, 'call.wav', ...options]);
    await until(() => run.errors().includes('transcribing'), 60_000);
    await first.end('SIGKILL');
    await until(() => run.errors().includes('no answer, asked again'), 60_000);
    await using second = await startApp({ dataDir, env: { ...env, PORT: new URL(url).port } });
    const jobs = await until(async () => {
      const response = await second.get('/v2/pre-recorded').catch(() => undefined);
      return response?.ok === true && ((await response.json()) as { items: { id: string }[] });
    });
    await second.get(`/v2/pre-recorded/${jobs.items[0]?.id ?? ''}/cancel`, { method: 'POST' });
    expect(await run.exited).toBe(1);
    expect(run.errors()).toContain('cancelled by a request');
    expect(run.errors()).toContain('1 of 2 done, 1 failed');
    expect(await contentOf(own, 'call.txt')).toBe('my card is lost\n');
  }, 180_000);

  test('stdout that is closed early ends the command quietly, and its jobs', async () => {
    const own = await recordings({ 'call.wav': wavOf('my card is lost') });
    const before = await jobIds();
    const run = begin(own, [
      'call.wav',
      `${web.url}/silent.wav`,
      '--output',
      '-',
      '--parallel',
      '2',
    ]);
    run.child.stdout.destroy();
    expect(await run.exited).toBe(1);
    expect(run.errors()).toContain('nobody reads the output any more');
    expect(run.errors()).not.toContain('EPIPE');
    const states = await Promise.all(
      (await jobIds()).filter((id) => !before.includes(id)).map(jobOf),
    );
    expect(states.filter(({ status }) => status !== 'done' && status !== 'error')).toEqual([]);
  });

  test('a file of 200 MB goes by in pieces: the command takes less than 150 MB', async () => {
    const own = await recordings({});
    const wav = wavOf('my card is lost');
    const junk = Buffer.from('junk    ');
    junk.writeUInt32LE(200_000_000, 4);
    wav.writeUInt32LE(wav.length + 200_000_000, 4);
    await using file = await open(join(own, 'long.wav'), 'w');
    await file.write(Buffer.concat([wav, junk]));
    await file.truncate(wav.length + junk.length + 200_000_000);
    const run = begin(own, ['long.wav', '--output', '-']);
    let highestKb = 0;
    const watch = setInterval(() => {
      void readFile(`/proc/${run.child.pid ?? 0}/status`, 'utf8').then(
        (status) => (highestKb = Number(/VmHWM:\s+(\d+)/.exec(status)?.[1] ?? highestKb)),
        () => undefined,
      );
    }, 50);
    const [out, code] = await Promise.all([text(run.child.stdout), run.exited]);
    clearInterval(watch);
    expect({ code, out, errors: run.errors() }).toMatchObject({
      code: 0,
      out: 'my card is lost\n',
    });
    expect(run.errors()).toContain(' of 200.0 MB');
    expect(highestKb).toBeGreaterThan(0);
    expect(highestKb / 1024).toBeLessThan(150);
  }, 300_000);

  test('nothing to talk to is told with what to do, and has an exit code of its own', async () => {
    const own = await recordings({ 'call.wav': wavOf('hello') });
    const none = await transcribe(own, ['call.wav', '--url', 'http://127.0.0.1:1']);
    expect(none.code).toBe(78);
    expect(none.errors).toMatch(/no speech service answers at http:\/\/127\.0\.0\.1:1 .*npm start/);
    const wrong = await transcribe(own, ['call.wav', '--key', 'another']);
    expect(wrong.code).toBe(78);
    expect(wrong.errors).toMatch(/^UNAUTHORIZED: .*refuses the key: .*TRUNKLINE_API_KEYS/m);
    expect(wrong.errors).not.toContain('another');
    const without = await transcribe(own, ['call.wav'], { TRUNKLINE_API_KEYS: '' });
    expect(without.code).toBe(78);
    expect(without.errors).toContain('wants a key');
    const other = await transcribe(own, ['call.wav', '--url', web.url]);
    expect(other.code).toBe(78);
    expect(other.errors).toContain('takes no recordings');
    expect(await readdir(own)).toEqual(['call.wav']);
  });

  test('a wrong command line is told before anything is sent', async () => {
    const own = await recordings({ 'call.wav': wavOf('hello'), 'call.mp3': 'x' });
    const slips: [string[], string][] = [
      [[], 'missing required argument'],
      [['call.wav', '--subtitles', 'ass'], '--subtitles'],
      [['call.wav', '--redact', 'CARDS'], '--redact'],
      [['call.wav', '--parallel', '0'], 'from 1 to 32'],
      [['call.wav', '--colour'], 'unknown option'],
      [['call.wav', 'call.mp3'], 'would both be written to'],
      [['ftp://files.example/call.wav'], 'ftp:// is not fetched'],
      [['call.wav', '--url', '127.0.0.1:8080'], 'begins with http://'],
      [['call.wav', '--subtitles', 'srt,vtt', '--output', '-'], 'only one kind of subtitles'],
    ];
    const said = await Promise.all(slips.map(([words]) => transcribe(own, words)));
    for (const [at, { code, errors }] of said.entries()) {
      expect(errors).toContain(slips[at]?.[1]);
      expect({ slip: slips[at]?.[0], code }).toMatchObject({ code: 2 });
    }
    expect((await transcribe(own, ['--help'])).code).toBe(0);
  });

  test('the commands of recordings.md do what it says', async () => {
    const paper = await contentOf(root, 'config/docs/recordings.md');
    const [, script = ''] = /<!-- transcribe -->\n```sh not-run\n([^]*?)```\n<!-- \/transcribe -->/.exec(paper) ?? []; // prettier-ignore
    expect(script.match(/npx trunkline transcribe/g)?.length).toBeGreaterThan(2);
    const own = await recordings({ 'call.wav': wavOf('my card is lost') });
    await mkdir(join(own, 'calls'));
    for (const name of ['one', 'two'])
      await writeFile(join(own, 'calls', `${name}.wav`), wavOf(name));
    // Runs the command line of this folder, as npx does.
    await mkdir(join(own, 'bin'));
    const command = [process.execPath, ...cli].map((word) => `'${word}'`).join(' ');
    await writeFile(join(own, 'bin', 'npx'), `#!/bin/sh\nshift\nexec ${command} "$@"\n`);
    await chmod(join(own, 'bin', 'npx'), 0o755);
    const shell = endsWithUs(
      spawn(
        '/bin/sh',
        ['-e', '-c', script.replaceAll('https://files.example.com', `${web.url}/rec`)],
        {
          cwd: own,
          env: { ...environment(), PATH: `${join(own, 'bin')}:${process.env['PATH'] ?? ''}` },
          stdio: ['ignore', 'pipe', 'pipe'],
        },
      ),
    );
    const exited = new Promise<number | null>((done) => shell.once('close', done));
    const [out, errors, code] = await Promise.all([text(shell.stdout), text(shell.stderr), exited]);
    expect({ code, errors }).toMatchObject({ code: 0 });
    expect(await contentOf(own, 'call.txt')).toBe('my card is lost\n');
    expect((await readdir(join(own, 'transcripts'))).map((name) => basename(name)).sort()).toEqual(
      ['one.srt', 'one.txt', 'two.srt', 'two.txt'], // prettier-ignore
    );
    expect(jsonLines(out)).toMatchObject([{ status: 'done' }]);
  });
});
