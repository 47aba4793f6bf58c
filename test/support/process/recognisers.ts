import { existsSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { parentOf, pidsWith } from './proc.ts';

const root = resolve(import.meta.dirname, '../../..');
const program = 'src/hearing/child/recogniser-child.ts';
if (!existsSync(join(root, program))) throw new Error(`the recogniser's program is not ${program}`);

/** The running recogniser processes that this process has started. */
export function recognisersOf(parent: number): number[] {
  return pidsWith(program).filter((pid) => {
    try {
      return parentOf(pid) === parent;
    } catch {
      return false; // the process ended between the two reads
    }
  });
}
