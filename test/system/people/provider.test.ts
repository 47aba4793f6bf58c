import { generateKeyPairSync, sign } from 'node:crypto';
import { expect, test } from 'vitest';
import { createLog } from '../../../src/lib/log.ts';
import type { SignInState } from '../../../src/protocol/people-reports.ts';
import {
  clientId,
  clientSecret,
  FormWalker,
  startProvider,
  type ProviderOfTest,
} from '../../support/people/provider.ts';
import { cookieOf, portWithPeople, type PortWithPeople } from '../../support/people/people.ts';
import { temporaryStore } from '../../support/store/store.ts';

const password = 'four-words-are-easy';
const ann = {
  ...{ name: 'Ann Example', preferred_username: 'ann', roles: ['supervisor', 'cook'] },
  ...{ groups: ['north', 'south'], agent: '1007' },
};

type PortWithProvider = NonNullable<Parameters<typeof portWithPeople>[0]>;

async function portAt(
  provider: ProviderOfTest,
  { settings, ...options }: Omit<PortWithProvider, 'settings'> & { settings?: object } = {},
): Promise<PortWithPeople> {
  const port = await portWithPeople({
    ...options,
    settings: {
      provider: {
        ...{ issuer: provider.issuer, clientId, clientSecret },
        ...{ teamsClaim: 'groups', agentClaim: 'agent', ...settings },
      },
    },
  });
  provider.register(`${port.http.ownUrl}/api/session/provider/back`);
  return port;
}

const isBack = (port: PortWithPeople) => (url: string) =>
  url.startsWith(`${port.http.ownUrl}/api/session/provider/back`);
const isPage = (port: PortWithPeople) => (url: string) => new URL(url).pathname === '/' && url.startsWith(port.http.ownUrl); // prettier-ignore

/** Signs in with the forms of the provider. Returns the walker and the address of our page at which it ends. */
async function signIn(port: PortWithPeople, login = 'ann', to = '') {
  const walker = new FormWalker(login);
  const from = `${port.http.ownUrl}/api/session/provider?to=${encodeURIComponent(to)}`;
  return { walker, end: await walker.walk(from, isPage(port)) };
}

async function stateOf(port: PortWithPeople, walker: FormWalker): Promise<SignInState> {
  return (await (await walker.fetch(`${port.http.ownUrl}/api/session`)).json()) as SignInState;
}

test('a person signs in at a provider, with roles, teams and agent from its claims, and the sign-in holds at all nodes, is listed and can be ended', async () => {
  await using provider = await startProvider({ ann, boss: { roles: 'admin' } });
  await using store = await temporaryStore();
  await using port = await portAt(provider, { store });
  // Nobody is let in without a proof, although nobody was added yet.
  expect((await fetch(`${port.http.ownUrl}/api/people`)).status).toBe(401);
  const { walker, end } = await signIn(port, 'ann', '#/calls/call_1');
  expect(end).toBe(`${port.http.ownUrl}/#/calls/call_1`);
  const state = await stateOf(port, walker);
  expect(state).toMatchObject({
    signed_in: true,
    who: { name: 'Ann Example', kind: 'person', roles: ['supervisor'] },
    may: { 'calls.read': 'team' },
  });
  await using other = await portWithPeople({ store, node: 'another-node' });
  expect((await stateOf(other, walker)).signed_in).toBe(true);
  const boss = await signIn(port, 'boss');
  const asBoss = async (path: string, init?: RequestInit) => boss.walker.fetch(port.http.ownUrl + path, init); // prettier-ignore
  const people = (await (await asBoss('/api/people')).json()) as { items: object[] };
  expect(people.items).toMatchObject([
    { login: 'ann', teams: ['north', 'south'], agent_id: '1007', signs_in_by: 'provider' },
    { login: 'boss', roles: ['admin'] },
  ]);
  const { items } = (await (await asBoss('/api/sign-ins')).json()) as { items: { id: string; who: string }[] }; // prettier-ignore
  const anns = items.find(({ who }) => who === 'Ann Example');
  expect((await asBoss(`/api/sign-ins/${anns?.id ?? ''}`, { method: 'DELETE' })).status).toBe(204);
  expect((await stateOf(port, walker)).signed_in).toBe(false);
  const audit = await (await asBoss('/api/audit')).text();
  expect(audit).toContain('"action":"signed in"');
  expect(audit).toContain('"detail":"by the provider"');
});

test('the next sign-in takes what the provider says then: other roles, no role, nobody; a sign-out goes on to the provider', async () => {
  await using provider = await startProvider({ ann });
  await using port = await portAt(provider, {
    settings: { rolesClaim: 'realm_access.roles', roles: ['TL_QA=quality', 'cn=a,dc=b=operator'] },
  });
  expect((await signIn(port)).end).toContain('?sign-in=no-role');
  provider.accounts['ann'] = { ...ann, realm_access: { roles: ['TL_QA'] } };
  const first = await signIn(port);
  expect((await stateOf(port, first.walker)).who?.roles).toEqual(['quality']);
  provider.accounts['ann'] = { ...ann, name: 'Ann New', realm_access: { roles: ['cn=a,dc=b'] } };
  const second = await signIn(port);
  expect((await stateOf(port, second.walker)).who).toMatchObject({
    ...{ name: 'Ann New', roles: ['operator'] },
  });
  // The roles are those of the person, so the older sign-in has them as well.
  expect((await stateOf(port, first.walker)).who?.roles).toEqual(['operator']);
  const left = await second.walker.fetch(`${port.http.ownUrl}/api/session`, { method: 'DELETE' });
  const { continue_at: leave } = (await left.json()) as { continue_at: string };
  expect(leave).toContain(`${provider.issuer}/session/end?`);
  expect((await second.walker.fetch(leave)).status).toBe(200);
  expect((await stateOf(port, second.walker)).signed_in).toBe(false);
  // Without a role nobody signs in, and what was open is closed.
  provider.accounts['ann'] = ann;
  expect((await signIn(port)).end).toContain('?sign-in=no-role');
  expect((await stateOf(port, first.walker)).signed_in).toBe(false);
  // The provider knows this person no longer.
  delete provider.accounts['ann'];
  expect((await signIn(port)).end).not.toMatch(/\/$/);
  expect((await port.store.db.selectFrom('sign_ins').select('id').where('ended_at', 'is', null).execute()).length).toBe(0); // prettier-ignore
});

test('an account of the provider never becomes a local person of the same name', async () => {
  await using provider = await startProvider({ ann });
  await using port = await portAt(provider, { apiKeys: ['key-of-the-settings-in-the-test'] });
  const added = await fetch(`${port.http.ownUrl}/api/people`, {
    method: 'POST',
    headers: { 'x-service-key': 'key-of-the-settings-in-the-test', 'content-type': 'application/json' }, // prettier-ignore
    body: JSON.stringify({ login: 'ann', roles: ['admin'], password }),
  });
  expect(added.status).toBe(201);
  const { walker } = await signIn(port);
  expect((await stateOf(port, walker)).who?.roles).toEqual(['supervisor']);
  const local = await cookieOf(port.http.ownUrl, { login: 'ann', password });
  const state = await fetch(`${port.http.ownUrl}/api/session`, { headers: { cookie: local } });
  expect(((await state.json()) as SignInState).who?.roles).toEqual(['admin']);
  const logins = await port.store.db
    .selectFrom('people')
    .select('login')
    .orderBy('login')
    .execute();
  expect(logins.map(({ login }) => login)).toEqual(['ann', expect.stringMatching(/^ann\+[0-9a-f]{12}$/)]); // prettier-ignore
});

test('an ID token of another audience, issuer, time, nonce or key, or without a signature, signs nobody in', async () => {
  await using provider = await startProvider({ ann });
  await using port = await portAt(provider);
  const stranger = generateKeyPairSync('rsa', { modulusLength: 2_048 }).privateKey;
  const past = Math.floor(Date.now() / 1_000) - 600;
  const changes: Record<string, NonNullable<ProviderOfTest['tamper']>> = {
    audience: ({ header, claims }) => ({ header, claims: { ...claims, aud: 'another-client' } }),
    issuer: ({ header, claims }) => ({ header, claims: { ...claims, iss: 'http://127.0.0.1:1' } }),
    time: ({ header, claims }) => ({ header, claims: { ...claims, iat: past - 60, exp: past } }),
    nonce: ({ header, claims }) => ({ header, claims: { ...claims, nonce: 'of-another-sign-in' } }),
    'no nonce': ({ header, claims: { nonce: _nonce, ...claims } }) => ({ header, claims }),
    'alg none': ({ claims }) => ({ header: { alg: 'none' }, claims, none: true }),
    'no signature': ({ header, claims }) => ({ header, claims, none: true }),
    'unknown key': ({ header, claims }) => ({ header: { ...header, kid: 'unknown' }, claims }),
    // The public key as the secret of a shared one: the classic confusion.
    hs256: ({ header, claims }) => ({ header: { ...header, alg: 'HS256' }, claims }),
    'key in the header': ({ header, claims }) => {
      sign('sha256', Buffer.from('any'), stranger);
      const { n, e } = stranger.export({ format: 'jwk' });
      return { header: { ...header, kid: 'other', jwk: { kty: 'RSA', n, e } }, claims };
    },
  };
  for (const [name, tamper] of Object.entries(changes)) {
    provider.tamper = tamper;
    const { end, walker } = await signIn(port);
    expect([name, end]).toEqual([name, `${port.http.ownUrl}/?sign-in=wrong`]);
    expect([name, walker.cookie('trunkline_session')]).toEqual([name, undefined]);
  }
  provider.tamper = undefined;
  expect((await signIn(port)).end).toBe(`${port.http.ownUrl}/`);
  expect(await port.store.db.selectFrom('sign_ins').select('id').execute()).toHaveLength(1);
});

test('a replayed code, a changed state and the answer of another browser sign nobody in', async () => {
  await using provider = await startProvider({ ann });
  await using port = await portAt(provider);
  const begin = `${port.http.ownUrl}/api/session/provider`;
  const elsewhere = `${port.http.ownUrl}/?sign-in=begun-elsewhere`;
  const walker = new FormWalker('ann');
  const back = await walker.walk(begin, isBack(port));
  const begun = walker.cookie('trunkline_begun');
  // Somebody else is led to the address with a code that is not theirs.
  expect((await new FormWalker('eve').fetch(back)).headers.get('location')).toBe(elsewhere);
  const eve = new FormWalker('eve');
  await eve.fetch(begin);
  expect((await eve.fetch(back)).headers.get('location')).toBe(elsewhere);
  const changed = new URL(back);
  changed.searchParams.set('state', 'another-state-of-the-same-length-0123456789');
  expect((await walker.fetch(changed.href)).headers.get('location')).toBe(elsewhere);
  // The attempt used the cookie up. The sign-in goes on with a cookie put back by hand, and then its code is used.
  walker.setCookie('trunkline_begun', begun);
  expect((await walker.fetch(back)).headers.get('location')).toBe(`${port.http.ownUrl}/`);
  expect(walker.cookie('trunkline_begun')).toBeUndefined();
  expect((await walker.fetch(back)).headers.get('location')).toBe(elsewhere);
  walker.setCookie('trunkline_begun', begun);
  expect((await walker.fetch(back)).headers.get('location')).toBe(`${port.http.ownUrl}/?sign-in=refused`); // prettier-ignore
  // A cookie that somebody made up, or changed by one letter, opens nothing.
  for (const forged of ['x'.repeat(200), changedInTheMiddle(begun ?? ''), '%', 'a=b']) {
    walker.setCookie('trunkline_begun', forged);
    expect((await walker.fetch(back)).headers.get('location')).toBe(elsewhere);
  }
});

test('the way back leads to our page alone, whatever address or host somebody gives', async () => {
  await using provider = await startProvider({ ann });
  await using port = await portAt(provider, { apiKeys: ['key-of-the-settings-in-the-test'] });
  for (const to of [
    'https://evil.example/',
    '//evil.example',
    '/\\evil.example',
    '#//evil.example@x\r\nset-cookie: a=b',
    'javascript:alert(1)',
    '#x',
    '.evil.example',
  ])
    // prettier-ignore
    expect((await signIn(port, 'ann', to)).end).toBe(`${port.http.ownUrl}/`);
  const begun = await fetch(`${port.http.ownUrl}/api/session/provider`, {
    redirect: 'manual',
    headers: { 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'https' },
  });
  const at = new URL(begun.headers.get('location') ?? '');
  expect(at.origin).toBe(provider.issuer);
  expect(at.searchParams.get('redirect_uri')).toBe(`${port.http.ownUrl}/api/session/provider/back`);
  expect(at.searchParams.get('code_challenge_method')).toBe('S256');
});

test('a provider that is down, silent, in trouble, endless or another one is said to be so, and passwords go on', async () => {
  await using provider = await startProvider({ ann });
  const lines: string[] = [];
  await using port = await portAt(provider, { apiKeys: ['key-of-the-settings-in-the-test'], log: createLog({ destination: { write: (line) => void lines.push(line) } }) }); // prettier-ignore
  const admin = { 'x-service-key': 'key-of-the-settings-in-the-test' };
  const trial = async (): Promise<string> =>
    (await fetch(`${port.http.ownUrl}/api/provider/trial`, { method: 'POST', headers: admin })).text(); // prettier-ignore
  expect(await trial()).toContain('"problem":null');
  const troubles: [RegExp, NonNullable<ProviderOfTest['instead']>][] = [
    [/answered with 503/, (_request, response) => response.writeHead(503).end()],
    [/no answer/, (request) => request.socket.destroy()],
    [/no answer within the deadline/, () => undefined],
    [/longer than 1048576 bytes/, (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.write('['.repeat(2_000_000));
    }], // prettier-ignore
    [/cannot be believed/, (_request, response) => {
      response.writeHead(200, { 'content-type': 'application/json' });
      response.end(JSON.stringify({ issuer: 'https://evil.example', authorization_endpoint: 'https://evil.example/a' })); // prettier-ignore
    }], // prettier-ignore
  ];
  for (const [words, instead] of troubles) {
    provider.instead = instead;
    expect(await trial()).toMatch(words);
    const { end } = await signIn(port);
    expect(end).toMatch(/\?sign-in=(?:away|wrong)$/);
  }
  // A provider that fails between the sign-in and its code.
  provider.instead = undefined;
  await trial();
  const walker = new FormWalker('ann');
  const back = await walker.walk(`${port.http.ownUrl}/api/session/provider`, isBack(port));
  provider.instead = (_request, response) => response.writeHead(500).end();
  expect((await walker.fetch(back)).headers.get('location')).toContain('?sign-in=away');
  // Somebody with a key is not held up.
  expect((await fetch(`${port.http.ownUrl}/api/people`, { headers: admin })).status).toBe(200);
  const told = lines.join('\n');
  expect(told).toContain('a sign-in by the provider failed');
  for (const secret of [
    clientSecret,
    new URL(back).searchParams.get('code') ?? '',
    walker.cookie('trunkline_begun') ?? 'none-at-all',
  ])
    // prettier-ignore
    expect(told).not.toContain(secret);
});

test('a claim with ten thousand roles is read, one with ten thousand teams is refused, and one with strange values changes nothing', async () => {
  await using provider = await startProvider({ ann });
  await using port = await portAt(provider);
  const many = Array.from({ length: 10_000 }, (_, at) => `role-${at}`);
  provider.accounts['ann'] = { ...ann, roles: [...many, 'admin'] };
  const first = await signIn(port);
  expect((await stateOf(port, first.walker)).who?.roles).toEqual(['admin']);
  provider.accounts['ann'] = { ...ann, groups: many };
  expect((await signIn(port)).end).toContain('?sign-in=unclear');
  for (const roles of [{ admin: true }, [['admin']], [null, 7], '__proto__', { '0': 'admin' }]) {
    provider.accounts['ann'] = { ...ann, roles };
    expect((await signIn(port)).end).toContain('?sign-in=no-role');
  }
});

function changedInTheMiddle(text: string): string {
  const at = text.length >> 1;
  return text.slice(0, at) + (text[at] === 'A' ? 'B' : 'A') + text.slice(at + 1);
}
