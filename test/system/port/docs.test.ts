import { expect, test } from 'vitest';
import { startApp, type App } from '../../support/process/app.ts';

/** Says each route on stderr as it is mounted. */
const recorder = new URL('../../support/process/record-routes.mjs', import.meta.url).href;

type Document = {
  openapi: string;
  paths: Record<string, Record<string, unknown>>;
  webhooks: Record<string, unknown>;
};

function mounted(app: App): { method: string; path: string }[] {
  return app.lines.flatMap((line) => {
    const [, method, path] = /^mounted (\w+) (.*)$/.exec(line) ?? [];
    if (!method || !path) return [];
    return [{ method, path: path.replaceAll(/:(\w+)/g, '{$1}') }];
  });
}

test('every route that is mounted is documented, and every documented one is answered', async () => {
  await using app = await startApp({ env: { NODE_OPTIONS: `--import=${recorder}` } });
  const document = (await (await app.get('/openapi.json')).json()) as Document;
  // An address answers every other method with 405: that is no route.
  const routes = mounted(app).filter(({ method }) => method !== 'all');
  const documented = Object.entries(document.paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => ({ method, path })),
  );
  expect(routes.length).toBeGreaterThan(30);
  expect(routes.filter((route) => !documented.some((one) => isSame(one, route)))).toEqual([]);
  const unanswered = documented.filter((one) => !routes.some((route) => isSame(one, route)));
  expect(unanswered).toEqual([]);
});

function isSame(a: { method: string; path: string }, b: { method: string; path: string }): boolean {
  return a.method === b.method && a.path === b.path;
}

test('the page of the documentation is served from here alone, and a file that is none of it is refused', async () => {
  await using app = await startApp();
  const response = await app.get('/docs');
  expect(response.headers.get('content-security-policy')).toContain("default-src 'none'");
  const page = await response.text();
  const addresses = [...page.matchAll(/(?:src|href)="([^"]*)"/g)].map(([, one]) => one ?? '');
  expect(addresses.filter((address) => !/^(?:\/|data:,$)/.test(address))).toEqual([]);
  const files = addresses.filter((address) => address.startsWith('/docs/'));
  expect(files.length).toBeGreaterThan(2);
  for (const file of files) {
    const answer = await app.get(file);
    expect(answer.headers.get('content-type')).toMatch(/^text\/(?:css|javascript)/);
    const tag = answer.headers.get('etag') ?? '';
    expect((await app.get(file, { headers: { 'if-none-match': tag } })).status).toBe(304);
  }
  for (const file of [
    'package.json',
    '..%2fdocs.ts',
    '%2e%2e%2fpackage.json',
    '__proto__',
    'constructor',
  ])
    expect((await app.get(`/docs/${file}`)).status, file).toBe(404);
  const document = (await (await app.get('/openapi.json')).json()) as Document;
  expect(document.openapi).toBe('3.1.1');
  expect(Object.keys(document.webhooks)).toContain('call.summary');
});
