#!/usr/bin/env -S node --disable-proto=delete --disable-warning=ExperimentalWarning
import { Command } from 'commander';
import { inspect } from 'node:util';
import { printNote } from './commands/terminal.ts';
import { stayAwake } from './lib/clock.ts';
import { reasonOf, TrunklineError } from './lib/errors.ts';
import { version } from './lib/version.ts';

const program = new Command('trunkline')
  .description('Carrier media streams in, live transcripts out, nothing lost in silence.')
  .version(version, '-V, --version', 'which version this is')
  .showHelpAfterError('(--help lists the commands)');

program
  .command('start', { isDefault: false })
  .description('run the bridge, the speech service and the console in this terminal')
  .action(async () => {
    // The code of the server is loaded only here, because all other commands start faster without it.
    const { main } = await import('./main.ts');
    await main(process.env);
    // Open handles that nothing waits for, such as keep-alive connections, must not delay the end.
    process.exit(0);
  });

/**
 * Each command's code is loaded only when that command is called, because no command needs the memory and time of all
 * the others.
 */
const commands: Record<string, () => Promise<(program: Command) => void>> = {
  config: async () => (await import('./commands/config.ts')).registerConfig,
  call: async () => (await import('./commands/call.ts')).registerCall,
  migrate: async () => (await import('./commands/migrate.ts')).registerMigrate,
  nodes: async () => (await import('./commands/nodes.ts')).registerNodes,
  carriers: async () => (await import('./commands/carriers.ts')).registerCarriers,
  record: async () => (await import('./commands/record.ts')).registerRecord,
  replay: async () => (await import('./commands/replay.ts')).registerReplay,
  transcribe: async () => (await import('./commands/transcribe.ts')).registerTranscribe,
  'transcribe-again': async () =>
    (await import('./commands/transcribe-again.ts')).registerTranscribeAgain,
  assist: async () => (await import('./commands/assist.ts')).registerAssist,
  scorecards: async () => (await import('./commands/scorecards.ts')).registerScorecards,
  search: async () => (await import('./commands/search.ts')).registerSearch,
  export: async () => (await import('./commands/export.ts')).registerExport,
  erase: async () => (await import('./commands/erase.ts')).registerErase,
  keys: async () => (await import('./commands/keys.ts')).registerKeys,
  people: async () => (await import('./commands/people.ts')).registerPeople,
  audit: async () => (await import('./commands/audit.ts')).registerAudit,
  models: async () => (await import('./commands/models.ts')).registerModels,
  webhooks: async () => (await import('./commands/webhooks.ts')).registerWebhooks,
  crm: async () => (await import('./commands/crm.ts')).registerCrm,
  hooks: async () => (await import('./commands/hooks.ts')).registerHooks,
  listen: async () => (await import('./commands/listen.ts')).registerListen,
  trigger: async () => (await import('./commands/trigger.ts')).registerTrigger,
  deliveries: async () => (await import('./commands/deliveries.ts')).registerDeliveries,
  doctor: async () => (await import('./commands/doctor.ts')).registerDoctor,
  language: async () => (await import('./commands/language.ts')).registerLanguage,
};
const asked = process.argv[2] ?? '';
const isAboutUs = ['-V', '--version', 'start'].includes(asked);
const loaded = isAboutUs ? [] : Object.hasOwn(commands, asked) ? [asked] : Object.keys(commands);
for (const name of loaded) (await commands[name]?.())?.(program);

try {
  // A command may wait for nothing but a timer. Without this, Node would then end it early and with the wrong exit
  // code.
  using _awake = stayAwake();
  await program.parseAsync();
} catch (error) {
  // An expected failure is shown as one readable line. Any other error is a bug and is shown with its stack.
  printNote(error instanceof TrunklineError ? `${error.code}: ${error.message}` : inspect(error));
  process.exitCode = error instanceof TrunklineError && error.code === 'CONFIG_INVALID' ? 78 : 1;
  if (!(error instanceof Error)) printNote(reasonOf(error));
}
