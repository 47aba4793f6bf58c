import { readFile, writeFile } from 'node:fs/promises';
import { setImmediate as others } from 'node:timers/promises';
import { z } from 'zod';
import { variablesOf } from './ctranslate2.ts';
import { decoderGraph } from './decoder.ts';
import { sizesOf } from './layers.ts';
import { encoderGraph } from './whisper-encoder.ts';

const Published = z.object({
  alignment_heads: z.array(z.tuple([z.int().nonnegative(), z.int().nonnegative()])).min(1),
});

/**
 * Makes the runtime's encoder and decoder from the published file of the model. The same file gives the same bytes on
 * every machine, so the catalogue can name their checksums.
 */
export async function convertWhisper(
  from: { model: string; description: string },
  to: { encoder: string; decoder: string },
  onStep: (done: number, of: number) => void,
): Promise<void> {
  const steps = 3;
  const variables = variablesOf(await readFile(from.model));
  const described = Published.parse(JSON.parse(await readFile(from.description, 'utf8')));
  const sizes = sizesOf(variables, described.alignment_heads);
  onStep(1, steps);
  await others(); // lets the lock's timer run between the steps
  await writeFile(to.encoder, encoderGraph(variables, sizes));
  onStep(2, steps);
  await others();
  await writeFile(to.decoder, decoderGraph(variables, sizes));
  onStep(3, steps);
}
