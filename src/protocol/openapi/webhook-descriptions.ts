import type { z } from 'zod';
import {
  LiveCallback,
  LiveWebhook,
  PreRecordedCallback,
  PreRecordedWebhook,
} from '../callbacks.ts';
import { LiveFeedMessage } from '../api.ts';
import { eventExamples } from '../event-examples.ts';
import { CallEvent, callEventTypes, type CallEventType } from '../events.ts';
import { LiveResult } from '../job.ts';
import { ClientMessage, ServerMessage } from '../live-messages.ts';

/** A request that we send to others over HTTP. */
export type Webhook = {
  name: string;
  tag: string;
  summary: string;
  schema: z.ZodType;
  headers: Record<string, string>;
  example?: unknown;
};

/** Messages on sockets and streams, for which OpenAPI has no place of its own. */
export const socketSchemas: readonly z.ZodType[] = [
  ClientMessage,
  ServerMessage,
  LiveResult,
  LiveFeedMessage,
];

const signed = {
  'webhook-id': 'The event’s id: equal over all attempts.',
  'webhook-timestamp': 'Unix seconds of this attempt.',
  'webhook-signature':
    '`v1,` and base64 of HMAC-SHA256 over `id.timestamp.body`; several during a key change.',
};

const summaries: Record<CallEventType, string> = {
  'call.started': 'A call began.',
  'call.transcript': 'A final transcript of one utterance.',
  'call.sentiment': 'The sentiment of one utterance, sentence by sentence.',
  'call.entities': 'Names, numbers, dates and the like in one utterance.',
  'call.translation': 'One utterance in another language.',
  'call.gap': 'A stretch of audio has no text, and why.',
  'call.paused': 'Transcription was paused: nothing is kept or sent.',
  'call.resumed': 'Transcription goes on.',
  'call.dtmf': 'A key was pressed; off by default, digits masked.',
  'call.agent': 'An agent has the call now, or nobody has it any more.',
  'call.hint': 'A rule of a playbook has something for the agent; only to endpoints that name it.',
  'call.alert': 'A rule of a playbook calls a supervisor.',
  'call.checklist': 'A step of a checklist is done; only to endpoints that name it.',
  'call.tagged': 'A rule of a playbook tagged the call.',
  'call.signal': 'A rule of a playbook has something for a program.',
  'call.ended': 'The call is over and every final before it has been sent.',
  'call.summary': 'Summary, chapters, entities, sentiment and the whole transcript.',
  'call.completed':
    'The whole call in one event: numbers, times, transcript, summary, sentiment, talk figures, gaps and links.',
  'call.wrapped':
    'The record of the call: reason, what was done, outcome, promises, facts and mood, each with the utterances that prove it. It comes again when somebody edits it.',
  'call.scored':
    'A call was judged by a scorecard, a reviewer changed its score, or an agent disputes it; only to endpoints that name it.',
  'call.transcript.revised':
    'The recording was read again with care: transcript, summary and chapters anew; only with TRUNKLINE_SECOND_PASS.',
  'call.warning': 'Something about the call did not come about, and why.',
  'call.erased': 'The call was erased here: forget it too.',
  'call.skipped': 'Sent in place of an event that this endpoint kept refusing, if it chose so.',
};

const callEvents: Webhook[] = callEventTypes.map((type) => ({
  name: type,
  tag: 'Deliveries',
  summary: summaries[type],
  schema: schemaOf(type),
  headers: signed,
  example: eventExamples[type],
}));

const speechEvents: Webhook[] = [
  {
    name: 'live callback',
    tag: 'Live transcription',
    summary: 'One message of a session, to its callback_config.url.',
    schema: LiveCallback,
    headers: {},
  },
  {
    name: 'live webhook',
    tag: 'Live transcription',
    summary: 'The life of every session, to the account’s endpoint.',
    schema: LiveWebhook,
    headers: {},
    example: {
      event: 'live.end_session',
      payload: { id: '7d0c1b52-6a0e-4f1b-9b0a-2f6f4c6b8e11' },
    },
  },
  {
    name: 'pre-recorded callback',
    tag: 'Pre-recorded transcription',
    summary: 'The outcome of one job, by POST or PUT to its callback_config.url.',
    schema: PreRecordedCallback,
    headers: {},
    example: {
      id: '5b1f0f0a-94c4-4d8a-8f0d-1f6f1d1f9a10',
      event: 'transcription.error',
      error: { code: 422, message: 'the audio could not be decoded' },
      custom_metadata: { call_id: 'c-1881' },
    },
  },
  {
    name: 'pre-recorded webhook',
    tag: 'Pre-recorded transcription',
    summary: 'The life of every job, to the account’s endpoint.',
    schema: PreRecordedWebhook,
    headers: {},
    example: {
      event: 'transcription.success',
      payload: { id: '5b1f0f0a-94c4-4d8a-8f0d-1f6f1d1f9a10' },
    },
  },
];

export const webhooks: readonly Webhook[] = [...callEvents, ...speechEvents];

function schemaOf(type: CallEventType): z.ZodType {
  const schema = CallEvent.options.find((option) => option.shape.type.value === type);
  if (!schema) throw new Error(`event ${type} has no schema`);
  return schema;
}
