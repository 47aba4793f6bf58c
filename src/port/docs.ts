import express from 'express';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import type { DocsAnswer, DocsRequest } from './docs-worker.ts';
import type { Part } from './part.ts';
import { sendStatic, staticFile, type StaticFile } from './static-file.ts';

const html = 'text/html; charset=utf-8';
const json = 'application/json; charset=utf-8';
const css = 'text/css; charset=utf-8';

/** A thread that is starved for longer than this is given up; the next reader tries again. */
const makeWithinMs = 30_000;

/** `/openapi.json` and `/docs`: what this process answers to, made from the schemas that it checks with. */
export function openDocs(options: {
  version: string;
  /** The module that exports the carriers' own routes (`carrierRoutes`), which this room does not know. */
  carrierRoutes: URL;
  publicUrl: () => string;
}): Part & AsyncDisposable {
  const router = express.Router();
  const style = staticFile(
    readFileSync(new URL('./docs-page.css', import.meta.url)),
    css,
    'max-age=300',
  );
  // The schemas never change while the process runs; only the address by which we are known may.
  let made: { url: string; files: Promise<{ document: StaticFile; page: StaticFile }> } | undefined;
  const files = () => {
    const url = options.publicUrl();
    if (made?.url === url) return made.files;
    const making = {
      url,
      files: makeFiles({
        version: options.version,
        carrierRoutes: options.carrierRoutes.href,
        serverUrl: url,
      }),
    };
    made = making;
    // A thread that failed, for want of memory perhaps, is tried again for the next reader.
    making.files.catch(() => {
      if (made === making) made = undefined;
    });
    return making.files;
  };
  router.get('/openapi.json', async (request, response) => {
    sendStatic((await files()).document, request, response);
  });
  router.get('/docs', async (request, response) => {
    sendStatic((await files()).page, request, response);
  });
  router.get('/docs/style.css', (request, response) => sendStatic(style, request, response));
  return {
    name: 'docs',
    routers: [{ access: 'public', router }],
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

/**
 * Makes both in a thread: hundreds of descriptions are loaded and turned into a page, which would hold up the audio of
 * every call when the first stranger asks. The thread ends with its memory.
 */
async function makeFiles(
  request: DocsRequest,
): Promise<{ document: StaticFile; page: StaticFile }> {
  const worker = new Worker(new URL('./docs-worker.ts', import.meta.url), {
    name: 'docs',
    workerData: request,
  });
  worker.unref();
  try {
    const [answer] = (await once(worker, 'message', {
      signal: AbortSignal.timeout(makeWithinMs),
    })) as [DocsAnswer];
    return { document: staticFile(answer.document, json), page: staticFile(answer.page, html) };
  } finally {
    await worker.terminate();
  }
}
