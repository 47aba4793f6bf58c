import { Gauge, Histogram } from 'prom-client';
import { counter, gauge, metrics } from '../lib/metrics.ts';
import { GapCause } from '../protocol/events.ts';

const registers = [metrics];

/** Metrics about calls for operators. They are counts only: no label ever holds an id or a number. */
export const bridgeMetrics = {
  calls: counter('trunkline_calls_total', 'Calls begun, by carrier.', ['carrier']),
  ended: counter('trunkline_calls_ended_total', 'Calls ended, by reason.', ['reason']),
  refused: counter(
    'trunkline_streams_refused_total',
    'Streams refused after authentication, by reason.',
    ['reason'],
  ),
  oddities: counter(
    'trunkline_stream_oddities_total',
    'Frames and messages of carriers that were out of order, repeated, late, malformed or unknown.',
    ['what'],
  ),
  held: counter(
    'trunkline_calls_held_total',
    'Calls that began while Postgres was away and waited for it.',
  ),
  retired: counter(
    'trunkline_retention_removed_total',
    'Calls, and recordings of calls, that were removed because their days were over.',
    ['what'],
  ),
  retentionLag: gauge(
    'trunkline_retention_lag_seconds',
    'By how much the call, or the recording, that retention comes to next is past its days; 0 when nothing is left to remove.',
    ['what'],
  ),
  dropped: counter(
    'trunkline_calls_dropped_total',
    'Calls left here because another node had taken them over.',
  ),
  relayed: counter(
    'trunkline_streams_relayed_total',
    'Streams whose call is at another node (out), or that came in at another node (in).',
    ['way'],
  ),
  takenOver: counter(
    'trunkline_calls_taken_over_total',
    'Unfinished calls of lost nodes that go on here.',
  ),
  ruleHits: counter('trunkline_rule_hits_total', 'Rules of playbooks that fired, by rule.', [
    'playbook',
    'rule',
  ]),
  warnings: counter('trunkline_call_warnings_total', 'Warnings kept with calls, by code.', [
    'code',
  ]),
  gaps: counter('trunkline_call_gaps_total', 'Declared gaps, by cause.', ['cause']),
  finals: counter('trunkline_finals_total', 'Final transcripts taken.'),
  reconnects: counter(
    'trunkline_session_reconnects_total',
    'Speech sockets that were lost and resumed.',
  ),
  setAside: counter(
    'trunkline_calls_set_aside_total',
    'Calls whose rows could not be taken up again after several starts.',
  ),
  secondPasses: counter(
    'trunkline_second_passes_total',
    'Recordings that were read again, or could not be.',
    ['outcome'],
  ),
  speechEndToFinal: new Histogram({
    name: 'trunkline_speech_end_to_final_seconds',
    help: 'From the end of the speech, by the audio of the call, to its final transcript; with the wait of the redaction.',
    buckets: [0.25, 0.5, 0.75, 1, 1.5, 2, 3, 5, 10, 30, 120, 600],
    registers,
  }),
  hangUpToEnded: new Histogram({
    name: 'trunkline_hangup_to_ended_seconds',
    help: 'From the end of the phone call to call.ended.',
    buckets: [0.1, 0.25, 0.5, 1, 2, 5, 10, 15, 60, 600, 3_600],
    registers,
  }),
};

// Each cause starts at 0, so that its first gap shows as an increase.
for (const cause of GapCause.options) bridgeMetrics.gaps.inc({ cause }, 0);

/**
 * Registers gauges whose values are computed when they are read. There is one bridge per process; if several were
 * started, the last one is shown.
 */
export function showLive(read: () => { calls: number; watchers: number }): void {
  const gauge = (name: string, help: string, value: () => number): void => {
    metrics.removeSingleMetric(name);
    new Gauge({
      name,
      help,
      registers,
      collect() {
        this.set(value());
      },
    });
  };
  gauge('trunkline_calls_open', 'Calls that are live or finishing.', () => read().calls);
  gauge('trunkline_live_watchers', 'Open event streams.', () => read().watchers);
}
