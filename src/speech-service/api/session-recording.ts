import type { Request, Response } from 'express';
import { open } from 'node:fs/promises';
import type { Objects } from '../../objects/objects.ts';
import { Problem } from '../../port/problem.ts';
import { sendRange } from '../../port/range.ts';
import type { LiveRequest } from '../../protocol/live-request.ts';
import { pathsOf } from '../live/disk/session-audio.ts';
import { sessionKeys } from '../live/disk/stored-audio.ts';
import {
  buildHeader,
  formatOf,
  headerReachBytes,
  parseHeader,
} from '../live/incoming/audio-format.ts';
import { isMissing } from '../../lib/is-missing.ts';

type SessionRecording = {
  folder: string;
  /** The object store, if one is set. It may hold the audio of an ended session. */
  objects: Objects | undefined;
  id: string;
  request: LiveRequest;
  /** True if the session ended and had audio. A missing file then means that the audio was deleted. */
  wasReceived: boolean;
};

type SessionBytes = AsyncDisposable & {
  size: number;
  read(from: number, to: number): AsyncIterable<Buffer>;
};

/**
 * Sends the received audio as a WAV file in the session's encoding. For a running session the file ends at this moment.
 */
export async function sendRecording(
  request: Request,
  response: Response,
  recording: SessionRecording,
): Promise<void> {
  const file = (await openHere(recording)) ?? (await openStored(recording));
  if (!file && recording.wasReceived)
    throw new Problem(404, 'the audio of this session was deleted after the days of recordings');
  await using audio = file ?? nothing;
  const { size } = audio;
  const skip = await ownHeader(audio, recording);
  const header = buildHeader(formatOf(recording.request), size - skip);
  await sendRange(request, response, {
    bytes: header.length + size - skip,
    headers: {
      'content-type': 'application/octet-stream',
      'content-disposition': `attachment; filename="${recording.id.slice(0, 8)}.wav"`,
    },
    read: (from, to) => read(audio, header, skip, from, to),
  });
}

/** Yields our header, then the audio without the header that the client may have sent. */
async function* read(
  audio: SessionBytes,
  header: Buffer,
  skip: number,
  from: number,
  to: number,
): AsyncGenerator<Buffer> {
  if (from < header.length) yield header.subarray(from, to);
  const start = Math.max(from, header.length) - header.length + skip;
  const end = to - header.length + skip;
  if (end > start) yield* audio.read(start, end);
}

const nothing: SessionBytes = {
  size: 0,

  async *read() {},
  [Symbol.asyncDispose]: () => Promise.resolve(),
};

async function openHere({ folder, id }: SessionRecording): Promise<SessionBytes | undefined> {
  try {
    const file = await open(pathsOf(folder, id).audio, 'r');
    const { size } = await file.stat();
    return {
      size,
      read: (from, to) =>
        file.createReadStream({
          start: from,
          end: to - 1,
          autoClose: false,
        }) as AsyncIterable<Buffer>,
      [Symbol.asyncDispose]: () => file.close(),
    };
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw error;
  }
}

async function openStored({ objects, id }: SessionRecording): Promise<SessionBytes | undefined> {
  const object = await objects?.stored(sessionKeys + id);
  if (objects === undefined || object === undefined) return undefined;
  return {
    size: object.bytes,
    read: (from, to) => objects.read(object, from, to),
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

/** The length of the client's WAV header. Our header, with the true length, replaces it. */
async function ownHeader(audio: SessionBytes, recording: SessionRecording): Promise<number> {
  const reach = Math.min(audio.size, headerReachBytes);
  if (reach === 0) return 0;
  const parts: Buffer[] = [];
  for await (const part of audio.read(0, reach)) parts.push(part);
  const header = parseHeader(Buffer.concat(parts), formatOf(recording.request));
  return header.outcome === 'header' ? header.headerBytes : 0;
}
