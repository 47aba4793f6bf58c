import { execFileSync } from 'node:child_process';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { uint32, wavFile as wavOfBytes } from '../../support/media/media-files.ts';
import { audioHost } from '../../support/speech/audio-host.ts';
import { jobsApi, wavOf, type JobsApi } from '../../support/speech/jobs.ts';
import { speechApi } from '../../support/speech/speech-service.ts';
import { speechProcess } from '../../support/speech/speech-process.ts';
import { temporaryFolder } from '../../support/store/store.ts';
import { forbiddenHosts, forbiddenUrls } from '../../support/faults/url-spellings.ts';
import { randomOf } from '../../support/faults/live-faults.ts';

export type HostileOutcome = {
  tried: number;
  /** The ends of the jobs: `done`, or the code of the error. */
  ends: Record<string, number>;
  honest: number;
  longest: { name: string; seconds: number };
  movedBytes: number;
  wrong: string[];
};

type Hostile = { name: string; url: string } | { name: string; bytes: Buffer };

const formats = ['wav', 'flac', 'mp3', 'ogg', 'opus', 'm4a', 'mp4', 'mkv', 'avi', 'aac'] as const;
/** Longer than any deadline of the service's settings below: what takes longer has hung. */
const hungS = 60;
const maxSeconds = 60;

/**
 * Sends this many hostile files and addresses, some at once, and honest jobs between them. Each ends in a named error or is
 * read; nothing is an error of ours, nothing hangs, and the memory of the process that serves stays where it is.
 */
export async function hostileAudio(count: number, seed = 1): Promise<HostileOutcome> {
  await using stack = new AsyncDisposableStack();
  const folder = stack.use(await temporaryFolder());
  const files = stack.use(await fileHost());
  const odd = stack.use(await audioHost());
  const service = stack.use(
    await speechProcess(join(folder.path, 'data'), {
      config: {
        jobs: {
          audioHosts: [files.host, odd.host],
          stallS: 1,
          transferS: 5,
          maxBytes: 4_000_000,
          maxSeconds,
          maxQueued: 10_000,
        },
      },
    }),
  );
  const jobs = jobsApi(speechApi(service.url));
  const all = await hostiles(folder.path, odd.url, randomOf(seed));
  const chosen = spread(all, count);
  const ends: Record<string, number> = {};
  const wrong: string[] = [];
  let longest = { name: '', seconds: 0 };
  let honest = 0;
  await readHonest(jobs, wrong);
  const beforeBytes = await service.rssBytes();
  let mostBytes = beforeBytes;
  let next = 0;
  const attacker = async (): Promise<void> => {
    for (let at = next++; at < chosen.length; at = next++) {
      const one = chosen[at];
      if (!one) return;
      const startedMs = performance.now();
      const end = await endOf(jobs, one, files, at);
      const seconds = (performance.now() - startedMs) / 1e3;
      if (seconds > longest.seconds) longest = { name: one.name, seconds };
      ends[end.code] = (ends[end.code] ?? 0) + 1;
      const isNamed = end.code !== '500' && (end.code === 'done' || end.message !== '');
      if (!isNamed || seconds > hungS)
        wrong.push(`${one.name}: ${end.code} after ${seconds.toFixed(1)} s: ${end.message}`);
      if (at % 20 === 0 && (await readHonest(jobs, wrong))) honest++;
      mostBytes = Math.max(mostBytes, await service.rssBytes());
    }
  };
  await Promise.all(Array.from({ length: 4 }, attacker));
  return {
    tried: chosen.length,
    ends,
    honest,
    longest,
    movedBytes: mostBytes - beforeBytes,
    wrong,
  };
}

async function readHonest(jobs: JobsApi, wrong: string[]): Promise<boolean> {
  const { audio_url } = await jobs.upload(wavOf('my card is lost'));
  const job = await jobs.ended(await jobs.begin({ audio_url }));
  const said = job.result?.transcription?.full_transcript;
  if (said === 'my card is lost') return true;
  wrong.push(`an honest job: ${job.status} ${job.error_message ?? ''} said ${said ?? 'nothing'}`);
  return false;
}

/** Every second file is uploaded, the others are fetched by the job. */
async function endOf(
  jobs: JobsApi,
  one: Hostile,
  files: FileHost,
  at: number,
): Promise<{ code: string; message: string }> {
  try {
    const audio_url =
      'url' in one
        ? one.url
        : at % 2 === 0
          ? (await jobs.upload(one.bytes, one.name)).audio_url
          : files.put(one.bytes);
    const job = await jobs.ended(await jobs.begin({ audio_url }));
    return job.status === 'done'
      ? { code: 'done', message: '' }
      : { code: String(job.error_code), message: job.error_message ?? '' };
  } catch (error) {
    const text = String(error);
    const code = /answered (\d+)/.exec(text)?.[1];
    return { code: code === undefined ? 'none' : `refused ${code}`, message: text };
  }
}

/** Takes as many of each kind as there is room for, evenly over the whole list. */
function spread<T>(all: readonly T[], count: number): T[] {
  const step = Math.max(1, all.length / count);
  return Array.from(
    { length: Math.min(count, all.length) },
    (_, at) => all[Math.floor(at * step)],
  ).filter((each) => each !== undefined);
}

async function hostiles(
  folder: string,
  oddUrl: (path: string) => string,
  random: () => number,
): Promise<Hostile[]> {
  return [
    ...(await truncated(folder, random)),
    ...(await bombs(folder)),
    ...rubbish(random),
    ...odd(oddUrl),
    ...forbiddenHosts.map((host) => ({ name: `address ${host}`, url: `http://${host}/a.wav` })),
    ...forbiddenUrls.map((url) => ({ name: `address ${url}`, url })),
  ];
}

/** Cut in the header, at its end, at the edges of blocks, in the middle and one byte before the end; some damaged. */
async function truncated(folder: string, random: () => number): Promise<Hostile[]> {
  const from = join(folder, 'said.wav');
  await writeFile(from, wavOf('my card is lost'));
  const list: Hostile[] = [];
  for (const format of formats) {
    const path = join(folder, `made.${format}`);
    const codec = /m4a|mp4|mkv/.test(format) ? ['-c:a', 'aac'] : [];
    const rate = format === 'opus' ? '48000' : '44100';
    execFileSync('ffmpeg', ['-v', 'error', '-y', '-i', from, '-ar', rate, ...codec, path]);
    const whole = await readFile(path);
    const places = [1, 4, 11, 12, 20, 42, 43, 44, 45, 64, 2_048, 4_096, whole.length - 1].concat(
      Array.from({ length: 5 }, () => Math.floor(random() * whole.length)),
    );
    for (const place of places)
      list.push({ name: `${format} cut after ${place}`, bytes: whole.subarray(0, place) });
    for (let damage = 0; damage < 3; damage++) {
      const bytes = Buffer.from(whole);
      for (let hits = 0; hits < 20; hits++)
        bytes[Math.floor(random() * bytes.length)] = Math.floor(random() * 256);
      list.push({ name: `${format} damaged`, bytes });
    }
  }
  return list;
}

/** Small files that become large ones. */
async function bombs(folder: string): Promise<Hostile[]> {
  const list: Hostile[] = [];
  for (const format of ['flac', 'mp3', 'opus', 'mkv']) {
    const path = join(folder, `silence.${format}`);
    const rate = format === 'opus' || format === 'mkv' ? '48000' : '8000';
    execFileSync('ffmpeg', ['-v', 'error', '-y', '-f', 'lavfi', '-i', `anullsrc=r=${rate}:cl=mono`, '-t', String(maxSeconds * 4), path]); // prettier-ignore
    list.push({ name: `${format} of silence`, bytes: await readFile(path) });
  }
  const zeros = Buffer.alloc(1_000_000);
  return list.concat([
    { name: 'gzip of zeros', bytes: gzipSync(Buffer.alloc(50_000_000)) },
    { name: 'wav of 8 channels', bytes: wavOfBytes(zeros, { channels: 8 }) },
    { name: 'wav of 1 Hz', bytes: wavOfBytes(zeros, { rateHz: 1 }) },
    { name: 'wav of 65535 channels', bytes: wavOfBytes(zeros, { channels: 65_535, blockBytes: 2 }) },
    { name: 'wav that says 4 GB', bytes: wavOfBytes(zeros, { saidBytes: 0xffff_fff0 }) },
    { name: 'wav in chunks of nothing', bytes: Buffer.concat([Buffer.from('RIFF\0\0\0\0WAVE'), zeros]) },
    { name: 'more bytes than are taken', bytes: Buffer.alloc(5_000_000, 'RIFF') },
  ]); // prettier-ignore
}

/** Marks of formats, and what is no audio at all, with noise behind. */
function rubbish(random: () => number): Hostile[] {
  const marks = [
    'RIFF\0\0\0\0WAVEfmt ', 'RIFF\0\x10\0\0AVI ', 'fLaC', 'OggS', 'ID3\x04\0', '\xff\xfb\x90', '\xff\xf1', '.snd',
    '\0\0\0\x18ftypisom', '\0\0\x10\0mdat', '\x1a\x45\xdf\xa3', 'FLV\x01', '\x30\x26\xb2\x75', '\x0b\x77', 'MZ',
    '\x89PNG', '\xff\xd8\xff', 'PK\x03\x04', '%PDF', '\x1f\x8b', '\x7fELF', '#EXTM3U\nhttp://127.0.0.1/a.ts\n',
    "ffconcat version 1.0\nfile '/etc/passwd'\n", '<!doctype html>', '{"audio":"no"}', '<?xml version="1.0"?><MPD>',
    '\0\0\x01\xba', '\x47', 'FORM\0\0\0\0AIFF', 'caff', '\0\0\0\0', 'RF64\xff\xff\xff\xffWAVE', 'BM', '',
  ]; // prettier-ignore
  return marks.flatMap((mark) =>
    [0, 40, 70_000].map((length) => ({
      name: `${JSON.stringify(mark)} and ${length} bytes of noise`,
      bytes: Buffer.concat([
        Buffer.from(mark, 'latin1'),
        uint32(length),
        Buffer.from(Array.from({ length }, () => Math.floor(random() * 256))),
      ]),
    })),
  );
}

function odd(url: (path: string) => string): Hostile[] {
  const to = (target: string): string => `to:${encodeURIComponent(target)}`;
  const paths = [
    'loop', 'silent', 'stops', 'drips', 'endless', 'breaks', 'empty', 'page', 'bomb', 'text',
    'announces:99999999999', 'announces:-1', 'announces:10', 'announces:nonsense',
    ...[204, 206, 300, 304, 400, 401, 403, 404, 410, 418, 429, 451, 500, 502, 503, 599].map((status) => `status:${status}`),
    ...forbiddenHosts.slice(0, 20).map((host) => to(`http://${host}/a.wav`)),
    to('file:///etc/passwd'), to('ftp://example.com/a.wav'), to('data:audio/wav,x'), to('http://user@example.com/'),
    to(''), to('http://'), to('/a'.repeat(4_000)),
  ]; // prettier-ignore
  return paths.map((path) => ({ name: `host that ${path.slice(0, 60)}`, url: url(path) }));
}

type FileHost = AsyncDisposable & {
  host: string;
  /** The address of these bytes. */
  put: (bytes: Buffer) => string;
};

async function fileHost(): Promise<FileHost> {
  const files: Buffer[] = [];
  const server = createServer((request, response: ServerResponse) => {
    response.on('error', () => undefined);
    response.end(files[Number(request.url?.slice(1))]);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const host = `127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    host,
    put: (bytes) => `http://${host}/${files.push(bytes) - 1}`,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}
