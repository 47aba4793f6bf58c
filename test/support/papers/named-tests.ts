import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

/** True if the test, which a paper names by its file and its titles, is there. */
export function isTestThere(folder: string, file: string, name: string): boolean {
  const path = join(folder, file);
  if (!existsSync(path)) return false;
  const source = readFileSync(path, 'utf8');
  return name.split(' › ').every((title) => hasTitle(source, title));
}

/** The titles of a test file as they stand in the code: whatever stands in quotes. */
function hasTitle(source: string, title: string): boolean {
  return ["'", '"', '`'].some((quote) => source.includes(`${quote}${title}${quote}`));
}
