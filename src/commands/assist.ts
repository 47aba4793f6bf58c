import type { Command } from 'commander';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { playbooksIn, starterPlaybooks } from '../assist/playbooks.ts';
import {
  playbookFrom,
  phraseDoubts,
  ruleSetOf,
  type LoadedPlaybook,
  type RuleSet,
} from '../assist/rule-set.ts';
import type { RuleInput } from '../assist/rule-inputs.ts';
import { testsOf, tryCall, understood } from '../assist/trial.ts';
import { KeptWeights } from '../assist/means-rules.ts';
import { checkMeans } from '../assist/means-check.ts';
import { loadConfig } from '../config.ts';
import { sentenceModelRemedy, SentenceMeaning } from '../meaning/meaning.ts';
import { systemClock } from '../lib/clock.ts';
import { TrunklineError } from '../lib/errors.ts';
import { createLog } from '../lib/log.ts';
import { printable } from '../lib/printable.ts';
import type { PlaybookList, PlaybookTrial, RulesReport } from '../protocol/assist-events.ts';
import type { KnowledgeFound, KnowledgeQuestions } from '../protocol/articles.ts';
import { foundInFolder } from './folder-question.ts';
import { answerOf, requestOf, runningProcess } from './running-process.ts';
import { printJson, printLine } from './terminal.ts';

type PlaybookTrialOptions = {
  call: string[];
  last?: string;
  text?: string;
  url?: string;
  json?: boolean;
};

/** `trunkline assist`: checks playbooks, runs their tests, and tries them on calls that are over. */
export function registerAssist(program: Command): void {
  const assist = program
    .command('assist')
    .description('playbooks: what the running process listens for; check, test and try them');
  assist
    .command('list', { isDefault: true })
    .description('the playbooks of the running process')
    .option('--url <url>', 'the running process; by default that of the settings')
    .action(list);
  assist
    .command('check [path]')
    .description('reads playbooks and names what is wrong; by default those of these settings')
    .action(checkAll);
  assist
    .command('test [path]')
    .description('runs the tests that stand in playbooks; by default those of these settings')
    .action(testAll);
  assist
    .command('try <file>')
    .description('says what a playbook would have done in calls that are over; changes nothing')
    .option('--call <id>', 'this call; may be repeated', collect, [])
    .option('--last <days>', 'the calls of the last days, such as 30d', '30d')
    .option(
      '--text <file>',
      'a call as JSON lines of role, text, start and end; without asking a running process',
    )
    .option('--url <url>', 'the running process; by default that of the settings')
    .option('--json', 'as data')
    .action(tryPlaybook);
  assist
    .command('ask <question>')
    .description('the articles that the running process finds for a question')
    .option('--folder <folder>', 'the articles of this folder, without asking a running process')
    .option('--url <url>', 'the running process; by default that of the settings')
    .option('--json', 'as data')
    .action(ask);
  assist
    .command('questions')
    .description('what callers and agents asked and no article answered')
    .option('--last <days>', 'the questions of the last days, such as 30d', '30d')
    .option('--url <url>', 'the running process; by default that of the settings')
    .option('--json', 'as data')
    .action(questions);
  assist
    .command('diff <old> <new>')
    .description(
      'says which hits come and go with the new form of a playbook in calls that are over',
    )
    .option('--call <id>', 'this call; may be repeated', collect, [])
    .option('--last <days>', 'the calls of the last days, such as 30d', '30d')
    .option('--url <url>', 'the running process; by default that of the settings')
    .option('--json', 'as data')
    .action(diffPlaybooks);
  assist
    .command('report')
    .description('how often each rule fired, and what agents said of its hints')
    .option('--last <days>', 'the calls of the last days, such as 30d', '30d')
    .option('--url <url>', 'the running process; by default the one of these settings')
    .option('--json', 'as data')
    .action(report);
}

function collect(value: string, before: string[]): string[] {
  return [...before, value];
}

async function list({ url }: { url?: string }): Promise<void> {
  const { api } = runningProcess(url);
  const { playbooks, problems, waiting } = await answerOf<PlaybookList>(
    api,
    '/api/assist/playbooks',
  );
  for (const { id, version, status, title, rules } of playbooks)
    printLine(`${id}@${version}  ${status}  ${rules.length} rules  ${printable(title ?? '')}`);
  if (playbooks.length === 0) printLine('There is no playbook.');
  for (const { file, reason } of problems) printLine(`! ${file}: ${printable(reason)}`);
  if (waiting !== null)
    printLine(`! ${waiting.rules} rules with examples listen for their phrases alone. To install the model: ${waiting.remedy}`); // prettier-ignore
}

/** The playbooks at a path, or those of the settings. A file that cannot be read ends the command. */
async function chosen(path: string | undefined): Promise<LoadedPlaybook[]> {
  const { config } = loadConfig(process.env);
  const folder = path ?? config.assist.folder ?? join(config.store.dataDir, 'assist');
  const { good: playbooks, problems } = await playbooksIn(folder);
  for (const { file, reason } of problems)
    for (const line of reason.split('\n')) printLine(`${file}: ${printable(line)}`);
  if (problems.length > 0) throw new TrunklineError('BAD_INPUT', 'not every playbook can be used');
  if (path !== undefined && playbooks.length === 0)
    throw new TrunklineError('BAD_INPUT', `there is no playbook at ${path}`);
  const own = new Set(playbooks.map(({ id }) => id));
  const isStarterOn = path === undefined && config.assist.starter === 'on';
  return [
    ...(isStarterOn ? starterPlaybooks().filter(({ id }) => !own.has(id)) : []),
    ...playbooks,
  ];
}

async function checkAll(path: string | undefined): Promise<void> {
  const playbooks = await chosen(path);
  await using meaning = ownMeaning();
  const teach = teaching(meaning);
  for (const playbook of playbooks) {
    const set = ruleSetOf([playbook]);
    const { phrases, means } = set;
    printLine(
      `${playbook.id}@${playbook.version}  ${playbook.status}  ${playbook.rules.length} rules, ${phrases.size} wordings, ${means.size} with examples, ${playbook.tests.length} tests`,
    );
    for (const line of phraseDoubts(playbook)) printLine(`  ${printable(line)}`);
    if (means.size > 0 && (await teach(set)))
      for (const line of await checkMeans(means.groups, meaning)) printLine(`  ${printable(line)}`);
  }
  if (playbooks.length === 0) printLine('There is no playbook.');
}

async function testAll(path: string | undefined): Promise<void> {
  await using meaning = ownMeaning();
  const teach = teaching(meaning);
  let failed = 0;
  let passed = 0;
  for (const playbook of await chosen(path))
    for (const { name, isPassed, why } of await testsOf(playbook, teach)) {
      if (isPassed) passed++;
      else failed++;
      if (!isPassed) printLine(`FAILED  ${playbook.id}: ${printable(name)}: ${printable(why)}`);
    }
  printLine(`${passed} passed, ${failed} failed`);
  if (failed > 0) process.exitCode = 1;
}

function daysOf(last = '30d'): number {
  const days = /^(\d{1,3})d?$/.exec(last)?.[1];
  if (days === undefined)
    throw new TrunklineError('BAD_INPUT', `--last ${last} is no number of days, such as 30d`);
  return Number(days);
}

async function report({
  last,
  url,
  json,
}: Pick<PlaybookTrialOptions, 'last' | 'url' | 'json'>): Promise<void> {
  const { api } = runningProcess(url);
  const path = `/api/assist/report?last_days=${daysOf(last)}`;
  const { days, rules } = await answerOf<RulesReport>(api, path);
  if (json) {
    printJson({ days, rules }, 2);
    return;
  }
  if (rules.length === 0) printLine(`No rule fired in the last ${days} days.`);
  for (const { rule, hits, calls, useful, not_useful, used, dismissed } of rules)
    printLine(`${printable(rule)}: ${hits} times in ${calls} calls; useful ${useful}, not useful ${not_useful}, used ${used}, dismissed ${dismissed}`); // prettier-ignore
}

type FolderQuestion = { folder?: string; url?: string; json?: boolean };

async function ask(question: string, { folder, url, json }: FolderQuestion): Promise<void> {
  const { items } =
    folder === undefined
      ? await answerOf<KnowledgeFound>(
          runningProcess(url).api,
          `/api/knowledge?q=${encodeURIComponent(question)}`,
        )
      : await askFolder(folder, question);
  if (json) {
    printJson({ items }, 2);
    return;
  }
  if (!items.some(({ sure }) => sure)) printLine('No article answers that for sure, so a call would show none.'); // prettier-ignore
  for (const { name, title, heading, text, score, sure } of items) {
    printLine(`${score.toFixed(2)}${sure ? '' : ' ?'}  ${printable(title)}  (${printable(name)})`);
    printLine(`      ${printable(heading === '' ? text : `${heading}: ${text}`)}`);
  }
}

async function askFolder(folder: string, question: string): Promise<KnowledgeFound> {
  const { items, problems } = await foundInFolder(folder, question, ownMeaning());
  for (const { file, reason } of problems) printLine(`! ${printable(file)}: ${printable(reason)}`);
  return { items };
}

async function questions({
  last,
  url,
  json,
}: Pick<PlaybookTrialOptions, 'last' | 'url' | 'json'>): Promise<void> {
  // prettier-ignore
  const path = `/api/knowledge/questions?last_days=${daysOf(last)}`;
  const { days, items } = await answerOf<KnowledgeQuestions>(runningProcess(url).api, path);
  if (json) {
    printJson({ days, items }, 2);
    return;
  }
  if (items.length === 0) printLine(`Every question of the last ${days} days found an article, or nobody asked one.`); // prettier-ignore
  for (const { question, times, last_asked_at, by } of items)
    printLine(`${times} times, last ${last_asked_at.slice(0, 10)} by ${by === 'agent' ? 'an agent' : 'a caller'}: ${printable(question)}`); // prettier-ignore
}

async function textOf(file: string): Promise<string> {
  return readFile(file, 'utf8').catch(() => {
    throw new TrunklineError('BAD_INPUT', `${file} cannot be read`);
  });
}

async function diffPlaybooks(
  old: string,
  file: string,
  { call, last, url, json }: PlaybookTrialOptions,
): Promise<void> {
  const [against, playbook] = [await textOf(old), await textOf(file)];
  const days = daysOf(last);
  const { api } = runningProcess(url);
  const which = call.length > 0 ? { call_ids: call } : { last_days: days };
  const body = { playbook, against, ...which };
  const { calls, changes = [] } = (await requestOf(api, '/api/assist/try', { method: 'POST', body })) as PlaybookTrial; // prettier-ignore
  if (json) {
    printJson({ calls, changes }, 2);
    return;
  }
  if (changes.length === 0) printLine(`No hit changes in ${calls} calls.`);
  for (const { rule, comes, goes, places } of changes) {
    printLine(`${rule}: ${comes} hits come, ${goes} go in ${calls} calls`);
    for (const { change, call_id, at, role, matched } of places)
      printLine(`    ${change === 'comes' ? '+' : '-'} ${call_id}  ${at.toFixed(1)} s  ${role ?? 'time'}: ${printable(matched ?? '')}`); // prettier-ignore
  }
}

async function tryPlaybook(file: string, options: PlaybookTrialOptions): Promise<void> {
  const playbook = await textOf(file);
  if (options.text !== undefined) return tryText(playbook, options.text);
  const days = daysOf(options.last);
  const { api } = runningProcess(options.url);
  const body = options.call.length > 0 ? { playbook, call_ids: options.call } : { playbook, last_days: days }; // prettier-ignore
  const trial = (await requestOf(api, '/api/assist/try', {
    method: 'POST',
    body,
  })) as PlaybookTrial;
  if (options.json) {
    printJson(trial, 2);
    return;
  }
  for (const { rule, hits, calls, places } of trial.rules.filter((one) => one.hits > 0)) {
    printLine(`${rule}: ${hits} times in ${calls} of ${trial.calls} calls`);
    for (const { call_id, at, role, matched } of places.slice(0, 5))
      printLine(
        `    ${call_id}  ${at.toFixed(1)} s  ${role ?? 'time'}: ${printable(matched ?? '')}`,
      );
  }
  const silent = trial.rules.filter(({ hits }) => hits === 0).map(({ rule }) => rule);
  if (silent.length > 0) printLine(`Never: ${silent.join(', ')}`);
}

const TextLine = z.object({
  role: z.enum(['customer', 'agent']),
  text: z.string(),
  start: z.number().min(0),
  end: z.number().min(0),
});

/** The model on this machine, for a command that asks no process. */
function ownMeaning(): SentenceMeaning {
  const { recogniser } = loadConfig(process.env).config.speechService;
  return new SentenceMeaning(recogniser, systemClock, createLog());
}

/** Teaches rules their examples, or says once that these wait for the model. */
function teaching(meaning: SentenceMeaning): (set: RuleSet) => Promise<boolean> {
  const kept = new KeptWeights();
  let isTold = false;
  return async (set) => {
    if (set.means.size === 0) return true;
    if (await meaning.isThere()) return set.means.teach(meaning, kept);
    if (!isTold) printLine(`! Rules with "means" wait for the model and listen for their phrases alone. To install it: ${sentenceModelRemedy}`); // prettier-ignore
    isTold = true;
    return false;
  };
}

async function tryText(playbook: string, file: string): Promise<void> {
  const set = ruleSetOf([playbookFrom(playbook)]);
  const lines = (await readFile(file, 'utf8')).split('\n').filter((line) => line.trim() !== '');
  const inputs = lines.map((line, at): RuleInput => {
    const parsed = TextLine.safeParse(dataOf(line));
    if (!parsed.success)
      throw new TrunklineError('BAD_INPUT', `line ${at + 1} of ${file} needs role, text, start and end`); // prettier-ignore
    return {
      kind: 'final',
      utteranceId: `line-${at + 1}`,
      legId: parsed.data.role,
      ...parsed.data,
    };
  });
  const call = { direction: null, carrier: 'text', to: null, metadata: {} };
  await using meaning = ownMeaning();
  await teaching(meaning)(set);
  const hits = tryCall(set, call, await understood(set, inputs));
  for (const { rule, at, cause } of hits)
    printLine(
      `${at.toFixed(1)} s  ${rule}  ${cause.role ?? 'time'}: ${printable(cause.matched ?? '')}`,
    );
  if (hits.length === 0) printLine('No rule fires.');
}

function dataOf(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return undefined;
  }
}
