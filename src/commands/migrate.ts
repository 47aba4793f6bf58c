import type { Command } from 'commander';
import { loadConfig } from '../config.ts';
import { createLog } from '../lib/log.ts';
import { migrateStore } from '../store/store.ts';
import { printLine } from './terminal.ts';

/** `trunkline migrate`: creates the tables of the next version, before its first node starts. */
export function registerMigrate(program: Command): void {
  program
    .command('migrate')
    .description(
      'bring the database to the schema of this version; other nodes on Postgres keep running',
    )
    .option('--check', 'only say what is missing; ends with 1 where something is')
    .action(migrateNow);
}

async function migrateNow({ check = false }: { check?: boolean }): Promise<void> {
  const { config } = loadConfig(process.env);
  const log = createLog({ level: 'warn' });
  const { applied, known, missing } = await migrateStore({
    config: config.store,
    log,
    isCheck: check,
  });
  const where = config.store.databaseUrl === undefined ? config.store.dataDir : 'Postgres';
  if (missing.length === 0) {
    const more = applied > known ? `, which is newer than this program (${known})` : '';
    printLine(`${where}: schema ${applied}${more}; nothing is missing.`);
    return;
  }
  const list = missing.join(', ');
  if (check) {
    printLine(`${where}: schema ${applied}; missing: ${list}. Run: npx trunkline migrate`);
    process.exitCode = 1;
  } else printLine(`${where}: from schema ${applied} to ${known}: ${list}.`);
}
