import { flushCompileCache } from 'node:module';
import { constants, setPriority } from 'node:os';
import { reasonOf } from '../../lib/errors.ts';
import { VoiceDetector } from '../offline/voice-activity.ts';
import { VoiceEncoder } from './voice-encoder.ts';
import { LegVoices, liveHints } from './leg-voices.ts';
import type { FromLiveListener, ToLiveListener } from './listener-messages.ts';

/*
 * The process that tells voices apart in all live legs with several speakers on one channel. It carries out one order
 * at a time.
 */

const legs = new Map<number, LegVoices>();
let encoder: VoiceEncoder | undefined;
let detector: VoiceDetector | undefined;

function tell(message: FromLiveListener): void {
  process.send?.(message);
}

async function take(message: ToLiveListener): Promise<void> {
  switch (message.type) {
    case 'load':
      encoder = await VoiceEncoder.open(message.weights);
      detector = new VoiceDetector(message.voiceActivityModel);
      flushCompileCache();
      return;
    case 'open': {
      if (encoder === undefined || detector === undefined)
        throw new Error('a leg came before the weights');
      const { rateHz } = message;
      const options = { encoder, detector, rateHz, hints: liveHints };
      legs.set(message.leg, new LegVoices(options));
      return;
    }
    case 'hear': {
      const leg = legs.get(message.leg);
      if (leg === undefined) return; // the leg was closed before this order's turn
      leg.hear(message.samples);
      if (message.isLast) leg.finish();
      const told = message.group ? { turns: leg.turns(), knownS: leg.knownS } : undefined;
      tell({ type: 'heard', leg: message.leg, told });
      return;
    }
    case 'close':
      legs.delete(message.leg);
  }
}

// Live words have priority. This work is live too, so it comes before files.
setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
// The process that gave the orders is gone. A kill does not wait for running work of the engine.
const end = (): void => void process.kill(process.pid, 'SIGKILL');
process.on('disconnect', end);
if (!process.connected) end();
let work = Promise.resolve();
process.on('message', (message: ToLiveListener) => {
  work = work
    .then(() => take(message))
    .catch((error: unknown) => {
      tell({ type: 'failed', message: reasonOf(error) });
    });
});
