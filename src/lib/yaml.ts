import { createRequire } from 'node:module';
import type * as Yaml from 'yaml';

/** The library for YAML, loaded by its first use: the process starts faster without it. */
export function yaml(): typeof Yaml {
  return createRequire(import.meta.url)('yaml') as typeof Yaml;
}
