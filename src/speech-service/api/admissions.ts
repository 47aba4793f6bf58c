import { refuseUncovered } from '../offered-languages.ts';
import { Problem } from '../../port/problem.ts';
import type { LiveRequest } from '../../protocol/live-request.ts';
import type { Store } from '../../store/store.ts';
import { refuseUnreachable } from '../callbacks/session-callbacks.ts';
import type { SpeechServiceConfig } from '../config.ts';
import type { Sessions } from '../live/live-sessions.ts';
import { speechMetrics } from '../metrics.ts';
import type { Recogniser } from '../../hearing/recogniser.ts';

type AdmissionsOptions = {
  config: SpeechServiceConfig;
  store: Store;
  sessions: Sessions;
  recogniser: Recogniser;
};

/** Decides whether another session may begin. A refusal comes before anything is created. */
export class Admissions {
  readonly #options: AdmissionsOptions;
  #draining = false;

  constructor(options: AdmissionsOptions) {
    this.#options = options;
  }

  drain(): void {
    this.#draining = true;
  }

  check(request: LiveRequest): void {
    try {
      this.#check(request);
    } catch (error) {
      if (error instanceof Problem) speechMetrics.refused.inc({ status: String(error.status) });
      throw error;
    }
  }

  #check(request: LiveRequest): void {
    const { config, store, sessions } = this.#options;
    if (this.#draining) throw refusal(503, 'the service is stopping, try again in a moment', 2);
    const room = store.acceptsNewCalls();
    if (!room.ok) throw refusal(503, room.reason, 30);
    if (sessions.open >= config.maximumSessions)
      throw refusal(
        429,
        `Maximum number of concurrent live sessions reached: ${config.maximumSessions} on this installation`,
        5,
      );
    const { callback, callback_config } = request;
    if (callback && callback_config.url !== undefined)
      refuseUnreachable(callback_config.url, config.callbackHosts);
    this.#recogniser(request);
  }

  /** Counts the open streams and those promised to sessions that have not sent audio yet. */
  #recogniser(request: LiveRequest): void {
    const { recogniser, sessions } = this.#options;
    const { languages } = request.language_config;
    refuseUncovered(recogniser, languages);
    const admission = recogniser.admits(
      { languages },
      sessions.channelsPromised + request.channels,
    );
    switch (admission.outcome) {
      case 'admitted':
        return;
      case 'no-model':
        throw refusal(503, admission.detail, admission.retryAfterS);
      case 'at-capacity':
        throw refusal(429, admission.detail, admission.retryAfterS);
      case 'language':
        throw new Problem(422, `Invalid parameter: ${admission.detail}`);
    }
  }
}

function refusal(status: number, message: string, retryAfterS: number): Problem {
  const retryAfter = String(Math.max(1, Math.ceil(retryAfterS)));
  return new Problem(status, message, { headers: { 'retry-after': retryAfter } });
}
