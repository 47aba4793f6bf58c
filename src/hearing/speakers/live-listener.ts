import type { ChildProcess } from 'node:child_process';
import type { Logger } from '../../lib/log.ts';
import { forkBare } from '../media/bare-process.ts';
import { vadModelPath } from '../offline/voice-activity.ts';
import type { FromLiveListener, ToLiveListener } from './listener-messages.ts';
import type { LiveTurns } from './speaker-turns.ts';
import { isPulled, pullCommand, weightsPath } from './weights.ts';

/**
 * A leg whose voices are told apart. It sends one order at a time: the next samples wait for the answer to the last.
 */
export type HeardLeg = {
  /** Rejects if the process was lost. Another process must then hear everything from the leg's beginning. */
  hear(
    samples: Int16Array,
    order: { group: boolean; isLast: boolean },
  ): Promise<LiveTurns | undefined>;
  close(): void;
};

/**
 * At most this many legs are analysed at once; each takes some hundredths of a core. Voices of further legs are not
 * told apart.
 */
export const maxLegsHeard = 16;
const maxHeapMiB = 256;
/**
 * The process has a lower priority than those that recognise words, so an answer may take long. A process that exceeds
 * this is ended.
 */
const orderWithinMs = 120_000;
/** Without a leg the process ends after this long. */
const idleMs = 30_000;
const program = new URL('./live-child.ts', import.meta.url);

type OrderAtWork = { resolve(told: LiveTurns | undefined): void; reject(error: Error): void };
type Listener = {
  child: ChildProcess;
  legs: Map<number, OrderAtWork | undefined>;
  said: () => string;
};

/**
 * Tells the voices of live legs apart, in one low-priority process for all of them. The process keeps no audio and no
 * queue: each leg sends its next seconds after the last ones were answered.
 */
export class LiveListener implements Disposable {
  readonly #options: { models: string; log: Logger };
  #listener: Listener | undefined;
  #nextLeg = 0;
  #idle: NodeJS.Timeout | undefined;
  #isMissingTold = false;

  constructor(options: { models: string; log: Logger }) {
    this.#options = options;
  }

  /** Undefined if the model is not installed or too many legs are open. */
  async open(rateHz: number): Promise<HeardLeg | undefined> {
    const { models, log } = this.#options;
    if (!(await isPulled(models))) {
      if (!this.#isMissingTold) log.info({ remedy: pullCommand }, 'speakers are not told apart');
      this.#isMissingTold = true;
      return undefined;
    }
    if ((this.#listener?.legs.size ?? 0) >= maxLegsHeard) {
      log.warn({ most: maxLegsHeard }, 'too many legs at once; the speakers of one were not told apart'); // prettier-ignore
      return undefined;
    }
    return this.#legOf((this.#listener ??= this.#start()), rateHz);
  }

  [Symbol.dispose](): void {
    clearTimeout(this.#idle);
    if (this.#listener) this.#end(this.#listener, 'closed');
  }

  #legOf(listener: Listener, rateHz: number): HeardLeg {
    clearTimeout(this.#idle);
    const leg = this.#nextLeg++;
    listener.legs.set(leg, undefined);
    send(listener, { type: 'open', leg, rateHz });
    return {
      hear: (samples, order) => {
        const { promise, resolve, reject } = Promise.withResolvers<LiveTurns | undefined>();
        if (!listener.legs.has(leg)) return Promise.reject(new Error('the listener was lost'));
        const late = setTimeout(() => this.#end(listener, 'an order took too long'), orderWithinMs);
        const done =
          <T>(settle: (value: T) => void) =>
          (value: T): void => {
            clearTimeout(late);
            settle(value);
          };
        listener.legs.set(leg, { resolve: done(resolve), reject: done(reject) });
        send(listener, { type: 'hear', leg, samples, ...order });
        return promise;
      },
      close: () => {
        listener.legs.get(leg)?.reject(new Error('closed'));
        if (!listener.legs.delete(leg)) return;
        send(listener, { type: 'close', leg });
        if (listener.legs.size > 0 || listener !== this.#listener) return;
        this.#idle = setTimeout(() => this.#end(listener, 'idle'), idleMs);
        this.#idle.unref();
      },
    };
  }

  #start(): Listener {
    const { child, said } = forkBare({
      program,
      maxHeapMiB,
      options: { serialization: 'advanced' }, // samples are sent as they are, not as JSON
    });
    const listener: Listener = { child, legs: new Map(), said };
    child.on('message', (message: FromLiveListener) => this.#heard(listener, message));
    child.on('error', (error) => this.#end(listener, error.message));
    child.on('exit', (code, signal) =>
      this.#end(listener, `its process ended with ${signal ?? `code ${String(code)}`}`),
    );
    const weights = weightsPath(this.#options.models);
    send(listener, { type: 'load', weights, voiceActivityModel: vadModelPath() });
    return listener;
  }

  #heard(listener: Listener, message: FromLiveListener): void {
    if (message.type === 'failed') {
      this.#end(listener, message.message);
      return;
    }
    const waiting = listener.legs.get(message.leg);
    if (waiting === undefined) return; // the leg was closed meanwhile
    listener.legs.set(message.leg, undefined);
    waiting.resolve(message.told);
  }

  /**
   * Called once when the process has ended in any way. Waiting legs are told, and the next leg starts another process.
   */
  #end(listener: Listener, reason: string): void {
    const { child, legs, said } = listener;
    if (this.#listener === listener) this.#listener = undefined;
    child.kill('SIGKILL');
    if (legs.size === 0) return;
    const { log } = this.#options;
    log.warn(
      { reason, legs: legs.size, said: said().trim() },
      'the listener of live legs was lost',
    );
    const waiting = [...legs.values()];
    legs.clear();
    for (const one of waiting) one?.reject(new Error(reason));
  }
}

/** A message that can no longer be sent is answered by the end of the process. */
function send({ child }: Listener, message: ToLiveListener): void {
  if (child.connected) child.send(message, () => undefined);
}
