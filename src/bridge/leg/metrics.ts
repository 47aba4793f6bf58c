import { Counter, Gauge } from 'prom-client';
import { metrics } from '../../lib/metrics.ts';
import type { LedgerCounts, LegLedger } from '../records/ledger.ts';

/** Plain numbers. The metrics registry reads them when it is scraped. */
export const legTotals = { sessions: 0, unbalanced: 0 };

const ledgerParts = ['received', 'acknowledged', 'gaps', 'paused', 'filler'] as const;

/** The open ledgers. Byte counts of the whole process are sums over them, so no second count can differ from them. */
const openLedgers = new Set<LegLedger>();
const endedLegs: LedgerCounts = { received: 0, acknowledged: 0, gaps: 0, paused: 0, filler: 0 };

/** Adds the ledger to the sums of the process. */
export function legOpened(ledger: LegLedger): void {
  openLedgers.add(ledger);
}

/** The ledger no longer changes. Its counts stay in the sums. */
export function legClosed(ledger: LegLedger): void {
  if (openLedgers.delete(ledger)) addCounts(endedLegs, ledger.counts());
}

function addCounts(to: LedgerCounts, counts: LedgerCounts): void {
  for (const part of ledgerParts) to[part] += counts[part];
}

new Counter({
  name: 'trunkline_leg_audio_bytes_total',
  help: 'Bytes of ended and live legs by what became of them: received = acknowledged + gaps + paused.',
  labelNames: ['part'],
  registers: [metrics],
  collect() {
    this.reset();
    const sum = { ...endedLegs };
    for (const ledger of openLedgers) addCounts(sum, ledger.counts());
    for (const part of ledgerParts) this.inc({ part }, sum[part]);
  },
});

new Counter({
  name: 'trunkline_leg_sessions_total',
  help: 'Live sessions that legs were given.',
  registers: [metrics],
  collect() {
    this.reset();
    this.inc(legTotals.sessions);
  },
});

new Counter({
  name: 'trunkline_ledger_unbalanced_total',
  help: 'Legs whose ledger did not come out even at the end: an alarm.',
  registers: [metrics],
  collect() {
    this.reset();
    this.inc(legTotals.unbalanced);
  },
});

new Gauge({
  name: 'trunkline_legs_open',
  help: 'Legs that receive audio or still owe some.',
  registers: [metrics],
  collect() {
    this.set(openLedgers.size);
  },
});
