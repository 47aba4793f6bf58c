import express from 'express';
import { readFileSync } from 'node:fs';
import { docsPage } from './lib/docs-page.ts';
import type { Part } from './lib/part.ts';
import { openApiDocument } from './protocol/openapi/document.ts';

const style = readFileSync(new URL('./lib/docs-page.css', import.meta.url), 'utf8');

/** `/openapi.json` and `/docs`: what this process answers to, made from the schemas it checks with. */
export function openDocs(options: {
  version: string;
  publicUrl: () => string;
}): Part & AsyncDisposable {
  const router = express.Router();
  const documentNow = (): Record<string, unknown> =>
    openApiDocument({ version: options.version, serverUrl: options.publicUrl() });
  // The schemas never change while the process runs; only the address by which we are known may.
  let made: { url: string; document: Record<string, unknown>; page: string } | undefined;
  const current = () => {
    const url = options.publicUrl();
    if (made?.url !== url) {
      const document = documentNow();
      const page = docsPage(document, { style: '/docs/style.css', source: '/openapi.json' });
      made = { url, document, page };
    }
    return made;
  };
  router.get('/openapi.json', (_request, response) => {
    response.json(current().document);
  });
  router.get('/docs', (_request, response) => {
    response.type('html').send(current().page);
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
