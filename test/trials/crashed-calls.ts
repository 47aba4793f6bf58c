import { crashUnderCalls } from '../support/faults/crashed-calls.ts';

/** `kill -9` of the bridge under 200 calls of all carriers; CALLS for another number. */
const startedMs = performance.now();
const report = await crashUnderCalls(Number(process.env['CALLS'] ?? 200));
console.log(
  `kill -9 under ${report.calls} calls: ${report.endedByUs.length} ended by us, ${report.lost.length} without an end with even books; crash after ${report.seconds.untilCrash.toFixed(0)} s, every record ended ${report.seconds.untilEnded.toFixed(0)} s later, ${Math.round((performance.now() - startedMs) / 1_000)} s in all`,
);
for (const line of [...report.endedByUs, ...report.lost].slice(0, 20)) console.log(`  ${line}`);
process.exitCode = report.endedByUs.length + report.lost.length > 0 ? 1 : 0;
