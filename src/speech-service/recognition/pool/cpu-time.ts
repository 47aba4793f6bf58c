/**
 * Seconds of processor time that some work takes. Not the clock: a machine that is busy with other
 * things for a moment at the start must not count as slow for ever; lateness tells when it really is.
 */
export function cpuSeconds(work: () => void): number {
  const before = process.cpuUsage();
  work();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1e6;
}

/** The least of three: what disturbed the others is not the work's own price. */
export function leastCpuSeconds(work: () => void): number {
  return Math.min(cpuSeconds(work), cpuSeconds(work), cpuSeconds(work));
}
