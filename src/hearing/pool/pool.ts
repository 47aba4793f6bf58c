import { availableParallelism } from 'node:os';
import { reasonOf } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import { estimatesTimes } from '../models/model-folder.ts';
import { modelsFor } from '../models/catalogue.ts';
import { startModelSupply, type ModelSupply } from '../models/supply.ts';
import { vadModelPath } from '../offline/voice-activity.ts';
import { capacityOf, capacityOfAll, leastOf, overloaded } from './admission.ts';
import type { RecogniserConfig } from '../config.ts';
import type { LegCost } from '../engine/child-messages.ts';
import { restartsTotal, showPool, type PoolLoad, type PoolName } from './metrics.ts';
import { type PoolHooks, PoolStream } from './pool-stream.ts';
import { RecogniserProcess } from './process.ts';
import type {
  StreamAdmission,
  Recogniser,
  RecogniserEvent,
  RecogniserStatus,
  RecogniserStreamOptions,
} from '../recogniser.ts';

type RecogniserOptions = {
  config: RecogniserConfig;
  log: Logger;
  /**
   * True for work that nobody waits for. Its processes run at the lowest priority and use only time that live sessions
   * leave. While more processes may be started, each stream has one to itself.
   */
  inBackground?: boolean;
  /** The folder of the model that reads recordings a second time. */
  secondReader?: string | undefined;
  /** True if another pool of the same kind reads most streams. This one then has no figures of its own. */
  isBeside?: boolean;
  /** Gives away a stream whose language was found. Returns false if nobody takes it. */
  handOver?: (stream: PoolStream, language: string) => boolean;
  /** Gives away a stream whose language must be found again. Returns false if nobody takes it. */
  handBack?: (stream: PoolStream) => boolean;
};

export type RecogniserPool = Recogniser & {
  /**
   * Reads a stream of another pool from its last decided second on. Without a language it is to be found. Returns false
   * if there is no room for the stream.
   */
  adopt(stream: PoolStream, language?: string): boolean;
  /** Goes on with a stream that this pool gave away and that nobody took. Its place was counted before. */
  takeBack(stream: PoolStream): void;
  /** The running processes and their load, for operators. */
  processes(): { pid: number | undefined; streams: number; busy: number; rssBytes: number }[];
};

/**
 * Starts a pool and resolves at once. While the model is being downloaded, `status()` gives the progress and no stream
 * is admitted.
 */
export async function startRecogniser(options: RecogniserOptions): Promise<RecogniserPool> {
  const supply = await startModelSupply(options.config, options.log);
  return new Pool(options, supply);
}

/**
 * Another process starts when the running ones have used this share of their capacity, or have this many streams each.
 * A process takes seconds to load and streams never move: calls that arrive together meanwhile share one core. By cost
 * alone many would fit there, while the other core idles and their words wait.
 */
const startsAtShare = 0.25;
const startsAtStreams = 8;
const loadDeadlineMs = 120_000;
/** A process that fails to load is restarted after growing pauses, so that a broken model does not use up a core. */
const retryMs = (failures: number): number => Math.min(30_000, 200 * 2 ** failures);
const failuresToReport = 3;
/** A process with a second reader may be silent this many times as long, because one run of that model takes longer. */
const secondReaderPatience = 4;

class Pool implements RecogniserPool {
  readonly #log: Logger;
  readonly #config: RecogniserConfig;
  readonly #supply: ModelSupply;
  readonly mostProcesses: number;
  readonly #inBackground: boolean;
  readonly #secondReader: string | undefined;
  readonly #processes = new Set<RecogniserProcess>();
  readonly #streams = new Set<PoolStream>();
  #failures = 0;
  #failure = '';
  /** The answer of the process that became ready last. */
  #estimatedTimes: boolean | undefined;
  #retry: NodeJS.Timeout | undefined;
  #nextNumber = 1;
  #closing: Promise<void> | undefined;
  readonly #name: PoolName;
  readonly #hide: () => void;
  readonly #giving: Pick<RecogniserOptions, 'handOver' | 'handBack'>;

  constructor(options: RecogniserOptions, supply: ModelSupply) {
    const { config, log, inBackground = false, secondReader, isBeside } = options;
    this.#config = config;
    this.#giving = options;
    this.#secondReader = secondReader;
    this.#inBackground = inBackground;
    this.#log = log.child({ part: 'recogniser' });
    this.#supply = supply;
    this.mostProcesses = config.processes ?? Math.min(4, availableParallelism());
    this.#name = inBackground ? 'jobs' : 'live';
    this.#hide = isBeside ? () => undefined : showPool(this.#name, () => this.#load());
    supply.onChange(() => this.#modelCame());
    this.#grow();
  }

  status(): RecogniserStatus {
    const supply = this.#supply.current();
    const common = { streams: this.#streams.size, capacity: this.#capacity() };
    if (supply.state !== 'there') {
      const { detail } = supply;
      const none = { model: null, languages: [], estimatedTimes: false };
      return { state: 'no-model', detail, ...none, ...common };
    }
    const { name, description } = supply.model;
    const about = {
      model: name,
      languages: description.languages,
      estimatedTimes: this.#estimatedTimes ?? estimatesTimes(description.kind),
      ...common,
    };
    if ([...this.#processes].some((process) => process.state === 'ready'))
      return { state: 'ready', detail: `model ${name}`, ...about };
    if (this.#failures >= failuresToReport)
      return { state: 'failed', detail: `model ${name}: ${this.#failure}`, ...about };
    return { state: 'starting', detail: `model ${name} is being loaded`, ...about };
  }

  admits(
    options: Pick<RecogniserStreamOptions, 'languages'>,
    streams: number,
  ): Exclude<StreamAdmission, { outcome: 'admitted' }> | { outcome: 'admitted' } {
    const { state, detail, languages } = this.status();
    if (state === 'no-model' || state === 'failed')
      return { outcome: 'no-model', detail, retryAfterS: state === 'failed' ? 30 : 5 };
    const unknown = options.languages.filter((language) => !languages.includes(language));
    // One covered language among several is enough: detection then chooses among the covered ones.
    if (unknown.length > 0 && unknown.length === options.languages.length)
      return {
        outcome: 'language',
        detail:
          `no installed model covers ${unknown.join(', ')}; installed: ${languages.join(', ')}` +
          modelsFor(unknown),
      };
    const capacity = this.#capacity();
    const ready = [...this.#processes].filter((process) => process.state === 'ready');
    const late = ready.length === this.mostProcesses && ready.every(isOverloaded);
    if (late || this.#streams.size + streams > capacity)
      return {
        outcome: 'at-capacity',
        detail: late
          ? 'recognition is running late; no further session until it has caught up'
          : `${String(this.#streams.size)} of ${String(capacity)} channels are in use, ${String(streams)} more are asked for or promised`,
        retryAfterS: 5,
      };
    return { outcome: 'admitted' };
  }

  open(
    options: RecogniserStreamOptions,
    onEvent: (event: RecogniserEvent) => void,
  ): StreamAdmission {
    const admission = this.admits(options, 1);
    if (admission.outcome !== 'admitted') return admission;
    const stream: PoolStream = new PoolStream(
      options,
      onEvent,
      this.#hooksOf(() => stream),
    );
    this.#take(stream);
    return { outcome: 'admitted', stream };
  }

  adopt(stream: PoolStream, language?: string): boolean {
    if (this.#closing) return false;
    if (language !== undefined && !this.status().languages.includes(language)) return false;
    const languages = language === undefined ? stream.options.languages : [language];
    if (this.admits({ languages }, 1).outcome !== 'admitted') return false;
    this.takeBack(stream);
    return true;
  }

  takeBack(stream: PoolStream): void {
    stream.moveTo(this.#hooksOf(() => stream));
    this.#take(stream);
  }

  #take(stream: PoolStream): void {
    this.#streams.add(stream);
    this.#place(stream);
    this.#grow();
  }

  #hooksOf(stream: () => PoolStream): PoolHooks {
    return {
      onDone: () => {
        this.#streams.delete(stream());
        this.#placeAll();
      },
      onSettled: (language) => {
        if (this.#giving.handOver?.(stream(), language)) this.#gone(stream());
      },
      ...(this.#giving.handBack ? { onDoubt: () => this.#handBack(stream()) } : {}),
      newNumber: () => this.#nextNumber++,
    };
  }

  processes(): { pid: number | undefined; streams: number; busy: number; rssBytes: number }[] {
    return [...this.#processes].map(({ pid, streams, load }) => ({
      pid,
      streams,
      busy: load.busy,
      rssBytes: load.rssBytes,
    }));
  }

  #handBack(stream: PoolStream): boolean {
    const isTaken = this.#giving.handBack?.(stream) === true;
    if (isTaken) this.#gone(stream);
    return isTaken;
  }

  #gone(stream: PoolStream): void {
    this.#streams.delete(stream);
    this.#placeAll();
  }

  [Symbol.asyncDispose](): Promise<void> {
    this.#closing ??= this.#close();
    return this.#closing;
  }

  #load(): PoolLoad {
    const ready = [...this.#processes].filter((process) => process.state === 'ready');
    const sum = (of: (process: RecogniserProcess) => number): number =>
      ready.reduce((total, process) => total + of(process), 0);
    return {
      processes: ready.length,
      streams: this.#streams.size,
      capacity: this.#capacity(),
      busy: sum(({ load }) => load.busy) / Math.max(1, ready.length),
      latenessMs: Math.max(0, ...ready.map(({ latenessMs }) => latenessMs)),
      rssBytes: sum(({ load }) => load.rssBytes),
    };
  }

  async #close(): Promise<void> {
    this.#hide();
    clearTimeout(this.#retry);
    for (const stream of this.#streams) stream.close();
    await this.#supply[Symbol.asyncDispose]();
    await Promise.all([...this.#processes].map((process) => process[Symbol.asyncDispose]()));
  }

  #placeAll(): void {
    for (const stream of this.#streams) if (!stream.process) this.#place(stream);
  }

  /**
   * The ready process with the fewest streams takes the stream. Without one, the audio waits in the stream. A section
   * of a recording also waits while another process is about to be ready: streams never move, so the new process would
   * have nothing to read.
   */
  #place(stream: PoolStream): void {
    let best: RecogniserProcess | undefined;
    for (const process of this.#processes)
      if (process.state === 'ready' && (!best || process.streams < best.streams)) best = process;
    if (best && !(this.#inBackground && best.streams > 0 && this.#expectsAnother()))
      stream.attach(best);
  }

  #expectsAnother(): boolean {
    return this.#mayGrow() || [...this.#processes].some(({ state }) => state === 'loading');
  }

  #mayGrow(): boolean {
    return this.#processes.size < this.mostProcesses && this.#failures === 0;
  }

  #capacity(): number {
    return capacityOfAll(this.#legCosts(), this.mostProcesses);
  }

  #legCosts(): LegCost[] {
    return [...this.#processes].flatMap(({ legCost }) => legCost ?? []);
  }

  /** A new model starts without the failures of the one before. */
  #modelCame(): void {
    this.#failures = 0;
    clearTimeout(this.#retry);
    this.#retry = undefined;
    this.#grow();
  }

  /** Keeps one process running, and starts another when the running ones fill up or each has a stream. */
  #grow(): void {
    const supply = this.#supply.current();
    if (supply.state !== 'there' || this.#closing || this.#retry) return;
    const running = this.#processes.size;
    const enough = this.#inBackground
      ? running
      : running * Math.min(startsAtStreams, capacityOf(leastOf(this.#legCosts())) * startsAtShare);
    if (running > 0 && (running >= this.mostProcesses || this.#streams.size <= enough)) return;
    const process: RecogniserProcess = new RecogniserProcess({
      model: supply.model,
      vadModel: vadModelPath(),
      loadDeadlineMs,
      hangDeadlineMs:
        this.#config.hangDeadlineMs * (this.#secondReader === undefined ? 1 : secondReaderPatience),
      secondReader: this.#secondReader,
      inBackground: this.#inBackground,
      onReady: ({ estimatedTimes, decoderFailure, secondReaderFailure }) => {
        this.#failures = 0;
        this.#estimatedTimes = estimatedTimes;
        const about = { pid: process.pid, model: supply.model.name };
        this.#log.info(about, 'recogniser ready');
        if (decoderFailure !== undefined)
          this.#log.warn(
            { ...about, reason: decoderFailure },
            'our own decoder could not read the model; the native engine reads it, with more wrong words',
          );
        if (secondReaderFailure !== undefined)
          this.#log.warn(
            { ...about, reason: secondReaderFailure },
            'recordings are read without the second reader',
          );
        this.#placeAll();
      },
      onEnd: (reason) => this.#ended(process, reason),
    });
    this.#processes.add(process);
  }

  #ended(process: RecogniserProcess, reason: string): void {
    this.#processes.delete(process);
    if (this.#closing) return;
    restartsTotal.inc({ pool: this.#name });
    const held = [...this.#streams].filter((stream) => stream.process === process);
    this.#log.error({ pid: process.pid, reason, streams: held.length }, 'recogniser process ended');
    this.#failure = reason;
    this.#failures++;
    for (const stream of held) {
      if (stream.detach()) this.#place(stream);
      else stream.fail('recognition of this audio failed repeatedly');
    }
    this.#placeAll();
    if (this.#failures === 1) {
      this.#grow(); // after a single crash there is no pause
      return;
    }
    // The audio may cause a single crash. After the second one the model's files are checked.
    this.#supply.checkAgain().catch((error: unknown) => {
      this.#log.error({ reason: reasonOf(error) }, 'the recognition model could not be checked');
    });
    // This uses the machine's timer, not our clock: it spaces out the starts of processes.
    this.#retry ??= setTimeout(() => {
      this.#retry = undefined;
      this.#grow();
    }, retryMs(this.#failures));
  }
}

function isOverloaded({ streams, legCost, lateness }: RecogniserProcess): boolean {
  return overloaded({ streams, capacity: capacityOf(legCost), lateness });
}
