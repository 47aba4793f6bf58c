import type { Command } from 'commander';
import { createInterface } from 'node:readline/promises';
import { TrunklineError } from '../lib/errors.ts';
import type { ApiPerson, PersonList } from '../protocol/people-reports.ts';
import { personRoles } from '../protocol/rights.ts';
import { answerOf, requestOf, runningProcess } from './running-process.ts';
import { printJson, printLine, printNote, printTable } from './terminal.ts';

type PeopleCommandOptions = { url?: string; json?: boolean };
type PersonOptions = PeopleCommandOptions & {
  role?: string[];
  team?: string[];
  agent?: string;
  name?: string;
  password?: boolean;
};

/** `trunkline people`: adds, changes, lists and removes the people who may sign in. */
export function registerPeople(program: Command): void {
  const people = program.command('people').description('people who may sign in, and their roles');
  const url = ['--url <url>', 'the running process; by default the one of these settings'] as const;
  const about = (command: Command): Command =>
    command
      .option('--role <roles...>', `what the person is: ${personRoles.join(', ')}`)
      .option('--team <teams...>', 'the teams; a supervisor sees the calls of their teams')
      .option('--agent <id>', 'the agent whose calls are the person’s own')
      .option('--name <name>', 'the name to show')
      .option('--json', 'as data')
      .option(...url);
  about(people.command('add'))
    .argument('<login>', 'the name to sign in with')
    .description('add a person; the password is asked for, or read from stdin')
    .action(add);
  about(people.command('change'))
    .argument('<login>', 'the name to sign in with')
    .option('--password', 'ask for a new password, and end all sign-ins of the person')
    .description('change the roles, teams, agent, name or password of a person')
    .action(change);
  people
    .command('list')
    .description('everybody who may sign in')
    .option('--json', 'as data')
    .option(...url)
    .action(list);
  people
    .command('remove')
    .argument('<login>', 'the name to sign in with')
    .description('remove a person, and end their sign-ins')
    .option(...url)
    .action(remove);
}

async function add(login: string, options: PersonOptions): Promise<void> {
  const { role, url, json } = options;
  if (role === undefined)
    throw new TrunklineError('BAD_INPUT', `say --role: ${personRoles.join(', ')}`);
  const { api } = runningProcess(url);
  const password = await askedPassword(`Password for ${login}: `);
  const body = { login, roles: listOf(role), ...fieldsOf(options), password };
  const person = (await requestOf(api, '/api/people', { method: 'POST', body })) as ApiPerson;
  if (json) {
    printJson(person, 2);
    return;
  }
  printLine(`${person.login} may sign in as ${person.roles.join(', ')}`);
}

async function change(login: string, options: PersonOptions): Promise<void> {
  const { role, url, json, password } = options;
  const { api } = runningProcess(url);
  const { id } = await personNamed(login, url);
  const body = {
    ...(role === undefined ? {} : { roles: listOf(role) }),
    ...fieldsOf(options),
    ...(password ? { password: await askedPassword(`New password for ${login}: `) } : {}),
  };
  const path = `/api/people/${encodeURIComponent(id)}`;
  const person = (await requestOf(api, path, { method: 'PATCH', body })) as ApiPerson;
  if (json) {
    printJson(person, 2);
    return;
  }
  printLine(`${person.login} is ${person.roles.join(', ')}`);
}

function fieldsOf({ team, agent, name }: PersonOptions): Record<string, unknown> {
  return {
    ...(team === undefined ? {} : { teams: listOf(team) }),
    ...(agent === undefined ? {} : { agent_id: agent }),
    ...(name === undefined ? {} : { name }),
  };
}

function listOf(texts: readonly string[]): string[] {
  return texts.flatMap((text) => text.split(',')).filter(Boolean);
}

async function list({ url, json }: PeopleCommandOptions): Promise<void> {
  const { api } = runningProcess(url);
  const { items } = await answerOf<PersonList>(api, '/api/people');
  if (json) {
    printJson({ items }, 2);
    return;
  }
  if (items.length === 0) {
    printLine('nobody was added yet');
    return;
  }
  printTable(
    ['login', 'name', 'roles', 'teams', 'agent', 'signs in by'],
    items.map((one) => [
      one.login,
      one.name,
      one.roles.join(','),
      one.teams.join(',') || '-',
      one.agent_id ?? '-',
      one.signs_in_by,
    ]),
  );
}

async function remove(login: string, { url }: PeopleCommandOptions): Promise<void> {
  const { api } = runningProcess(url);
  const { id } = await personNamed(login, url);
  await requestOf(api, `/api/people/${encodeURIComponent(id)}`, { method: 'DELETE' });
  printLine(`${login} may not sign in any more`);
}

async function personNamed(login: string, url: string | undefined): Promise<ApiPerson> {
  const { api } = runningProcess(url);
  const { items } = await answerOf<PersonList>(api, '/api/people');
  const person = items.find((one) => one.login === login.trim().toLowerCase());
  if (person === undefined) throw new TrunklineError('BAD_INPUT', `there is no person "${login}"`);
  return person;
}

/** Reads a line from stdin. A terminal does not show what is typed. */
async function askedPassword(question: string): Promise<string> {
  const isTerminal = process.stdin.isTTY;
  if (isTerminal) printNote(question);
  const lines = createInterface({ input: process.stdin, terminal: isTerminal });
  try {
    const password = await lines.question('');
    if (password === '') throw new TrunklineError('BAD_INPUT', 'no password was given');
    return password;
  } finally {
    lines.close();
  }
}
