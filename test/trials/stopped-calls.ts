import { stopUnderCalls } from '../support/faults/stopped-calls.ts';

/** SIGTERM under 100 Twilio calls of two tracks, 200 legs; CALLS=250 for 500, where two cores are free. */
const startedMs = performance.now();
const report = await stopUnderCalls(Number(process.env['CALLS'] ?? 100));
console.log(
  `SIGTERM under ${report.legs} live legs: nothing new after ${report.seconds.unready.toFixed(1)} s, gone after ${report.seconds.gone.toFixed(1)} s; ${report.bytes} bytes heard, ${report.finals} finals, ${report.faults.length} faults, ${Math.round((performance.now() - startedMs) / 1_000)} s in all`,
);
for (const line of report.faults.slice(0, 20)) console.log(`  ${line}`);
process.exitCode = report.faults.length > 0 ? 1 : 0;
