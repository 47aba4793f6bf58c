import type { Command } from 'commander';

/** `trunkline start`: the process itself, as `npm start` runs it. */
export function registerStart(program: Command): void {
  program
    .command('start', { isDefault: false })
    .description('run the bridge, the speech service and the console in this terminal')
    .action(async () => {
      const { main } = await import('../main.ts');
      await main(process.env);
    });
}
