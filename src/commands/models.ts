import type { Command } from 'commander';
import { loadConfig } from '../config.ts';
import { TrunklineError } from '../lib/errors.ts';
import { ProgressBars } from '../lib/progress-bars.ts';
import { ModelShelf } from '../hearing/models/shelf.ts';
import { sampleText, testModel } from './model-test.ts';
import { printLine, printNote } from './terminal.ts';

/** `trunkline models`: lists, downloads, checks and removes recognition models. */
export function registerModels(program: Command): void {
  const models = program
    .command('models')
    .description('list, fetch, check and remove recognition models');
  models
    .command('list', { isDefault: true })
    .description('the catalogue, and what of it is installed')
    .action(list);
  models
    .command('pull [model]')
    .description('fetch a model, the configured one when none is named; goes on where it broke off')
    .option(
      '--from <folder>',
      'take the files from this folder and ask nobody else: brought by hand, or the models folder of another machine',
    )
    .action(pull);
  models
    .command('test [model]')
    .description(
      'read a sentence with an installed model, and tell how many legs this machine serves',
    )
    .action(test);
  models
    .command('verify [model]')
    .description('check every file of a model, or of all installed ones, against its checksum')
    .action(verify);
  models
    .command('remove <model>')
    .description('delete a model from the models folder')
    .action(remove);
}

function settings() {
  const { recogniser } = loadConfig(process.env).config.speechService;
  return { recogniser, shelf: new ModelShelf(recogniser) };
}

async function list(): Promise<void> {
  const { shelf, recogniser } = settings();
  printLine(`models folder: ${shelf.folder}\n`);
  for (const entry of shelf.entries) {
    const problems = (await shelf.isThere(entry.name))
      ? await shelf.problems(entry.name)
      : ['not installed'];
    const state = problems.length === 0 ? 'installed' : (problems[0] ?? '');
    const languages = entry.model ? entry.model.languages.join(' ') : '';
    printLine(`${entry.name}${entry.name === recogniser.model ? '  (configured)' : ''}`);
    printLine(`  ${entry.role}: ${entry.about}`);
    printLine(
      `  ${String(entry.megabytes)} MB, ${entry.licence}, ${entry.publisher}` +
        `${languages ? `, ${languages}` : ''}${entry.verified ? '' : ', unverified: not tried by us'}`,
    );
    printLine(
      entry.measured
        ? `  needs about ${String(entry.measured.memoryMb)} MB of memory; ${entry.measured.speed}`
        : '  memory and speed are not known: never run by us (after a pull `trunkline models test` says how many legs it serves)',
    );
    printLine(`  ${state}\n`);
  }
}

async function pull(name: string | undefined, { from }: { from?: string }): Promise<void> {
  const { shelf, recogniser } = settings();
  const entry = shelf.entry(name ?? recogniser.model);
  if (!entry.verified)
    printNote(
      `${entry.name} is unverified: its checksums are recorded now and later pulls must match them.`,
    );
  const bars = new ProgressBars(process.stderr);
  await shelf
    .pull(entry.name, {
      from,
      onProgress: (progress) => bars.update(entry.name, progress),
      onWait: () => bars.update(entry.name, { doing: 'another process is downloading it' }),
    })
    .finally(() => bars.close());
  printLine(`${entry.name} is in ${shelf.folderOf(entry.name)}`);
  if (from !== undefined && entry.model) await test(entry.name);
}

/** A model that loads but recognises nothing would give every call an empty transcript. */
async function test(name: string | undefined): Promise<void> {
  const { recogniser } = settings();
  const model = name ?? recogniser.model;
  const { heard, legs, processes, factor } = await testModel({ ...recogniser, model });
  printLine(`${model} read ${factor.toFixed(1)} times as fast as it was said:`);
  printLine(`  said   ${sampleText}\n  heard  ${heard === '' ? '(nothing)' : heard}`);
  if (heard === '')
    throw new TrunklineError('MODEL_INVALID', `${model} loads, and heard no word of the sample`);
  printLine(
    `${legs} legs that speak all the time have room on this machine, in ${processes} processes`,
  );
}

async function verify(name: string | undefined): Promise<void> {
  const { shelf } = settings();
  const entries = name === undefined ? shelf.entries : [shelf.entry(name)];
  let checked = 0;
  const wrong: string[] = [];
  for (const entry of entries) {
    if (name === undefined && !(await shelf.isThere(entry.name))) continue;
    checked++;
    const problems = await shelf.problems(entry.name);
    printLine(`${entry.name}: ${problems.length === 0 ? 'all files are right' : 'wrong'}`);
    wrong.push(...problems);
  }
  if (checked === 0) printLine(`no model is installed in ${shelf.folder}`);
  if (wrong.length > 0) throw new TrunklineError('MODEL_INVALID', wrong.join('\n'));
}

async function remove(name: string): Promise<void> {
  await settings().shelf.remove(name);
  printLine(`${name} is removed`);
}
