import type { Clock } from '../../lib/clock.ts';
import { digestOf } from '../../lib/digest.ts';
import { type GuardedAnswer, GuardedClient } from '../../lib/guarded-fetch.ts';
import { checkUrl, parseAllowance } from '../../lib/guarded-fetch-addresses.ts';
import type { Logger } from '../../lib/log.ts';
import { retryAfterMs } from '../../lib/retry-after.ts';
import { signWebhook } from '../../lib/webhook-signature.ts';
import { Problem } from '../../port/problem.ts';
import { CallbackQueue, longestAskedMs, type CallbackOutcome } from './callback-queue.ts';
import type { SpeechServiceConfig } from '../config.ts';
import { speechMetrics } from '../metrics.ts';

export type CallbackTarget = {
  url: string;
  secret: string | undefined;
  /** True for an address from the operator's settings, which may be private. */
  trusted: boolean;
  /** POST, unless the request asks for PUT. */
  method?: 'POST' | 'PUT';
};

/** Makes one attempt, with a deadline, through the HTTP client that refuses private addresses. */
export type Send = (target: CallbackTarget, id: string, body: string) => Promise<CallbackOutcome>;

/**
 * The name of an account webhook in the rows. It is made from the URL, so a new order in the settings does not change
 * it.
 */
export function webhookName(url: string): string {
  return digestOf(url).slice(0, 16);
}

/** Opens the queues of a session: one for the URL of its request and one for each account webhook. */
export class Callbacks {
  readonly #config: SpeechServiceConfig;
  readonly #send: Send;
  readonly #clock: Clock;
  readonly #log: Logger;

  constructor(options: { config: SpeechServiceConfig; send: Send; clock: Clock; log: Logger }) {
    this.#config = options.config;
    this.#send = options.send;
    this.#clock = options.clock;
    this.#log = options.log;
  }

  forSession(
    sessionId: string,
    url: string,
    settledBefore: number,
    onSettled: (count: number) => void,
  ): CallbackQueue {
    const target = { url, secret: this.#config.callbackSecret, trusted: false };
    return this.#queue(sessionId, target, 'callback', { settledBefore, onSettled });
  }

  /** Opens one queue for each webhook. */
  forAccount(
    sessionId: string,
    settledBefore: ReadonlyMap<string, number>,
    onSettled: (name: string, count: number) => void,
  ): { name: string; queue: CallbackQueue }[] {
    return this.#config.webhooks.map(({ url, secret }) => {
      const name = webhookName(url);
      const queue = this.#queue(sessionId, { url, secret, trusted: true }, 'webhook', {
        settledBefore: settledBefore.get(name) ?? 0,
        onSettled: (count) => onSettled(name, count),
      });
      return { name, queue };
    });
  }

  #queue(
    sessionId: string,
    target: CallbackTarget,
    kind: 'callback' | 'webhook',
    settling: { settledBefore: number; onSettled(count: number): void },
  ): CallbackQueue {
    return new CallbackQueue({
      ...settling,
      clock: this.#clock,
      deliver: (id, body) => this.#send(target, id, body),
      idPrefix: `msg_${sessionId.replaceAll('-', '')}_`,
      onGivenUp: (reason) => {
        speechMetrics.callbacksGivenUp.inc();
        this.#log.warn(
          { sessionId, kind, reason },
          'a callback was given up after its last attempt',
        );
      },
    });
  }
}

/** Refuses a callback address that is never called from here, before anything is created for it. */
export function refuseUnreachable(url: string, hosts: readonly string[]): void {
  const checked = checkUrl(url, hosts.map(parseAllowance));
  if (!checked.ok)
    throw new Problem(
      422,
      `the callback address is never called from here: ${checked.reason} (who runs this service may allow a private host by TRUNKLINE_SPEECH_CALLBACK_HOSTS)`,
    );
}

const attemptMs = 10_000;
const keptBytes = 16_384;

/**
 * Sends callbacks: signed if there is a secret, without following redirects, with one deadline for head and body. Only
 * a 2xx status is a success. An address from a request must not be private; an address of the operator may be.
 */
export function callbackSender(options: {
  allow: readonly string[];
  clock: Clock;
}): AsyncDisposable & {
  send: Send;
} {
  const given = new GuardedClient({ trust: 'checked', allow: options.allow });
  const configured = new GuardedClient({ trust: 'as-written' });
  const send = async (
    target: CallbackTarget,
    id: string,
    text: string,
  ): Promise<CallbackOutcome> => {
    const body = Buffer.from(text, 'utf8');
    const signature =
      target.secret === undefined
        ? {}
        : signWebhook([target.secret], id, Math.floor(options.clock.now() / 1e3), body);
    const answer = await (target.trusted ? configured : given).send({
      url: target.url,
      method: target.method ?? 'POST',
      headers: { 'content-type': 'application/json; charset=utf-8', ...signature },
      body,
      deadlineMs: attemptMs,
      maxBytes: keptBytes,
      resendWhenStale: true,
    });
    return verdict(answer, options.clock.now());
  };
  return {
    send,
    async [Symbol.asyncDispose]() {
      await Promise.all([given[Symbol.asyncDispose](), configured[Symbol.asyncDispose]()]);
    },
  };
}

function verdict(answer: GuardedAnswer, nowMs: number): CallbackOutcome {
  if (answer.ok) {
    if (answer.status >= 200 && answer.status < 300) return { outcome: 'delivered' };
    return {
      outcome: 'failed',
      reason: `answered ${answer.status}`,
      retryAfterMs: retryAfterMs(answer.headers['retry-after'], nowMs, longestAskedMs),
    };
  }
  // A refused address stays refused, so the callback is given up at once.
  if (answer.failure === 'refused') return { outcome: 'refused', reason: answer.reason };
  return { outcome: 'failed', reason: answer.reason };
}
