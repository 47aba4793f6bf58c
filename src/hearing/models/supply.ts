import { stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, isAbsolute, join } from 'node:path';
import { reasonOf, TrunklineError } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import { ProgressBars } from '../../lib/progress-bars.ts';
import { catalogue, unknownModel, type CatalogueEntry } from './catalogue.ts';
import { installedModel } from './installed.ts';
import { readModelFolder, type Model } from './model-folder.ts';
import { progressLine, pullProgress } from './pull-progress.ts';
import { pullModel } from './pull.ts';

type SupplySettings = {
  model: string;
  models?: string | undefined;
  modelsMirror?: string | undefined;
  pullModels: boolean;
};

type SupplyState =
  | { state: 'there'; model: Model }
  /** The model is being downloaded or cannot be had. `detail` tells a person which, and what to do. */
  | { state: 'pulling' | 'missing'; detail: string };

export type ModelSupply = AsyncDisposable & {
  current(): SupplyState;
  /** Calls the listener when the model is there. */
  onChange(listener: () => void): void;
  /** Checks the files of the model again. A damaged model is downloaded again. */
  checkAgain(): Promise<void>;
};

const lookEveryMs = 2_000;
/** The pause before the sources are tried again. */
const retryMs = (failures: number): number => Math.min(600_000, 15_000 * 2 ** failures);

export function modelsFolder(settings: Pick<SupplySettings, 'models'>): string {
  return settings.models ?? join(homedir(), '.cache', 'trunkline', 'models');
}

/**
 * Finds the configured model. A missing model is downloaded in the background, so the start of the process does not
 * wait for it. A model that an operator puts into the folder meanwhile is found within seconds.
 */
export async function startModelSupply(
  settings: SupplySettings,
  log: Logger,
): Promise<ModelSupply> {
  await refuseUnknown(settings);
  const supply = new Supply(settings, log.child({ part: 'models' }));
  await supply.look();
  supply.begin();
  return supply;
}

function isPath(model: string): boolean {
  return isAbsolute(model) || /[\\/]/.test(model);
}

/**
 * Refuses a name that neither the catalogue nor the models folder knows: it is a typing mistake, and waiting for such a
 * model would never end. A path is accepted, since its disk may be mounted late.
 */
async function refuseUnknown(settings: SupplySettings): Promise<void> {
  const { model } = settings;
  const entry = catalogue.find((one) => one.name === model);
  const own = isPath(model) ? model : join(modelsFolder(settings), model);
  const isThere = await stat(own).then(
    () => true,
    () => false,
  );
  const recognisers = catalogue.filter((one) => one.model !== undefined);
  if (entry ? entry.model : isPath(model) || isThere) return;
  const problem = entry
    ? `${model} is a model for ${entry.role}, not for recognition; there are: ${recognisers.map(({ name }) => name).join(', ')}`
    : `${unknownModel(model, recognisers)}, or the path of a folder with a model.json`;
  throw new TrunklineError(
    'CONFIG_INVALID',
    `the configuration cannot be used:\n  speechService.recogniser.model (TRUNKLINE_MODEL): ${problem}`,
  );
}

class Supply implements ModelSupply {
  readonly #settings: SupplySettings;
  readonly #log: Logger;
  readonly #models: string;
  readonly #entry: CatalogueEntry | undefined;
  readonly #stop = new AbortController();
  #state: SupplyState = { state: 'missing', detail: 'the model folder has not been read yet' };
  #listener: () => void = () => undefined;
  #timer: NodeJS.Timeout | undefined;
  #pulling: Promise<void> | undefined;
  #failures = 0;
  #isChecking = false;
  /** A time of the machine's own timer, which clock changes do not move. A download must not be delayed by an hour. */
  #pullAfterMs = 0;

  constructor(settings: SupplySettings, log: Logger) {
    this.#settings = settings;
    this.#log = log;
    this.#models = modelsFolder(settings);
    this.#entry = catalogue.find((entry) => entry.name === settings.model);
  }

  current(): SupplyState {
    return this.#state;
  }

  onChange(listener: () => void): void {
    this.#listener = listener;
  }

  /** Checks whether the model is there, complete and correct. */
  async look(): Promise<void> {
    try {
      this.#state = { state: 'there', model: await this.#find() };
    } catch (error) {
      if (!this.#pulling) this.#state = { state: 'missing', detail: this.#missing(error) };
    }
  }

  async checkAgain(): Promise<void> {
    if (this.#state.state !== 'there' || this.#isChecking) return;
    this.#isChecking = true;
    try {
      await this.look();
    } finally {
      this.#isChecking = false;
    }
    const state = this.current();
    if (state.state === 'there' || this.#stop.signal.aborted) return;
    this.#log.error(
      { detail: state.detail },
      'the recognition model was damaged while it was in use',
    );
    this.#pullAfterMs = 0;
    this.#tick();
  }

  #missing(error: unknown): string {
    const comesByItself = this.#settings.pullModels || !this.#entry;
    return `${reasonOf(error)}${comesByItself ? '' : '; npx trunkline models pull fetches it'}`;
  }

  begin(): void {
    if (this.#state.state === 'there') return;
    this.#log.warn({ detail: this.#state.detail }, 'the recognition model is missing');
    this.#tick();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    clearTimeout(this.#timer);
    this.#stop.abort();
    await this.#pulling;
  }

  #find(): Promise<Model> {
    if (this.#entry) return installedModel(this.#models, this.#entry);
    const { model } = this.#settings;
    return readModelFolder(isPath(model) ? model : join(this.#models, model), basename(model));
  }

  #tick(): void {
    if (this.#stop.signal.aborted) return;
    if (
      this.#entry &&
      this.#settings.pullModels &&
      !this.#pulling &&
      performance.now() >= this.#pullAfterMs
    )
      this.#pulling = this.#pull(this.#entry).finally(() => (this.#pulling = undefined));
    // This uses the machine's timer, not our clock: it is the pause between two looks at a folder.
    this.#timer = setTimeout(() => {
      this.#lookAgain().catch((error: unknown) => {
        this.#log.error(
          { reason: reasonOf(error) },
          'the recognition model could not be searched for',
        );
        this.#tick();
      });
    }, lookEveryMs);
  }

  async #lookAgain(): Promise<void> {
    if (!this.#pulling) await this.look();
    if (this.#stop.signal.aborted) return;
    if (this.#state.state !== 'there') this.#tick();
    else this.#come();
  }

  async #pull(entry: CatalogueEntry): Promise<void> {
    const { signal } = this.#stop;
    this.#state = { state: 'pulling', detail: `${entry.name} is about to be downloaded` };
    const bars = new ProgressBars(process.stderr, {
      say: (detail) => this.#log.info({ detail }, 'the recognition model is being downloaded'),
    });
    try {
      await pullModel(entry, {
        models: this.#models,
        mirror: this.#settings.modelsMirror,
        signal,
        onProgress: (progress) => {
          this.#state = { state: 'pulling', detail: progressLine(entry.name, progress) };
          bars.update(entry.name, pullProgress(progress));
        },
        onWait: () => {
          const detail = `another process is downloading ${entry.name}`;
          this.#state = { state: 'pulling', detail };
          bars.update(entry.name, { doing: 'another process is downloading it' });
        },
      }).finally(() => bars.close());
      await this.look();
      this.#log.info({ model: entry.name }, 'the recognition model has been downloaded');
      if (!entry.verified)
        this.#log.warn(
          { model: entry.name, checksums: join(this.#models, `${entry.name}.sha256`) },
          'the catalogue has no checksums for this model: compare the recorded ones with its publisher',
        );
      if (!signal.aborted) this.#come();
    } catch (error) {
      if (signal.aborted) return;
      this.#state = { state: 'missing', detail: reasonOf(error) };
      this.#pullAfterMs = performance.now() + retryMs(this.#failures++);
      this.#log.error(
        { model: entry.name, reason: reasonOf(error) },
        'the model could not be fetched',
      );
    }
  }

  #come(): void {
    if (this.#state.state !== 'there') return;
    clearTimeout(this.#timer);
    this.#listener();
  }
}
