import { basename } from 'node:path';
import { reasonOf } from '../../lib/errors.ts';
import type { Logger } from '../../lib/log.ts';
import type { RecogniserConfig } from '../recogniser/config.ts';
import { readModelFolder, type Model } from './model-folder.ts';

export type SupplyState =
  | { state: 'there'; model: Model }
  /** On its way or not to be had: the line for people says which, and what mends it. */
  | { state: 'pulling' | 'missing'; detail: string };

export type ModelSupply = AsyncDisposable & {
  current(): SupplyState;
  onChange(listener: () => void): void;
};

/** Finds the configured model. */
export async function startModelSupply(
  config: RecogniserConfig,
  log: Logger,
): Promise<ModelSupply> {
  void log;
  let state: SupplyState;
  try {
    state = { state: 'there', model: await readModelFolder(config.model, basename(config.model)) };
  } catch (error) {
    state = { state: 'missing', detail: reasonOf(error) };
  }
  return {
    current: () => state,
    onChange: () => undefined,
    [Symbol.asyncDispose]: () => Promise.resolve(),
  };
}
