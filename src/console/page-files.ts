import { Router } from 'express';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';

const folder = new URL('./page/', import.meta.url);
const types: Record<string, string> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
};

type File = { body: Buffer; type: string; tag: string };

/** The page as it stands on disk, read once: a few small files, no build step. */
export function pageFiles(): Router {
  const router = Router();
  for (const [path, file] of readFiles())
    router.get(path, (request, response) => {
      response.set({ 'content-type': file.type, etag: file.tag, 'cache-control': 'no-cache' });
      if (request.headers['if-none-match'] === file.tag) response.status(304).end();
      else response.send(file.body);
    });
  return router;
}

function readFiles(): Map<string, File> {
  const files = new Map<string, File>();
  for (const name of readdirSync(folder, { recursive: true, encoding: 'utf8' })) {
    const type = types[name.split('.').at(-1) ?? ''];
    if (type === undefined) continue;
    const body = readFileSync(new URL(name, folder));
    const tag = `"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`;
    const path = name === 'index.html' ? '/' : `/page/${name.replaceAll('\\', '/')}`;
    files.set(path, { body, type, tag });
  }
  return files;
}
