import { setImmediate } from 'node:timers/promises';
import type { Bridge } from '../bridge/streams.ts';
import { within } from '../lib/clock.ts';
import { reasonOf } from '../lib/errors.ts';
import type { WebhookContext } from './carrier.ts';

/** The least patient carrier waits 5 s for its answer, and its caller hears nothing meanwhile. */
const mintWithinMs = 4_500;

/**
 * Mints the token for the stream in an answer. Returns undefined if the store does not answer in time. The phone call
 * must not depend on us, so it continues without its stream.
 */
export async function streamToken(
  { bridge, clock, log }: Pick<WebhookContext<unknown>, 'bridge' | 'clock' | 'log'>,
  request: Parameters<Bridge['mintToken']>[0],
): Promise<string | undefined> {
  let token: string | undefined;
  let reason = 'the store gave no stream token in time';
  const minting = bridge.mintToken(request).then(
    (minted) => (token = minted.token),
    (error: unknown) => (reason = `no stream token could be minted: ${reasonOf(error)}`),
  );
  // If this process itself stood still, the store's answer may be queued behind the timer.
  if (!(await within(clock, mintWithinMs, minting))) await setImmediate();
  if (token === undefined)
    log.error({ carrier: request.carrier, reason }, 'a call goes on without its stream');
  return token;
}
