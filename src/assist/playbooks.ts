import { readdirSync, readFileSync } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { reasonOf } from '../lib/errors.ts';
import type { Logger } from '../lib/log.ts';
import { playbookFrom, ruleSetOf, type LoadedPlaybook, type RuleSet } from './rule-set.ts';

/** At most this many playbooks are read from the folder. */
const maxPlaybooks = 100;
const starterFolder = new URL('./starter/', import.meta.url);

export type PlaybookProblem = { file: string; reason: string };

/** The playbooks that come with the program. */
export function starterPlaybooks(): LoadedPlaybook[] {
  return readdirSync(starterFolder)
    .filter((file) => file.endsWith('.yaml'))
    .toSorted()
    .map((file) => playbookFrom(readFileSync(new URL(file, starterFolder), 'utf8')));
}

/** Reads a folder, or one file. A file that cannot be used is a problem and never an error. */
export async function playbooksIn(
  path: string,
): Promise<{ playbooks: LoadedPlaybook[]; problems: PlaybookProblem[] }> {
  const files = await filesAt(path);
  const playbooks: LoadedPlaybook[] = [];
  const problems: PlaybookProblem[] = [];
  for (const file of files) {
    try {
      const playbook = playbookFrom(await readFile(file, 'utf8'));
      if (playbooks.some(({ id }) => id === playbook.id))
        throw new Error(`another file has a playbook ${playbook.id}`);
      // Phrases that cannot be read are found here, where the file is still known.
      ruleSetOf([playbook]);
      playbooks.push(playbook);
    } catch (error) {
      problems.push({ file, reason: reasonOf(error) });
    }
  }
  return { playbooks, problems };
}

async function filesAt(path: string): Promise<string[]> {
  const at = await stat(path).catch(() => undefined);
  if (at === undefined) return [];
  if (at.isFile()) return [path];
  const names = await readdir(path);
  return names
    .filter((name) => /\.ya?ml$/.test(name))
    .toSorted()
    .slice(0, maxPlaybooks)
    .map((name) => join(path, name));
}

type PlaybooksOptions = { folder: string; starter: boolean; log: Logger };

/**
 * The playbooks of this process. A file that becomes unreadable keeps its last good form. A call keeps the set that it
 * began with.
 */
export class Playbooks {
  readonly #options: PlaybooksOptions;
  #good = new Map<string, LoadedPlaybook>();
  #known = '';
  current: RuleSet = ruleSetOf([]);
  problems: readonly PlaybookProblem[] = [];

  constructor(options: PlaybooksOptions) {
    this.#options = options;
  }

  /** Reads the folder again. Returns true if the rules changed. */
  async load(): Promise<boolean> {
    const { folder, starter, log } = this.#options;
    const { playbooks, problems } = await playbooksIn(folder);
    const read = new Map(playbooks.map((playbook) => [playbook.id, playbook]));
    // A file that is wrong now may have been right before: its playbook stays as it was. A file that is gone is gone.
    if (problems.length > 0)
      for (const [id, playbook] of this.#good) if (!read.has(id)) read.set(id, playbook);
    this.#good = read;
    const all = starter ? starterPlaybooks().filter(({ id }) => !read.has(id)) : [];
    all.push(...read.values());
    const known = JSON.stringify([all.map(({ id, digest }) => [id, digest]), problems]);
    if (known === this.#known) return false;
    this.#known = known;
    this.problems = problems;
    this.current = ruleSetOf(all);
    const used = all.map(({ id, version, status }) => `${id}@${version} (${status})`);
    log.info({ playbooks: used, wordings: this.current.phrases.size }, 'playbooks were read');
    for (const { file, reason } of problems)
      log.error({ file, reason }, 'a playbook cannot be used: its last good form stays');
    return true;
  }
}
