import { readFile, writeFile } from 'node:fs/promises';
import { sentenceGraph } from './sentence-network.ts';
import { PackedWeights } from './packed-weights.ts';
import { Safetensors } from './safetensors.ts';

/**
 * Makes the runtime's graph from the published weights, in eight bits. The same file gives the same bytes on every
 * machine, so the catalogue can name their checksum.
 */
export async function convertSentenceEncoder(
  from: string,
  to: string,
  onStep: (done: number, of: number) => void,
): Promise<void> {
  const tensors = new Safetensors(await readFile(from));
  onStep(1, 2);
  await writeFile(to, sentenceGraph(tensors));
  onStep(2, 2);
}

/** The same from the file of the encoder of many languages, which also tells how texts are cut into pieces. */
export async function convertMultilingualEncoder(
  from: string,
  to: { graph: string; pieces: string },
  onStep: (done: number, of: number) => void,
): Promise<void> {
  const weights = new PackedWeights(await readFile(from));
  await writeFile(to.pieces, weights.pieces);
  onStep(1, 2);
  await writeFile(to.graph, sentenceGraph(weights));
  onStep(2, 2);
}
