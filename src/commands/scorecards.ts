import type { Command } from 'commander';
import { scorecardFolder, scorecardsIn, starterScorecards } from '../assist/scorecards.ts';
import { itemsOf } from '../assist/scorecard.ts';
import { loadConfig } from '../config.ts';
import { TrunklineError } from '../lib/errors.ts';
import { printable } from '../lib/printable.ts';
import type { ScorecardList, ScoreReport } from '../protocol/call-scores.ts';
import { answerOf, runningProcess } from './running-process.ts';
import { printJson, printLine } from './terminal.ts';

/** `trunkline scorecards`: checks scorecards, lists them, and reports scores over time. */
export function registerScorecards(program: Command): void {
  const scorecards = program
    .command('scorecards')
    .description('scorecards: the questions by which ended calls are judged; check and report');
  scorecards
    .command('list', { isDefault: true })
    .description('the scorecards of the running process')
    .option('--url <url>', 'the running process; by default that of the settings')
    .action(list);
  scorecards
    .command('check [path]')
    .description('reads scorecards and names what is wrong; by default those of these settings')
    .action(checkAll);
  scorecards
    .command('report')
    .description('scores by agent or team, the lowest first, and what waits for a reviewer')
    .option('--last <days>', 'the calls of the last days, such as 30d', '30d')
    .option('--by <rows>', 'agent or team', 'agent')
    .option('--url <url>', 'the running process; by default that of the settings')
    .option('--json', 'as data')
    .action(report);
}

async function list({ url }: { url?: string }): Promise<void> {
  const { api } = runningProcess(url);
  const { scorecards, problems } = await answerOf<ScorecardList>(api, '/api/scorecards');
  for (const { id, version, status, title, items, automatic } of scorecards)
    printLine(`${id}@${version}  ${status}  ${items} questions, ${automatic} automatic  ${printable(title)}`); // prettier-ignore
  if (scorecards.length === 0) printLine('There is no scorecard.');
  for (const { file, reason } of problems) printLine(`! ${file}: ${printable(reason)}`);
}

async function checkAll(path: string | undefined): Promise<void> {
  const { config } = loadConfig(process.env);
  const folder = scorecardFolder(config.assist, config.store.dataDir);
  const { good: cards, problems } = await scorecardsIn(path ?? folder);
  for (const { file, reason } of problems)
    for (const line of reason.split('\n')) printLine(`${file}: ${printable(line)}`);
  if (problems.length > 0) throw new TrunklineError('BAD_INPUT', 'not every scorecard can be used');
  if (path !== undefined && cards.length === 0)
    throw new TrunklineError('BAD_INPUT', `there is no scorecard at ${path}`);
  const own = new Set(cards.map(({ id }) => id));
  const isStarterOn = path === undefined && config.assist.starter === 'on';
  const starter = isStarterOn ? starterScorecards().filter(({ id }) => !own.has(id)) : [];
  for (const card of [...starter, ...cards]) {
    const items = itemsOf(card);
    const points = items.reduce((sum, item) => sum + item.points, 0);
    const automatic = items.filter(({ auto }) => auto !== undefined).length;
    printLine(`${card.id}@${card.version}  ${card.status}  ${items.length} questions, ${automatic} automatic, ${points} points`); // prettier-ignore
  }
  if (starter.length + cards.length === 0) printLine('There is no scorecard.');
}

type ReportOptions = { last: string; by: string; url?: string; json?: boolean };

async function report({ last, by, url, json }: ReportOptions): Promise<void> {
  const days = /^(\d{1,3})d?$/.exec(last)?.[1];
  if (days === undefined)
    throw new TrunklineError('BAD_INPUT', `--last ${last} is no number of days, such as 30d`);
  if (by !== 'agent' && by !== 'team')
    throw new TrunklineError('BAD_INPUT', `--by ${by} must be agent or team`);
  const { api } = runningProcess(url);
  const told = await answerOf<ScoreReport>(api, `/api/scores?last_days=${days}&by=${by}`);
  if (json) {
    printJson(told, 2);
    return;
  }
  if (told.rows.length === 0) printLine(`No call of the last ${days} days has a score.`);
  for (const {
    scorecard,
    name,
    calls,
    percent,
    critical_failed,
    reviewed,
    disputed,
    weeks,
  } of told.rows) {
    // prettier-ignore
    const course = weeks.map((week) => `${week.from.slice(5)}: ${shown(week.percent)}`).join(', ');
    printLine(`${printable(name ?? '(nobody known)')}  ${scorecard}  ${shown(percent)} in ${calls} calls; critical failed ${critical_failed}, reviewed ${reviewed}, disputed ${disputed}`); // prettier-ignore
    if (weeks.length > 1) printLine(`    ${course}`);
  }
  for (const { scorecard, item, answers, agreed, kappa } of told.agreement)
    printLine(`${item === null ? `rules and reviewers of ${scorecard}` : `    ${item}`}: the same in ${agreed} of ${answers} answers, kappa ${kappa ?? 'unknown'}`); // prettier-ignore
  const disputes = told.waiting.filter(({ state }) => state === 'disputed');
  for (const { call_id: id, scorecard, agent } of disputes)
    printLine(`! disputed: ${id}  ${scorecard}  ${printable(agent ?? '')}`);
  if (told.left_out)
    printLine('! There are more scores than one report reads: ask for fewer days.');
}

function shown(percent: number | null): string {
  return percent === null ? 'no score' : `${percent} %`;
}
