import { flushCompileCache } from 'node:module';
import { constants } from 'node:os';
import { reasonOf, TrunklineError } from '../../lib/errors.ts';
import { giveWay } from '../../lib/give-way.ts';
import { diarize } from './diarize.ts';
import type { SpeakersAnswer, SpeakersOrder } from './speakers-messages.ts';

/* The process for one file. It takes one order, answers, and is ended. */

async function carryOut(order: SpeakersOrder): Promise<SpeakersAnswer> {
  try {
    return { outcome: 'found', turns: await diarize(order) };
  } catch (error) {
    // The client's message names none of our paths. The log has the reason.
    const message =
      error instanceof TrunklineError ? error.message : 'the audio could not be listened to';
    return { outcome: 'failed', message, reason: reasonOf(error) };
  }
}

// Live calls have priority.
giveWay(constants.priority.PRIORITY_LOW);
// The process that gave the order is gone. A normal exit would wait for running work of the disk or engine; a kill does
// not.
const end = (): void => void process.kill(process.pid, 'SIGKILL');
process.on('disconnect', end);
// The parent may have died before this listener existed.
if (!process.connected) end();
const answer = await carryOut(JSON.parse(process.argv[2] ?? '') as SpeakersOrder);
flushCompileCache();
process.send?.(answer);
