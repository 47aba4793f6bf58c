import { Counter, Gauge } from 'prom-client';
import { metrics } from '../../lib/metrics.ts';

/** Plain numbers, copied from the writer once a second. The metrics registry reads them when it is scraped. */
export const journalTotals = { batches: 0, bytes: 0, slowestMs: 0, unwrittenBytes: 0, failures: 0 };

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
