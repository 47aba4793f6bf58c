import type { ChildProcess } from 'node:child_process';
import { join } from 'node:path';
import { multilingualModel, sentenceModel } from '../hearing/config.ts';
import { forkBare } from '../hearing/media/bare-process.ts';
import { catalogueEntry } from '../hearing/models/catalogue.ts';
import { isInPlace } from '../hearing/models/installed.ts';
import { modelsFolder } from '../hearing/models/supply.ts';
import type { Clock } from '../lib/clock.ts';
import { reasonOf } from '../lib/errors.ts';
import type { Logger } from '../lib/log.ts';
import type { SentenceDirection } from './directions.ts';
import type { FromMeaning, ToMeaning } from './meaning-messages.ts';
import { SentenceQueue } from './sentence-queue.ts';
import type { KindWeights, KindSample } from './sentence-kinds.ts';

/** An order of any other work has this long. */
const orderWithinMs = 60_000;
/** After a failure the model is not tried again for this long. */
const restMs = 60_000;
const maxHeapMiB = 256;
const program = new URL('./meaning-child.ts', import.meta.url);

/** The command for a person who has no model. */
export const sentenceModelRemedy = remedyFor(sentenceModel);

/** Directions of sentences. Undefined: there is no model, or no time. */
export type Meaning = {
  /** True if the model is installed. */
  isThere(): Promise<boolean>;
  /** For a live call: within a third of a second, or not at all. */
  live(text: string): Promise<SentenceDirection | undefined>;
  /** For all other work. Live sentences go first. */
  direction(text: string): Promise<SentenceDirection | undefined>;
  learn(samples: readonly KindSample[], kinds: number): Promise<KindWeights | undefined>;
};

/** A model of the catalogue, and what its absence means, for the log. */
type EncoderChoice = { model: string; without: string };

const english: EncoderChoice = {
  model: sentenceModel,
  without: 'rules listen for their phrases alone',
};

/** The encoder that understands other languages too. Its directions are not to be compared with those of the other. */
export const multilingual: EncoderChoice = {
  model: multilingualModel,
  without: 'moods of other languages than English are unknown',
};

type EncoderProcess = {
  child: ChildProcess;
  said: () => string;
  waits: Map<number, (answer: FromMeaning | undefined) => void>;
};

/**
 * The sentence encoder, in a process of its own that is started when somebody asks for the first direction. Without the
 * model every answer is undefined.
 */
export class SentenceMeaning implements Meaning, AsyncDisposable {
  readonly #options: { models: string; clock: Clock; log: Logger } & EncoderChoice;
  readonly #queue: SentenceQueue;
  #encoder: EncoderProcess | undefined;
  #order = 0;
  #restsUntilMs = -Infinity;
  #isClosed = false;

  constructor(
    settings: { models?: string | undefined },
    clock: Clock,
    log: Logger,
    encoder: EncoderChoice = english,
  ) {
    this.#options = { models: modelsFolder(settings), clock, log, ...encoder };
    this.#queue = new SentenceQueue(clock, async (text) => {
      const answer = await this.#ask((order) => ({ type: 'direction', order, text }));
      return answer?.type === 'direction' ? answer.direction : undefined;
    });
  }

  isThere(): Promise<boolean> {
    const { models, model } = this.#options;
    return isInPlace(models, catalogueEntry(model));
  }

  live(text: string): Promise<SentenceDirection | undefined> {
    return this.#queue.live(text);
  }

  direction(text: string): Promise<SentenceDirection | undefined> {
    return this.#queue.later(text);
  }

  async learn(samples: readonly KindSample[], kinds: number): Promise<KindWeights | undefined> {
    const answer = await this.#ask((order) => ({ type: 'learn', order, samples: [...samples], kinds })); // prettier-ignore
    return answer?.type === 'learnt' ? answer.weights : undefined;
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    if (this.#encoder) this.#end(this.#encoder, 'closed');
    return Promise.resolve();
  }

  get #rests(): boolean {
    return this.#isClosed || this.#options.clock.monotonicMs() < this.#restsUntilMs;
  }

  /** Undefined if the process cannot answer. Then it is ended, and not tried again for a while. */
  async #ask(message: (order: number) => ToMeaning): Promise<FromMeaning | undefined> {
    if (this.#rests) return undefined;
    const encoder = (this.#encoder ??= await this.#start());
    if (encoder === undefined) return undefined;
    const order = this.#order++;
    const { promise, resolve } = Promise.withResolvers<FromMeaning | undefined>();
    const stop = this.#options.clock.after(orderWithinMs, () => this.#end(encoder, 'an order took too long')); // prettier-ignore
    encoder.waits.set(order, resolve);
    send(encoder, message(order));
    const answer = await promise;
    stop();
    return answer;
  }

  async #start(): Promise<EncoderProcess | undefined> {
    const { models, model } = this.#options;
    const entry = catalogueEntry(model);
    if (!(await this.isThere())) {
      // Somebody may install it meanwhile.
      this.#restsUntilMs = this.#options.clock.monotonicMs() + 2_000;
      return undefined;
    }
    if (this.#encoder !== undefined) return this.#encoder;
    if (this.#isClosed) return undefined;
    const { child, said } = forkBare({
      program,
      maxHeapMiB,
      options: { serialization: 'advanced' }, // numbers are sent as they are, not as JSON
    });
    const encoder: EncoderProcess = { child, said, waits: new Map() };
    child.on('message', (answer: FromMeaning) => this.#heard(encoder, answer));
    child.on('error', (error) => this.#end(encoder, reasonOf(error)));
    child.on('exit', (code, signal) => this.#end(encoder, `its process ended with ${signal ?? `code ${code}`}`)); // prettier-ignore
    const files = [...entry.files.filter(({ forMaking }) => !forMaking), ...(entry.derived?.files ?? [])]; // prettier-ignore
    const known = files.map(({ name, sha256 = '' }): [string, string] => [name, sha256]);
    send(encoder, { type: 'load', folder: join(models, model), known });
    return encoder;
  }

  #heard(encoder: EncoderProcess, answer: FromMeaning): void {
    if (answer.type === 'loaded') return;
    if (answer.type === 'failed') {
      this.#end(encoder, answer.message);
      return;
    }
    encoder.waits.get(answer.order)?.(answer);
    encoder.waits.delete(answer.order);
  }

  /** Called once when the process has ended in any way. */
  #end(encoder: EncoderProcess, reason: string): void {
    const { child, waits, said } = encoder;
    child.kill('SIGKILL');
    if (this.#encoder !== encoder) return;
    this.#encoder = undefined;
    if (!this.#isClosed) {
      const { clock, log, model, without } = this.#options;
      this.#restsUntilMs = clock.monotonicMs() + restMs;
      log.warn(
        { reason, said: said().trim(), mend: remedyFor(model) },
        `the sentence encoder was lost; for a minute ${without}`,
      );
    }
    for (const resolve of waits.values()) resolve(undefined);
    waits.clear();
  }
}

/** A message that can no longer be sent is answered by the end of the process. */
function send({ child }: EncoderProcess, message: ToMeaning): void {
  if (child.connected) child.send(message, () => undefined);
}

function remedyFor(model: string): string {
  return `npx trunkline models pull ${model}`;
}
