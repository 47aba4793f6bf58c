import { Counter, Gauge, Histogram } from 'prom-client';
import { metrics } from '../lib/metrics.ts';
import { GapCause } from '../protocol/events.ts';

const registers = [metrics];

/** Metrics about calls for operators. They are counts only: no label ever holds an id or a number. */
export const bridgeMetrics = {
  calls: new Counter({
    name: 'trunkline_calls_total',
    help: 'Calls begun, by carrier.',
    labelNames: ['carrier'] as const,
    registers,
  }),
  ended: new Counter({
    name: 'trunkline_calls_ended_total',
    help: 'Calls ended, by reason.',
    labelNames: ['reason'] as const,
    registers,
  }),
  refused: new Counter({
    name: 'trunkline_streams_refused_total',
    help: 'Streams refused after authentication, by reason.',
    labelNames: ['reason'] as const,
    registers,
  }),
  oddities: new Counter({
    name: 'trunkline_stream_oddities_total',
    help: 'Frames and messages of carriers that were out of order, repeated, late, malformed or unknown.',
    labelNames: ['what'] as const,
    registers,
  }),
  held: new Counter({
    name: 'trunkline_calls_held_total',
    help: 'Calls that began while Postgres was away and waited for it.',
    registers,
  }),
  retired: new Counter({
    name: 'trunkline_retention_removed_total',
    help: 'Calls, and recordings of calls, that were removed because their days were over.',
    labelNames: ['what'] as const,
    registers,
  }),
  retentionLag: new Gauge({
    name: 'trunkline_retention_lag_seconds',
    help: 'By how much the call, or the recording, that retention comes to next is past its days; 0 when nothing is left to remove.',
    labelNames: ['what'] as const,
    registers,
  }),
  dropped: new Counter({
    name: 'trunkline_calls_dropped_total',
    help: 'Calls left here because another node had taken them over.',
    registers,
  }),
  relayed: new Counter({
    name: 'trunkline_streams_relayed_total',
    help: 'Streams whose call is at another node (out), or that came in at another node (in).',
    labelNames: ['way'] as const,
    registers,
  }),
  takenOver: new Counter({
    name: 'trunkline_calls_taken_over_total',
    help: 'Unfinished calls of lost nodes that go on here.',
    registers,
  }),
  warnings: new Counter({
    name: 'trunkline_call_warnings_total',
    help: 'Warnings kept with calls, by code.',
    labelNames: ['code'] as const,
    registers,
  }),
  gaps: new Counter({
    name: 'trunkline_call_gaps_total',
    help: 'Declared gaps, by cause.',
    labelNames: ['cause'] as const,
    registers,
  }),
  finals: new Counter({
    name: 'trunkline_finals_total',
    help: 'Final transcripts taken.',
    registers,
  }),
  reconnects: new Counter({
    name: 'trunkline_session_reconnects_total',
    help: 'Speech sockets that were lost and resumed.',
    registers,
  }),
  setAside: new Counter({
    name: 'trunkline_calls_set_aside_total',
    help: 'Calls whose rows could not be taken up again after several starts.',
    registers,
  }),
  secondPasses: new Counter({
    name: 'trunkline_second_passes_total',
    help: 'Recordings that were read again, or could not be.',
    labelNames: ['outcome'] as const,
    registers,
  }),
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
 * Registers gauges that are computed on request. There is one bridge per process; the last one that started is shown.
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
