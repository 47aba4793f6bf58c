import { flushCompileCache } from 'node:module';
import { reasonOf } from '../../lib/errors.ts';
import { giveWay } from '../../lib/give-way.ts';
import { MediaError } from './media-error.ts';
import type { MediaAnswer, MediaOrder, RoomQuestion } from './media-messages.ts';
import { decodeFile, probeFile } from './read-file.ts';
import { endPrograms, FfmpegKilled } from './ffmpeg.ts';

/*
 * The process for one file. It takes one order, answers, and is ended. It leads a process group that includes ffmpeg,
 * so one signal ends both. When told to stop, it first ends its ffmpeg and waits for that: in a container whose first
 * process reaps nobody, an ffmpeg without its parent would stay in the process table.
 */

/** Files are read with the processor time that live calls leave. */
const niceness = 10;

function endGroup(): void {
  process.kill(-process.pid, 'SIGKILL');
}

function stop(): void {
  void endPrograms().finally(endGroup);
}

/** Asks the parent for disk space. Resolves if the parent agrees; otherwise the parent ends this process. */
function askForRoom(writtenBytes: number, reachBytes: number): Promise<void> {
  return new Promise((resolve) => {
    process.once('message', () => resolve());
    process.send?.({ question: 'room', writtenBytes, reachBytes } satisfies RoomQuestion);
  });
}

async function carryOut(order: MediaOrder): Promise<MediaAnswer> {
  try {
    return order.task === 'probe'
      ? { outcome: 'facts', facts: await probeFile(order) }
      : {
          outcome: 'decoded',
          decoded: await decodeFile(order, order.asksForRoom ? askForRoom : undefined),
        };
  } catch (error) {
    if (error instanceof FfmpegKilled) endGroup(); // ends without an answer, so the order starts again
    if (error instanceof MediaError)
      return { outcome: 'failed', status: error.status, message: error.message };
    if (error instanceof Error && 'code' in error && error.code === 'ENOSPC')
      return { outcome: 'failed', status: 507, message: 'the data disk is full' };
    return {
      outcome: 'failed',
      status: 500,
      message: `reading the file failed: ${reasonOf(error)}`,
    };
  }
}

giveWay(niceness);
process.on('SIGTERM', stop);
// When the parent is gone, nobody else would end ffmpeg.
process.on('disconnect', stop);
// The order is an argument, so that it is there from the first line on. The parent ends this process after the answer.
const answer = await carryOut(JSON.parse(process.argv[2] ?? '') as MediaOrder);
flushCompileCache();
process.send?.(answer);
