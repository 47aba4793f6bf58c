import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { homedir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { eventExamples } from '../../src/protocol/event-examples.ts';
import { endsWithUs } from '../support/process/ends-with-us.ts';
import { temporaryFolder } from '../support/store/store.ts';

/*
 * Tryton for real, with a database of its own: ended calls of known numbers and their wrap-ups, three kills of the
 * bridge's outbox and one restart of Tryton in between. Each call must have one note with its wrap-up, and one task for
 * each promise, under the party that has its number. It installs Tryton from the Python index once. CALLS=500 by default.
 */

const calls = Number(process.env['CALLS'] ?? 500);
const password = 'admin-password-0123';
const port = 8_911;
const url = `http://127.0.0.1:${port}/crm/`;
const packages = [
  'trytond==6.0.29',
  'trytond-country==6.0.4',
  'trytond-party==6.0.4',
  'phonenumbers==9.0.43',
  'setuptools<70',
  'werkzeug<2.1',
];

function installed(): string {
  const folder = join(homedir(), '.cache', 'trunkline', 'tryton-6.0.29');
  if (existsSync(join(folder, 'ready'))) return folder;
  execFileSync('python3', ['-m', 'venv', folder], { stdio: 'inherit' });
  execFileSync(join(folder, 'bin', 'pip'), ['install', '-q', '--disable-pip-version-check', ...packages], { stdio: 'inherit' }); // prettier-ignore
  writeFileSync(join(folder, 'ready'), '');
  return folder;
}

async function run(): Promise<boolean> {
  const bin = join(installed(), 'bin');
  await using folder = await temporaryFolder();
  const data = join(folder.path, 'tryton');
  mkdirSync(data);
  const config = join(folder.path, 'trytond.conf');
  writeFileSync(config, `[database]\nuri = sqlite://\npath = ${data}\n[web]\nlisten = 127.0.0.1:${port}\n`); // prettier-ignore
  writeFileSync(join(data, 'crm.sqlite'), '');
  const pass = join(folder.path, 'pass');
  writeFileSync(pass, `${password}\n`);
  execFileSync(
    join(bin, 'trytond-admin'),
    ['-c', config, '-d', 'crm', '-u', 'country', 'party', '--activate-dependencies', '--email', 'a@example.com', '-p'],
    { env: { ...process.env, TRYTONPASSFILE: pass }, stdio: 'ignore' },
  ); // prettier-ignore
  const start = (): ChildProcess =>
    endsWithUs(spawn(join(bin, 'trytond'), ['-c', config, '-d', 'crm'], { stdio: 'ignore' }));
  let tryton = start();
  await answering();
  const numbers = Array.from({ length: 100 }, (_, index) => `+44207946${String(1_000 + index)}`);
  const parties = await makeParties(numbers);

  const node = () =>
    endsWithUs(
      spawn(
        process.execPath,
        ['--disable-warning=ExperimentalWarning', fileURLToPath(new URL('./crm/outbox-child.ts', import.meta.url))],
        {
          env: { ...process.env, DATA: join(folder.path, 'data'), CRM: url, PASSWORD: password, CALLS: String(calls), NUMBERS: JSON.stringify(numbers) },
          stdio: ['ignore', 'pipe', 'inherit'],
        },
      ),
    ); // prettier-ignore
  const startedMs = Date.now();
  for (const share of [0.2, 0.4, 0.6]) {
    const life = node();
    await delivered(life, Math.floor(calls * 2 * share));
    life.kill('SIGKILL');
    await ended(life);
    if (share !== 0.4) continue;
    tryton.kill('SIGKILL');
    await ended(tryton);
    tryton = start();
    await answering();
  }
  const last = node();
  await delivered(last, calls * 2);
  await ended(last);

  const notes = await rpc<{ message: string; resource: string }[]>('model.ir.note.search_read', [[], 0, null, null, ['message', 'resource'], {}]); // prettier-ignore
  const records = notesBy(notes, /trunkline:(\w+)/);
  const tasks = notesBy(notes, /trunkline-task:([\w.]+);/);
  const wrapped = eventExamples['call.wrapped'].data;
  const unwrapped = notes.filter(({ message }) => /trunkline:\w/.test(message) && !message.includes(wrapped.text)).length; // prettier-ignore
  const notesOfAll = [...records, ...tasks];
  const doubles = notesOfAll.filter(([, resources]) => resources.length > 1).length;
  const wrong = notesOfAll.filter(([id, [resource]]) => resource !== `party.party,${parties[Number(id.slice(5, 9)) % numbers.length]}`).length; // prettier-ignore
  tryton.kill('SIGKILL');
  await ended(tryton);
  const seconds = (Date.now() - startedMs) / 1_000;
  console.log(`${calls} calls, 3 kills, 1 restart of Tryton: ${records.size} records, ${tasks.size} tasks, ${doubles} doubled, ${wrong} under a wrong party, ${unwrapped} without the wrap-up, ${seconds.toFixed(0)} s`); // prettier-ignore
  const wanted = calls * wrapped.wrap_up.promises.length;
  return records.size === calls && tasks.size === wanted && doubles + wrong + unwrapped === 0;
}

function notesBy(
  notes: readonly { message: string; resource: string }[],
  mark: RegExp,
): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const { message, resource } of notes) {
    const id = mark.exec(message)?.[1];
    if (id !== undefined) found.set(id, [...(found.get(id) ?? []), resource]);
  }
  return found;
}

async function makeParties(numbers: string[]): Promise<number[]> {
  const values = numbers.map((value, index) => ({
    name: `Party ${index}`,
    contact_mechanisms: [['create', [{ type: 'phone', value }]]],
  }));
  return rpc<number[]>('model.party.party.create', [values, {}]);
}

let session: string | undefined;

async function rpc<T>(method: string, params: unknown[]): Promise<T> {
  if (session === undefined) {
    const [user, key] = await ask<[number, string]>('common.db.login', ['admin', { password }]);
    session = `Session ${Buffer.from(`admin:${user}:${key}`).toString('base64')}`;
  }
  return ask<T>(method, params, session);
}

async function ask<T>(method: string, params: unknown[], authorization?: string): Promise<T> {
  const response = await fetch(url, {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...(authorization === undefined ? {} : { authorization }) }, // prettier-ignore
    body: JSON.stringify({ id: 1, method, params }),
    signal: AbortSignal.timeout(60_000),
  });
  const answer = (await response.json()) as { result?: T; error?: unknown };
  if (answer.error !== undefined) throw new Error(`${method}: ${JSON.stringify(answer.error).slice(0, 500)}`); // prettier-ignore
  return answer.result as T;
}

async function answering(): Promise<void> {
  for (let tries = 0; tries < 100; tries++) {
    const isThere = await fetch(url, { method: 'POST', body: '{}', signal: AbortSignal.timeout(5_000) }).then(() => true, () => false); // prettier-ignore
    if (isThere) return;
    await new Promise((resolve) => setTimeout(resolve, 300));
  }
  throw new Error('Tryton does not answer');
}

function delivered(child: ChildProcess, count: number): Promise<void> {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new Error(`${count} calls were not delivered in 10 min`)), 600_000); // prettier-ignore
    let text = '';
    child.stdout?.on('data', (bytes: Buffer) => {
      text = (text + bytes.toString()).slice(-2_000);
      const last = [...text.matchAll(/delivered (\d+)\n/g)].at(-1)?.[1];
      if (Number(last ?? -1) < count) return;
      clearTimeout(late);
      resolve();
    });
  });
}

async function ended(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  await new Promise<void>((resolve) => child.once('exit', () => resolve()));
}

process.exit((await run()) ? 0 : 1);
