import { killJobs } from '../support/faults/job-kills.ts';

/** 200 kills -9 over jobs in every state: JOB_KILLS in all, ten for each seed. */
const wanted = Number(process.env['JOB_KILLS'] ?? 200);
const each = 10;
const states: Record<string, number> = {};
let kills = 0;
let broken = 0;
for (let seed = 1; kills < wanted; seed++) {
  const outcome = await killJobs(seed, Math.min(each, wanted - kills));
  kills += outcome.kills;
  for (const [state, count] of Object.entries(outcome.states))
    states[state] = (states[state] ?? 0) + count;
  for (const line of outcome.wrong) console.log(`seed ${seed}: ${line}`);
  if (outcome.wrong.length > 0) broken++;
}
console.log(
  `${kills} kills; states of the jobs after them: ${JSON.stringify(states)}; seeds that broke a promise: ${broken}`,
);
process.exit(broken === 0 ? 0 : 1);
