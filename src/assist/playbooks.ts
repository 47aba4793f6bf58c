import type { Clock } from '../lib/clock.ts';
import { sentenceModelRemedy, type Meaning } from '../meaning/meaning.ts';
import { reasonOf } from '../lib/errors.ts';
import { every, type Loop } from '../lib/every.ts';
import type { Logger } from '../lib/log.ts';
import { KeptWeights } from './means-rules.ts';
import {
  filesAsTheyAre,
  lastGood,
  ruleFilesIn,
  starterTexts,
  type PlaybookProblem,
} from './rule-files.ts';
import {
  playbookFrom,
  ruleSetInSlices,
  ruleSetOf,
  type LoadedPlaybook,
  type RuleSet,
} from './rule-set.ts';

/** The playbooks that come with the program. */
export function starterPlaybooks(): LoadedPlaybook[] {
  return starterTexts('playbook').map(playbookFrom);
}

/** Reads a folder, or one file. A file that cannot be used is a problem and never an error. */
export async function playbooksIn(
  path: string,
): Promise<{ good: LoadedPlaybook[]; problems: PlaybookProblem[] }> {
  return ruleFilesIn('playbook', path, (text) => {
    const playbook = playbookFrom(text);
    // Phrases that cannot be read are found here, where the file is still known.
    ruleSetOf([playbook]);
    return playbook;
  });
}

type PlaybooksOptions = {
  folder: string;
  starter: boolean;
  clock: Clock;
  log: Logger;
  /** Understands what is meant. Without it rules listen for their phrases alone. */
  meaning?: Meaning | undefined;
};

/** The folder is looked at this often. */
const lookMs = 10_000;
/** The rules are made ready only then: the start of the process does not wait for them. */
const firstLookMs = 2_000;

/**
 * The playbooks of this process. A file that becomes unreadable keeps its last good form. A call keeps the set that it
 * began with.
 */
export class Playbooks {
  readonly #options: PlaybooksOptions;
  readonly #looks: Loop;
  #good: readonly LoadedPlaybook[] = [];
  /** The files as they were read: names, lengths and times. */
  #files = '';
  #set: RuleSet | undefined;
  problems: readonly PlaybookProblem[] = [];
  readonly #weights = new KeptWeights();
  #isWaitTold = false;
  #isTeaching = false;

  private constructor(options: PlaybooksOptions) {
    this.#options = options;
    this.#looks = every(options.clock, lookMs, () => this.#look(), {
      failed: (error) => this.#unreadable(error),
    });
  }

  #unreadable(error: unknown): void {
    const { log, folder } = this.#options;
    log.error({ folder, reason: reasonOf(error) }, 'the folder of playbooks could not be read');
  }

  static async open(options: PlaybooksOptions): Promise<Playbooks> {
    const playbooks = new Playbooks(options);
    // A folder that cannot be read must not keep calls from being heard. The next look says so again.
    await playbooks.load().catch((error: unknown) => playbooks.#unreadable(error));
    playbooks.#looks.wake(firstLookMs);
    return playbooks;
  }

  /** The rules are made ready after the start, in slices. A call that begins before has them made at once. */
  get current(): RuleSet {
    this.#set ??= ruleSetOf(this.#all());
    return this.#set;
  }

  /** Reads the folder again. Returns true if the rules changed. */
  async load(): Promise<boolean> {
    const { folder, log } = this.#options;
    // Nothing is parsed again while the files are the same.
    const files = await filesAsTheyAre(folder);
    if (files === this.#files) return false;
    const read = await playbooksIn(folder);
    this.#files = files;
    const good = lastGood(read, this.#good);
    this.#good = good;
    this.#set = undefined;
    this.problems = read.problems;
    if (good.length > 0)
      log.info(
        { playbooks: good.map(({ id, version, status }) => `${id}@${version} (${status})`) },
        'playbooks were read',
      );
    for (const { file, reason } of read.problems)
      log.error({ file, reason }, 'a playbook cannot be used: its last good form stays');
    return true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#looks.stop();
  }

  /** Makes changed rules ready before the next call asks for them. */
  async #look(): Promise<void> {
    await this.load();
    if (this.#set === undefined) {
      const files = this.#files;
      const set = await ruleSetInSlices(this.#all());
      if (files === this.#files) this.#set ??= set;
    }
    if (this.#set !== undefined) await this.#teachCurrent(this.#set);
  }

  /** Teaches the rules of the calls. Where the model is missing, this is said once, and looked for again. */
  async #teachCurrent(set: RuleSet): Promise<void> {
    if (set.means.isTaught || this.#isTeaching) return;
    this.#isTeaching = true;
    const { log } = this.#options;
    const isTaught = await this.teach(set).finally(() => (this.#isTeaching = false));
    const rules = set.means.size;
    if (isTaught) log.info({ rules }, 'rules understand other words than their own phrases too');
    else if (!this.#isWaitTold)
      log.info({ rules, remedy: sentenceModelRemedy }, 'rules hear their own phrases alone; with a model they understand other words too'); // prettier-ignore
    this.#isWaitTold = !isTaught;
  }

  /** Rules with examples that wait for the model, and what a person does about it. */
  get waiting(): { rules: number; remedy: string } | undefined {
    const rules = this.#set?.means.size ?? 0;
    return this.#isWaitTold ? { rules, remedy: sentenceModelRemedy } : undefined;
  }

  /** Teaches a set what its examples mean. Returns false if there is no model. */
  async teach(set: RuleSet): Promise<boolean> {
    const { meaning } = this.#options;
    if (set.means.size === 0) return true;
    if (meaning === undefined || !(await meaning.isThere())) return false;
    return set.means.teach(meaning, this.#weights);
  }

  #all(): LoadedPlaybook[] {
    const own = new Set(this.#good.map(({ id }) => id));
    const starter = this.#options.starter ? starterPlaybooks() : [];
    return [...starter.filter(({ id }) => !own.has(id)), ...this.#good];
  }
}
