import { readFileSync, writeFileSync } from 'node:fs';
import { z } from 'zod';
import { Config, configFields } from '../../src/config.ts';
import { errorCodes } from '../../src/lib/errors.ts';
import type { SettingField } from '../../src/lib/settings.ts';

/**
 * What is written down twice is made from one place: the README's tables and the JSON Schema for
 * editors come from the settings' schema and the error codes. `npm run docs` writes them, a test compares.
 */
const root = new URL('../../', import.meta.url);

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

export function configTable(): string {
  const rows = configFields.map(
    (field) =>
      `| ${field.env === undefined ? '' : `\`${field.env}\``} | \`${field.path.join('.')}\` | ${defaultOf(field)} | ${cell(field.description)} |`,
  );
  return ['| environment | in the file | default | what |', '|---|---|---|---|', ...rows].join(
    '\n',
  );
}

export function errorTable(): string {
  const rows = Object.entries(errorCodes).map(
    ([code, meaning]) => `| \`${code}\` | ${cell(meaning)} |`,
  );
  return ['| code | meaning |', '|---|---|', ...rows].join('\n');
}

/** The receiver that a test runs is the one that the README shows. */
function receiverCode(): string {
  const file = readFileSync(new URL('test/support/crm/receiver.ts', root), 'utf8');
  const code = /\/\/ <readme>\n([^]*)\/\/ <\/readme>/.exec(file)?.[1] ?? '';
  return `\`\`\`ts\n${code.trim()}\n\`\`\``;
}

/** The README with the text between `<!-- name -->` and `<!-- /name -->` replaced. */
export function withTables(readme: string): string {
  const tables = { settings: configTable(), errors: errorTable(), receiver: receiverCode() };
  return Object.entries(tables).reduce(
    (text, [name, table]) =>
      text.replace(
        new RegExp(`(<!-- ${name} -->\n)[^]*?(\n<!-- /${name} -->)`),
        (_all, before: string, after: string) => before + table + after,
      ),
    readme,
  );
}

if (import.meta.main) {
  const readme = new URL('README.md', root);
  writeFileSync(readme, withTables(readFileSync(readme, 'utf8')));
  writeFileSync(new URL('config/trunkline.schema.json', root), configJsonSchema());
}
