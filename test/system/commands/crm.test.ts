import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, test, vi } from 'vitest';
import { startApp } from '../../support/process/app.ts';
import { trunkline } from '../../support/process/command.ts';

vi.setConfig({ testTimeout: 120_000 });

const token = 'a-token-of-the-stand-in-crm';

/** An API of one's own under `/api`: anything else is not there, as a mistyped path is not. */
async function ownApi() {
  const calls = new Set<string>();
  const server = createServer((request, response) => {
    request.resume();
    const { method = '', url = '', headers } = request;
    const call = /^\/api\/calls\/(\w+)$/.exec(url)?.[1];
    if (headers.authorization !== `Bearer ${token}`) response.writeHead(401).end('{}');
    else if (call !== undefined && method === 'PUT') {
      calls.add(call);
      response.writeHead(200).end('{}');
    } else if (call !== undefined && method === 'DELETE')
      response.writeHead(calls.delete(call) ? 204 : 404).end();
    else response.writeHead(404).end('{}');
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    calls,
    [Symbol.asyncDispose]: async () => {
      server.close();
      server.closeAllConnections();
    },
  };
}

const run = async (...args: string[]) => {
  const { ended, lines } = trunkline(['crm', ...args]);
  return { code: await ended, lines, text: lines.join('\n') };
};

test('a wrong path is not connected although its 404 looks like an unknown number, and a right one is proved with a record', async () => {
  await using api = await ownApi();
  await using app = await startApp({ env: { TRUNKLINE_CONNECT_HOSTS: '127.0.0.1' } });
  const connect = (path: string, ...more: string[]) =>
    run('connect', 'generic', '--token', token, '--url', api.url + path, '--process', app.url, ...more); // prettier-ignore
  const list = async () =>
    ((await (await app.get('/api/connections')).json()) as { items: unknown[] }).items;

  const wrong = await connect('/wrong', '--yes');
  expect([wrong.code, await list()]).toEqual([1, []]);
  expect(wrong.lines.slice(0, 3)).toEqual([
    'ok  contacts',
    expect.stringMatching(/^no {2}the CRM did not take the test call: .*404/) as string,
    'Not connected.',
  ]);
  expect(wrong.text).toContain('An API of your own needs:');

  const tried = await connect('/api');
  expect(tried.lines.slice(0, 4)).toEqual([
    'ok  contacts',
    'ok  the CRM took the test call',
    'ok  the test record was removed',
    'Not connected yet: add --yes, and the running process delivers to it from then on.',
  ]);
  expect([tried.code, await list()]).toEqual([0, []]);

  const connected = await connect('/api', '--yes');
  expect(connected.lines.slice(3)).toEqual([
    'connected as crm: each call that ends from now on gets its record there',
    'The links in a record open without a sign-in for 7 days (TRUNKLINE_LINK_LIFE_HOURS); after that they ask for one.',
    'They begin with the address of this machine, which opens nowhere else: set TRUNKLINE_PUBLIC_URL.',
  ]);
  expect(await list()).toHaveLength(1);
  expect([...api.calls]).toEqual([]);

  await connect('/api', '--yes', '--name', 'crm2');
  const which = await run('try', '--process', app.url);
  expect(which.text).toContain(
    'There are several: name one of crm, crm2, as in trunkline crm try crm',
  );
  const second = await run('try', 'crm2', '--process', app.url);
  expect([second.code, second.text]).toEqual([
    0,
    'ok  the CRM took the test call\nok  the test record was removed',
  ]);
  const checked = await run('check', 'crm2', '--process', app.url);
  expect(checked.text).toContain('Reading alone proves no path: trunkline crm try crm2');
});

test('an address that is none is refused by its name, before any help', async () => {
  const refused = await run('connect', 'generic', '--token', token, '--url', 'not-an-address');
  expect(refused.code).toBe(1);
  expect(refused.lines.filter((line) => line !== '')).toEqual([
    'BAD_INPUT: --url not-an-address is no address: it begins with https:// or http://',
  ]);
  const help = await run('connect', 'hubspot');
  expect(help.lines[0]).toBe('HubSpot needs:');
  expect(help.text).toContain('npx trunkline crm connect hubspot --token TOKEN tries it');
  const own = await run('connect', 'generic');
  expect(own.text).toContain('connect generic --token TOKEN --url ADDRESS tries it');
  const other = await run('connect', 'zendesk');
  expect(other.text).toContain('connect zendesk --token TOKEN --option subdomain=... tries it');
  expect(help.text).toContain('several: Which of several contacts with one number. One of newest, none. Usually newest.'); // prettier-ignore
});

test('a private address that the running process does not take is answered with what to do', async () => {
  await using api = await ownApi();
  await using app = await startApp();
  const url = `${api.url}/api`;
  const refused = await run('connect', 'generic', '--token', token, '--url', url, '--process', app.url, '--yes'); // prettier-ignore
  expect(refused.code).toBe(1);
  expect(refused.lines.slice(3, 8)).toEqual([
    'Not connected: the running process does not take it.',
    'Or keep it in the settings, as variables of the environment:',
    '  TRUNKLINE_CRM=generic',
    '  TRUNKLINE_CRM_TOKEN=...',
    `  TRUNKLINE_CRM_URL=${url}`,
  ]);
  expect(refused.text).toContain('TRUNKLINE_CONNECT_HOSTS=127.0.0.1');
  expect(refused.text).not.toContain(token);
});
