import { readdirSync, readFileSync } from 'node:fs';

/* The children of a process. All functions here read what Linux tells about processes. */

export function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8')
    .split(' ')
    .filter((text) => text !== '')
    .map(Number);
}

/** The process that started this one, from any of its threads. */
export function parentOf(pid: number): number {
  const [, fields = ''] = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ');
  return Number(fields.split(' ')[1]);
}

export function isRunning(pid: number): boolean {
  try {
    // A zombie keeps its entry until its parent reaps it, so only its state tells.
    return !/^State:\s+Z/m.test(readFileSync(`/proc/${pid}/status`, 'utf8'));
  } catch {
    return false;
  }
}

/** The processor time of the process in hundredths of a second. */
export function cpuTicksOf(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/stat`, 'utf8').split(' ')[13]);
}

/** The processes whose arguments contain all of these texts. */
export function pidsWith(...parts: string[]): number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .map(Number)
    .filter((pid) => {
      try {
        const line = readFileSync(`/proc/${pid}/cmdline`, 'utf8');
        return parts.every((part) => line.includes(part)) && isRunning(pid);
      } catch {
        return false; // the process has ended meanwhile
      }
    });
}
