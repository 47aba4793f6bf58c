import { rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { TrunklineError } from '../../lib/errors.ts';
import type { Progress } from '../../lib/progress-bars.ts';
import { catalogue, type CatalogueEntry, catalogueEntry } from './catalogue.ts';
import { folderOf, isInPlace, problemsOf } from './installed.ts';
import { pullProgress } from './pull-progress.ts';
import { pullModel } from './pull.ts';
import { modelsFolder } from './supply.ts';

type ShelfSettings = { models?: string | undefined; modelsMirror?: string | undefined };

type ShelfPull = {
  /** A local folder with the files. No other source is then used. */
  from?: string | undefined;
  signal?: AbortSignal;
  onProgress: (progress: Progress) => void;
  /** Called if another process is downloading the model. Its end is waited for. */
  onWait?: () => void;
};

/** A model that another process downloads has not been touched for less than this. */
const pullingMs = 20_000;

/** The models folder as people see it: which models there are, and how they are fetched, checked and removed. */
export class ModelShelf {
  readonly folder: string;
  readonly #mirror: string | undefined;

  constructor(settings: ShelfSettings) {
    this.folder = modelsFolder(settings);
    this.#mirror = settings.modelsMirror;
  }

  /** All known models, installed or not. */
  get entries(): readonly CatalogueEntry[] {
    return catalogue;
  }

  /** Throws an error with the nearest name if there is no such model. */
  entry(name: string): CatalogueEntry {
    return catalogueEntry(name);
  }

  folderOf(name: string): string {
    return folderOf(this.folder, name);
  }

  async isThere(name: string): Promise<boolean> {
    return stat(this.folderOf(name)).then(
      () => true,
      () => false,
    );
  }

  /** True if every file of the model is there in its size. */
  isInPlace(name: string): Promise<boolean> {
    return isInPlace(this.folder, this.entry(name));
  }

  /** Compares every file with its checksum. One sentence for each file that is wrong. */
  problems(name: string): Promise<string[]> {
    return problemsOf(this.folder, this.entry(name));
  }

  /** Fetches what is missing of a model. A download that broke off continues. */
  async pull(
    name: string,
    { from, signal, onProgress, onWait = () => undefined }: ShelfPull,
  ): Promise<void> {
    await pullModel(this.entry(name), {
      models: this.folder,
      mirror: this.#mirror,
      from,
      signal: signal ?? new AbortController().signal,
      onProgress: (progress) => onProgress(pullProgress(progress)),
      onWait,
    });
  }

  async remove(name: string): Promise<void> {
    const folder = this.folderOf(this.entry(name).name);
    if (!(await this.isThere(name)))
      throw new TrunklineError('BAD_INPUT', `${name} is not installed in ${this.folder}`);
    // A process that is downloading the model would continue to write into a deleted folder.
    const busy = await stat(join(folder, '.pulling')).catch(() => undefined);
    if (busy && Date.now() - busy.mtimeMs < pullingMs)
      throw new TrunklineError('BAD_INPUT', `${name} is being downloaded by another process`);
    await rm(folder, { recursive: true });
  }
}
