import express from 'express';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { Worker } from 'node:worker_threads';
import type { DocsAnswer, DocsRequest } from './docs-worker.ts';
import type { Part } from './part.ts';
import { Problem } from './problem.ts';
import { sendStatic, staticFile, type StaticFile } from './static-file.ts';

const html = 'text/html; charset=utf-8';
const json = 'application/json; charset=utf-8';
const css = 'text/css; charset=utf-8';
const script = 'text/javascript; charset=utf-8';

/** The thread that makes the document is ended if it takes longer than this. The next reader starts it again. */
const makeWithinMs = 30_000;

/**
 * Serves `/openapi.json` and `/docs`. They describe the routes of this process with the schemas that check the
 * requests.
 */
export function openDocs(options: {
  version: string;
  /**
   * The module that exports the carriers' own routes as `carrierRoutes`. This folder must not import the carriers
   * itself.
   */
  carrierRoutes: URL;
  publicUrl: () => string;
}): Part & AsyncDisposable {
  const router = express.Router();
  // The schemas never change while the process runs. Only our public address may change.
  let made: { url: string; document: Promise<StaticFile> } | undefined;
  const documentNow = () => {
    const url = options.publicUrl();
    if (made?.url === url) return made.document;
    const making = {
      url,
      document: makeDocument({
        version: options.version,
        carrierRoutes: options.carrierRoutes.href,
        serverUrl: url,
      }),
    };
    made = making;
    // If the thread failed, perhaps for lack of memory, it is started again for the next reader.
    making.document.catch(() => {
      if (made === making) made = undefined;
    });
    return making.document;
  };
  const pageFiles = new Map<string, StaticFile>();
  router.get('/openapi.json', async (request, response) => {
    sendStatic(await documentNow(), request, response);
  });
  router.get('/docs', (request, response) => {
    sendStatic(pageFile(pageFiles, 'page.html'), request, response);
  });
  router.get('/docs/:file', (request, response) => {
    const { file } = request.params;
    if (!Object.hasOwn(files, file)) throw new Problem(404, 'no such file');
    sendStatic(pageFile(pageFiles, file), request, response);
  });
  return {
    name: 'docs',
    routers: [{ access: 'public', router }],
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}

/** The page consists of a frame of our own and of the library that shows the document. */
const files: Record<string, { path: () => URL; type: string }> = {
  'page.html': { path: () => new URL('./docs-page.html', import.meta.url), type: html },
  'page.css': { path: () => new URL('./docs-page.css', import.meta.url), type: css },
  'start.js': { path: () => new URL('./docs-start.js', import.meta.url), type: script },
  'swagger-ui.css': {
    path: () => new URL(import.meta.resolve('swagger-ui-dist/swagger-ui.css')),
    type: css,
  },
  'swagger-ui-bundle.js': {
    path: () => new URL(import.meta.resolve('swagger-ui-dist/swagger-ui-bundle.js')),
    type: script,
  },
};

/** A file is read when it is first requested and is then kept, because most processes are never asked for it. */
function pageFile(read: Map<string, StaticFile>, name: string): StaticFile {
  const known = read.get(name);
  const file = files[name];
  if (known || !file) return known ?? staticFile('', html);
  const made = staticFile(readFileSync(file.path()), file.type, 'max-age=300');
  read.set(name, made);
  return made;
}

/**
 * Makes the document in a thread. It loads hundreds of descriptions, which would delay the audio of every call when a
 * stranger asks for the first time. The thread then ends and frees its memory.
 */
async function makeDocument(request: DocsRequest): Promise<StaticFile> {
  const worker = new Worker(new URL('./docs-worker.ts', import.meta.url), {
    name: 'docs',
    workerData: request,
  });
  worker.unref();
  try {
    const [answer] = (await once(worker, 'message', {
      signal: AbortSignal.timeout(makeWithinMs),
    })) as [DocsAnswer];
    return staticFile(answer.document, json);
  } finally {
    await worker.terminate();
  }
}
