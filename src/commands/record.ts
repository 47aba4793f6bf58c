import type { Command } from 'commander';
import { once } from 'node:events';
import { createWriteStream } from 'node:fs';
import { join } from 'node:path';
import { finished } from 'node:stream/promises';
import { TrunklineError, reasonOf } from '../lib/errors.ts';
import { printable } from '../lib/printable.ts';
import { makeFolder } from '../lib/make-folder.ts';
import { fixtureLine } from '../player/fixture.ts';
import { Masker } from '../player/masking.ts';
import { startRecorder, type Recorder, type RecorderOptions } from '../player/recorder.ts';
import { printLine, printNote } from './terminal.ts';

type RecordOptions = {
  listen: string;
  to?: string;
  out: string;
  keepNumbers?: true;
  keepAudio?: true;
};

/** `trunkline record`: stores a real carrier's conversation as a fixture, with masked numbers and voices. */
export function registerRecord(program: Command): void {
  program
    .command('record')
    .description(
      'stand between a carrier and its bridge and keep each conversation as a fixture; numbers and audio are masked',
    )
    .option('--listen <host:port>', 'where the carrier streams to', '127.0.0.1:9090')
    .option(
      '--to <ws url>',
      'the bridge that answers; without one everything is accepted and nothing answered',
    )
    .option('--out <folder>', 'where the files go', '.')
    .option('--keep-numbers', 'keep phone numbers, names and tokens as they are')
    .option('--keep-audio', 'keep the voices')
    .action(record);
}

async function record(options: RecordOptions): Promise<void> {
  const { host, port } = hostAndPort(options.listen);
  makeFolder(options.out);
  let count = 0;
  await using recorder = await listen({
    host,
    port,
    to: options.to,
    onConversation: (path) => {
      const file = join(options.out, fileName(path, ++count));
      printLine(`recording ${file}`);
      return writer(
        file,
        new Masker({
          keepNumbers: options.keepNumbers ?? false,
          keepAudio: options.keepAudio ?? false,
        }),
      );
    },
  });
  printLine(
    `listening on ws://${host}:${recorder.port}${options.to === undefined ? '' : `, passing on to ${new URL(options.to).origin}`}; Ctrl-C ends`,
  );
  await Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
}

async function listen(options: RecorderOptions): Promise<Recorder> {
  try {
    return await startRecorder(options);
  } catch (cause) {
    throw new TrunklineError(
      'BAD_INPUT',
      `cannot listen on ${options.host}:${options.port}: ${reasonOf(cause)}`,
      { cause },
    );
  }
}

function writer(file: string, masker: Masker): ReturnType<RecorderOptions['onConversation']> {
  // Even masked, the file may hold a person's words, so only its owner may read it.
  const out = createWriteStream(file, { mode: 0o600 });
  let frames = 0;
  return {
    frame(frame) {
      frames++;
      out.write(fixtureLine(masker.mask(frame)));
    },
    end(reason) {
      out.end();
      void finished(out).then(
        () => printLine(`${file}: ${frames} frames, ${printable(reason)}`),
        (error: unknown) => printNote(`${file} could not be written: ${reasonOf(error)}`),
      );
    },
  };
}

function hostAndPort(text: string): { host: string; port: number } {
  const match = /^(.*):(\d{1,5})$/.exec(text);
  if (!match || Number(match[2]) > 65_535)
    throw new TrunklineError('BAD_INPUT', `${text}: give host:port`);
  return { host: match[1] === '' ? '127.0.0.1' : (match[1] ?? ''), port: Number(match[2]) };
}

/** A path may hold a token, so the file name contains only the carrier's name. */
function fileName(path: string, count: number): string {
  const name = /^\/carriers\/([a-z]+)/.exec(path)?.[1] ?? 'conversation';
  const at = new Date().toISOString().replace(/[:.]/g, '-').slice(0, 19);
  return `${name}-${at}-${count}.jsonl`;
}
