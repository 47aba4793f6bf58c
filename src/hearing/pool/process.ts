import { fork, type ChildProcess, type ForkOptions } from 'node:child_process';
import { constants, setPriority } from 'node:os';
import { Silence, waitedForProcessorMs } from '../../lib/silence.ts';
import type { Model } from '../models/model-folder.ts';
import type {
  ChildLoad,
  FromChild,
  LegCost,
  OfStream,
  ToChild,
  ToStream,
} from '../engine/child-messages.ts';

type ProcessOptions = {
  model: Model;
  vadModel: string;
  /** The folder of the model that reads recordings a second time. */
  secondReader?: string | undefined;
  /** The time to load. A big model on a slow disk takes a while, but an engine that hangs must be ended. */
  loadDeadlineMs: number;
  hangDeadlineMs: number;
  /** Runs at the lowest priority and never skips a reading for lack of time. */
  inBackground: boolean;
  onReady(about: Omit<Extract<FromChild, { type: 'ready' }>, 'type' | 'legCost'>): void;
  /** Called once when the process has ended or is being killed, for any reason. */
  onEnd(reason: string): void;
};

function withoutPrototype<T extends object>(values: T): T {
  return Object.assign(Object.create(null) as T, values);
}

/** Lowers the priority of a process. If the system does not allow it, the process runs at normal priority. */
function lowerPriority(pid: number): void {
  try {
    setPriority(pid, constants.priority.PRIORITY_LOW);
  } catch {
    // The process has already ended, which its exit event reports.
  }
}

type StreamListener = (message: OfStream) => void;

const loadEveryMs = 500;
const compileCache = new URL('../../lib/compile-cache.mjs', import.meta.url).href;
/**
 * Below this size, in megabytes, the whole heap is not searched for garbage. The runtime puts each result in new
 * memory, which a heap of 15 MB counts as growth. That caused three searches per second, a sixth of all processor time
 * at 20 legs.
 */
const quietHeapMb = 128;
/**
 * From this many streams on, messages are collected for up to this long and sent together. Each message wakes the
 * process, and audio that arrives together is processed together. With 20 legs in a process a leg costs a twentieth
 * less, and a final comes 18 ms later.
 */
const manyStreams = 5;
const gatherMs = 20;
const tickMs = 250;
const stderrBytes = 2000;
const latenessKept = 8;

/**
 * One supervised recogniser process. It says `ready` before it gets a stream, is killed if it sends nothing for the
 * deadline, and reports its end once. The pool starts its replacement.
 */
export class RecogniserProcess {
  readonly pid: number | undefined;
  readonly #child: ChildProcess;
  readonly #options: ProcessOptions;
  readonly #listeners = new Map<number, StreamListener>();
  readonly #watch: NodeJS.Timeout;
  #state: 'loading' | 'ready' | 'ended' = 'loading';
  #load: ChildLoad = { busy: 0, latenessMs: 0, rssBytes: 0 };
  readonly #lateness: number[] = [];
  /**
   * The messages that go to the child next. The limit of the streams also bounds this list, because waiting audio
   * counts as sent.
   */
  #gathered: ToStream[] = [];
  #legCost: LegCost | undefined;
  readonly #silence: Silence;
  #lastWords = '';
  #reason: string | undefined;
  readonly #exited: Promise<void>;

  constructor(options: ProcessOptions) {
    this.#options = options;
    this.#child = fork(
      new URL('../child/recogniser-child.ts', import.meta.url),
      withoutPrototype({
        serialization: 'advanced', // samples are sent as they are, not as JSON
        stdio: ['ignore', 'ignore', 'pipe', 'ipc'],
        execArgv: [
          '--disable-proto=delete',
          '--disable-warning=ExperimentalWarning',
          `--initial-old-space-size=${String(quietHeapMb)}`,
          '--import',
          compileCache,
        ],
        // The child needs no setting and must not get a secret. Node also copies inherited names: a polluted prototype
        // could add NODE_OPTIONS, which runs code.
        env: withoutPrototype({}),
      } satisfies ForkOptions),
    );
    this.pid = this.#child.pid;
    const { pid } = this;
    const isLow = options.inBackground && pid !== undefined;
    if (isLow) lowerPriority(pid);
    this.#silence = new Silence(isLow ? () => waitedForProcessorMs(pid) : undefined);
    this.#child.on('message', (message: FromChild) => this.#receive(message));
    this.#child.on('error', (error) => this.#end(error.message));
    this.#exited = new Promise((resolve) => {
      this.#child.on('exit', (code, signal) => {
        this.#end(this.#reason ?? `process ended with ${signal ?? `code ${String(code)}`}`);
        resolve();
      });
      this.#child.on('error', () => resolve()); // the process never started, so no exit event follows
    });
    this.#child.stderr?.on('data', (bytes: Buffer) => {
      this.#lastWords = (this.#lastWords + bytes.toString()).slice(-stderrBytes);
    });
    this.#watch = setInterval(() => this.#tick(), tickMs);
    const { model, vadModel, secondReader } = options;
    const measured = !options.inBackground; // the admission of jobs does not depend on their cost
    this.#send({ type: 'load', model, vadModel, loadEveryMs, secondReader, measured });
  }

  get state(): 'loading' | 'ready' | 'ended' {
    return this.#state;
  }

  get load(): ChildLoad {
    return this.#load;
  }

  /**
   * The lateness of the process. A process that hangs reports nothing, and the words of its callers wait all the while.
   */
  get latenessMs(): number {
    const dueMs = this.streams > 0 ? this.#silence.ms - loadEveryMs : 0;
    return Math.max(this.#load.latenessMs, dueMs);
  }

  /** The lateness of the process in its last reports, newest last. */
  get lateness(): readonly number[] {
    return this.#lateness;
  }

  get legCost(): LegCost | undefined {
    return this.#legCost;
  }

  get streams(): number {
    return this.#listeners.size;
  }

  listen(stream: number, listener: StreamListener): void {
    this.#listeners.set(stream, listener);
  }

  forget(stream: number): void {
    this.#listeners.delete(stream);
  }

  send(message: ToStream): void {
    this.#gathered.push(message);
    if (this.streams < manyStreams) this.#sendGathered();
    else if (this.#gathered.length === 1) setTimeout(() => this.#sendGathered(), gatherMs);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#listeners.clear();
    this.#kill('closed');
    await this.#exited;
  }

  #sendGathered(): void {
    const of = this.#gathered;
    this.#gathered = [];
    if (of.length > 0) this.#send({ type: 'streams', of });
  }

  #send(message: ToChild): void {
    if (this.#state === 'ended' || !this.#child.connected) return; // the exit event reports its end
    this.#child.send(message, () => undefined);
  }

  #receive(message: FromChild): void {
    this.#silence.heard();
    if (this.#state === 'ended') return;
    switch (message.type) {
      case 'ready':
        this.#state = 'ready';
        this.#legCost = message.legCost;
        this.#options.onReady(message);
        break;
      case 'failed':
        this.#kill(message.reason);
        break;
      case 'load':
        this.#load = message;
        this.#legCost = message.legCost ?? this.#legCost;
        this.#lateness.push(message.latenessMs);
        if (this.#lateness.length > latenessKept) this.#lateness.shift();
        break;
      case 'event':
        this.#listeners.get(message.stream)?.(message);
        break;
      case 'consumed':
        for (const { stream, samples } of message.of)
          this.#listeners.get(stream)?.({ type: 'consumed', samples });
        break;
    }
  }

  #tick(): void {
    const { hangDeadlineMs, loadDeadlineMs } = this.#options;
    const deadlineMs = this.#state === 'loading' ? loadDeadlineMs : hangDeadlineMs;
    if (this.#silence.isTooLong(tickMs, deadlineMs))
      this.#kill(`no sign of life for ${String(deadlineMs)} ms`);
  }

  #kill(reason: string): void {
    this.#reason ??= reason;
    this.#child.kill('SIGKILL'); // a hung engine reacts to no other signal
    this.#end(this.#reason);
  }

  #end(reason: string): void {
    if (this.#state === 'ended') return;
    this.#state = 'ended';
    clearInterval(this.#watch);
    const words = this.#lastWords.trim();
    this.#options.onEnd(words === '' ? reason : `${reason}; it said: ${words}`);
    this.#listeners.clear();
  }
}
