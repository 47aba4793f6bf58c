import { enableCompileCache } from 'node:module';

/**
 * Loaded before anything else (`node --import`). Compiled modules are kept on disk, so that the next start, and every
 * worker and child of this one, neither strips types nor compiles again. Where the folder cannot be written (an image
 * with a read-only root) the process works without the cache.
 * This file is plain JavaScript on purpose: a first file with types would load the stripper, 50 MB, into a process
 * whose other modules all come from the cache.
 */
enableCompileCache(
  new URL('../../node_modules/.cache/trunkline/compiled', import.meta.url).pathname,
);
