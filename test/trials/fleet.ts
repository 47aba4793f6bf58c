import { fleetFaults, fleetTrial, type RoundFigures } from '../support/faults/fleet-faults.ts';
import { postgresMissing, startPostgres } from '../support/store/postgres.ts';

/**
 * FLEET_ROUNDS rounds of FLEET_CALLS calls over three nodes, one Postgres and a balancer. In the middle of each round a
 * node is killed (in every second one with its disk), stopped for longer than its lease, the database restarts, or the
 * balancer cuts everything. Each call is to end once, with every event delivered in order, and every second of its audio
 * acknowledged or told as a gap.
 */
if (postgresMissing) throw new Error(postgresMissing);
await using postgres = await startPostgres();
const all: RoundFigures[] = [];
let seed = 7;
await fleetTrial({
  postgres,
  rounds: Number(process.env['FLEET_ROUNDS'] ?? 100),
  nodes: 3,
  calls: Number(process.env['FLEET_CALLS'] ?? 30),
  seconds: 15,
  stoppedMs: 10_000,
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
for (const fault of fleetFaults) {
  const rounds = all.filter((round) => round.fault === fault);
  const times = rounds.flatMap(({ goesOnAfterMs }) => goesOnAfterMs).sort((a, b) => a - b);
  const at = (share: number): string =>
    times.length === 0 ? '-' : `${((times[Math.floor((times.length - 1) * share)] ?? 0) / 1_000).toFixed(1)} s`; // prettier-ignore
  console.log(
    `${fault}: ${rounds.length} rounds, ${sum(rounds, ({ takenOver }) => takenOver)} calls taken over, ` +
      `gone on after p50 ${at(0.5)}, p99 ${at(0.99)}; gaps ${sum(rounds, ({ gapS }) => gapS).toFixed(0)} s, redials ${sum(rounds, ({ redials }) => redials)}`,
  );
}
const broken = {
  'calls that never ended': sum(all, ({ neverEnded }) => neverEnded),
  'events lost, repeated or out of order': sum(all, ({ eventsWrong }) => eventsWrong),
  'deliveries lost or out of order': sum(all, ({ deliveriesWrong }) => deliveriesWrong),
  'bytes unaccounted for': sum(all, ({ unevenBytes }) => unevenBytes),
  'seconds that no gap tells of': Math.round(sum(all, ({ untoldS }) => untoldS) * 10) / 10,
};
for (const [what, count] of Object.entries(broken)) console.log(`${what}: ${count}`);
process.exitCode = Object.values(broken).some((count) => count > 0) ? 1 : 0;
