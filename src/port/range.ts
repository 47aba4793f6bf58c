import type { Request, Response } from 'express';
import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { Problem } from './problem.ts';

/** The bytes from `from` up to and without `to`. */
type ByteRange = { from: number; to: number };

/**
 * Reads a `Range` header with one range. As RFC 9110 allows, a header with several ranges, with none, or with a range
 * that ends before it begins is ignored. The answer is then the whole content.
 */
export function rangeOf(
  header: string | undefined,
  bytes: number,
): ByteRange | 'whole' | 'unsatisfiable' {
  const [, first = '', last = ''] =
    /^bytes=(\d{0,15})-(\d{0,15})$/.exec(header?.trim() ?? '') ?? [];
  if (first === '' && last === '') return 'whole';
  if (first !== '' && last !== '' && Number(last) < Number(first)) return 'whole';
  const from = first === '' ? Math.max(0, bytes - Number(last)) : Number(first);
  const to = first === '' || last === '' ? bytes : Math.min(bytes, Number(last) + 1);
  return from >= bytes || to <= from ? 'unsatisfiable' : { from, to };
}

type Rangeable = {
  bytes: number;
  headers: Record<string, string>;
  /** Reads the bytes only as fast as the peer takes them. */
  read: (from: number, to: number) => AsyncIterable<Buffer>;
};

/** Answers GET and HEAD with the whole content or the one requested range. A range beyond the end gets 416. */
export async function sendRange(
  request: Request,
  response: Response,
  { bytes, headers, read }: Rangeable,
): Promise<void> {
  const range = rangeOf(request.headers.range, bytes);
  if (range === 'unsatisfiable')
    throw new Problem(416, 'range not satisfiable', {
      headers: { 'accept-ranges': 'bytes', 'content-range': `bytes */${bytes}` },
    });
  const { from, to } = range === 'whole' ? { from: 0, to: bytes } : range;
  response.set({ ...headers, 'accept-ranges': 'bytes', 'content-length': String(to - from) });
  if (range !== 'whole')
    response.status(206).set('content-range', `bytes ${from}-${to - 1}/${bytes}`);
  if (request.method === 'HEAD') {
    response.end();
    return;
  }
  try {
    await pipeline(Readable.from(read(from, to)), response);
  } catch {
    // The client has gone away or the disk has failed in the middle, so the answer is shorter than its length header
    // says.
    response.destroy();
  }
}
