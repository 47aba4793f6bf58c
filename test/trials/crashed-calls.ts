import { crashUnderCalls } from '../support/crashed-calls.ts';

/** F90: `kill -9` of the bridge under 200 calls of all carriers; CALLS for another number. */
const report = await crashUnderCalls(Number(process.env['CALLS'] ?? 200));
console.log(
  `kill -9 under ${report.calls} calls: ${report.endedByUs.length} ended by us, ${report.lost.length} without an end with even books`,
);
for (const line of [...report.endedByUs, ...report.lost].slice(0, 20)) console.log(`  ${line}`);
process.exitCode = report.endedByUs.length + report.lost.length > 0 ? 1 : 0;
