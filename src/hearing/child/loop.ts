import { reasonOf } from '../../lib/errors.ts';
import type { Model } from '../models/model-folder.ts';
import { Chain, Enhancer } from './audio-chain.ts';
import type { Engine, EngineOptions, EngineSession, Urgency } from '../engine/engine.ts';
import { loadTextLanguage, noTextLanguage, type TextLanguage } from '../engine/language-choice.ts';
import { LegMeter, LoadMeter } from '../engine/load.ts';
import type { Sherpa } from '../engine/sherpa.ts';
import { MoonshineReader } from '../decoder/moonshine-reader.ts';
import { BlockCutter, Pace } from '../engine/stream-audio.ts';
import { nativeModel } from '../offline/native-model.ts';
import { openOfflineEngine } from '../offline/offline-engine.ts';
import {
  blockSamplesOf,
  type ChildTask,
  type FromChild,
  type LegCost,
  type ToStream,
} from '../engine/child-messages.ts';
import { openStreamingEngine } from '../streaming/streaming-engine.ts';
import { readTwice } from '../whisper/second-reading.ts';
import { readPacked } from '../whisper/packed-reading.ts';
import { WhisperModel } from '../whisper/whisper-model.ts';
import { WhisperReader } from '../whisper/whisper-reader.ts';

type Stream = {
  number: number;
  rateHz: number;
  cutter: BlockCutter;
  chain: Chain;
  session: EngineSession;
  finishing: 'no' | 'asked' | 'done';
  /** Undefined for a recording, which is never live. */
  pace: Pace | undefined;
  live: boolean;
  /** Number of samples that were processed since the last report to the parent. */
  untold: number;
};

/** After this many milliseconds the loop reads messages: new audio arrives, and closed streams are dropped. */
const sliceMs = 20;
/**
 * Live streams are reported to the parent at most this often. A message for each block would take a fortieth of the
 * total cost of a leg.
 */
const tellEveryMs = 50;

/**
 * The loop of one recogniser process over all its streams. Each round first gives one block to every stream with audio,
 * so that none starves. When no audio waits, the loop makes the most urgent reading of all streams and starts again.
 */
export class RecogniserLoop {
  readonly #streams = new Map<number, Stream>();
  readonly #sherpa: Sherpa;
  readonly #engine: Engine;
  readonly #newEnhancer: () => Enhancer;
  readonly #send: (message: FromChild) => void;
  readonly #meter = new LoadMeter();
  readonly #legs = new LegMeter();
  #running = false;
  #toldMs = 0;
  #latenessMs = 0;
  #togetherMs = 0;

  static async load(
    sherpa: Sherpa,
    load: ChildTask,
    send: (message: FromChild) => void,
  ): Promise<RecogniserLoop> {
    const { description } = load.model;
    const several = description.languages.length > 1;
    const isWindows = description.kind === 'whisper-windows';
    return new RecogniserLoop(sherpa, load, send, {
      newEnhancer: await Enhancer.loader(),
      textLanguage: several && !isWindows ? await loadTextLanguage() : noTextLanguage,
      windows: isWindows ? await openedWindows(load.model.folder) : undefined,
      decoder:
        description.kind === 'moonshine' ? await MoonshineReader.open(load.model) : undefined,
      second:
        load.secondReader === undefined ? undefined : await WhisperReader.open(load.secondReader),
    });
  }

  private constructor(
    sherpa: Sherpa,
    load: ChildTask,
    send: (message: FromChild) => void,
    loaded: {
      newEnhancer: () => Enhancer;
      textLanguage: TextLanguage;
      decoder: { reader: MoonshineReader } | { failure: string } | undefined;
      second: { reader: WhisperReader } | { failure: string } | undefined;
      /** The reader of a model for many languages. */
      windows: WhisperReader | undefined;
    },
  ) {
    this.#newEnhancer = loaded.newEnhancer;
    this.#sherpa = sherpa;
    this.#send = send;
    const { decoder, second, windows } = loaded;
    const reader = decoder && 'reader' in decoder ? decoder.reader : undefined;
    const engine = openEngine(sherpa, load.model, {
      windows,
      vadModel: load.vadModel,
      textLanguage: loaded.textLanguage,
      reader,
      load: () => this.#meter.level(this.#latenessMs, this.#togetherMs),
    });
    if (windows) this.#engine = readPacked(engine, windows, load.vadModel);
    else if (second && 'reader' in second) this.#engine = readTwice(engine, second.reader, reader);
    else this.#engine = engine;
    send({
      type: 'ready',
      ...(load.measured ? { legCost: this.#measured() } : {}),
      estimatedTimes: this.#engine.estimatedTimes,
      ...(decoder && 'failure' in decoder ? { decoderFailure: decoder.failure } : {}),
      ...(second && 'failure' in second ? { secondReaderFailure: second.failure } : {}),
    });
    setInterval(() => {
      this.#report();
    }, load.loadEveryMs);
  }

  handle(message: ToStream): void {
    const stream = this.#streams.get(message.stream);
    switch (message.type) {
      case 'open':
        try {
          this.#open(message);
        } catch (error) {
          const event = { type: 'failed', reason: reasonOf(error) } as const;
          this.#send({ type: 'event', stream: message.stream, event });
        }
        break;
      case 'audio':
        if (!stream) break; // the stream was closed while its audio was on its way
        stream.cutter.push(message.samples, performance.now());
        this.#wake();
        break;
      case 'expect':
        stream?.session.expect?.(message.answer, message.from / stream.rateHz);
        break;
      case 'finish':
        if (stream) stream.finishing = 'asked';
        this.#wake();
        break;
      case 'close':
        this.#ended(message.stream);
        break;
    }
  }

  #open({ stream: number, options }: Extract<ToStream, { type: 'open' }>): void {
    const session = this.#engine.open(options, (event) => {
      if (event.type === 'finished') this.#ended(number);
      this.#send({ type: 'event', stream: number, event });
    });
    this.#streams.set(number, {
      number,
      rateHz: options.sampleRate,
      cutter: new BlockCutter(blockSamplesOf(options.sampleRate)),
      chain: new Chain(this.#sherpa, options, this.#newEnhancer),
      session,
      finishing: 'no',
      pace: options.recorded ? undefined : new Pace(performance.now()),
      live: !options.recorded,
      untold: 0,
    });
  }

  #wake(): void {
    if (this.#running) return;
    this.#running = true;
    setImmediate(() => this.#slice());
  }

  #slice(): void {
    const startedMs = performance.now();
    let worked = true;
    while (worked && performance.now() - startedMs < sliceMs)
      worked = this.#round() || this.#step();
    this.#tellConsumed(tellEveryMs);
    this.#running = false;
    if (worked) this.#wake();
  }

  /**
   * Gives one block to every stream that has one, and only then lets them all process it. Together this costs half as
   * much.
   */
  #round(): boolean {
    const startedMs = performance.now();
    const given: Stream[] = [];
    let finished = false;
    for (const stream of this.#streams.values()) {
      if (stream.session.full) continue;
      if (stream.cutter.hasBlock) {
        const block = stream.cutter.take();
        this.#heard(stream, block.length);
        stream.session.push(stream.chain.run(block));
        given.push(stream);
      } else if (stream.finishing === 'asked') {
        this.#finish(stream);
        finished = true;
      }
    }
    for (const { session, cutter, live } of given) session.listen({ atMs: cutter.takenAtMs, live });
    const eachMs = (performance.now() - startedMs) / given.length;
    for (const { live } of given) this.#meter.worked(eachMs, live);
    return finished || given.length > 0;
  }

  #finish(stream: Stream): void {
    stream.finishing = 'done';
    const rest = stream.cutter.take();
    this.#heard(stream, rest.length);
    const arrival = { atMs: performance.now(), live: stream.live };
    stream.session.push(stream.chain.end(rest));
    stream.session.listen(arrival);
    stream.session.finish(arrival);
  }

  #heard(stream: Stream, samples: number): void {
    const seconds = samples / stream.rateHz;
    stream.live = stream.pace?.heard(stream.cutter.takenAtMs, seconds) ?? false;
    stream.untold += samples;
    this.#legs.heard(seconds);
  }

  /** Makes the most urgent reading of all streams. */
  #step(): boolean {
    const startedMs = performance.now();
    this.#look(startedMs);
    let best: { session: EngineSession; urgency: Urgency } | undefined;
    for (const { session } of this.#streams.values()) {
      const urgency = session.urgency(startedMs);
      if (urgency && (!best || comesBefore(urgency, best.urgency))) best = { session, urgency };
    }
    if (!best) return false;
    // Processed audio is reported first. If the reading ends this process, the parent then knows that this audio was
    // not the cause.
    this.#tellConsumed();
    best.session.step(startedMs);
    this.#meter.worked(performance.now() - startedMs, best.urgency.needed);
    return true;
  }

  /**
   * Reports how much audio was processed, except for streams with a waiting reading: when this process dies, the parent
   * suspects the streams with unreported audio. If only live streams have news, `everyMs` must have passed since the
   * last report.
   */
  #tellConsumed(everyMs = 0): void {
    const told = [...this.#streams.values()].filter(
      ({ untold, session }) => untold > 0 && session.settled,
    );
    // The parent sends further audio of a recording only after this report.
    const isDue = told.some(({ live }) => !live) || performance.now() - this.#toldMs >= everyMs;
    if (told.length === 0 || !isDue) return;
    this.#toldMs = performance.now();
    const of = told.map(({ number, untold }) => ({ stream: number, samples: untold }));
    this.#send({ type: 'consumed', of });
    for (const stream of told) stream.untold = 0;
  }

  #ended(number: number): void {
    this.#streams.get(number)?.chain[Symbol.dispose]();
    this.#streams.delete(number);
  }

  /**
   * Computes how late the audio or the finals of live streams are, and how long their first readings would take
   * together. The second value warns before anything is late.
   */
  #look(nowMs: number): void {
    this.#latenessMs = 0;
    this.#togetherMs = 0;
    for (const { cutter, live, session } of this.#streams.values()) {
      const waitedMs = live ? nowMs - (cutter.waitingSinceMs ?? nowMs) : 0;
      const overdueMs = nowMs - (session.dueMs ?? nowMs);
      this.#latenessMs = Math.max(this.#latenessMs, waitedMs, overdueMs);
      if (live) this.#togetherMs += session.firstReadingMs;
    }
  }

  #measured(): LegCost {
    const { listening, reading } = this.#engine.measure();
    this.#legs.measured(listening);
    return { least: listening + reading };
  }

  #report(): void {
    this.#look(performance.now());
    const { user, system } = process.cpuUsage();
    const { readS } = this.#engine;
    const spent = { processS: (user + system) / 1e6, readS };
    const legCost = this.#legs.learn(performance.now(), spent, this.#engine.readingShare());
    this.#send({
      type: 'load',
      ...this.#meter.report(performance.now()),
      latenessMs: this.#latenessMs,
      ...(legCost ? { legCost } : {}),
      rssBytes: process.memoryUsage.rss(),
    });
    this.#wake(); // a reading may have become due without new audio
  }
}

function comesBefore(a: Urgency, b: Urgency): boolean {
  return a.rank < b.rank || (a.rank === b.rank && a.dueMs < b.dueMs);
}

/** No other engine can read this model, so a failure ends the process. */
async function openedWindows(folder: string): Promise<WhisperReader> {
  const opened = await WhisperReader.open(folder);
  if ('failure' in opened) throw new Error(opened.failure);
  return opened.reader;
}

function openEngine(
  sherpa: Sherpa,
  model: Model,
  { windows, ...options }: EngineOptions & { windows: WhisperReader | undefined },
): Engine {
  const { description } = model;
  switch (description.kind) {
    case 'streaming-nemo-ctc':
    case 'streaming-zipformer-ctc':
    case 'streaming-transducer':
      return openStreamingEngine(sherpa, model, description, options.textLanguage);
    case 'moonshine':
    case 'whisper':
    case 'sense-voice':
    case 'nemo-ctc':
    case 'zipformer-ctc':
    case 'nemo-transducer':
    case 'transducer':
      return openOfflineEngine(nativeModel(sherpa, model, description, options.reader), options);
    case 'whisper-windows':
      if (!windows) throw new Error('the model for many languages is not open');
      return openOfflineEngine(new WhisperModel(windows, description.languages), options);
  }
}
