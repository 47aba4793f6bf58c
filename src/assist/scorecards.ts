import { join } from 'node:path';
import type { Clock } from '../lib/clock.ts';
import { reasonOf } from '../lib/errors.ts';
import { every, type Loop } from '../lib/every.ts';
import type { Logger } from '../lib/log.ts';
import type { AssistConfig } from './config.ts';
import {
  filesAsTheyAre,
  lastGood,
  ruleFilesIn,
  starterTexts,
  type PlaybookProblem,
} from './rule-files.ts';
import { ruleSetOf, type RuleSet } from './rule-set.ts';
import { rulesOf, scorecardFrom, type LoadedScorecard } from './scorecard.ts';

/** The folder is looked at this often. */
const lookMs = 10_000;

/** The scorecards that come with the program. */
export function starterScorecards(): LoadedScorecard[] {
  return starterTexts('scorecard').map(scorecardFrom);
}

/** Reads a folder, or one file. A file that cannot be used is a problem and never an error. */
export async function scorecardsIn(
  path: string,
): Promise<{ good: LoadedScorecard[]; problems: PlaybookProblem[] }> {
  return ruleFilesIn('scorecard', path, scorecardFrom);
}

type ScorecardsOptions = { config: AssistConfig; dataDir: string; clock: Clock; log: Logger };

/** Scorecards stand in a folder below the playbooks. */
export function scorecardFolder({ folder }: Pick<AssistConfig, 'folder'>, dataDir: string): string {
  return join(folder ?? join(dataDir, 'assist'), 'scorecards');
}

/** The scorecards of this process, read when they are first asked for. An unreadable file keeps its last good form. */
export class Scorecards {
  readonly #options: ScorecardsOptions;
  readonly #folder: string;
  #good: readonly LoadedScorecard[] = [];
  #all: readonly LoadedScorecard[] = [];
  #files: string | undefined;
  readonly #sets = new WeakMap<LoadedScorecard, RuleSet>();
  readonly #looks: Loop;
  problems: readonly PlaybookProblem[] = [];

  constructor(options: ScorecardsOptions) {
    this.#options = options;
    const { clock, log, config, dataDir } = options;
    const folder = scorecardFolder(config, dataDir);
    this.#folder = folder;
    this.#looks = every(clock, lookMs, () => this.load(), {
      firstMs: lookMs,
      failed: (error) => log.error({ folder, reason: reasonOf(error) }, 'the folder of scorecards could not be read'), // prettier-ignore
    });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#looks.stop();
  }

  async current(): Promise<readonly LoadedScorecard[]> {
    if (this.#files === undefined) await this.load().catch(() => undefined);
    return this.#all;
  }

  /** Reads the folder again, if its files changed. */
  async load(): Promise<void> {
    const { config, log } = this.#options;
    const folder = this.#folder;
    const files = await filesAsTheyAre(folder);
    if (files === this.#files) return;
    const read = await scorecardsIn(folder);
    this.#files = files;
    this.#good = lastGood(read, this.#good);
    this.problems = read.problems;
    const own = new Set(this.#good.map(({ id }) => id));
    this.#all = [
      ...(config.starter === 'on' ? starterScorecards().filter(({ id }) => !own.has(id)) : []),
      ...this.#good,
    ];
    if (this.#good.length > 0)
      log.info({ scorecards: this.#good.map(({ id, version, status }) => `${id}@${version} (${status})`) }, 'scorecards were read'); // prettier-ignore
    for (const { file, reason } of read.problems)
      log.error({ file, reason }, 'a scorecard cannot be used: its last good form stays');
  }

  /** The rules of a scorecard, made ready when they are first needed. */
  rulesOf(card: LoadedScorecard): RuleSet {
    const known = this.#sets.get(card);
    if (known !== undefined) return known;
    const set = ruleSetOf(rulesOf(card));
    this.#sets.set(card, set);
    return set;
  }
}
