import type { Logger } from '../../lib/log.ts';
import type { LegAudioOptions, LegRequest, LegState } from './leg-types.ts';

/** A request that the service refuses is asked again rarely: only the service itself can change its mind. */
const refusedRetryMs = 60_000;

export type MadeSession = { id: string; url: string };

export type LegAskingOptions = Pick<
  LegAudioOptions,
  'legId' | 'callId' | 'speech' | 'request' | 'region' | 'clock'
> & {
  log: Logger;
  signal: AbortSignal;
  isKnown: (sessionId: string) => boolean;
  onWaiting: (cause: Extract<LegState, { at: 'waiting' }>['cause']) => void;
  /** The service does not take the request. Asked again later when nobody ends it first. */
  onRefused: () => 'ask-again' | 'give-up';
  /** Time to ask again after a refusal. */
  onAskAgain: () => void;
};

/** Asks for a leg's sessions, one at a time, and sees that none stays behind that nobody uses. */
export class LegAsking {
  /** A session is being asked for. */
  busy = false;
  private request: LegRequest;
  private readonly options: LegAskingOptions;
  private readonly sinceMs: number;
  private stopRetry: (() => void) | undefined;

  constructor(options: LegAskingOptions) {
    this.options = options;
    this.request = options.request;
    this.sinceMs = options.clock.monotonicMs();
  }

  /** Refused, and not to be asked before its time. */
  get refused(): boolean {
    return this.stopRetry !== undefined;
  }

  /** What later sessions are asked for. */
  change(request: LegRequest): void {
    this.request = request;
  }

  async ask(): Promise<MadeSession | undefined> {
    const { speech, region, signal, onWaiting } = this.options;
    this.busy = true;
    const created = await speech.create({
      body: this.request,
      ...(region === undefined ? {} : { region }),
      sinceMs: this.sinceMs,
      signal,
      onWaiting,
    });
    this.busy = false;
    if (created.orphans > 0) this.cancelOrphans();
    if (created.outcome === 'created') return { id: created.id, url: created.url };
    if (created.outcome === 'refused' && !signal.aborted) this.wasRefused(created.reason);
    return undefined;
  }

  /** An answer was lost, perhaps with an earlier process: what it made is not to stay at the service (F19). */
  cancelOrphans(): void {
    const { speech, callId, legId, isKnown } = this.options;
    speech.cancelOrphans({ metadata: { call_id: callId, leg_id: legId }, isKnown });
  }

  stop(): void {
    this.stopRetry?.();
    this.stopRetry = undefined;
  }

  private wasRefused(reason: string): void {
    const { log, clock, onWaiting, onRefused, onAskAgain } = this.options;
    log.error({ reason }, 'the speech service refuses the session request');
    onWaiting('refused');
    if (onRefused() === 'give-up') return;
    this.stopRetry = clock.after(refusedRetryMs, () => {
      this.stopRetry = undefined;
      onAskAgain();
    });
  }
}
