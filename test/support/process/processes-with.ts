import { readdirSync, readFileSync } from 'node:fs';

/** Processes of this machine that have this text in their command line or among the settings that they began with. */
export function processesWith(where: 'cmdline' | 'environ', text: string): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((pid) => {
      try {
        return readFileSync(`/proc/${pid}/${where}`, 'utf8').includes(text);
      } catch {
        return false; // it has just ended, or is somebody else's
      }
    })
    .map(Number);
}
