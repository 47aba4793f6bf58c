import type { Request, Response } from 'express';
import { createHash } from 'node:crypto';

/**
 * An answer that is the same for everybody. All requests share one buffer, so a thousand of them cost no further
 * memory.
 */
export type StaticFile = { body: Buffer; type: string; tag: string; cacheControl: string };

export function staticFile(
  body: string | Uint8Array,
  type: string,
  cacheControl = 'no-cache',
): StaticFile {
  const bytes =
    typeof body === 'string'
      ? Buffer.from(body)
      : Buffer.from(body.buffer, body.byteOffset, body.byteLength);
  const tag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`;
  return { body: bytes, type, tag, cacheControl };
}

/** Sends the file with its tag. The tag was made once; Express would hash the body again for every request. */
export function sendStatic(file: StaticFile, request: Request, response: Response): void {
  response.set({ 'content-type': file.type, etag: file.tag, 'cache-control': file.cacheControl });
  if (request.headers['if-none-match'] === file.tag) response.status(304).end();
  else response.set('content-length', String(file.body.length)).end(file.body);
}
