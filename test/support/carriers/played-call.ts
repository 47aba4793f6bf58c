import type { PlayedCall } from '../../../src/player/dialogue.ts';

/** An inbound mu-law call of one customer. A test gives only what it changes. */
export function playedCall(
  own: Pick<PlayedCall, 'callId' | 'streamId'> & Partial<PlayedCall>,
): PlayedCall {
  return {
    legs: ['customer'],
    encoding: 'mulaw',
    rateHz: 8_000,
    from: '+15550100123',
    to: '+15550100200',
    direction: 'inbound',
    parameters: {},
    controlFormat: 'plain-text',
    ...own,
  };
}
