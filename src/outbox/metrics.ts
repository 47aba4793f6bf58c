import { Counter, Gauge, Histogram } from 'prom-client';
import { metrics } from '../lib/metrics.ts';

const registers = [metrics];

export const attemptsTotal = new Counter({
  name: 'trunkline_outbox_attempts_total',
  help: 'Delivery attempts, by endpoint and outcome.',
  labelNames: ['endpoint', 'outcome'],
  registers,
});

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

export const parkedTotal = new Counter({
  name: 'trunkline_outbox_parked_total',
  help: 'Calls that were parked at an endpoint: somebody has to look.',
  labelNames: ['endpoint'],
  registers,
});

export const parkedCalls = new Gauge({
  name: 'trunkline_outbox_parked_calls',
  help: 'Calls parked now.',
  labelNames: ['endpoint'],
  registers,
});

export const waitingCalls = new Gauge({
  name: 'trunkline_outbox_waiting_calls',
  help: 'Calls with events that wait for delivery.',
  labelNames: ['endpoint'],
  registers,
});

export const breakerOpen = new Gauge({
  name: 'trunkline_outbox_breaker_open',
  help: '1 while an endpoint is only probed.',
  labelNames: ['endpoint'],
  registers,
});
