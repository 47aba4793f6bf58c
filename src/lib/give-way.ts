import { writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';

/** As a session it has a quarter of a busy machine, so that what it does ends some time. */
const sessionNiceness = 5;

/**
 * Lets everything else on the machine go first. Only for a process that was started detached and so leads a session:
 * Linux may share its cores out between sessions before it looks at processes, and one that is nice within a session of
 * its own gives way to nobody then.
 */
export function giveWay(niceness: number): void {
  setPriority(niceness);
  try {
    writeFileSync('/proc/self/autogroup', String(Math.min(niceness, sessionNiceness)));
  } catch {
    // No such sharing here.
  }
}
