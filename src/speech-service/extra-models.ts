import {
  languagesModel,
  multilingualModel,
  secondReader,
  sentenceModel,
  voiceModel,
} from '../hearing/config.ts';
import type { ModelShelf } from '../hearing/models/shelf.ts';
import { reasonOf } from '../lib/errors.ts';
import type { Logger } from '../lib/log.ts';
import type { Progress } from '../lib/progress-bars.ts';

/** The models beside the recogniser's, each with what is gained by it. */
const gains = {
  [voiceModel]: 'tells the speakers of a recording apart',
  [secondReader]: 'halves the wrong words of recordings',
  [languagesModel]:
    'hears Spanish, French, Italian, German, Russian and more, in calls and recordings',
  [sentenceModel]: 'lets rules understand what is meant, in other words too',
  [multilingualModel]: 'hears moods in Spanish, French, German, Italian, Portuguese and Dutch',
} as const;

type ExtraState =
  | { at: 'installed' | 'missing' }
  | { at: 'installing'; progress: Progress | undefined }
  | { at: 'failed'; reason: string };

export type ExtraModel = {
  name: keyof typeof gains;
  gain: string;
  /** The needs of a process with the model, in words. */
  cost: string | undefined;
  /** The languages that it hears. */
  languages: readonly string[];
  megabytes: number;
  state: ExtraState;
};

type ExtraModelsOptions = {
  shelf: ModelShelf;
  log: Logger;
  /** Called when a model has been installed. */
  onInstalled: ((name: string) => void) | undefined;
};

/**
 * Models that no call needs, but a feature does. A person installs them while the process runs. There are
 * at most as many downloads as such models.
 */
export class ExtraModels implements AsyncDisposable {
  readonly #options: ExtraModelsOptions;
  readonly #stop = new AbortController();
  readonly #states = new Map<string, ExtraState>();
  readonly #pulls = new Map<string, Promise<void>>();

  constructor(options: ExtraModelsOptions) {
    this.#options = options;
  }

  /** Looks at the folder each time: the command line may have fetched or removed a model meanwhile. */
  async list(): Promise<ExtraModel[]> {
    const names = Object.keys(gains) as ExtraModel['name'][];
    return Promise.all(
      names.map(async (name) => {
        const { megabytes, measured, model } = this.#options.shelf.entry(name);
        const cost = measured && `${measured.memoryMb} MB of memory; ${measured.speed}`;
        const { languages = [] } = model ?? {};
        const state = await this.#stateOf(name);
        return { name, gain: gains[name], cost, languages, megabytes, state };
      }),
    );
  }

  /** Names the models that are not installed, each with its size and its gain, for the start of the process. */
  async missing(): Promise<string[]> {
    return (await this.list())
      .filter(({ state }) => state.at !== 'installed')
      .map(({ name, gain, megabytes }) => `${name} (${megabytes} MB, ${gain})`);
  }

  /**
   * Begins to install a model, unless its installation is already in progress. Returns false if the name is not one of
   * these models.
   */
  install(name: string): boolean {
    if (!Object.hasOwn(gains, name)) return false;
    if (this.#pulls.has(name) || this.#stop.signal.aborted) return true;
    const pull = this.#pull(name).finally(() => this.#pulls.delete(name));
    this.#pulls.set(name, pull);
    return true;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort();
    await Promise.all(this.#pulls.values());
  }

  async #stateOf(name: string): Promise<ExtraState> {
    const state = this.#states.get(name);
    if (state?.at === 'installing') return state;
    if (await this.#options.shelf.isInPlace(name)) return { at: 'installed' };
    return state?.at === 'failed' ? state : { at: 'missing' };
  }

  async #pull(name: string): Promise<void> {
    const { shelf, log, onInstalled } = this.#options;
    const { megabytes } = shelf.entry(name);
    const { signal } = this.#stop;
    this.#states.set(name, { at: 'installing', progress: undefined });
    log.info({ model: name, megabytes }, 'a model is being installed');
    try {
      await shelf.pull(name, {
        signal,
        onProgress: (progress) => this.#states.set(name, { at: 'installing', progress }),
      });
      this.#states.delete(name);
      log.info({ model: name }, 'the model has been installed');
      onInstalled?.(name);
    } catch (error) {
      if (signal.aborted) return;
      this.#states.set(name, { at: 'failed', reason: reasonOf(error) });
      log.error({ model: name, reason: reasonOf(error) }, 'the model could not be installed');
    }
  }
}
