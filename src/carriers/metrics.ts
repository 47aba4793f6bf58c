import { Counter, Gauge } from 'prom-client';
import { metrics } from '../lib/metrics.ts';

const registers = [metrics];

export const upgradesTotal = new Counter({
  name: 'trunkline_carrier_upgrades_total',
  help: 'Carrier upgrades by outcome.',
  labelNames: ['carrier', 'outcome'] as const,
  registers,
});

export const webhooksTotal = new Counter({
  name: 'trunkline_carrier_webhooks_total',
  help: 'Requests to the webhooks of carriers by outcome: `answered`, or the status of the refusal.',
  labelNames: ['carrier', 'webhook', 'outcome'] as const,
  registers,
});

export const framesTotal = new Counter({
  name: 'trunkline_carrier_odd_frames_total',
  help: 'Frames that were malformed, unknown, late, repeated or out of order.',
  labelNames: ['carrier', 'what'] as const,
  registers,
});

export const streamsTotal = new Counter({
  name: 'trunkline_carrier_streams_total',
  help: 'Carrier streams by how they ended.',
  labelNames: ['carrier', 'end'] as const,
  registers,
});

/** The counter has no label, so that it exists before its first event and the first one shows as an increase. */
export const streamsNotTaken = new Counter({
  name: 'trunkline_streams_not_taken_total',
  help: 'Streams that were let in and whose audio could not be taken; their phone calls go on unheard.',
  registers,
});

export const socketsOpen = new Gauge({
  name: 'trunkline_carrier_sockets',
  help: 'Carrier sockets that are open now.',
  registers,
});

/** Only signatures that are right but for their time set this: a stranger's time says nothing about our clock. */
export const clockSkewSeconds = new Gauge({
  name: 'trunkline_carrier_clock_skew_seconds',
  help: 'The clock of a carrier less ours, by its last signature that was right, in time or not.',
  labelNames: ['carrier'] as const,
  registers,
});
