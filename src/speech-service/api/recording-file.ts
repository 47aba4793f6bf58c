import type { Request, Response } from 'express';
import { open, type FileHandle } from 'node:fs/promises';
import { Problem } from '../../port/problem.ts';
import { sendRange } from '../../port/range.ts';
import type { LiveRequest } from '../../protocol/live-request.ts';
import { pathsOf } from '../live/session-audio.ts';
import { buildHeader, formatOf, headerReachBytes, parseHeader } from '../live/audio-format.ts';

type SessionRecording = {
  folder: string;
  id: string;
  request: LiveRequest;
  /** The session has ended and had audio: without its file the audio was deleted. */
  wasReceived: boolean;
};

/** Sends the received audio as a WAV file in the session's encoding. A running session's file ends at this moment. */
export async function sendRecording(
  request: Request,
  response: Response,
  recording: SessionRecording,
): Promise<void> {
  const file = await openOrNothing(pathsOf(recording.folder, recording.id).audio);
  if (!file && recording.wasReceived)
    throw new Problem(404, 'the audio of this session was deleted after the days of recordings');
  try {
    const format = formatOf(recording.request);
    const size = file ? (await file.stat()).size : 0;
    const skip = file ? await ownHeader(file, size, recording) : 0;
    const header = buildHeader(format, size - skip);
    await sendRange(request, response, {
      bytes: header.length + size - skip,
      headers: {
        'content-type': 'application/octet-stream',
        'content-disposition': `attachment; filename="${recording.id.slice(0, 8)}.wav"`,
      },
      read: (from, to) => read(file, header, skip, from, to),
    });
  } finally {
    await file?.close();
  }
}

/** Our header, then the file without the header that the client may have sent itself. */
async function* read(
  file: FileHandle | undefined,
  header: Buffer,
  skip: number,
  from: number,
  to: number,
): AsyncGenerator<Buffer> {
  if (from < header.length) yield header.subarray(from, to);
  const start = Math.max(from, header.length) - header.length + skip;
  const end = to - 1 - header.length + skip;
  if (!file || end < start) return;
  yield* file.createReadStream({ start, end, autoClose: false }) as AsyncIterable<Buffer>;
}

async function openOrNothing(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** The length of the header that the client sent. Ours, with the true length, replaces it. */
async function ownHeader(
  file: FileHandle,
  size: number,
  recording: SessionRecording,
): Promise<number> {
  const start = Buffer.alloc(Math.min(size, headerReachBytes));
  const { bytesRead } = await file.read(start, 0, start.length, 0);
  const header = parseHeader(start.subarray(0, bytesRead), formatOf(recording.request));
  return header.outcome === 'header' ? header.headerBytes : 0;
}
