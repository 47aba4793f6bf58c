import { flushCompileCache } from 'node:module';
import { reasonOf } from '../../lib/errors.ts';
import { giveWay } from '../../lib/give-way.ts';
import { MediaError } from './media-error.ts';
import type { MediaAnswer, MediaOrder, RoomQuestion } from './messages.ts';
import { decodeFile, probeFile } from './read-file.ts';
import { endPrograms, FfmpegKilled } from './ffmpeg.ts';

/*
 * The process of one file: it takes one order, answers and is ended. It leads a process group, in which ffmpeg runs as
 * well, so that one signal ends both. Told to stop, it ends its ffmpeg first and waits for that: an ffmpeg whose parent
 * is gone stays in the process table wherever the first process of the system waits for nobody.
 */

/** Live calls come first: files are read with what CPU they leave. */
const niceness = 10;

function endGroup(): void {
  process.kill(-process.pid, 'SIGKILL');
}

function stop(): void {
  void endPrograms().finally(endGroup);
}

/** Resolves when the other side agrees. Where it does not, it ends this process. */
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
    if (error instanceof FfmpegKilled) endGroup(); // without an answer: the order begins anew
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
// The parent is gone: nobody else would end ffmpeg.
process.on('disconnect', stop);
// The order is an argument: it is there from the first line on. After the answer the parent stops this process.
const answer = await carryOut(JSON.parse(process.argv[2] ?? '') as MediaOrder);
flushCompileCache();
process.send?.(answer);
