import express from 'express';
import { readFileSync } from 'node:fs';
import { docsPage } from './docs-page.ts';
import type { Part } from './part.ts';

const style = readFileSync(new URL('./docs-page.css', import.meta.url), 'utf8');

/** `/openapi.json` and `/docs`: what this process answers to, made from the schemas it checks with. */
export function openDocs(options: {
  version: string;
  publicUrl: () => string;
}): Part & AsyncDisposable {
  const router = express.Router();
  // The schemas never change while the process runs; only the address by which we are known may.
  let made: { url: string; document: Record<string, unknown>; page: string } | undefined;
  const current = async () => {
    const url = options.publicUrl();
    if (made?.url !== url) {
      // Hundreds of descriptions that only a reader of this page needs: they are loaded for the first one.
      const { openApiDocument } = await import('../protocol/openapi/document.ts');
      const document = openApiDocument({ version: options.version, serverUrl: url });
      const page = docsPage(document, { style: '/docs/style.css', source: '/openapi.json' });
      made = { url, document, page };
    }
    return made;
  };
  router.get('/openapi.json', async (_request, response) => {
    response.json((await current()).document);
  });
  router.get('/docs', async (_request, response) => {
    response.type('html').send((await current()).page);
  });
  router.get('/docs/style.css', (_request, response) => {
    response.type('css').set('cache-control', 'max-age=300').send(style);
  });
  return {
    name: 'docs',
    routers: [{ access: 'public', router }],
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}
