import { enableCompileCache } from 'node:module';

/**
 * Loaded before anything else (`node --import`): compiled modules are kept, so that the next start, and
 * every worker and child of this one, neither strips types nor compiles again. Where the folder cannot
 * be written (an image with a read-only root) everything works as without it.
 * Plain JavaScript on purpose: one file with types to strip would load the stripper, 50 MB, into a process
 * that needs it no more.
 */
enableCompileCache(
  new URL('../../node_modules/.cache/trunkline/compiled', import.meta.url).pathname,
);
