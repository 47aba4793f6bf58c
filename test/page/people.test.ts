import { expect, test } from 'vitest';
import { browserOfFile } from '../support/browser/page-tests.ts';
import { startProvider } from '../support/people/provider.ts';
import { startApp, type App } from '../support/process/app.ts';

const browser = browserOfFile();
const key = 'key-of-the-settings-in-the-test';
const password = 'four-words-are-easy';

async function add(app: App, login: string, role: string): Promise<void> {
  const answer = await app.get('/api/people', {
    method: 'POST',
    headers: { 'x-service-key': key, 'content-type': 'application/json' },
    body: JSON.stringify({ login, name: `${login} of the test`, roles: [role], password }),
  });
  expect(answer.status).toBe(201);
}

test('each role signs in by name and password, sees who they are and what they may use, and signs out', async () => {
  await using app = await startApp({ env: { TRUNKLINE_API_KEYS: key } });
  const shown: Record<string, string[]> = {};
  for (const role of ['agent', 'supervisor', 'quality', 'operator', 'admin']) {
    await add(app, `ann-${role}`, role);
    const { page, ...opened } = await browser.open(`${app.url}/`);
    await page.getByLabel('Name').fill(`ann-${role}`);
    await page.getByLabel('Password').fill('not-the-password');
    await page.getByRole('button', { name: 'Sign in' }).first().click();
    await page.getByText('The name or the password is wrong.').waitFor();
    if (role === 'agent') {
      await opened.screenshot('people-sign-in');
      expect(await opened.violations()).toEqual([]);
    }
    await page.getByLabel('Password').fill(password);
    await page.getByRole('button', { name: 'Sign in' }).first().click();
    const emptyFor = ['operator', 'admin'].includes(role) ? 'Place a test call to see how it works' : 'Calls that you may see appear here'; // prettier-ignore
    await page.getByText(`No calls yet. ${emptyFor}`).waitFor();
    if (role === 'agent') {
      await page.goto(`${app.url}/#/installation`);
      await page.getByText('You may not see the installation.').waitFor();
      expect(await page.getByRole('button', { name: 'Try again' }).count()).toBe(0);
    }
    shown[role] = await page.locator('nav a:visible').evaluateAll((links) => links.map((link) => link.getAttribute('data-view') ?? '')); // prettier-ignore
    expect(await page.getByRole('button', { name: 'Place a test call' }).count()).toBe(['operator', 'admin'].includes(role) ? 1 : 0); // prettier-ignore
    await page.locator('.who summary').click();
    await page.locator('.who').getByText(role, { exact: true }).waitFor();
    expect(await opened.violations()).toEqual([]);
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Password').waitFor();
    await page.context().close();
  }
  const all = [
    'calls',
    'board',
    'search',
    'scores',
    'playbooks',
    'jobs',
    'deliveries',
    'installation',
  ];
  expect(shown).toEqual({
    ...{ agent: ['calls', 'search', 'scores'], supervisor: ['calls', 'board', 'search', 'scores'] },
    ...{
      quality: ['calls', 'board', 'search', 'scores'],
      operator: all,
      admin: [...all, 'people'],
    },
  });
});

test('an admin makes a key on the page, sees it once, and revokes it; the record tells of it', async () => {
  await using app = await startApp({ env: { TRUNKLINE_API_KEYS: key } });
  await add(app, 'ann', 'admin');
  const { page, ...opened } = await browser.open(`${app.url}/#/people`);
  await page.getByLabel('Name').fill('ann');
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).first().click();
  await page.getByLabel('Name of a new key').fill('wallboard');
  await page.getByLabel('read', { exact: true }).check();
  await page.getByRole('button', { name: 'Make a key' }).click();
  const told = page.getByText(/is shown this once: tlk_/);
  await told.waitFor();
  const text = /tlk_[\w-]{49}/.exec((await told.textContent()) ?? '')?.[0] ?? '';
  const ask = () => app.get('/api/calls', { headers: { 'x-service-key': text } });
  expect((await ask()).status).toBe(200);
  await page.getByText('made a key').waitFor();
  expect(await page.getByText('Loading the people').isVisible()).toBe(false);
  for (const width of [1280, 390]) {
    await page.setViewportSize({ width, height: 900 });
    await opened.screenshot(`people-${width}`);
    expect(await opened.violations()).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
  }
  await page.getByRole('button', { name: 'Revoke wallboard' }).click();
  await page.getByText('revoked', { exact: true }).waitFor();
  expect((await ask()).status).toBe(401);
  await page.context().close();
});

test('somebody signs in at a provider from the page, comes back to the view they opened, and signs out at both', async () => {
  await using provider = await startProvider({
    ann: { name: 'Ann Example', preferred_username: 'ann', roles: ['operator'] },
    eve: { name: 'Eve Example', roles: ['cook'] },
  });
  await using app = await startApp({ env: provider.env });
  provider.register(`${app.url}/api/session/provider/back`);
  const { page, ...opened } = await browser.open(`${app.url}/#/deliveries`);
  const toProvider = page.getByRole('link', { name: 'Sign in with the test’s provider' });
  await toProvider.waitFor();
  await opened.screenshot('people-provider');
  expect(await opened.violations()).toEqual([]);
  // The provider's pages name a style sheet of another machine.
  await page.route(/googleapis/, (route) => route.abort());
  const signInAs = async (login: string): Promise<void> => {
    await toProvider.click();
    await page.getByPlaceholder('Enter any login').fill(login);
    await page.getByPlaceholder('and password').fill('any password');
    await page.getByRole('button', { name: 'Sign-in' }).click();
    await page.getByRole('button', { name: 'Continue' }).click();
  };
  await signInAs('eve');
  await page.getByText('The provider gives you no role here. Ask for one.').waitFor();
  expect(await opened.violations()).toEqual([]);
  expect(new URL(page.url()).search).toBe('');
  await page.context().clearCookies();
  await signInAs('ann');
  await page.getByRole('heading', { name: 'Deliveries' }).waitFor();
  expect(page.url()).toBe(`${app.url}/#/deliveries`);
  await page.locator('.who summary').click();
  await page.locator('.who').getByText('Ann Example').last().waitFor();
  await page.getByRole('button', { name: 'Sign out' }).click();
  await page.waitForURL(`${provider.issuer}/session/end*`);
  await page.goto(`${app.url}/`);
  await toProvider.waitFor();
  await page.context().close();
});

test('an admin changes a person on the page, gives them a new password and ends their sign-ins', async () => {
  await using app = await startApp({ env: { TRUNKLINE_API_KEYS: key } });
  await add(app, 'boss', 'admin');
  await add(app, 'bob', 'agent');
  const asked = (secret: string) =>
    app.get('/api/session', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ login: 'bob', password: secret }),
    });
  const signedIn = await asked(password);
  const cookie = signedIn.headers.get('set-cookie')?.split(';')[0] ?? '';
  const callsAs = async (): Promise<number> =>
    (await app.get('/api/calls', { headers: { cookie } })).status;
  expect(await callsAs()).toBe(200);
  const { page, ...opened } = await browser.open(`${app.url}/#/people`);
  await page.getByLabel('Name').fill('boss');
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).first().click();
  await page.getByRole('button', { name: 'Change bob' }).click();
  const form = page.getByRole('form', { name: 'Change bob of the test' });
  await form.getByLabel('Shown name').fill('Bob Example');
  await form.getByLabel('supervisor').check();
  await form.getByLabel('Teams').fill('north, south,');
  await form.getByLabel('Agent:').fill('1007');
  for (const width of [1280, 390]) {
    await page.setViewportSize({ width, height: 900 });
    await opened.screenshot(`people-change-${width}`);
    expect(await opened.violations()).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
  }
  await form.getByRole('button', { name: 'Save' }).click();
  await page.getByText('bob was changed.').waitFor();
  await page.getByRole('cell', { name: 'agent, supervisor' }).waitFor();
  expect(await callsAs()).toBe(200);
  await page.getByRole('button', { name: 'Change bob' }).click();
  await page.getByRole('button', { name: 'End their sign-ins' }).click();
  await page.getByText('bob is signed out everywhere.').waitFor();
  expect(await callsAs()).toBe(401);
  await page.getByLabel('New password').fill('another-four-words-here');
  await page.getByRole('button', { name: 'Save' }).click();
  await page.getByText('bob was changed.').waitFor();
  expect([(await asked(password)).status, (await asked('another-four-words-here')).status]).toEqual([401, 204]); // prettier-ignore
  const { items } = (await (await app.get('/api/people', { headers: { 'x-service-key': key } })).json()) as { items: object[] }; // prettier-ignore
  expect(items).toContainEqual(
    expect.objectContaining({
      ...{ login: 'bob', name: 'Bob Example', roles: ['agent', 'supervisor'] },
      ...{ teams: ['north', 'south'], agent_id: '1007' },
    }),
  );
  await page.context().close();
});

test('an admin adds a person on the page, who then signs in; a name that is taken is refused in words', async () => {
  await using app = await startApp({ env: { TRUNKLINE_API_KEYS: key } });
  await add(app, 'boss', 'admin');
  const { page, ...opened } = await browser.open(`${app.url}/#/people`);
  await page.getByLabel('Name').fill('boss');
  await page.getByLabel('Password').fill(password);
  await page.getByRole('button', { name: 'Sign in' }).first().click();
  await page.getByRole('button', { name: 'Add a person' }).click();
  const form = page.getByRole('form', { name: 'Add a person' });
  await form.getByLabel('Signs in as').fill('boss');
  await form.getByLabel('First password').fill('a-first-password');
  await form.getByRole('button', { name: 'Add' }).click();
  await page.getByText('there is a person "boss" already').waitFor();
  await form.getByLabel('Signs in as').fill('carla');
  await form.getByLabel('Shown name').fill('Carla Example');
  await form.getByLabel('Teams').fill('north');
  await form.getByLabel('Agent:').fill('2001');
  for (const width of [1280, 390]) {
    await page.setViewportSize({ width, height: 900 });
    await opened.screenshot(`people-add-${width}`);
    expect(await opened.violations()).toEqual([]);
    expect(await page.evaluate('document.documentElement.scrollWidth <= innerWidth')).toBe(true);
  }
  await form.getByRole('button', { name: 'Add' }).click();
  await page.getByText('carla may sign in.').waitFor();
  await page.getByRole('cell', { name: 'Carla Example' }).waitFor();
  const answer = await app.get('/api/session', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ login: 'carla', password: 'a-first-password' }),
  });
  const cookie = answer.headers.get('set-cookie')?.split(';')[0] ?? '';
  const state = await (await app.get('/api/session', { headers: { cookie } })).text();
  expect(state).toContain('agent');
  expect((await app.get('/api/people', { headers: { cookie } })).status).toBe(403);
  await page.context().close();
});
