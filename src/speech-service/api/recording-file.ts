import type { Request, Response } from 'express';
import { open, type FileHandle } from 'node:fs/promises';
import { pipeline } from 'node:stream/promises';
import { Problem } from '../../port/problem.ts';
import type { LiveRequest } from '../../protocol/live-request.ts';
import { formatOf } from '../live/assemble.ts';
import { pathsOf } from '../live/paths.ts';
import { buildHeader, parseHeader } from '../live/wav-header.ts';

export type Recording = { folder: string; id: string; request: LiveRequest };

const longestHeaderBytes = 65_536 + 12;

/** What was received, as a WAV file in the session's own encoding; while it grows, what there is by now. */
export async function sendRecording(
  request: Request,
  response: Response,
  recording: Recording,
): Promise<void> {
  const file = await openOrNothing(pathsOf(recording.folder, recording.id).audio);
  try {
    const format = formatOf(recording.request);
    const size = file ? (await file.stat()).size : 0;
    const skip = file ? await ownHeader(file, size, recording) : 0;
    const header = buildHeader(format, size - skip);
    const total = header.length + size - skip;
    const range = rangeOf(request.headers.range, total);
    if (range === 'unsatisfiable')
      throw new Problem(416, 'range not satisfiable', {
        headers: { 'content-range': `bytes */${total}` },
      });
    const [from, to] = range ?? [0, total - 1];
    response.status(range ? 206 : 200).set({
      'content-type': 'application/octet-stream',
      'content-disposition': `attachment; filename="${recording.id.slice(0, 8)}.wav"`,
      'accept-ranges': 'bytes',
      'content-length': String(to - from + 1),
      ...(range ? { 'content-range': `bytes ${from}-${to}/${total}` } : {}),
    });
    if (request.method === 'HEAD') {
      response.end();
      return;
    }
    await send(response, file, header, skip, from, to);
  } finally {
    await file?.close();
  }
}

async function send(
  response: Response,
  file: FileHandle | undefined,
  header: Buffer,
  skip: number,
  from: number,
  to: number,
): Promise<void> {
  if (from < header.length) response.write(header.subarray(from, to + 1));
  const start = Math.max(from, header.length) - header.length + skip;
  const end = to - header.length + skip;
  if (!file || end < start) {
    response.end();
    return;
  }
  try {
    await pipeline(file.createReadStream({ start, end, autoClose: false }), response);
  } catch {
    // The client went away in the middle, which is its own business.
    response.destroy();
  }
}

async function openOrNothing(path: string): Promise<FileHandle | undefined> {
  try {
    return await open(path, 'r');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** The header that the client itself sent; ours goes instead, with the real length. */
async function ownHeader(file: FileHandle, size: number, recording: Recording): Promise<number> {
  const start = Buffer.alloc(Math.min(size, longestHeaderBytes));
  const { bytesRead } = await file.read(start, 0, start.length, 0);
  const header = parseHeader(start.subarray(0, bytesRead), formatOf(recording.request));
  return header.outcome === 'header' ? header.headerBytes : 0;
}

/** One range of bytes; anything else in the header is ignored, as the standard allows. */
function rangeOf(
  header: string | undefined,
  total: number,
): [number, number] | 'unsatisfiable' | undefined {
  const match = /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header ?? '');
  if (!match) return undefined;
  const [, first = '', last = ''] = match;
  if (first === '' && last === '') return undefined;
  if (first === '') {
    const length = Math.min(Number(last), total);
    return length === 0 ? 'unsatisfiable' : [total - length, total - 1];
  }
  const from = Number(first);
  const to = last === '' ? total - 1 : Math.min(Number(last), total - 1);
  if (last !== '' && Number(last) < from) return undefined;
  return from >= total ? 'unsatisfiable' : [from, to];
}
