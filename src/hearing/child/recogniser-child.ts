import type { ChildTask, FromChild, ToChild } from '../engine/child-messages.ts';
import { RecogniserLoop } from './loop.ts';
import { loadSherpa } from '../engine/sherpa.ts';

/**
 * A recogniser process. The native engine may end its whole process without an exception, and it blocks its process
 * while it decodes. It therefore runs apart from the sockets, supervised by pool/process.ts.
 */
const send = (message: FromChild): void => {
  process.send?.(message, undefined, undefined, () => undefined); // an error here means that the parent is gone
};

let loop: RecogniserLoop | undefined;

async function load(message: ChildTask): Promise<void> {
  try {
    loop = await RecogniserLoop.load(loadSherpa(), message, send);
  } catch (error) {
    send({ type: 'failed', reason: error instanceof Error ? error.message : String(error) });
  }
}

// The parent sends only `load` before it has received `ready`.
process.on('message', (message: ToChild) => {
  if (message.type === 'load') void load(message);
  else for (const one of message.of) loop?.handle(one);
});

// Without its parent, a child would keep a model in memory that nobody uses.
process.on('disconnect', () => process.exit(0));
// A stop signal reaches the whole process group. The parent still needs its recognisers to finish sessions.
process.on('SIGINT', () => undefined);
process.on('SIGTERM', () => undefined);
