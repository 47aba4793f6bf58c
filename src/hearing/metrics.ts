import { Counter } from 'prom-client';
import { metrics } from '../lib/metrics.ts';

export const hearingMetrics = {
  wordless: new Counter({
    name: 'trunkline_speech_unread_seconds_total',
    help: 'Seconds in which a voice was heard and no reading gave words: noise, or words that are missing.',
    registers: [metrics],
  }),
};
