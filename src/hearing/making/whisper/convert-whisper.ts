import { readFile, writeFile } from 'node:fs/promises';
import { setImmediate as others } from 'node:timers/promises';
import { variablesOf } from './ctranslate2.ts';
import { decoderGraph } from './decoder.ts';
import { encoderGraph } from './whisper-encoder.ts';

/**
 * Makes the runtime's encoder and decoder from the published file of the model. The same file gives the same bytes on
 * every machine, so the catalogue can name their checksums.
 */
export async function convertWhisper(
  from: string,
  to: { encoder: string; decoder: string },
  onStep: (done: number, of: number) => void,
): Promise<void> {
  const steps = 3;
  const variables = variablesOf(await readFile(from));
  onStep(1, steps);
  await others(); // lets the lock's timer run between the steps
  await writeFile(to.encoder, encoderGraph(variables));
  onStep(2, steps);
  await others();
  await writeFile(to.decoder, decoderGraph(variables));
  onStep(3, steps);
}
