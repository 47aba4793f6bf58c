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
