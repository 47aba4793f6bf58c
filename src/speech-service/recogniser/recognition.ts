import { Chain } from './chain.ts';
import { Enhancer } from './enhancer.ts';
import type { Engine, EngineSession } from './engine.ts';
import { openEngine } from './open-engine.ts';
import { Intake } from './intake.ts';
import type { TextLanguage } from './language-choice.ts';
import { LoadMeter } from './load-meter.ts';
import type { FromChild, ToChild } from './messages.ts';
import type { Sherpa } from './sherpa.ts';
import { loadTextLanguage, noTextLanguage } from './text-language.ts';

type Stream = {
  number: number;
  rateHz: number;
  intake: Intake;
  chain: Chain;
  session: EngineSession;
  finishing: boolean;
  /** When the oldest audio that still waits arrived. */
  waitingSinceMs: number | undefined;
};

const blockS = 0.04;
/** After this long the loop lets messages in: audio arrives in order, and a close takes effect. */
const turnMs = 20;

/**
 * All streams of one process, one after the other: audio first, in turn, so that no stream starves;
 * partials only while no audio waits.
 */
export class Recognition {
  readonly #streams = new Map<number, Stream>();
  readonly #sherpa: Sherpa;
  readonly #engine: Engine;
  readonly #newEnhancer: () => Enhancer;
  readonly #send: (message: FromChild) => void;
  readonly #meter = new LoadMeter();
  #running = false;

  static async load(
    sherpa: Sherpa,
    load: Extract<ToChild, { type: 'load' }>,
    send: (message: FromChild) => void,
  ): Promise<Recognition> {
    const several = load.model.description.languages.length > 1;
    return new Recognition(sherpa, load, send, {
      newEnhancer: await Enhancer.loader(),
      textLanguage: several ? await loadTextLanguage() : noTextLanguage,
    });
  }

  private constructor(
    sherpa: Sherpa,
    load: Extract<ToChild, { type: 'load' }>,
    send: (message: FromChild) => void,
    loaded: { newEnhancer: () => Enhancer; textLanguage: TextLanguage },
  ) {
    this.#newEnhancer = loaded.newEnhancer;
    this.#sherpa = sherpa;
    this.#send = send;
    this.#engine = openEngine(sherpa, load.model, {
      vadModel: load.vadModel,
      textLanguage: loaded.textLanguage,
      load: () => this.#meter.level(performance.now(), this.#oldestMs()),
    });
    send({
      type: 'ready',
      legCost: this.#engine.measure(),
      estimatedTimes: this.#engine.estimatedTimes,
    });
    setInterval(() => {
      this.#report();
    }, load.loadEveryMs);
  }

  handle(message: Exclude<ToChild, { type: 'load' }>): void {
    const stream = this.#streams.get(message.stream);
    switch (message.type) {
      case 'open':
        this.#open(message);
        break;
      case 'audio':
        if (!stream) break; // closed while this was on its way
        stream.intake.push(message.samples);
        stream.waitingSinceMs ??= performance.now();
        this.#wake();
        break;
      case 'finish':
        if (stream) stream.finishing = true;
        this.#wake();
        break;
      case 'close':
        stream?.chain[Symbol.dispose]();
        this.#streams.delete(message.stream);
        break;
    }
  }

  #open({ stream: number, options }: Extract<ToChild, { type: 'open' }>): void {
    const session = this.#engine.open(options, (event) => {
      this.#send({ type: 'event', stream: number, event });
    });
    this.#streams.set(number, {
      number,
      rateHz: options.sampleRate,
      intake: new Intake(Math.round(options.sampleRate * blockS)),
      chain: new Chain(this.#sherpa, options, this.#newEnhancer),
      session,
      finishing: false,
      waitingSinceMs: undefined,
    });
  }

  #wake(): void {
    if (this.#running) return;
    this.#running = true;
    setImmediate(() => this.#turn());
  }

  #turn(): void {
    const startedMs = performance.now();
    let worked = true;
    while (worked && performance.now() - startedMs < turnMs) worked = this.#round();
    if (!worked) worked = this.#partial(startedMs);
    this.#meter.worked(performance.now() - startedMs);
    this.#running = false;
    if (worked) this.#wake();
  }

  /** One block of every stream that has one. */
  #round(): boolean {
    let worked = false;
    for (const stream of this.#streams.values()) {
      if (stream.intake.hasBlock) {
        this.#block(stream);
        worked = true;
      } else if (stream.finishing) {
        this.#finish(stream);
        worked = true;
      }
    }
    return worked;
  }

  #block(stream: Stream): void {
    const block = stream.intake.take();
    stream.session.accept(stream.chain.run(block));
    if (!stream.intake.hasBlock) stream.waitingSinceMs = undefined;
    this.#send({ type: 'consumed', stream: stream.number, samples: block.length });
  }

  #finish(stream: Stream): void {
    this.#streams.delete(stream.number);
    const rest = stream.intake.take();
    stream.session.accept(stream.chain.end(rest));
    this.#send({ type: 'consumed', stream: stream.number, samples: rest.length });
    stream.session.finish();
    stream.chain[Symbol.dispose]();
  }

  #partial(nowMs: number): boolean {
    for (const { session } of this.#streams.values()) {
      if (!session.partialDue?.(nowMs)) continue;
      session.emitPartial?.(nowMs);
      return true;
    }
    return false;
  }

  #oldestMs(): number | undefined {
    let oldest: number | undefined;
    for (const { waitingSinceMs } of this.#streams.values())
      if (waitingSinceMs !== undefined && (oldest === undefined || waitingSinceMs < oldest))
        oldest = waitingSinceMs;
    return oldest;
  }

  #report(): void {
    const nowMs = performance.now();
    this.#send({
      type: 'load',
      ...this.#meter.report(nowMs, this.#oldestMs()),
      rssBytes: process.memoryUsage.rss(),
    });
    this.#wake(); // a partial may have become due without any new audio
  }
}
