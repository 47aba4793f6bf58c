import type { Bridge } from '../bridge/seam.ts';
import { within } from '../lib/clock.ts';
import { reasonOf } from '../lib/errors.ts';
import type { WebhookContext } from './carrier.ts';

/** A carrier waits longer for its answer, but its caller hears nothing meanwhile. */
const mintWithinMs = 3_000;

/**
 * The token that an answer starts its stream with. Undefined where the store has none to give in time: the phone call
 * does not depend on us, and goes on without its stream.
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
  await within(clock, mintWithinMs, minting);
  if (token === undefined)
    log.error({ carrier: request.carrier, reason }, 'a call goes on without its stream');
  return token;
}
