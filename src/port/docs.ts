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

/** A thread that gets no processor time for longer than this is ended. The next reader tries again. */
const makeWithinMs = 30_000;

/**
 * Serves `/openapi.json` and `/docs`, which describe the routes of this process with the schemas that it checks with.
 */
export function openDocs(options: {
  version: string;
  /** The module that exports the carriers' own routes (`carrierRoutes`), which this room does not know. */
  carrierRoutes: URL;
  publicUrl: () => string;
}): Part & AsyncDisposable {
  const router = express.Router();
  // The schemas never change while the process runs; only the address by which we are known may.
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
    // A thread that failed, for want of memory perhaps, is tried again for the next reader.
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

/** The page consists of our own frame and the library that shows the document. */
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

/** The files are read when they are first asked for, and then kept: most processes are never asked. */
function pageFile(read: Map<string, StaticFile>, name: string): StaticFile {
  const known = read.get(name);
  const file = files[name];
  if (known || !file) return known ?? staticFile('', html);
  const made = staticFile(readFileSync(file.path()), file.type, 'max-age=300');
  read.set(name, made);
  return made;
}

/**
 * Makes the document in a thread: hundreds of descriptions are loaded, which would hold up the audio of every call when
 * the first stranger asks. The thread ends with its memory.
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
