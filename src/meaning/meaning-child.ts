import { flushCompileCache } from 'node:module';
import { constants, setPriority } from 'node:os';
import { setImmediate as others } from 'node:timers/promises';
import { reasonOf } from '../lib/errors.ts';
import type { FromMeaning, ToMeaning } from './meaning-messages.ts';
import { SentenceEncoder } from './sentence-encoder.ts';
import { learnKinds } from './sentence-kinds.ts';

/*
 * The process that holds the sentence encoder. The native runtime can end its process, so the one that moves audio
 * never loads it. Sentences are read one by one; learning goes on between them.
 */

let encoder: SentenceEncoder | undefined;

function tell(message: FromMeaning): void {
  process.send?.(message);
}

async function take(message: ToMeaning): Promise<void> {
  switch (message.type) {
    case 'load':
      encoder = await SentenceEncoder.open(message.folder, new Map(message.known));
      encoder.directionOf('The first run makes the runtime ready.');
      tell({ type: 'loaded' });
      flushCompileCache();
      return;
    case 'direction': {
      const { order, text } = message;
      if (encoder === undefined) throw new Error('a sentence came before the model');
      tell({ type: 'direction', order, direction: encoder.directionOf(text) });
      return;
    }
    case 'learn':
      // Nobody waits for its end here: sentences of calls go first.
      void learn(message).catch(failed);
  }
}

async function learn({ order, samples, kinds }: ToMeaning & { type: 'learn' }): Promise<void> {
  const learning = learnKinds(samples, kinds);
  for (;;) {
    const step = learning.next();
    if (step.done) {
      tell({ type: 'learnt', order, weights: step.value });
      return;
    }
    await others();
  }
}

function failed(error: unknown): void {
  tell({ type: 'failed', message: reasonOf(error) });
}

// Words come before their meaning: the recognisers have the processor first.
setPriority(constants.priority.PRIORITY_BELOW_NORMAL);
// The process that gave the orders is gone. A kill does not wait for running work of the engine.
const end = (): void => void process.kill(process.pid, 'SIGKILL');
process.on('disconnect', end);
if (!process.connected) end();
let work = Promise.resolve();
process.on('message', (message: ToMeaning) => {
  work = work.then(() => take(message)).catch(failed);
});
