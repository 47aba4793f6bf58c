import type { Command } from 'commander';
import { runningProcess } from './running-process.ts';
import { callReport, factsOf } from './doctor-call.ts';
import { installationFindings } from './doctor-installation.ts';
import { printJson, printLine } from './terminal.ts';

type DoctorOptions = { url?: string; json?: boolean };

/** `trunkline doctor [call]`: checks one call or the whole installation, and says what to do. */
export function registerDoctor(program: Command): void {
  program
    .command('doctor')
    .argument('[call]', 'the id of a call, ours or the carrier’s')
    .description('evidence of one call, or of this installation, and what to do')
    .option('--url <url>', 'the running process; by default that of the settings')
    .option('--json', 'as data')
    .action((call: string | undefined, options: DoctorOptions) =>
      call === undefined ? installation(options) : oneCall(call, options),
    );
}

async function installation(options: DoctorOptions): Promise<void> {
  const { api, config } = runningProcess(options.url);
  const findings = await installationFindings(config, api);
  if (options.json) printJson(findings, 2);
  else {
    const marks = { ok: 'ok ', attention: ' ! ', wrong: 'NO ' };
    for (const { what, state, detail, todo } of findings)
      printLine(
        `${marks[state]} ${what.padEnd(11)} ${detail}${todo === undefined ? '' : `\n    ${' '.repeat(11)} → ${todo}`}`,
      );
  }
  if (findings.some((finding) => finding.state === 'wrong')) process.exitCode = 1;
}

async function oneCall(id: string, options: DoctorOptions): Promise<void> {
  const { api } = runningProcess(options.url);
  const facts = await factsOf(api, id);
  const report = callReport(facts);
  if (options.json) {
    printJson({ ...facts, todo: report.todo }, 2);
    return;
  }
  printLine(report.lines.join('\n'));
  printLine(
    report.todo.length === 0
      ? '\nNothing to do.'
      : `\nTo do:\n${report.todo.map((line) => `  → ${line}`).join('\n')}`,
  );
}
