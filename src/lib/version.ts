import { readFileSync } from 'node:fs';

const packageFile = new URL('../../package.json', import.meta.url);

/** Of this checkout or image. */
export const version = (JSON.parse(readFileSync(packageFile, 'utf8')) as { version: string })
  .version;
