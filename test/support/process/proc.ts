import { readdirSync, readFileSync } from 'node:fs';

/* Facts that Linux gives about a process. */

export function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
    .split(' ')
    .filter((text) => text !== '')
    .map(Number);
}

/** The process that started this one, in any of its threads. */
export function parentOf(pid: number): number {
  const [, fields = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ');
  return Number(fields.split(' ')[1]);
}

export function isRunning(pid: number): boolean {
  try {
    // The name of a zombie stays until its new parent asks for it: only its state tells.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

/** Hundredths of a second that the process has computed. */
export function cpuTicksOf(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/stat`, 'utf8').split(' ')[13]);
}

/** The processes that were started with arguments in which all of these stand. */
export function pidsWith(...parts: string[]): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
        return parts.every((part) => line.includes(part)) && isRunning(pid);
      } catch {
        return false; // it has ended meanwhile
      }
    });
}
