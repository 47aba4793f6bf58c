import { createHash } from 'node:crypto';
import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { TrunklineError } from '../../lib/errors.ts';
import { catalogueEntry } from '../models/catalogue.ts';
import { folderOf } from '../models/installed.ts';

export const voiceModel = 'voice-encoder';
const weightsFile = 'pretrained.pt';
export const pullCommand = `npx trunkline models pull ${voiceModel}`;

export type LayerWeights = {
  ih: Float32Array;
  hh: Float32Array;
  biasIh: Float32Array;
  biasHh: Float32Array;
};
/** Matrices row after row. */
export type Weights = { layers: LayerWeights[]; linear: Float32Array; linearBias: Float32Array };

/** Where the numbers begin in the one file whose checksum the catalogue names. */
const layerOffsets = [
  { ih: 269_883, hh: 433_723, biasIh: 5_676_603, biasHh: 5_680_699, inputSize: 40 },
  { ih: 1_482_299, hh: 2_530_875, biasIh: 5_684_795, biasHh: 5_688_891, inputSize: 256 },
  { ih: 3_579_451, hh: 4_628_027, biasIh: 5_692_987, biasHh: 5_697_083, inputSize: 256 },
];
const linearOffset = 7_731;
const linearBiasOffset = 6_699;

export function weightsPath(models: string): string {
  return join(folderOf(models, voiceModel), weightsFile);
}

/** Whether the model has been pulled; whether it is right is found out where it is read. */
export async function isPulled(models: string): Promise<boolean> {
  return stat(weightsPath(models)).then(
    (found) => found.isFile(),
    () => false,
  );
}

/**
 * Reads the encoder's weights. The file is a program for Python's unpickler with the numbers behind it. No instruction
 * of it is interpreted: the checksum says that it is the known file, and then the numbers stand at known places.
 */
export async function readWeights(path: string): Promise<Weights> {
  const known = catalogueEntry(voiceModel).files.find(({ name }) => name === weightsFile);
  // Before a byte is read: the memory that a file takes is that of the known one.
  const { size } = await stat(path);
  if (size !== known?.bytes)
    throw notTheModel(`it has ${size} bytes instead of ${String(known?.bytes)}`);
  const bytes = await readFile(path);
  if (createHash('sha256').update(bytes).digest('hex') !== known.sha256)
    throw notTheModel('its sha256 differs');
  return weightsIn(bytes);
}

function notTheModel(how: string): TrunklineError {
  return new TrunklineError(
    'MODEL_INVALID',
    `${weightsFile} of ${voiceModel} is not the file it should be (${how}): "${pullCommand}" fetches it again`,
  );
}

function weightsIn(bytes: Buffer): Weights {
  const numbers = (offset: number, count: number): Float32Array =>
    // A copy, because the numbers do not begin at multiples of four.
    new Float32Array(Uint8Array.from(bytes.subarray(offset, offset + 4 * count)).buffer);
  return {
    layers: layerOffsets.map(({ ih, hh, biasIh, biasHh, inputSize }) => ({
      ih: numbers(ih, 1_024 * inputSize),
      hh: numbers(hh, 1_024 * 256),
      biasIh: numbers(biasIh, 1_024),
      biasHh: numbers(biasHh, 1_024),
    })),
    linear: numbers(linearOffset, 256 * 256),
    linearBias: numbers(linearBiasOffset, 256),
  };
}
