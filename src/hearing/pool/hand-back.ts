import { reasonOf } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import type { PoolStream } from './pool-stream.ts';
import type { RecogniserPool } from './pool.ts';

type HandBackParts = {
  /** The processes that find languages. They may have to be started. */
  others: { begun(): Promise<Pick<RecogniserPool, 'adopt'>> | undefined };
  /** The pool that the stream comes from. */
  pool: Pick<RecogniserPool, 'takeBack'>;
  log: Logger;
};

/**
 * Gives a stream to the processes that find its language again. While they start, the audio waits in the stream. If they
 * cannot be had, the stream comes back to its pool, which reads on in its own language.
 */
export function handedBack(stream: PoolStream, { others, pool, log }: HandBackParts): boolean {
  const starts = others.begun();
  if (!starts) return false;
  stream.moveTo({ onDone: () => undefined, onSettled: () => undefined, newNumber: () => 0 });
  starts.then(
    (running) => {
      if (!stream.isOver && !running.adopt(stream)) pool.takeBack(stream);
    },
    (error: unknown) => {
      log.warn({ reason: reasonOf(error) }, 'the language of a call could not be found again');
      if (!stream.isOver) pool.takeBack(stream);
    },
  );
  return true;
}
