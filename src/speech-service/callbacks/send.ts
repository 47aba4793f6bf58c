import type { SpeechServiceConfig } from '../config.ts';
import type { Send } from './callbacks.ts';

const attemptMs = 10_000;

/** One attempt at a callback: no redirects, one deadline over head and body, success is 2xx. */
export function guardedSend(_config: SpeechServiceConfig): Send {
  return async (target, _id, body) => {
    const response = await fetch(target.url, {
      method: 'POST',
      body,
      headers: { 'content-type': 'application/json; charset=utf-8' },
      redirect: 'manual',
      signal: AbortSignal.timeout(attemptMs),
    });
    await response.body?.cancel();
    if (response.ok) return { outcome: 'delivered' };
    return { outcome: 'failed', reason: `answered ${response.status}` };
  };
}
