import { Counter, Gauge } from 'prom-client';
import { metrics } from '../../lib/metrics.ts';

/** Plain numbers on the hot path; the registry reads them when it is asked. */
export const legTotals = {
  received: 0,
  acknowledged: 0,
  gaps: 0,
  paused: 0,
  filler: 0,
  sessions: 0,
  unbalanced: 0,
  open: 0,
};

export const journalTotals = { batches: 0, bytes: 0, slowestMs: 0, unwrittenBytes: 0, failures: 0 };

const ledgerParts = ['received', 'acknowledged', 'gaps', 'paused', 'filler'] as const;

new Counter({
  name: 'trunkline_leg_audio_bytes_total',
  help: 'Bytes of ended and live legs by what became of them: received = acknowledged + gaps + paused.',
  labelNames: ['part'],
  registers: [metrics],
  collect() {
    this.reset();
    for (const part of ledgerParts) this.inc({ part }, legTotals[part]);
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
    this.set(legTotals.open);
  },
});

new Counter({
  name: 'trunkline_journal_bytes_total',
  help: 'Bytes written to the journal of received audio.',
  registers: [metrics],
  collect() {
    this.reset();
    this.inc(journalTotals.bytes);
  },
});

new Counter({
  name: 'trunkline_journal_unwritten_bytes_total',
  help: 'Bytes that could not be journalled; they were in memory only.',
  registers: [metrics],
  collect() {
    this.reset();
    this.inc(journalTotals.unwrittenBytes);
  },
});

new Gauge({
  name: 'trunkline_journal_slowest_write_seconds',
  help: 'The longest that one write of the journal has held up the event loop.',
  registers: [metrics],
  collect() {
    this.set(journalTotals.slowestMs / 1_000);
  },
});
