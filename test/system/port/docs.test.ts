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
  const routes = mounted(app);
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

test('the documentation asks no other host, runs no script and names what the process answers', async () => {
  await using app = await startApp();
  const response = await app.get('/docs');
  expect(response.headers.get('content-security-policy')).toContain("default-src 'none'");
  const page = await response.text();
  expect(page).not.toMatch(/<script|\sstyle=|\son\w+=/);
  const addresses = [...page.matchAll(/(?:src|href)="([^"]*)"/g)].map(
    ([, address]) => address ?? '',
  );
  expect(addresses.filter((address) => !/^(?:[/#]|data:,$)/.test(address))).toEqual([]);
  expect((await app.get('/docs/style.css')).headers.get('content-type')).toContain('text/css');
  for (const name of ['/v2/live', '/api/calls/{id}/events', 'call.transcript', 'StreamingRequest'])
    expect(page).toContain(name);
  const document = (await (await app.get('/openapi.json')).json()) as Document;
  expect(document.openapi).toBe('3.1.1');
  expect(Object.keys(document.webhooks)).toContain('call.summary');
});
