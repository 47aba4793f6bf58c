import { readdirSync, readFileSync } from 'node:fs';

/** The processes of this machine with this text in their command line or initial environment. */
export function processesWith(where: 'cmdline' | 'environ', text: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/${where}`, 'utf8').includes(text);
      } catch {
        return false; // the process has just ended, or belongs to another user
      }
    })
    .map(Number);
}
