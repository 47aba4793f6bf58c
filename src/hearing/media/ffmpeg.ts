import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { accessSync, constants } from 'node:fs';
import { availableParallelism } from 'node:os';
import { delimiter, join } from 'node:path';
import { env } from 'node:process';
import type { Readable } from 'node:stream';
import { MediaError } from './media-error.ts';
import { engineRateHz } from './pcm.ts';

/*
 * ffmpeg parses files from strangers with a million lines of C. It may therefore open one file only, knows only the
 * formats and decoders that the API names, has limits for processor time, memory and handles, writes no file, and gets
 * none of our environment. The process that started it counts its output.
 */

const formats =
  'aac,ac3,aiff,amr,asf,au,avi,eac3,flac,flv,matroska,webm,mov,mp4,m4a,3gp,3g2,mj2,mp3,ogg,wav,w64';
const decoders = [
  'aac,aac_latm,ac3,ac3_fixed,eac3,alac,amrnb,amr_nb,amrwb,amr_wb,libopencore_amrnb,libopencore_amrwb,flac',
  'mp1,mp1float,mp2,mp2float,mp3,mp3float,mp3adu,mp3adufloat,mp3on4,mp3on4float,opus,libopus,vorbis,libvorbis',
  'wmav1,wmav2,wmapro,wmalossless,wmavoice,speex,libspeex,nellymoser,gsm,gsm_ms,libgsm,libgsm_ms,g722,g726,g726le,g729',
  'pcm_alaw,pcm_mulaw,pcm_u8,pcm_s8,pcm_s16le,pcm_s16be,pcm_s24le,pcm_s24be,pcm_s32le,pcm_s32be',
  'pcm_f32le,pcm_f32be,pcm_f64le,pcm_f64be,pcm_dvd,pcm_bluray',
  'adpcm_ms,adpcm_ima_wav,adpcm_ima_qt,adpcm_swf,adpcm_yamaha,adpcm_g722,adpcm_g726,adpcm_g726le',
].join(',');
const maxStreams = 64;
const memoryKiB = 1_000_000;
const maxSaidBytes = 4_000;
/** A probe reports longer files as this long. They are refused anyway. */
const maxListedSeconds = 86_400;

const inputOptions = [
  ...['-protocol_whitelist', 'file', '-format_whitelist', formats, '-codec_whitelist', decoders],
  ...['-max_streams', String(maxStreams)],
];

/** `exec` replaces the shell, so the program itself is waited for and killed. */
const bounded =
  'ulimit -c 0; ulimit -f 0; ulimit -n 64; ulimit -t "$1"; ulimit -v "$2" 2>/dev/null; shift 2; exec "$@"';

const shellMissing = 127;
const shellRefused = 126;

/** Checked at each call, so that no restart is needed after ffmpeg is installed. */
export function isFfmpegInstalled(): boolean {
  return (env['PATH'] ?? '').split(delimiter).some((folder) => {
    if (folder === '') return false;
    try {
      accessSync(join(folder, 'ffmpeg'), constants.X_OK);
      return true;
    } catch {
      return false; // not in this folder; the next one may have it
    }
  });
}

type End = { code: number | null; signal: NodeJS.Signals | null; said: string; tookMs: number };

/** Thrown if something outside this service killed ffmpeg, for example the kernel when memory is short. */
export class FfmpegKilled extends Error {}

type Program = {
  output: Readable;
  /** A second output, for programs that are asked to write one. */
  aside: Readable;
  /** Resolves when the program has ended and its outputs are closed. */
  ended: Promise<End>;
  kill(): void;
};

const running = new Set<ChildProcess>();

/** Kills every ffmpeg of this process and waits for its end, so that none is left without a parent. */
export async function endPrograms(): Promise<void> {
  await Promise.all(
    [...running].map(async (child) => {
      const gone = once(child, 'exit');
      child.kill('SIGKILL');
      await gone;
    }),
  );
}

function start(args: readonly string[], cpuSeconds: number): Program {
  const child = spawn(
    '/bin/sh',
    ['-c', bounded, 'sh', String(cpuSeconds), String(memoryKiB), 'ffmpeg', ...args],
    {
      stdio: ['ignore', 'pipe', 'pipe', 'pipe'],
      env: Object.assign(Object.create(null) as NodeJS.ProcessEnv, {
        PATH: env['PATH'],
        LC_ALL: 'C',
        AV_LOG_FORCE_NOCOLOR: '1',
        MALLOC_ARENA_MAX: '1',
      }),
    },
  );
  const startedMs = performance.now();
  const tookMs = () => performance.now() - startedMs;
  let said = '';
  child.stderr?.on('data', (bytes: Buffer) => {
    if (said.length < maxSaidBytes) said += bytes.toString('latin1', 0, maxSaidBytes);
  });
  if (child.pid !== undefined) running.add(child);
  child.once('exit', () => running.delete(child));
  return {
    output: child.stdio[1] as Readable,
    aside: child.stdio[3] as Readable,
    ended: new Promise((resolve) => {
      child.on('error', ({ message: said }) =>
        resolve({ code: null, signal: null, said, tookMs: tookMs() }),
      );
      child.on('close', (code, signal) => resolve({ code, signal, said, tookMs: tookMs() }));
    }),
    kill: () => child.kill('SIGKILL'),
  };
}

/** The reason why ffmpeg could not read a file. `format` is the format that its first bytes suggest. */
export function failureOf(
  { code, signal, said, tookMs }: End,
  format: string | undefined,
  cpuSeconds: number,
): MediaError | FfmpegKilled {
  if (code === shellMissing || code === shellRefused)
    return new MediaError(
      503,
      `reading ${format ?? 'a file of this kind'} needs ffmpeg, which is not installed on this machine; WAV and FLAC are read without it`,
    );
  // The limit of processor time also ends ffmpeg with SIGKILL. This check tells the two apart: all cores together must
  // have been able to use up that time.
  if (signal === 'SIGKILL' && (tookMs / 1_000) * availableParallelism() < cpuSeconds)
    return new FfmpegKilled('ffmpeg was killed from outside');
  if (signal === 'SIGXCPU' || signal === 'SIGKILL')
    return new MediaError(504, `reading the file took more than ${cpuSeconds} s of CPU time`);
  if (said.includes('matches no streams')) return new MediaError(422, 'the file has no audio');
  if (said.includes('max_streams'))
    return new MediaError(422, `the file has more than ${maxStreams} streams`);
  if (said.includes('Cannot allocate memory'))
    return new MediaError(422, `reading the file needs more than ${memoryKiB} KiB of memory`);
  if (format === undefined)
    return new MediaError(415, 'the file is neither audio nor video of a kind that is read here');
  if (said.includes('not on whitelist') || said.includes('not found for input stream'))
    return new MediaError(
      422,
      `the audio in the file (${format}) has a codec that is not read here`,
    );
  return new MediaError(
    422,
    `the file begins like ${format}, but no audio can be decoded from it: it is damaged, cut short or protected`,
  );
}

const inputOf = (path: string): string[] => [
  ...['-nostdin', '-hide_banner', '-v', 'error', ...inputOptions],
  ...['-threads', '1', '-vn', '-sn', '-dn', '-i', `file:${path}`],
];

/**
 * Reads the whole first audio stream without decoding it, because the length in a header is often an estimate. Only the
 * first frame is decoded. It shows that the stream can be decoded and how many channels it has.
 */
export function listPackets(path: string, cpuSeconds: number): Program {
  return start(
    [
      ...inputOf(path),
      ...[
        '-map',
        '0:a:0',
        '-c',
        'copy',
        '-t',
        String(maxListedSeconds),
        '-f',
        'framecrc',
        'pipe:1',
      ],
      ...[
        '-map',
        '0:a:0',
        '-c:a',
        'pcm_s16le',
        '-frames:a',
        '1',
        '-bitexact',
        '-f',
        'wav',
        'pipe:3',
      ],
    ],
    cpuSeconds,
  );
}

/**
 * Decodes the first audio stream to WAV: 16 bit, 16 kHz, all channels. Gaps in its timestamps are filled with silence,
 * so that the times of words are those of the file.
 */
export function decodeAll(path: string, maxSeconds: number, cpuSeconds: number): Program {
  return start(
    [
      ...inputOf(path),
      ...['-map', '0:a:0', '-af'],
      `aresample=${engineRateHz}:async=1:first_pts=0:filter_size=64:cutoff=0.94`,
      // One second more than the limit shows that the file continues.
      ...['-t', String(maxSeconds + 1), '-c:a', 'pcm_s16le', '-threads', '1', '-bitexact'],
      ...['-map_metadata', '-1', '-f', 'wav', 'pipe:1'],
    ],
    cpuSeconds,
  );
}
