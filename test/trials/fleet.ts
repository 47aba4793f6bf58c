import { carrierNames, type CarrierName } from '../../src/carriers/all.ts';
import { haproxyPath } from './fleet/fleet-doors.ts';
import { fleetFaults, fleetTrial, type FleetFault, type RoundFigures } from './fleet/fleet-faults.ts'; // prettier-ignore
import { bucketMissing } from '../support/store/bucket.ts';
import { postgresMissing } from '../support/store/postgres.ts';

/**
 * FLEET_ROUNDS rounds of FLEET_CALLS calls of FLEET_SECONDS over FLEET_NODES nodes, a Postgres with a synchronous standby,
 * an object store, two speech nodes and a balancer (FLEET_DOOR=haproxy takes the one of Debian). In the middle of each
 * round comes the next of FLEET_FAULTS: a node is killed (with or without its disk), stopped for FLEET_STOPPED_S, the
 * database restarts or fails over, the balancer cuts everything, or a speech node or the object store is away. Each call is
 * to end once, with every event delivered in order, and every second of its audio acknowledged or told as a gap; its
 * recording is to be in the object store, the same from every node; no row of it is to be written by a node that has lost
 * it. FLEET_TAIL_S says how often running audio goes to the object store, FLEET_LOGS where the logs go.
 */
const missing = postgresMissing ?? bucketMissing;
if (missing) throw new Error(missing);
// The end of the trial ends its nodes and its database as well.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, () => process.exit(1));
const setting = (name: string, usual: number): number => Number(process.env[name] ?? usual);
const chosen = <T extends string>(name: string, of: readonly T[]): readonly T[] => {
  const wanted = process.env[name]?.split(',') ?? [...of];
  const unknown = wanted.filter((one) => !(of as readonly string[]).includes(one));
  if (unknown.length > 0) throw new Error(`${name}: no ${unknown.join(', ')} among ${of.join(', ')}`); // prettier-ignore
  return wanted as T[];
};
const faults = chosen<FleetFault>('FLEET_FAULTS', fleetFaults);
const [door = 'own'] = chosen('FLEET_DOOR', ['own', 'haproxy'] as const);
if (process.env['FLEET_DOOR'] === 'haproxy' && haproxyPath === undefined)
  throw new Error('FLEET_DOOR=haproxy: haproxy is not installed (apt-get install haproxy)');
const all: RoundFigures[] = [];
let seed = setting('FLEET_SEED', 7);
await fleetTrial({
  rounds: setting('FLEET_ROUNDS', 100),
  nodes: setting('FLEET_NODES', 3),
  calls: setting('FLEET_CALLS', 30),
  seconds: setting('FLEET_SECONDS', 15),
  stoppedMs: setting('FLEET_STOPPED_S', 60) * 1_000,
  faults,
  silentMs: setting('FLEET_SILENT_MS', 2_000),
  tailS: setting('FLEET_TAIL_S', 2),
  logs: process.env['FLEET_LOGS'],
  carriers: chosen<CarrierName>('FLEET_CARRIERS', carrierNames),
  door: process.env['FLEET_DOOR'] === undefined ? 'own' : door,
  random: (below) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
    return seed % below;
  },
  onRound(figures) {
    all.push(figures);
    const gapS = Math.round(figures.gapS * 10) / 10;
    const unrecordedS = Math.round(figures.unrecordedS * 10) / 10;
    console.log(all.length, JSON.stringify({ ...figures, gapS, unrecordedS }));
  },
});
const sum = (rounds: readonly RoundFigures[], of: (round: RoundFigures) => number): number =>
  rounds.reduce((total, round) => total + of(round), 0);
console.log(
  '\n| fault | rounds | taken over | gone on after p50 / p99 | gaps | not recorded | redials | split | rows written |',
);
console.log('|---|---|---|---|---|---|---|---|---|');
for (const fault of faults) {
  const rounds = all.filter((round) => round.fault === fault);
  const times = rounds.flatMap(({ goesOnAfterMs }) => goesOnAfterMs).sort((a, b) => a - b);
  const at = (share: number): string =>
    `${((times[Math.floor((times.length - 1) * share)] ?? 0) / 1_000).toFixed(1)} s`;
  const goneOn = times.length === 0 ? '' : `${at(0.5)} / ${at(0.99)}`;
  const of = (figure: (round: RoundFigures) => number): string => sum(rounds, figure).toFixed(0);
  console.log(
    `| ${fault} | ${rounds.length} | ${of(({ takenOver }) => takenOver)} | ${goneOn} | ${of(({ gapS }) => gapS)} s | ${of(({ unrecordedS }) => unrecordedS)} s | ${of(({ redials }) => redials)} | ${of(({ split }) => split)} | ${of(({ writes }) => writes)} |`,
  );
}
const broken = {
  'calls that never ended': sum(all, ({ neverEnded }) => neverEnded),
  'events lost, repeated or out of order': sum(all, ({ eventsWrong }) => eventsWrong),
  'deliveries lost or out of order': sum(all, ({ deliveriesWrong }) => deliveriesWrong),
  'rows written by a fenced node': sum(all, ({ fencedWrites }) => fencedWrites),
  'bytes unaccounted for': sum(all, ({ unevenBytes }) => unevenBytes),
  'recordings lost': sum(all, ({ recordingsLost }) => recordingsLost),
  'recordings with other bytes': sum(all, ({ recordingsWrong }) => recordingsWrong),
  'seconds that no gap tells of': Math.round(sum(all, ({ untoldS }) => untoldS) * 10) / 10,
};
for (const [what, count] of Object.entries(broken)) console.log(`${what}: ${count}`);
process.exitCode = Object.values(broken).some((count) => count > 0) ? 1 : 0;
