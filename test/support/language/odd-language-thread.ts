import { parentPort } from 'node:worker_threads';

/** A language thread that misbehaves on request: `hang` never answers, `die` ends, anything else is answered. */
type Order = { id: number; input: { utterance: { text: string } } };

parentPort?.on('message', ({ id, input }: Order) => {
  const { text } = input.utterance;
  // A loop that no message can end, like a pattern with endless backtracking.
  if (text === 'hang') for (;;);
  if (text === 'die') process.exit(3);
  const results = [{ entity_type: 'NAME', text, start: 0, end: 1 }];
  parentPort?.postMessage({
    id,
    output: { success: true, is_empty: false, exec_time: 0, error: null, results },
  });
});
parentPort?.postMessage({ ready: true });
