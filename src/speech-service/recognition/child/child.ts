import type { FromChild, ToChild } from '../pool/messages.ts';
import { RecogniserLoop } from './loop.ts';
import { loadSherpa } from './sherpa.ts';

/**
 * A recogniser process. The engine can end its process without an exception and blocks while it
 * decodes, so it lives here, away from sockets and audio; process.ts is the other side.
 */
const send = (message: FromChild): void => {
  process.send?.(message, undefined, undefined, () => undefined); // a parent that left needs no answer
};

let loop: RecogniserLoop | undefined;

async function load(message: Extract<ToChild, { type: 'load' }>): Promise<void> {
  try {
    loop = await RecogniserLoop.load(loadSherpa(), message, send);
  } catch (error) {
    send({ type: 'failed', reason: error instanceof Error ? error.message : String(error) });
  }
}

// Nothing else arrives before `ready` has been said.
process.on('message', (message: ToChild) => {
  if (message.type === 'load') void load(message);
  else loop?.handle(message);
});

// An orphan would keep a model in memory and listen to nobody.
process.on('disconnect', () => process.exit(0));
// A stop signal goes to the whole process group; the parent decides when its recognisers end.
process.on('SIGINT', () => undefined);
process.on('SIGTERM', () => undefined);
