import { open } from 'node:fs/promises';
import { FileError } from '../../../src/speech-service/files/file-error.ts';
import type { Probe } from '../../../src/speech-service/files/files.ts';

/** Reads the first header of a plain WAV file, and takes nothing else for audio. */
export const wavProbe: Probe = async (path) => {
  await using file = await open(path);
  const header = Buffer.alloc(44);
  const { bytesRead } = await file.read(header, 0, header.length, 0);
  const { size } = await file.stat();
  if (bytesRead < 44 || header.toString('latin1', 0, 4) !== 'RIFF')
    throw new FileError(422, 'this is no audio that can be decoded');
  const channels = header.readUInt16LE(22);
  const bytesInSecond = header.readUInt32LE(28);
  return { durationS: (size - 44) / bytesInSecond, channels };
};
