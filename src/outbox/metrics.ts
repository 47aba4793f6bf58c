import { Gauge, Histogram } from 'prom-client';
import { counter, gauge, metrics } from '../lib/metrics.ts';

const registers = [metrics];

const attemptOutcomes = ['delivered', 'refused', 'failed', 'no_answer', 'gone'] as const;
export type AttemptOutcome = (typeof attemptOutcomes)[number];

export const attemptsTotal = counter(
  'trunkline_outbox_attempts_total',
  'Delivery attempts, by endpoint and outcome.',
  ['endpoint', 'outcome'],
);

export const attemptSeconds = new Histogram({
  name: 'trunkline_outbox_attempt_seconds',
  help: 'Time of one delivery attempt.',
  labelNames: ['endpoint'],
  buckets: [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 15],
  registers,
});

export const delaySeconds = new Histogram({
  name: 'trunkline_outbox_delay_seconds',
  help: 'From the moment an event tells of to its delivery.',
  labelNames: ['endpoint'],
  buckets: [0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 5, 30, 300, 3600, 86400],
  registers,
});

export const speechEndToWebhook = new Histogram({
  name: 'trunkline_speech_end_to_webhook_seconds',
  help: 'From the end of the speech, by the audio of the call, to the 2xx of the webhook that took its call.transcript.',
  labelNames: ['endpoint'],
  buckets: [0.25, 0.5, 0.75, 1, 1.5, 2, 3, 5, 10, 30, 120, 600, 3600, 86400],
  registers,
});

export const parkedTotal = counter(
  'trunkline_outbox_parked_total',
  'Calls that were parked at an endpoint: somebody has to look.',
  ['endpoint'],
);

export const breakerOpen = gauge(
  'trunkline_outbox_breaker_open',
  '1 while an endpoint is only probed.',
  ['endpoint'],
);

type LanesOfEndpoint = {
  endpoint: string;
  parked: number;
  waiting: number;
  oldestAt: number | null;
};

/** The last count, and its time by the database's clock. */
let counted: { lanes: readonly LanesOfEndpoint[]; nowMs: () => number } = {
  lanes: [],
  nowMs: () => 0,
};
/** Endpoints of this process. They are reported even when nothing waits for them. */
const endpoints = new Set<string>();

/** There is one outbox per process. The last one that counted is shown. */
export function showLanes(lanes: readonly LanesOfEndpoint[], nowMs: () => number): void {
  counted = { lanes, nowMs };
}

function laneGauge(name: string, help: string, value: (of: LanesOfEndpoint) => number): void {
  new Gauge({
    name,
    help,
    labelNames: ['endpoint'],
    registers,
    collect() {
      this.reset();
      for (const endpoint of endpoints) this.set({ endpoint }, 0);
      for (const lanes of counted.lanes) this.set({ endpoint: lanes.endpoint }, value(lanes));
    },
  });
}

laneGauge('trunkline_outbox_parked_calls', 'Calls parked now.', ({ parked }) => parked);
laneGauge(
  'trunkline_outbox_waiting_calls',
  'Calls with events that wait for delivery.',
  ({ waiting }) => waiting,
);
laneGauge(
  'trunkline_outbox_oldest_waiting_seconds',
  'Age of the oldest event that waits for its endpoint; 0 when none waits. Looked up every 5 s.',
  ({ oldestAt }) => (oldestAt === null ? 0 : Math.max(0, counted.nowMs() - oldestAt) / 1000),
);

export const purgedTotal = counter(
  'trunkline_outbox_purged_events_total',
  'Events that were removed because their time was over.',
);

const purgeLag = gauge(
  'trunkline_outbox_purge_lag_seconds',
  'By how much the events that the purge comes to next are past their time; 0 when nothing is left to remove.',
);

export function showPurgeLag(ms: number): void {
  purgeLag.set(Math.max(0, ms) / 1_000);
}

/** Counters start at 0, so that the first event shows as an increase. */
export function countFromZero(endpoint: string): void {
  endpoints.add(endpoint);
  parkedTotal.inc({ endpoint }, 0);
  breakerOpen.set({ endpoint }, 0);
  for (const outcome of attemptOutcomes) attemptsTotal.inc({ endpoint, outcome }, 0);
}
