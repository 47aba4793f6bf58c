/**
 * One stretch of speech in every format that clients may send: each is uploaded to the whole program with the default
 * model and read as a job, and its words are compared with those of the 16-bit WAV. Where a format keeps every sample the
 * words must be the same; where its codec loses some, at most 3 % of them may differ.
 *
 * Telephone codecs (G.711, GSM, AMR) know 8 kHz alone, and half of the band is gone before they begin. They are held
 * against the words of a 16-bit WAV of 8 kHz: against those of 16 kHz one would measure the rate and not the codec. The
 * prompts themselves are of 8 kHz; the files of 16 kHz are made of them, so all have the same speech in them.
 *
 * Formats that carry pictures have some here: the reader must find the sound beside them.
 * `node test/trials/formats.ts [format...]`. Needs ffmpeg and sox.
 */
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { bytesOf, wavFile } from '../support/media/media-files.ts';
import { startApp } from '../support/process/app.ts';
import { telephonePrompts } from '../support/recognition/prompts.ts';
import { realModel } from '../support/recognition/real-model.ts';
import { normalisedWords, wordErrors } from '../support/recognition/word-errors.ts';
import { jobsApi, type JobsApi } from '../support/speech/jobs.ts';
import { speechApi } from '../support/speech/speech-service.ts';

const seconds = Number(process.env['SPEECH_SECONDS'] ?? 80);
const pauseS = 0.8;
const differingAtMost = 0.03;
const jobDeadlineMs = 1_800_000;

type Format = {
  name: string;
  file: string;
  rateHz: 8_000 | 16_000;
  keepsEverySample: boolean;
  /** Makes the file from the 16-bit WAV of its rate. */
  make(wav: string, path: string): void;
};

const run = (program: string, args: string[]): void => {
  execFileSync(program, args, { stdio: ['ignore', 'ignore', 'pipe'] });
};

type Make = Format['make'];

const ffmpeg =
  (...codec: string[]): Make =>
  (wav, path) =>
    run('ffmpeg', ['-v', 'error', '-y', '-i', wav, ...codec, path]);

const picture = ['-f', 'lavfi', '-i', 'testsrc=size=96x64:rate=5'];

/** The sound behind moving pictures of the same length. */
const video =
  (...codec: string[]): Make =>
  (wav, path) =>
    run('ffmpeg', [
      ...['-v', 'error', '-y', ...picture, '-i', wav, '-map', '0:v', '-map', '1:a', '-shortest'],
      ...[...codec, path],
    ]);

/** Without dither, which is random: every run then has the same samples. */
const sox =
  (...format: string[]): Make =>
  (wav, path) =>
    run('sox', ['-D', wav, ...format, path]);

/**
 * As any tool writes 8 bits: without dither consonants below half a step would be exact zeros, which no reader can
 * know. Its dither begins from the same seed in every run.
 */
const dithered =
  (...format: string[]): Make =>
  (wav, path) =>
    run('sox', ['-R', wav, ...format, path]);

/** A WAV whose length was not known when it was begun: its header says 4 GiB. */
const streamed: Make = (wav, path) => {
  const output = execFileSync('ffmpeg', ['-v', 'error', '-i', wav, '-f', 'wav', 'pipe:1'], {
    maxBuffer: 2 ** 27,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  writeFileSync(path, output);
};

/** AMR at its best rate, which sox writes, put into the container of telephones. */
const amrIn3gp: Make = (wav, path) => {
  const amr = `${path}.amr-nb`;
  sox('-C', '7')(wav, amr);
  run('ffmpeg', ['-v', 'error', '-y', '-f', 'amr', '-i', amr, '-c', 'copy', path]);
};

const whole = { rateHz: 16_000, keepsEverySample: true } as const;
const lossy = { rateHz: 16_000, keepsEverySample: false } as const;
const telephone = { rateHz: 8_000, keepsEverySample: false } as const;

/** First the nineteen that the interface names, then what a WAV may hold, then what telephone systems write. */
const formats: readonly Format[] = [
  { name: 'wav', file: 'a.wav', ...whole, make: sox('-b', '16') },
  { name: 'flac', file: 'a.flac', ...whole, make: sox() },
  { name: 'aac', file: 'a.aac', ...lossy, make: ffmpeg('-c:a', 'aac', '-b:a', '64k') },
  { name: 'ac3', file: 'a.ac3', ...lossy, make: ffmpeg('-ar', '48000', '-c:a', 'ac3') },
  { name: 'eac3', file: 'a.eac3', ...lossy, make: ffmpeg('-ar', '48000', '-c:a', 'eac3') },
  { name: 'm4a', file: 'a.m4a', ...lossy, make: ffmpeg('-c:a', 'aac', '-b:a', '64k') },
  { name: 'mp2', file: 'a.mp2', ...lossy, make: ffmpeg('-c:a', 'mp2', '-b:a', '64k') },
  { name: 'mp3', file: 'a.mp3', ...lossy, make: ffmpeg('-c:a', 'libmp3lame', '-b:a', '48k') },
  { name: 'ogg (Vorbis)', file: 'a.ogg', ...lossy, make: ffmpeg('-c:a', 'libvorbis') },
  { name: 'opus', file: 'a.opus', ...lossy, make: ffmpeg('-c:a', 'libopus', '-b:a', '32k') },
  { name: '3g2', file: 'a.3g2', ...lossy, make: video('-c:v', 'mpeg4', '-c:a', 'aac') },
  { name: '3gp (AMR)', file: 'a.3gp', ...telephone, make: amrIn3gp },
  { name: 'avi', file: 'a.avi', ...lossy, make: video('-c:v', 'mpeg4', '-c:a', 'libmp3lame') },
  { name: 'flv', file: 'a.flv', ...lossy, make: video('-c:v', 'flv', '-c:a', 'aac') },
  { name: 'm4v', file: 'a.m4v', ...lossy, make: video('-c:v', 'mpeg4', '-c:a', 'aac', '-f', 'mp4') },
  { name: 'mkv (PCM)', file: 'a.mkv', ...whole, make: video('-c:v', 'mpeg4', '-c:a', 'pcm_s16le') },
  { name: 'mov (ALAC)', file: 'a.mov', ...whole, make: video('-c:v', 'mpeg4', '-c:a', 'alac') },
  { name: 'mp4', file: 'a.mp4', ...lossy, make: video('-c:v', 'mpeg4', '-c:a', 'aac') },
  { name: 'wmv', file: 'a.wmv', ...lossy, make: video('-c:v', 'wmv2', '-c:a', 'wmav2') },

  { name: 'wav 8 bit', file: 'b.wav', ...lossy, make: dithered('-b', '8', '-e', 'unsigned-integer') },
  { name: 'wav 24 bit', file: 'c.wav', ...whole, make: sox('-b', '24') },
  { name: 'wav 32 bit', file: 'd.wav', ...whole, make: sox('-b', '32') },
  { name: 'wav float', file: 'e.wav', ...whole, make: sox('-b', '32', '-e', 'floating-point') },
  { name: 'wav streamed', file: 'f.wav', ...whole, make: streamed },

  { name: 'wav 16 bit, 8 kHz', file: 'g.wav', ...telephone, keepsEverySample: true, make: sox() },
  { name: 'wav mu-law', file: 'h.wav', ...telephone, make: sox('-e', 'mu-law') },
  { name: 'wav A-law', file: 'i.wav', ...telephone, make: sox('-e', 'a-law') },
  { name: 'wav GSM', file: 'j.wav', ...telephone, make: sox('-e', 'gsm-full-rate') },
  { name: 'amr', file: 'k.amr', ...telephone, make: sox('-t', 'amr-nb', '-C', '7') },
]; // prettier-ignore

/** Prompts of several words with pauses between them, of so many seconds in all. */
function speech(): Int16Array {
  const pause = new Int16Array(pauseS * 8_000);
  const pieces: Int16Array[] = [pause];
  let length = pause.length;
  // Each prompt is another sentence; a step through all of them mixes their subjects.
  const prompts = telephonePrompts(6);
  for (let at = 0; at < prompts.length && length < seconds * 8_000; at++) {
    const { samples } = prompts[(at * 7) % prompts.length] ?? { samples: pause };
    pieces.push(samples, pause);
    length += samples.length + pause.length;
  }
  const all = new Int16Array(length);
  let place = 0;
  for (const piece of pieces) {
    all.set(piece, place);
    place += piece.length;
  }
  return all;
}

async function wordsOf(jobs: JobsApi, path: string, name: string): Promise<string[]> {
  const { audio_url } = await jobs.upload(await readFile(path), name);
  const id = await jobs.begin({ audio_url, language_config: { languages: ['en'] } });
  const job = await jobs.ended(id, jobDeadlineMs);
  if (job.status !== 'done') throw new Error(`${job.error_code ?? ''} ${job.error_message ?? ''}`);
  return normalisedWords(job.result?.transcription?.full_transcript ?? '');
}

export async function trial(chosen: readonly string[]): Promise<boolean> {
  const model = await realModel();
  if (!model) throw new Error('the default model is not to be had');
  const folder = await mkdtemp(join(tmpdir(), 'trunkline-formats-'));
  try {
    const samples = speech();
    const masters = { 8_000: join(folder, 'eight.wav'), 16_000: join(folder, 'sixteen.wav') };
    await writeFile(masters[8_000], wavFile(bytesOf(samples), { rateHz: 8_000 }));
    sox('-r', '16000', '-b', '16')(masters[8_000], masters[16_000]);
    await using app = await startApp({
      env: {
        TRUNKLINE_MODEL: model.model,
        TRUNKLINE_MODELS: model.models,
        TRUNKLINE_ROLES: 'speech',
      },
    });
    const jobs = jobsApi(speechApi(app.url));
    const truth = {
      8_000: await wordsOf(jobs, masters[8_000], 'eight.wav'),
      16_000: await wordsOf(jobs, masters[16_000], 'sixteen.wav'),
    };
    const lengthS = (samples.length / 8_000).toFixed(0);
    console.log(
      `${lengthS} s of speech: ${truth[16_000].length} words in the 16-bit WAV of 16 kHz, ${truth[8_000].length} in that of 8 kHz, ` +
        `which differ in ${wordErrors(truth[16_000], truth[8_000])}`,
    );
    if (truth[8_000].length < seconds || truth[16_000].length < seconds)
      throw new Error('too few words were read to compare anything');
    console.log(row('format', 'against', 'bytes', 'differing', '%', 'at most'));
    let missed = 0;
    for (const format of formats) {
      if (chosen.length > 0 && !chosen.includes(format.name)) continue;
      const { name, rateHz, keepsEverySample } = format;
      const path = join(folder, format.file);
      const against = `${rateHz / 1_000} kHz`;
      const atMost = keepsEverySample ? 0 : differingAtMost;
      try {
        format.make(masters[rateHz], path);
        const { length } = await readFile(path);
        const differing = wordErrors(truth[rateHz], await wordsOf(jobs, path, format.file));
        const share = differing / truth[rateHz].length;
        if (share > atMost) missed++;
        const verdict = share > atMost ? ' MISSED' : '';
        console.log(
          row(name, against, length, differing, percent(share), percent(atMost)) + verdict,
        );
      } catch (error) {
        missed++;
        console.log(row(name, against, '', '', '', percent(atMost)) + ` FAILED: ${String(error)}`);
      }
    }
    console.log(missed === 0 ? 'every format held' : `${missed} formats missed`);
    return missed === 0;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

const percent = (share: number): string => (share * 100).toFixed(1);

function row(name: string, ...columns: (string | number)[]): string {
  return name.padEnd(20) + columns.map((column) => String(column).padStart(11)).join('');
}

if (import.meta.main) process.exitCode = (await trial(process.argv.slice(2))) ? 0 : 1;
