import type { Command } from 'commander';
import { TrunklineError } from '../lib/errors.ts';
import type { Api } from '../player/api-client.ts';
import type { ApiCall, CallDiagnostics, ApiDelivery } from '../protocol/api.ts';
import type { CallEvent } from '../protocol/events.ts';
import { callReport, type CallFacts } from './doctor-call.ts';
import { installationFindings } from './doctor-installation.ts';
import { askProcess, runningProcess, whyUnreachable } from './running-process.ts';

type Options = { url?: string; json?: boolean };

const answerWithinMs = 10_000;

/** `trunkline doctor [call]`: one call's evidence, or the installation's, and what to do about it. */
export function registerDoctor(program: Command): void {
  program
    .command('doctor')
    .argument('[call]', 'the id of a call, ours or the carrier’s')
    .description('evidence of one call, or of this installation, and what to do')
    .option('--url <url>', 'the running process; by default the one of these settings')
    .option('--json', 'as data')
    .action((call: string | undefined, options: Options) =>
      call === undefined ? installation(options) : oneCall(call, options),
    );
}

async function installation(options: Options): Promise<void> {
  const { api, config } = runningProcess(options.url);
  const findings = await installationFindings(config, api);
  if (options.json) console.log(JSON.stringify(findings, null, 2));
  else {
    const marks = { ok: 'ok ', attention: ' ! ', wrong: 'NO ' };
    for (const { what, state, detail, todo } of findings)
      console.log(
        `${marks[state]} ${what.padEnd(11)} ${detail}${todo === undefined ? '' : `\n    ${' '.repeat(11)} → ${todo}`}`,
      );
  }
  if (findings.some((finding) => finding.state === 'wrong')) process.exitCode = 1;
}

async function oneCall(id: string, options: Options): Promise<void> {
  const { api } = runningProcess(options.url);
  const facts = await factsOf(api, id);
  const report = callReport(facts);
  if (options.json) {
    console.log(JSON.stringify({ ...facts, todo: report.todo }, null, 2));
    return;
  }
  console.log(report.lines.join('\n'));
  console.log(
    report.todo.length === 0
      ? '\nNothing to do.'
      : `\nTo do:\n${report.todo.map((line) => `  → ${line}`).join('\n')}`,
  );
}

async function factsOf(api: Api, id: string): Promise<CallFacts> {
  const call = await findCall(api, id);
  const path = `/api/calls/${encodeURIComponent(call.id)}`;
  const [evidence, events, deliveries] = await Promise.all([
    ask<CallDiagnostics>(api, `${path}/evidence`),
    everyPage<CallEvent>(api, `${path}/events?limit=1000`),
    everyPage<ApiDelivery>(api, `/api/deliveries?limit=100&call_id=${encodeURIComponent(call.id)}`),
  ]);
  return { call, evidence, events, deliveries };
}

/** Engineers hold the carrier's id as often as ours. */
async function findCall(api: Api, id: string): Promise<ApiCall> {
  if (id.startsWith('call_')) return ask<ApiCall>(api, `/api/calls/${encodeURIComponent(id)}`);
  const { items } = await ask<{ items: ApiCall[] }>(
    api,
    `/api/calls?limit=1&carrier_call_id=${encodeURIComponent(id)}`,
  );
  const [call] = items;
  if (call === undefined) throw new TrunklineError('BAD_INPUT', `no call is known as ${id}`);
  return call;
}

async function everyPage<T>(api: Api, path: string): Promise<T[]> {
  const all: T[] = [];
  for (let cursor: string | null = ''; cursor !== null;) {
    const next: string = cursor === '' ? path : `${path}&cursor=${encodeURIComponent(cursor)}`;
    const page: { items: T[]; next_cursor: string | null } = await ask(api, next);
    all.push(...page.items);
    cursor = page.next_cursor;
  }
  return all;
}

async function ask<T>(api: Api, path: string): Promise<T> {
  let response: Response;
  try {
    response = await askProcess(api, path, answerWithinMs);
  } catch (error) {
    throw new TrunklineError('UNREACHABLE', `${api.url} does not answer: ${whyUnreachable(error)}`);
  }
  if (response.status === 404) throw new TrunklineError('BAD_INPUT', 'no such call');
  if (!response.ok)
    throw new TrunklineError('UNREACHABLE', `${path} was answered with ${response.status}`);
  return (await response.json()) as T;
}
