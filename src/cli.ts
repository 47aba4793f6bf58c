#!/usr/bin/env -S node --disable-proto=delete --disable-warning=ExperimentalWarning
import { Command } from 'commander';
import { registerCall } from './commands/call.ts';
import { registerConfig } from './commands/config.ts';
import { registerDeliveries } from './commands/deliveries.ts';
import { registerDoctor } from './commands/doctor.ts';
import { registerHooks } from './commands/hooks.ts';
import { registerLanguage } from './commands/language.ts';
import { registerWebhooks } from './commands/webhooks.ts';
import { registerModels } from './commands/models.ts';
import { registerRecord } from './commands/record.ts';
import { registerReplay } from './commands/replay.ts';
import { reasonOf, TrunklineError } from './lib/errors.ts';

const program = new Command('trunkline')
  .description('Carrier media streams in, live transcripts out, nothing lost in silence.')
  .showHelpAfterError('(--help lists the commands)');

program
  .command('start', { isDefault: false })
  .description('run the bridge, the speech service and the console in this terminal')
  .action(async () => {
    // Loaded here alone: every other command answers sooner without the parts of the process.
    const { main } = await import('./main.ts');
    await main(process.env);
    // Handles that nothing waits for, such as keep-alive connections, must not hold up the end.
    process.exit(0);
  });
registerConfig(program);
registerCall(program);
registerRecord(program);
registerReplay(program);
registerModels(program);
registerWebhooks(program);
registerHooks(program);
registerDeliveries(program);
registerDoctor(program);
registerLanguage(program);

try {
  await program.parseAsync();
} catch (error) {
  // An expected failure is one readable line; anything else is a bug and shows where it came from.
  console.error(error instanceof TrunklineError ? `${error.code}: ${error.message}` : error);
  process.exitCode = error instanceof TrunklineError && error.code === 'CONFIG_INVALID' ? 78 : 1;
  if (!(error instanceof Error)) console.error(reasonOf(error));
}
