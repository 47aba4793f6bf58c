import type { Command } from 'commander';
import { configFields, loadConfig } from '../config.ts';
import { valueAt } from '../lib/settings.ts';
import { shownSetting } from '../lib/without-secrets.ts';
import { printJson, printLine } from './terminal.ts';

/** `trunkline config`: the effective settings, where each came from, secrets masked. */
export function registerConfig(program: Command): void {
  program
    .command('config')
    .description('print the effective settings and where each value comes from; secrets are masked')
    .option('--json', 'one JSON object per setting')
    .action((options: { json?: boolean }) => {
      const { config, sourceOf } = loadConfig(process.env);
      for (const field of configFields) {
        const value = shownSetting(field.path, valueAt(config, field.path), field.secret);
        const source = sourceOf(field.path);
        const path = field.path.join('.');
        if (options.json) printJson({ path, value, source, env: field.env });
        else
          printLine(
            `${path} = ${value === undefined ? '(not set)' : JSON.stringify(value)}  # ${source}`,
          );
      }
    });
}
