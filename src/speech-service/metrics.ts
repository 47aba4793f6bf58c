import { Counter, Gauge } from 'prom-client';
import { metrics } from '../lib/metrics.ts';

const registers = [metrics];

/** Metrics of the speech service. They are counts only: no label contains an id. */
export const speechMetrics = {
  open: new Gauge({
    name: 'trunkline_speech_sessions_open',
    help: 'Live sessions that are open now.',
    registers,
  }),
  ended: new Counter({
    name: 'trunkline_speech_sessions_ended_total',
    help: 'Live sessions ended, by outcome.',
    labelNames: ['outcome'] as const,
    registers,
  }),
  audio: new Counter({
    name: 'trunkline_speech_audio_seconds_total',
    help: 'Seconds of audio of the live sessions that ended.',
    registers,
  }),
  refused: new Counter({
    name: 'trunkline_speech_refused_total',
    help: 'Live sessions refused at their POST, by status.',
    labelNames: ['status'] as const,
    registers,
  }),
  callbacksGivenUp: new Counter({
    name: 'trunkline_speech_callbacks_given_up_total',
    help: 'Callbacks and webhooks of sessions given up after their last attempt.',
    registers,
  }),
  jobsEnded: new Counter({
    name: 'trunkline_speech_jobs_ended_total',
    help: 'Pre-recorded jobs ended, by outcome.',
    labelNames: ['outcome'] as const,
    registers,
  }),
  jobsWithoutRoom: new Gauge({
    name: 'trunkline_speech_jobs_without_room',
    help: 'Pre-recorded jobs of this node that wait because the data disk has no room for their audio.',
    registers,
  }),
  jobsRefused: new Counter({
    name: 'trunkline_speech_jobs_refused_total',
    help: 'Pre-recorded jobs refused at their POST, by status.',
    labelNames: ['status'] as const,
    registers,
  }),
};

// Each counter starts at 0, so that its first event is visible as an increase.
for (const outcome of ['done', 'error', 'cancelled'] as const)
  speechMetrics.jobsEnded.inc({ outcome }, 0);
