import pg from 'pg';
import {
  costOf,
  costs,
  needOf,
  partsOf,
  type Cost,
  type Costs,
  type FleetFigures,
  type CallLoad,
} from '../support/sizing/fleet-model.ts';
import { measureLoad, type LoadPlan } from './fleet/measured-load.ts';
import { postgresMissing, startPostgres } from '../support/store/postgres.ts';

/*
 * Measures what a call costs a node, its database and the network, and what 1,000, 10,000 and 100,000 calls at once need by
 * that. Three loads give the costs: short calls, long calls, long calls in which people talk. A fourth load, of other
 * length, other talk, and on two nodes, is foretold and then measured: the last column says how far that was off.
 * `SIZE_CALLS` calls are played at once (20), all in real time: about three minutes.
 */
if (postgresMissing) throw new Error(postgresMissing);
await using postgres = await startPostgres();
if (postgres.outage === undefined) throw new Error('a cluster of our own is needed');
const admin = new pg.Client({ connectionString: await postgres.newDatabase() });
await admin.connect();
await admin.query("alter system set shared_preload_libraries = 'pg_stat_statements'");
await admin.end();
await postgres.outage.begin();
await postgres.outage.end();

const calls = Number(process.env['SIZE_CALLS'] ?? 20);
const idle = await measureLoad(postgres, { nodes: 1, calls: 0, callS: 0, idleS: 20 });
const idlePerS = Object.fromEntries(
  costs.map((cost) => [cost, idle.costs[cost] / idle.seconds]),
) as Costs;
const plans: LoadPlan[] = [
  { nodes: 1, calls, callS: 5 },
  { nodes: 1, calls, callS: 25 },
  { nodes: 1, calls, callS: 25, speechEveryS: 4 },
];
const measured: { load: CallLoad; costs: Costs }[] = [];
for (const plan of plans) {
  const found = await measureLoad(postgres, plan, idlePerS);
  measured.push(found);
  console.log(JSON.stringify({ ...plan, ...rounded(found.costs) }));
  if (plan.speechEveryS !== undefined)
    for (const { query, calls: times, ms } of found.most)
      console.log(
        `${times} times, ${ms.toFixed(0)} ms: ${query.replace(/\s+/g, ' ').slice(0, 150)}`,
      );
}
const figures: FleetFigures = {
  idle: idlePerS,
  parts: Object.fromEntries(
    costs.map((cost) => [cost, partsOf(measured.map(({ load, costs: c }) => [load, c[cost]]))]),
  ) as FleetFigures['parts'],
};
const check = await measureLoad(
  postgres,
  { nodes: 2, calls: Math.round(calls * 1.5), callS: 18, speechEveryS: 2 },
  idlePerS,
);
console.log('\n| cost | a call | a second of a call | a final | an idle node, a second | foretold | measured | off |'); // prettier-ignore
console.log('|---|---|---|---|---|---|---|---|');
for (const cost of costs) {
  const { perCall, perSecond, perFinal } = figures.parts[cost];
  const foretold = costOf(figures.parts[cost], check.load);
  const found = check.costs[cost];
  console.log(
    `| ${cost} | ${[perCall, perSecond, perFinal, idlePerS[cost], foretold, found].map(short).join(' | ')} | ${Math.round((found / foretold - 1) * 100)} % |`,
  );
}
// Processor time is of the machine, and statements are fewer where events come thick: these are neither.
for (const cost of ['events', 'diskBytes', 'carrierNetworkBytes', 'storedBytes'] as const)
  if (Math.abs(check.costs[cost] / costOf(figures.parts[cost], check.load) - 1) > 0.2)
    process.exitCode = 1;
console.log(`\nthe load that was foretold: ${JSON.stringify(check.load)}`);
console.log(`\n${JSON.stringify(figures)}`);
const needs = [1_000, 10_000, 100_000].map((at) => needOf(at, figures));
for (const name of Object.keys(needs[0] ?? {}) as (keyof (typeof needs)[0])[])
  console.log(`| ${name} | ${needs.map((need) => short(need[name])).join(' | ')} |`);

function short(value: number): string {
  return Number(value.toPrecision(3)).toLocaleString('en');
}
function rounded(found: Costs): Record<Cost, number> {
  return Object.fromEntries(costs.map((cost) => [cost, Math.round(found[cost])])) as Costs;
}
