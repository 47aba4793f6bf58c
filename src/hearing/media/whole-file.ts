import { open } from 'node:fs/promises';
import { TrunklineError } from '../../lib/errors.ts';
import { decodeAll, failureOf, isFfmpegInstalled } from './ffmpeg.ts';
import { signatureBytes, signatureOf } from './signature.ts';

const maxSeconds = 3_600;
const cpuSeconds = 600;
/** The limit is one hour of a two-channel call, 16 bit at 16 kHz. */
const maxBytes = 256 * 1_048_576;

/** Converts a file that is no WAV into one, with ffmpeg. */
export async function decodedByFfmpeg(path: string): Promise<Buffer> {
  if (!isFfmpegInstalled())
    throw new TrunklineError(
      'BAD_INPUT',
      `${path}: give a .wav, .ulaw or .alaw file, or install ffmpeg, which reads the others`,
    );
  const kind = await kindOf(path);
  const program = decodeAll(path, maxSeconds, cpuSeconds);
  program.aside.resume();
  const parts: Buffer[] = [];
  let bytes = 0;
  for await (const part of program.output as AsyncIterable<Buffer>) {
    bytes += part.length;
    parts.push(part);
    if (bytes <= maxBytes) continue;
    program.kill();
    throw new TrunklineError('BAD_INPUT', `${path} is longer than an hour, or has many channels`);
  }
  const end = await program.ended;
  if (end.code !== 0)
    throw new TrunklineError('BAD_INPUT', `${path}: ${failureOf(end, kind, cpuSeconds).message}`);
  return Buffer.concat(parts);
}

/** The type of a file by its first bytes, for the message about a file that cannot be used. */
async function kindOf(path: string): Promise<string | undefined> {
  await using file = await open(path);
  const { buffer, bytesRead } = await file.read({ buffer: Buffer.alloc(signatureBytes) });
  const signature = signatureOf(buffer.subarray(0, bytesRead));
  return signature.kind === 'media' ? signature.name : undefined;
}
