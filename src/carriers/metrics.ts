import { counter, gauge } from '../lib/metrics.ts';

export const upgradesTotal = counter(
  'trunkline_carrier_upgrades_total',
  'Carrier upgrades by outcome.',
  ['carrier', 'outcome'],
);

export const webhooksTotal = counter(
  'trunkline_carrier_webhooks_total',
  'Requests to the webhooks of carriers by outcome: `answered`, or the status of the refusal.',
  ['carrier', 'webhook', 'outcome'],
);

export const framesTotal = counter(
  'trunkline_carrier_odd_frames_total',
  'Frames that were malformed, unknown, late, repeated or out of order.',
  ['carrier', 'what'],
);

export const streamsTotal = counter(
  'trunkline_carrier_streams_total',
  'Carrier streams by how they ended.',
  ['carrier', 'end'],
);

/** The counter has no label, so that it exists before its first event and the first one shows as an increase. */
export const streamsNotTaken = counter(
  'trunkline_streams_not_taken_total',
  'Streams that were let in and whose audio could not be taken; their phone calls go on unheard.',
);

export const socketsOpen = gauge('trunkline_carrier_sockets', 'Carrier sockets that are open now.');

/** Set only by signatures that are right except for their time. The time of a stranger says nothing about our clock. */
export const clockSkewSeconds = gauge(
  'trunkline_carrier_clock_skew_seconds',
  'The clock of a carrier less ours, by its last signature that was right, in time or not.',
  ['carrier'],
);
