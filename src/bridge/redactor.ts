import type { LanguageRunner } from '../language/runner.ts';
import type { RedactionState } from '../language/redaction/redact.ts';
import type { Utterance, Word } from '../protocol/addons.ts';
import type { BridgeConfig } from './config.ts';
import type { Result } from './timeline.ts';

/** What stands for a text that could not be looked through: nothing unseen leaves. */
const unseen = '[REDACTED]';

/**
 * Takes the configured entity types out of everything that a result says, before it is stored or sent.
 * One per call: an entity keeps its number from one utterance to the next.
 */
export class Redactor {
  readonly #language: LanguageRunner;
  readonly #types: string[];
  readonly #form: 'MARKER' | 'MASK';
  #state: RedactionState | undefined;

  private constructor(language: LanguageRunner, types: string[], form: 'MARKER' | 'MASK') {
    this.#language = language;
    this.#types = types;
    this.#form = form;
  }

  /** Undefined when nothing is to be redacted. */
  static from(language: LanguageRunner, config: BridgeConfig): Redactor | undefined {
    if (config.redactEntities.length === 0) return undefined;
    return new Redactor(language, [...config.redactEntities], config.redactForm);
  }

  async redact(result: Result): Promise<Result> {
    switch (result.type) {
      case 'call.transcript': {
        const { text, words } = await this.#spoken(result.data);
        return { ...result, text, data: { ...result.data, text, words } };
      }
      case 'call.sentiment': {
        const utterance = await this.#utterance(result.data.utterance);
        const results = await this.#each(result.data.results);
        return { ...result, data: { ...result.data, utterance, results } };
      }
      case 'call.entities': {
        const utterance = await this.#utterance(result.data.utterance);
        const results = await this.#each(result.data.results);
        return { ...result, data: { ...result.data, utterance, results } };
      }
      case 'call.translation': {
        const utterance = await this.#utterance(result.data.utterance);
        const translated_utterance = await this.#utterance(result.data.translated_utterance);
        return { ...result, data: { ...result.data, utterance, translated_utterance } };
      }
    }
  }

  async #utterance(utterance: Utterance): Promise<Utterance> {
    return { ...utterance, ...(await this.#spoken(utterance)) };
  }

  async #each<Item extends { text: string }>(items: readonly Item[]): Promise<Item[]> {
    const redacted: Item[] = [];
    for (const item of items)
      redacted.push({ ...item, text: (await this.#spoken({ text: item.text, words: [] })).text });
    return redacted;
  }

  async #spoken({
    text,
    words,
  }: {
    text: string;
    words: Word[];
  }): Promise<{ text: string; words: Word[] }> {
    const { results } = await this.#language.run('redact', {
      text,
      words,
      entityTypes: this.#types,
      form: this.#form,
      ...(this.#state === undefined ? {} : { state: this.#state }),
    });
    const released = results?.released[0];
    if (results === null || released === undefined) return { text: unseen, words: [] };
    this.#state = results.state;
    return { text: released.text, words: released.words };
  }
}
