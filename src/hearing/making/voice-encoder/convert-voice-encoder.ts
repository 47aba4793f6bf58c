import { writeFile } from 'node:fs/promises';
import { setImmediate as others } from 'node:timers/promises';
import { tensorsOf } from './checkpoint.ts';
import { voiceGraph } from './network.ts';

/**
 * Makes the engine's graph from the published checkpoint of the model. The same file gives the same bytes on every
 * machine, so the catalogue can name their checksum.
 */
export async function convertVoiceEncoder(
  from: string,
  to: string,
  onStep: (done: number, of: number) => void,
): Promise<void> {
  const tensors = await tensorsOf(from);
  onStep(1, 2);
  await others(); // lets the lock's timer run between the steps
  await writeFile(to, voiceGraph(tensors));
  onStep(2, 2);
}
