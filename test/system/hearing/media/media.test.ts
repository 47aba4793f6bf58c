import { execFile, execFileSync, spawnSync } from 'node:child_process';
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { decodedBytes, MediaError, openMedia } from '../../../../src/hearing/media/media.ts';
import {
  bytesOf,
  ffmpegMissing,
  interleaved,
  uint32,
  wavFile,
} from '../../../support/media/media-files.ts';
import { processesWith } from '../../../support/process/processes-with.ts';
import { until } from '../../../support/process/until.ts';
import { tones } from '../../../support/recognition/fixture-model.ts';

const media = openMedia({ maxSeconds: 20, maxDecodes: 2 });
let folder: string;
let out: string;

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'trunkline-media-'));
});
beforeEach(async () => {
  out = await mkdtemp(join(folder, 'out-'));
});
afterAll(async () => rm(folder, { recursive: true, force: true }));

async function put(name: string, bytes: Buffer): Promise<string> {
  const path = join(folder, name);
  await writeFile(path, bytes);
  return path;
}

function samplesOf(bytes: Buffer): Int16Array {
  return new Int16Array(Uint8Array.from(bytes).buffer);
}

/** The likeness of two recordings at the best shift within 100 ms: 1 is equal up to loudness. */
function likeness(a: Int16Array, b: Int16Array): number {
  let best = 0;
  for (let shift = -1_600; shift <= 1_600; shift += 1) {
    let both = 0;
    let first = 0;
    let second = 0;
    for (let at = 4_000; at < 20_000; at += 3) {
      const x = a[at] ?? 0;
      const y = b[at + shift] ?? 0;
      both += x * y;
      first += x * x;
      second += y * y;
    }
    best = Math.max(best, both / Math.sqrt(first * second || 1));
  }
  return best;
}

const said = tones('one two three', { sampleRate: 16_000 });
const other = tones('refund card', { sampleRate: 16_000, leadS: 0.1, tailS: 0.92 });

describe('files that need no other program', () => {
  test('16-bit samples at 16 kHz come out as they are', async () => {
    const path = await put('same.wav', wavFile(bytesOf(said), { rateHz: 16_000 }));
    expect(await media.probe(path)).toEqual({
      durationS: said.length / 16_000,
      channels: 1,
      codec: 'pcm_s16le',
    });
    const { distinct } = await media.decode(path, out);
    expect(samplesOf(await readFile(distinct[0]?.path ?? ''))).toEqual(said);
  });

  test.each([
    ['a length of 0', { saidBytes: 0 }],
    ['a length of all ones', { saidBytes: 0xffff_ffff }],
    ['more than the file has', { saidBytes: 10_000_000 }],
  ])('a header that says %s is read to the end of the file', async (_, options) => {
    const path = await put('streamed.wav', wavFile(bytesOf(said), { rateHz: 16_000, ...options }));
    const { distinct } = await media.decode(path, out);
    expect(distinct[0]?.samples).toBe(said.length);
  });

  test('equal channels are one group, others are files of their own', async () => {
    const channels = [said, other, said, other].map((one) => one.subarray(0, 16_000));
    const path = await put(
      'four.wav',
      wavFile(bytesOf(interleaved(channels)), { rateHz: 16_000, channels: 4 }),
    );
    const { distinct } = await media.decode(path, out);
    expect(distinct.map((one) => one.channels)).toEqual([
      [0, 2],
      [1, 3],
    ]);
    for (const [at, { path: file }] of distinct.entries())
      expect(samplesOf(await readFile(file))).toEqual(channels[at]);
  });
});

describe('hostile files', () => {
  const floats = (value: number) => {
    const bytes = Buffer.alloc(4_000);
    for (let at = 0; at < 4_000; at += 4) bytes.writeFloatLE(value, at);
    return bytes;
  };
  const good = wavFile(bytesOf(said.subarray(0, 8_000)), { rateHz: 16_000 });
  const endless = wavFile(Buffer.alloc(21 * 16_000), { bits: 8, rateHz: 16_000 });
  const random = Buffer.from(
    Array.from({ length: 3_000 }, (_, at) => (at * at * 31 + 7 * at) & 255),
  );
  const begin = (mark: string) => Buffer.concat([Buffer.from(mark, 'latin1'), random]);
  const cases: [string, Buffer, RegExp, number][] = [
    ['an empty file', Buffer.alloc(0), /empty/, 422],
    ['a page', Buffer.from('<!doctype html><title>no</title>'), /text file/, 415],
    ['a playlist', Buffer.from('#EXTM3U\nhttp://127.0.0.1/a.ts\n'), /text file/, 415],
    [
      'a list for concat',
      Buffer.from("ffconcat version 1.0\nfile '/etc/passwd'\n"),
      /text file/,
      415,
    ],
    ['a PNG', begin('\x89PNG'), /PNG/, 415],
    ['a JPEG', begin('\xff\xd8\xff'), /JPEG/, 415],
    ['a ZIP', begin('PK\x03\x04'), /ZIP/, 415],
    ['a PDF', begin('%PDF'), /PDF/, 415],
    ['a gzip', begin('\x1f\x8b'), /gzip/, 415],
    ['a program', begin('\x7fELF'), /program/, 415],
    ...[4, 12, 16, 20, 30, 36, 40, 44].map((length): [string, Buffer, RegExp, number] => [
      `a WAV cut after ${length} bytes`,
      good.subarray(0, length),
      length < 12 ? /text|kind/ : /WAV file|no audio|cut short/,
      length < 12 ? 415 : 422,
    ]),
    ['a WAV without channels', wavFile(random, { channels: 0, blockBytes: 2 }), /0 channels/, 422],
    ['a WAV of 12 channels', wavFile(random, { channels: 12 }), /12 channels; at most 8/, 422],
    [
      'a WAV of 65 535 channels',
      wavFile(random, { channels: 65_535, blockBytes: 2 }),
      /at most 8/,
      422,
    ],
    ['a rate of 0', wavFile(random, { rateHz: 0 }), /sample rate of 0 Hz/, 422],
    ['a rate of 10 MHz', wavFile(random, { rateHz: 10_000_000 }), /10000000 Hz/, 422],
    ['samples that are NaN', wavFile(floats(NaN), { tag: 3, bits: 32 }), /not numbers/, 422],
    ['samples without end', wavFile(floats(Infinity), { tag: 3, bits: 32 }), /not numbers/, 422],
    ['more than the limit', endless, /longer than 0.3 minutes/, 413],
    ['a WAV of nothing', wavFile(Buffer.alloc(0)), /no audio/, 422],
    ['less than a frame', wavFile(Buffer.alloc(3), { channels: 2 }), /no audio/, 422],
    [
      'data before the format',
      Buffer.concat([Buffer.from('RIFF\x00\x00\x00\x00WAVEdata'), uint32(8), random]),
      /before their format/,
      422,
    ],
    [
      'a format of 4 GB',
      Buffer.concat([Buffer.from('RIFF\x00\x00\x00\x00WAVEfmt '), uint32(0xffff_fff0), random]),
      /broken/,
      422,
    ],
    [
      'a chunk of 4 GB',
      Buffer.concat([Buffer.from('RIFF\x00\x00\x00\x00WAVEjunk'), uint32(0xffff_fff0), random]),
      /ends before/,
      422,
    ],
    [
      'chunks of nothing',
      Buffer.concat([Buffer.from('RIFF\x00\x00\x00\x00WAVE'), Buffer.alloc(80_000)]),
      /ends before/,
      422,
    ],
    ['a FLAC of its mark', Buffer.from('fLaC'), /text|FLAC/, 422],
    ['a FLAC that says an endless length', begin('fLaC'), /longer than/, 413],
    ['an AU cut short', Buffer.from('.snd\x00\x00'), /AU file/, 422],
    ['an AU of rubbish', begin('.snd'), /AU file/, 422],
  ];
  /** Without ffmpeg these are refused as files that it would have to read. */
  const foreign: [string, Buffer, RegExp, number][] = [
    ['one byte', Buffer.alloc(1), /kind that is read/, 415],
    ['zeros', Buffer.alloc(5_000), /kind that is read/, 415],
    ['an Ogg of rubbish', begin('OggS'), /begins like Ogg/, 422],
    ['an MP4 of rubbish', begin('\x00\x00\x00\x18ftypisom'), /begins like MP4/, 422],
    ['a MOV without an index', begin('\x00\x00\x10\x00mdat'), /begins like MOV/, 422],
    ['a Matroska of rubbish', begin('\x1a\x45\xdf\xa3'), /begins like Matroska/, 422],
    ['an FLV of rubbish', begin('FLV\x01'), /begins like FLV/, 422],
    [
      'an AVI of rubbish',
      Buffer.concat([Buffer.from('RIFF\x00\x10\x00\x00AVI '), random]),
      /no audio/,
      422,
    ],
    [
      'a WMA of rubbish',
      begin('\x30\x26\xb2\x75\x8e\x66\xcf\x11'),
      /begins like Windows Media/,
      422,
    ],
    ['rubbish', random, /kind that is read/, 415],
    ['a WAV of an unknown codec', wavFile(random, { tag: 0x7777 }), /begins like WAV|codec/, 422],
  ];

  const endsInANamedError = async (
    name: string,
    bytes: Buffer,
    text: RegExp,
    status: number,
  ): Promise<void> => {
    const path = await put('hostile', bytes);
    const failure: unknown = await media.decode(path, out).catch((error: unknown) => error);
    expect([name, failure]).toEqual([name, expect.any(MediaError)]);
    expect(failure).toMatchObject({ status, message: expect.stringMatching(text) as string });
    expect(await readdir(out)).toEqual([]);
  };
  test.each(cases)('%s ends in a named error', endsInANamedError);
  test.skipIf(ffmpegMissing !== undefined).each(foreign)(
    '%s ends in a named error',
    endsInANamedError,
  );
});

test.skipIf(ffmpegMissing !== undefined)('FLAC keeps every sample, the loudest too', async () => {
  // Not too regular: the decoder leaves out a last frame of a few bytes.
  const levels = Int16Array.from({ length: 40_000 }, (_, i) => ((i * 7_919) % 65_536) - 32_768);
  const from = await put('levels.wav', wavFile(bytesOf(levels), { rateHz: 16_000 }));
  const path = join(folder, 'levels.flac');
  execFileSync('ffmpeg', ['-v', 'error', '-y', '-i', from, path]);
  const { distinct } = await media.decode(path, out);
  expect(samplesOf(await readFile(distinct[0]!.path))).toEqual(levels);
});

test.skipIf(ffmpegMissing !== undefined)(
  'a FLAC that does not say its length is decoded by its job alone, not when it is uploaded',
  async () => {
    const from = await put('said.wav', wavFile(bytesOf(said), { rateHz: 16_000 }));
    const path = join(folder, 'no-length.flac');
    execFileSync('ffmpeg', ['-v', 'error', '-y', '-i', from, path]);
    const bytes = await readFile(path);
    // The last 36 bits of the rate's eight bytes are the number of samples.
    bytes.writeBigUInt64BE(bytes.readBigUInt64BE(18) & ~0xf_ffff_ffffn, 18);
    await writeFile(path, bytes);
    expect(await media.probe(path)).toEqual({ durationS: 0, channels: 1, codec: 'flac' });
    expect((await media.decode(path, out)).durationS).toBeCloseTo(said.length / 16_000, 1);
  },
);

describe('room on the disk', () => {
  test('is asked for before the channels grow, as if all were distinct, and what was written is told', async () => {
    const channels = [said, said].map((one) => one.subarray(0, 16_000));
    const path = await put(
      'two.wav',
      wavFile(bytesOf(interleaved(channels)), { rateHz: 16_000, channels: 2 }),
    );
    const asked: number[] = [];
    let writtenBytes = 0;
    await media.decode(path, out, undefined, {
      extend: (reachBytes) => asked.push(reachBytes),
      wrote: (totalBytes) => (writtenBytes = totalBytes),
    });
    expect(asked[0]).toBeGreaterThan(2 * 2 * 16_000);
    expect(asked[0]).toBeLessThanOrEqual(decodedBytes(1, 2));
    expect(writtenBytes).toBe(2 * 16_000); // equal channels are one file
  });

  test('that is refused on the way ends the decoding with that reason, and leaves no byte', async () => {
    const path = await put(
      'long.wav',
      wavFile(Buffer.alloc(4_000 * 8_000), { rateHz: 8_000, tag: 7, bits: 8 }),
    );
    const into = await mkdtemp(join(folder, 'refused-'));
    const longMedia = openMedia({ maxSeconds: 8_100 });
    let reached = 0;
    const decoding = longMedia.decode(path, into, undefined, {
      extend: (reachBytes) => {
        if (reachBytes > 20_000_000) throw new Error('calls need the disk');
        reached = reachBytes;
      },
      wrote: () => undefined,
    });
    await expect(decoding).rejects.toThrow('calls need the disk');
    expect(reached).toBeGreaterThan(18_000_000);
    expect(await readdir(into)).toEqual([]);
  });
});

describe.skipIf(ffmpegMissing !== undefined)('files that ffmpeg reads', () => {
  test.each([
    'aac',
    'ac3',
    'eac3',
    'flac',
    'm4a',
    'mp2',
    'mp3',
    'ogg',
    'opus',
    '3g2',
    '3gp',
    'avi',
    'flv',
    'm4v',
    'mkv',
    'mov',
    'mp4',
    'wmv',
    'au',
  ])('%s has the same sound', async (extension) => {
    const from = await put('tone.wav', wavFile(bytesOf(said), { rateHz: 16_000 }));
    const path = join(folder, `tone.${extension}`);
    const codec = /3g|m4v|mkv|mov|mp4|m4a/.test(extension) ? ['-c:a', 'aac'] : [];
    execFileSync('ffmpeg', [
      '-v',
      'error',
      '-y',
      '-i',
      from,
      '-ar',
      extension === 'opus' ? '48000' : '44100',
      '-vn',
      ...codec,
      path,
    ]);
    const { durationS, channels } = await media.probe(path);
    expect(channels).toBe(1);
    expect(Math.abs(durationS - said.length / 16_000)).toBeLessThan(0.2);
    const { distinct } = await media.decode(path, out);
    expect(likeness(said, samplesOf(await readFile(distinct[0]?.path ?? '')))).toBeGreaterThan(
      0.98,
    );
  });

  test('an abort leaves no process and no file', async () => {
    const stop = new AbortController();
    const from = await put('long.wav', wavFile(Buffer.alloc(19 * 8_000 * 2), { rateHz: 8_000 }));
    const path = join(folder, 'aborted.mp3');
    execFileSync('ffmpeg', ['-v', 'error', '-y', '-i', from, path]);
    const into = await mkdtemp(join(folder, 'aborted-'));
    // The file stands in the command line of the process that reads it, and in ffmpeg's.
    const readers = () => processesWith('cmdline', path);
    const decoding = media.decode(path, into, stop.signal);
    const [reader] = await until(() => readers().length > 0 && readers());
    stop.abort(new Error('nobody wants it'));
    await expect(decoding).rejects.toThrow('nobody wants it');
    expect(readers()).not.toContain(reader);
    await until(() => readers().length === 0);
    expect(await readdir(into)).toEqual([]);
  });

  test('aborts leave no ended ffmpeg behind where we are the first process of a container', async (context) => {
    // The kernel gives a process whose parent is gone to the first process, and node waits for none but its own.
    const own = ['--pid', '--fork', '--mount-proc', '--kill-child'];
    if (spawnSync('unshare', [...own, 'true']).status !== 0)
      return context.skip('unshare --pid is not allowed here');
    const path = join(folder, 'hour.mp3');
    const source = ['-f', 'lavfi', '-i', 'sine=frequency=440:sample_rate=8000:duration=3600'];
    execFileSync('ffmpeg', ['-v', 'error', '-y', ...source, path]);
    const into = await mkdtemp(join(folder, 'first-'));
    const program = new URL('../../../support/media/first-process-child.ts', import.meta.url);
    const node = [process.execPath, '--disable-warning=ExperimentalWarning'];
    const { stdout } = await promisify(execFile)(
      'unshare',
      [...own, ...node, fileURLToPath(program), path, into, '6'],
      { timeout: 60_000 },
    );
    expect(JSON.parse(stdout)).toEqual({ pid: 1, left: 0 });
  });

  describe('a reader that something else kills', () => {
    const patient = openMedia({ maxSeconds: 10_000 });
    let path: string;

    beforeAll(() => {
      path = join(folder, 'quarter-hour.mp3');
      const source = ['-f', 'lavfi', '-i', 'sine=frequency=440:sample_rate=8000:duration=900'];
      execFileSync('ffmpeg', ['-v', 'error', '-y', ...source, path]);
    });

    /** The reader's own process, or ffmpeg in its group. */
    const running = (isFfmpeg: boolean): number | undefined =>
      processesWith('cmdline', path).find(
        (pid) => processesWith('cmdline', 'ffmpeg\0').includes(pid) === isFfmpeg,
      );

    function killIfThere(pid: number): void {
      try {
        process.kill(pid, 'SIGKILL');
      } catch {
        // The process has ended since it was found.
      }
    }

    test.each([
      { what: 'its own process', isFfmpeg: false },
      { what: 'ffmpeg', isFfmpeg: true },
    ])('once, $what: the file is read again, and whole', async ({ isFfmpeg }) => {
      const decoding = patient.decode(path, out);
      const pid = await until(() => running(isFfmpeg));
      process.kill(pid, 'SIGKILL');
      const { durationS, distinct } = await decoding;
      expect(Math.abs(durationS - 900)).toBeLessThan(1);
      expect((await readFile(distinct[0]!.path)).length).toBe(distinct[0]!.samples * 2);
    });

    test('each time: the sender is told to try again, and nothing stays', async () => {
      const decoding = patient.decode(path, out).then(
        () => 'decoded',
        (error: unknown) => error,
      );
      let failure: unknown;
      void decoding.then((outcome) => (failure = outcome));
      await until(() => {
        const pid = running(false);
        if (pid !== undefined) killIfThere(pid);
        return failure !== undefined;
      });
      expect(failure).toMatchObject({
        status: 503,
        message: expect.stringContaining('was killed 3 times by something else'),
      });
      expect(await readdir(out)).toEqual([]);
    });
  });
});
