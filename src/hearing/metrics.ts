import { counter } from '../lib/metrics.ts';

export const hearingMetrics = {
  wordless: counter(
    'trunkline_speech_unread_seconds_total',
    'Seconds in which a voice was heard and no reading gave words: noise, or words that are missing.',
  ),
};
