import { fleetFaults, fleetTrial, haproxyPath, type FleetFault, type RoundFigures } from '../support/faults/fleet-faults.ts'; // prettier-ignore
import { carrierNames, type CarrierName } from '../../src/carriers/all.ts';
import { postgresMissing, startPostgres } from '../support/store/postgres.ts';

/**
 * FLEET_ROUNDS rounds of FLEET_CALLS calls of FLEET_SECONDS over FLEET_NODES nodes, one Postgres, two speech nodes and a
 * balancer (FLEET_DOOR=haproxy takes the one of Debian). In the middle of each round comes the next of FLEET_FAULTS: a
 * node is killed (with or without its disk), stopped for FLEET_STOPPED_S, the database restarts, the balancer cuts
 * everything, or a speech node is away. Each call is to end once, with every event delivered in order, and every second
 * of its audio acknowledged or told as a gap; a stopped node that goes on is to change nothing.
 */
if (postgresMissing) throw new Error(postgresMissing);
// Whoever ends the trial ends its nodes and its database as well.
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
await using postgres = await startPostgres();
const all: RoundFigures[] = [];
let seed = setting('FLEET_SEED', 7);
await fleetTrial({
  postgres,
  rounds: setting('FLEET_ROUNDS', 100),
  nodes: setting('FLEET_NODES', 3),
  calls: setting('FLEET_CALLS', 30),
  seconds: setting('FLEET_SECONDS', 15),
  stoppedMs: setting('FLEET_STOPPED_S', 60) * 1_000,
  faults,
  silentMs: setting('FLEET_SILENT_MS', 2_000),
  carriers: chosen<CarrierName>('FLEET_CARRIERS', carrierNames),
  door: process.env['FLEET_DOOR'] === undefined ? 'own' : door,
  random: (below) => {
    seed = (seed * 1_103_515_245 + 12_345) % 2 ** 31;
    return seed % below;
  },
  onRound(figures) {
    all.push(figures);
    const { goesOnAfterMs: _times, ...shown } = figures;
    console.log(all.length, JSON.stringify({ ...shown, gapS: Math.round(shown.gapS * 10) / 10 }));
  },
});
const sum = (rounds: readonly RoundFigures[], of: (round: RoundFigures) => number): number =>
  rounds.reduce((total, round) => total + of(round), 0);
console.log('\n| fault | rounds | taken over | gone on after p50 / p99 | gaps | redials |');
console.log('|---|---|---|---|---|---|');
for (const fault of faults) {
  const rounds = all.filter((round) => round.fault === fault);
  const times = rounds.flatMap(({ goesOnAfterMs }) => goesOnAfterMs).sort((a, b) => a - b);
  const at = (share: number): string =>
    `${((times[Math.floor((times.length - 1) * share)] ?? 0) / 1_000).toFixed(1)} s`;
  const goneOn = times.length === 0 ? '' : `${at(0.5)} / ${at(0.99)}`;
  const of = (figure: (round: RoundFigures) => number): string => sum(rounds, figure).toFixed(0);
  console.log(
    `| ${fault} | ${rounds.length} | ${of(({ takenOver }) => takenOver)} | ${goneOn} | ${of(({ gapS }) => gapS)} s | ${of(({ redials }) => redials)} |`,
  );
}
const broken = {
  'calls that never ended': sum(all, ({ neverEnded }) => neverEnded),
  'events lost, repeated or out of order': sum(all, ({ eventsWrong }) => eventsWrong),
  'deliveries lost or out of order': sum(all, ({ deliveriesWrong }) => deliveriesWrong),
  'calls changed by a fenced node': sum(all, ({ fencedWrites }) => fencedWrites),
  'bytes unaccounted for': sum(all, ({ unevenBytes }) => unevenBytes),
  'seconds that no gap tells of': Math.round(sum(all, ({ untoldS }) => untoldS) * 10) / 10,
};
for (const [what, count] of Object.entries(broken)) console.log(`${what}: ${count}`);
process.exitCode = Object.values(broken).some((count) => count > 0) ? 1 : 0;
