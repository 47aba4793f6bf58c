import type { Clock } from '../../lib/clock.ts';
import { reasonOf } from '../../lib/errors.ts';
import { every, type Loop, type Next } from '../../lib/every.ts';
import type { Logger } from '../../lib/log.ts';
import type { Recogniser, StreamAdmission } from '../recogniser.ts';

export type BackgroundRecogniser<Running = Recogniser> = Recogniser & {
  /** Ends the processes as soon as no job needs them. The next job starts others, which see the models of then. */
  renew(): void;
  /** Starts the processes, and gives them to somebody who has work for them. Undefined if they cannot be had. */
  begun(): Promise<Running> | undefined;
};

type BackgroundOptions<Running> = {
  /** Starts the processes with the model of the live recogniser. */
  start(): Promise<Running>;
  live: Pick<Recogniser, 'status' | 'admits' | 'mostProcesses'>;
  clock: Clock;
  log: Logger;
};

/** Idle processes are ended after this time: each holds some hundred megabytes. */
const idleMs = 60_000;
const lookMs = 10_000;

const starting: StreamAdmission = {
  outcome: 'at-capacity',
  detail: 'the recogniser of jobs is starting',
  retryAfterS: 1,
};

/**
 * The recogniser of pre-recorded jobs. Its processes start with the first job and end when no job has needed them for a
 * minute. The live recogniser tells whether a job can be read at all.
 */
export function backgroundRecogniser<Running extends Recogniser>(
  options: BackgroundOptions<Running>,
): BackgroundRecogniser<Running> {
  const { live, clock, log } = options;
  let started: Promise<Running> | undefined;
  let own: Recogniser | undefined;
  let idleSinceMs: number | undefined;
  let looks: Loop | undefined;
  let closed = false;
  let isStale = false;

  const stop = async (): Promise<void> => {
    void looks?.stop();
    const going = started;
    started = own = undefined;
    isStale = false;
    if (going) await (await going)[Symbol.asyncDispose]();
  };
  const look = (): Next => {
    if (!own || closed) return 'over';
    if (own.status().streams > 0) idleSinceMs = undefined;
    else idleSinceMs ??= clock.monotonicMs();
    if (idleSinceMs === undefined) return;
    if (!isStale && clock.monotonicMs() - idleSinceMs < idleMs) return;
    stop().catch((error: unknown) => {
      log.warn({ reason: reasonOf(error) }, 'the recogniser of jobs did not end properly');
    });
    return 'over';
  };
  const begin = (): Promise<Running> => {
    started ??= options.start().then(
      (recogniser) => {
        own = recogniser;
        idleSinceMs = undefined;
        looks = every(clock, lookMs, look, { firstMs: 0 });
        return recogniser;
      },
      (error: unknown) => {
        started = undefined;
        log.error({ reason: reasonOf(error) }, 'the recogniser of jobs could not be started');
        throw error;
      },
    );
    started.catch(() => undefined); // already logged; the next job tries again
    return started;
  };
  return {
    mostProcesses: live.mostProcesses,
    status: () => own?.status() ?? live.status(),
    admits(options, streams) {
      const admission = live.admits(options, 0);
      // A job is asking, so the processes load while its audio is downloaded and decoded.
      if (admission.outcome !== 'no-model' && !closed) void begin();
      // Live sessions that fill the machine make jobs slow, not impossible.
      return admission.outcome === 'at-capacity'
        ? { outcome: 'admitted' }
        : own
          ? own.admits(options, streams)
          : admission;
    },
    open(options, onEvent) {
      if (closed) return starting;
      if (own) return own.open(options, onEvent);
      void begin();
      return starting;
    },
    begun: () => (closed ? undefined : begin()),
    renew() {
      isStale = started !== undefined;
      look();
    },
    async [Symbol.asyncDispose]() {
      closed = true;
      await stop();
    },
  };
}
