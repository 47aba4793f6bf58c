import { writeFileSync } from 'node:fs';
import { setPriority } from 'node:os';

/** At this priority the session still gets a quarter of a busy machine, so that its work ends some time. */
const sessionNiceness = 5;

/**
 * Lets other processes go first. This works only for a process that was started detached and so leads a session. Linux
 * may divide the processor among sessions before processes, and then lowering the priority inside a session helps
 * nobody else.
 */
export function giveWay(niceness: number): void {
  setPriority(niceness);
  try {
    writeFileSync('/proc/self/autogroup', String(Math.min(niceness, sessionNiceness)));
  } catch {
    // This system has no such division.
  }
}
