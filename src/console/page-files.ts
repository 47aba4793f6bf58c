import { Router, type Request, type Response } from 'express';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { Problem } from '../port/problem.ts';

const folder = new URL('./page/', import.meta.url);
const types: Record<string, string> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
};

type File = { body: Buffer; type: string; tag: string };

/** The page as it stands on disk, read once: a few small files, no build step. */
export function pageFiles(): Router {
  const files = readFiles();
  const router = Router();
  router.get('/', (request, response) => sendFile(files.get('index.html'), request, response));
  router.get('/page/:file', (request, response) =>
    sendFile(files.get(request.params.file), request, response),
  );
  return router;
}

function sendFile(file: File | undefined, request: Request, response: Response): void {
  if (!file) throw new Problem(404, 'Not found');
  response.set({ 'content-type': file.type, etag: file.tag, 'cache-control': 'no-cache' });
  if (request.headers['if-none-match'] === file.tag) response.status(304).end();
  else response.send(file.body);
}

/** By name: whatever a request asks for, nothing else is ever read. */
function readFiles(): Map<string, File> {
  const files = new Map<string, File>();
  for (const name of readdirSync(folder)) {
    const type = types[name.split('.').at(-1) ?? ''];
    if (type === undefined) continue;
    const body = readFileSync(new URL(name, folder));
    const tag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;
    files.set(name, { body, type, tag });
  }
  return files;
}
