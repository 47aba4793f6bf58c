import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { z } from 'zod';
import { Config, configFields } from '../../src/config.ts';
import { errorCodes } from '../../src/lib/errors.ts';
import type { SettingField } from '../../src/lib/settings.ts';

/**
 * Generates everything that would otherwise be written twice: the tables of the docs and the JSON Schema for editors,
 * from the settings' schema, the error codes and the metrics. `npm run docs` writes them, and a test compares.
 */
const root = new URL('../../', import.meta.url);

/** The docs with generated text between `<!-- name -->` and `<!-- /name -->`. */
export const papersWithTables = [
  'config/docs/settings.md',
  'config/docs/metrics.md',
  'config/docs/error-codes.md',
  'config/docs/webhooks.md',
] as const;

export function configJsonSchema(): string {
  const schema = z.toJSONSchema(Config, { io: 'input', unrepresentable: 'any' });
  return `${JSON.stringify({ title: 'Trunkline settings', ...schema }, null, 2)}\n`;
}

function cell(text: string): string {
  return text.replaceAll('|', '\\|').replaceAll('\n', ' ');
}

function defaultOf(field: SettingField): string {
  const parsed = field.schema.safeParse(undefined);
  if (!parsed.success || parsed.data === undefined) return '';
  const text = JSON.stringify(parsed.data);
  return text.length > 60 || text === '[]' || text === '{}' ? '' : `\`${cell(text)}\``;
}

function configTable(): string {
  const rows = configFields.map(
    (field) =>
      `| ${field.env === undefined ? '' : `\`${field.env}\``} | \`${field.path.join('.')}\` | ${defaultOf(field)} | ${cell(field.description)} |`,
  );
  return ['| environment | in the file | default | what |', '|---|---|---|---|', ...rows].join(
    '\n',
  );
}

function errorTable(): string {
  const rows = Object.entries(errorCodes).map(
    ([code, meaning]) => `| \`${code}\` | ${cell(meaning)} |`,
  );
  return ['| code | meaning |', '|---|---|', ...rows].join('\n');
}

/** The table of our own metrics, from the answer of `GET /metrics` of a running process. */
export function metricsTable(exposition: string): string {
  const rows = [...exposition.matchAll(/^# HELP (trunkline_\w+) (.*)$/gm)].map(
    ([, name = '', help = '']) => `| \`${name}\` | ${cell(help)} |`,
  );
  return ['| metric | what |', '|---|---|', ...rows.toSorted()].join('\n');
}

/** The metrics of a process that is started for this purpose. */
async function exposedMetrics(): Promise<string> {
  const dataDir = mkdtempSync(join(tmpdir(), 'trunkline-docs-'));
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', 'src/main.ts'], {
    cwd: root,
    env: {
      PATH: process.env['PATH'],
      PORT: '0',
      TRUNKLINE_DATA: dataDir,
      TRUNKLINE_PULL_MODELS: '0',
    },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const ended = once(child, 'close');
  try {
    for await (const line of createInterface({ input: child.stdout })) {
      const address = /ready at (http:\/\/[^"\s]+)/.exec(line)?.[1];
      if (address !== undefined) return await (await fetch(`${address}/metrics`)).text();
    }
    throw new Error('the process ended before it was ready');
  } finally {
    child.kill('SIGKILL');
    await ended;
    rmSync(dataDir, { recursive: true });
  }
}

/** The code of the receiver on the webhooks page, which is also the one that a test runs. */
function receiverCode(): string {
  const file = readFileSync(new URL('test/support/crm/receiver.ts', root), 'utf8');
  const code = /\/\/ <receiver>\n([^]*)\/\/ <\/receiver>/.exec(file)?.[1] ?? '';
  return `\`\`\`ts\n${code.trim()}\n\`\`\``;
}

/** A document with its generated text renewed. Its metrics need the answer of a process. */
export function withTables(paper: string, exposition?: string): string {
  const tables = {
    settings: configTable(),
    errors: errorTable(),
    receiver: receiverCode(),
    ...(exposition === undefined ? {} : { metrics: metricsTable(exposition) }),
  };
  return Object.entries(tables).reduce(
    (text, [name, table]) =>
      text.replace(
        new RegExp(`(<!-- ${name} -->\n)[^]*?(\n<!-- /${name} -->)`),
        (_all, before: string, after: string) => before + table + after,
      ),
    paper,
  );
}

if (import.meta.main) {
  const exposition = await exposedMetrics();
  for (const name of papersWithTables) {
    const paper = new URL(name, root);
    writeFileSync(paper, withTables(readFileSync(paper, 'utf8'), exposition));
  }
  writeFileSync(new URL('config/trunkline.schema.json', root), configJsonSchema());
}
