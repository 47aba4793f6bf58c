import { failed } from '../block.ts';
import type { AddonBlock } from '../types.ts';

/** What answers where a model is needed and none is configured: by name, never faked. */
export function needsProvider<T>(what: string): AddonBlock<T> {
  const message = `${what} needs a language model: set TRUNKLINE_LLM_URL and TRUNKLINE_LLM_MODEL`;
  return failed(501, 'NotConfigured', message, performance.now());
}
