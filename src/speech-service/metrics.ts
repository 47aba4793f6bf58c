import { counter, gauge } from '../lib/metrics.ts';

/** Metrics of the speech service. They are counts only: no label contains an id. */
export const speechMetrics = {
  open: gauge('trunkline_speech_sessions_open', 'Live sessions that are open now.'),
  ended: counter('trunkline_speech_sessions_ended_total', 'Live sessions ended, by outcome.', [
    'outcome',
  ]),
  audio: counter(
    'trunkline_speech_audio_seconds_total',
    'Seconds of audio of the live sessions that ended.',
  ),
  refused: counter(
    'trunkline_speech_refused_total',
    'Live sessions refused at their POST, by status.',
    ['status'],
  ),
  callbacksGivenUp: counter(
    'trunkline_speech_callbacks_given_up_total',
    'Callbacks and webhooks of sessions given up after their last attempt.',
  ),
  jobsEnded: counter('trunkline_speech_jobs_ended_total', 'Pre-recorded jobs ended, by outcome.', [
    'outcome',
  ]),
  jobsWithoutRoom: gauge(
    'trunkline_speech_jobs_without_room',
    'Pre-recorded jobs of this node that wait because the data disk has no room for their audio.',
  ),
  jobsRefused: counter(
    'trunkline_speech_jobs_refused_total',
    'Pre-recorded jobs refused at their POST, by status.',
    ['status'],
  ),
};

// Each counter starts at 0, so that its first event is visible as an increase.
for (const outcome of ['done', 'error', 'cancelled'] as const)
  speechMetrics.jobsEnded.inc({ outcome }, 0);
