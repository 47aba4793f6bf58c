import { GuardedClient, type GuardedAnswer } from '../../lib/guarded-fetch.ts';
import { signWebhook } from '../../lib/webhook-signature.ts';
import type { CallbackTarget, Send } from './callbacks.ts';
import type { Delivery } from './queue.ts';

const attemptMs = 10_000;
const keptBytes = 16_384;

/**
 * One attempt at a callback: signed when there is a secret, no redirects, one deadline over head and body,
 * success is 2xx. An address that a request brought may not be a private one; an operator's own may.
 */
export function callbackSender(options: { allow: readonly string[] }): AsyncDisposable & {
  send: Send;
} {
  const given = new GuardedClient({ trust: 'checked', allow: options.allow });
  const configured = new GuardedClient({ trust: 'as-written' });
  const send = async (target: CallbackTarget, id: string, text: string): Promise<Delivery> => {
    const body = Buffer.from(text, 'utf8');
    const signature =
      target.secret === undefined
        ? {}
        : signWebhook([target.secret], id, Math.floor(Date.now() / 1e3), body);
    const answer = await (target.trusted ? configured : given).send({
      url: target.url,
      method: 'POST',
      headers: { 'content-type': 'application/json; charset=utf-8', ...signature },
      body,
      deadlineMs: attemptMs,
      maxBytes: keptBytes,
      resendWhenStale: true,
    });
    return verdict(answer);
  };
  return {
    send,
    async [Symbol.asyncDispose]() {
      await Promise.all([given[Symbol.asyncDispose](), configured[Symbol.asyncDispose]()]);
    },
  };
}

function verdict(answer: GuardedAnswer): Delivery {
  if (answer.ok) {
    if (answer.status >= 200 && answer.status < 300) return { outcome: 'delivered' };
    return { outcome: 'failed', reason: `answered ${answer.status}` };
  }
  // Trying again does not make an address allowed.
  if (answer.failure === 'refused') return { outcome: 'refused', reason: answer.reason };
  return { outcome: 'failed', reason: answer.reason };
}
