import { systemClock } from '../../lib/clock.ts';
import { every } from '../../lib/every.ts';
import { catalogueEntry } from './catalogue.ts';
import { isInPlace } from './installed.ts';
import { modelsFolder } from './supply.ts';

/** A model may be pulled or removed by another process at any time. */
const lookEveryMs = 5_000;

/** Knows whether a model that nobody has to have is installed. */
export class OptionalModel implements AsyncDisposable {
  readonly name: string;
  readonly languages: string[];
  readonly #models: string;
  readonly #looks;
  #isThere = false;

  private constructor(settings: { models?: string | undefined }, name: string) {
    this.name = name;
    this.languages = catalogueEntry(name).model?.languages ?? [];
    this.#models = modelsFolder(settings);
    this.#looks = every(systemClock, lookEveryMs, () => this.look());
  }

  static async find(
    settings: { models?: string | undefined },
    name: string,
  ): Promise<OptionalModel> {
    const model = new OptionalModel(settings, name);
    await model.look();
    return model;
  }

  get isInstalled(): boolean {
    return this.#isThere;
  }

  async look(): Promise<void> {
    this.#isThere = await isInPlace(this.#models, catalogueEntry(this.name));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#looks.stop();
  }
}
