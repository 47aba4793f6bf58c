import { describe, expect, test } from 'vitest';
import {
  LiveCallback,
  LiveCallbackEvent,
  PreRecordedCallback,
} from '../../../src/protocol/callbacks.ts';
import { ErrorBody } from '../../../src/protocol/error-body.ts';
import { eventExamples } from '../../../src/protocol/event-examples.ts';
import { CallEvent, callEventTypes } from '../../../src/protocol/events.ts';
import { JobRecord, jobRequestId } from '../../../src/protocol/job.ts';
import { ClientMessage, readServerMessage } from '../../../src/protocol/live-messages.ts';
import { UploadedFile } from '../../../src/protocol/pre-recorded.ts';

const id = '7d0c1b52-6a0e-4f1b-9b0a-2f6f4c6b8e11';
const head = { session_id: id, created_at: '2026-02-03T09:15:01.104Z' };
const words = [{ word: ' I', start: 0.42, end: 0.5, confidence: 0.97 }];
const utterance = {
  ...{ start: 0.42, end: 1.94, confidence: 0.93, channel: 0 },
  ...{ language: 'en', text: ' I lost my card.', words },
};
const metadata = {
  ...{ audio_duration: 30.4, number_of_distinct_channels: 1 },
  ...{ billing_time: 30.4, transcription_time: 31.2 },
};
const transcription = {
  full_transcript: 'I lost my card.',
  languages: ['en'],
  utterances: [utterance],
};
const ofUtterance = { utterance_id: '00_00000000', utterance };
const sentiment = {
  ...{ sentiment: 'negative', emotion: 'distress', text: 'I lost my card.' },
  ...{ start: 0.42, end: 1.94, channel: 0 },
};
const chapter = {
  ...{ headline: 'Card reported stolen', gist: 'stolen card', keywords: ['card'], start: 0.4 },
  ...{ end: 14.8, text: 'I lost my card.', summary: 'The card went missing.' },
  sentences: [{ sentence: 'I lost my card.', start: 0.42, end: 1.94, words }],
};

/** Every message of the interface, as a service sends it. */
const messages: Record<string, unknown>[] = [
  {
    type: 'audio_chunk',
    acknowledged: true,
    error: null,
    data: { byte_range: [0, 800], time_range: [0, 0.1] },
  },
  { type: 'audio_chunk', acknowledged: false, error: { message: 'stopped' }, data: null },
  {
    type: 'stop_recording',
    acknowledged: true,
    error: null,
    data: { recording_duration: 30.4, recording_left_to_process: 0.72 },
  },
  { type: 'stop_recording', acknowledged: false, error: { message: 'already' }, data: null },
  { type: 'speech_start', data: { time: 0.38, channel: 0 } },
  { type: 'speech_end', data: { time: 1.96, channel: 0 } },
  { type: 'transcript', data: { id: '00_00000000', is_final: false, utterance } },
  {
    type: 'translation',
    error: null,
    data: {
      ...ofUtterance,
      original_language: 'en',
      target_language: 'fr',
      translated_utterance: utterance,
    },
  },
  { type: 'translation', error: { message: 'engine unavailable' }, data: null },
  {
    type: 'named_entity_recognition',
    error: null,
    data: {
      ...ofUtterance,
      results: [{ entity_type: 'NAME_GIVEN', text: 'Oriane', start: 6.7, end: 7.2 }],
    },
  },
  { type: 'sentiment_analysis', error: null, data: { ...ofUtterance, results: [sentiment] } },
  { type: 'start_session' },
  { type: 'start_recording' },
  { type: 'end_recording', data: { recording_duration: 30.4 } },
  { type: 'end_session' },
  { type: 'post_transcript', data: transcription },
  { type: 'post_final_transcript', data: { metadata, transcription } },
  { type: 'post_summarization', error: null, data: { results: 'A stolen card.' } },
  { type: 'post_chapterization', error: null, data: { results: [chapter] } },
  {
    type: 'error',
    error: { status_code: 400, exception: 'InvalidMessage', message: 'x' },
    data: { code: 400, message: 'x' },
  },
].map((message) => ({ ...head, ...message }));

describe('messages of a live session', () => {
  test.each(messages)('$type is read as it was sent', (message) => {
    const read = readServerMessage(JSON.stringify(message));
    expect(read).toEqual({ outcome: 'message', message });
  });

  test('a missing or null error and data are read as null', () => {
    for (const type of ['translation', 'named_entity_recognition', 'sentiment_analysis', 'error'])
      expect(readServerMessage(JSON.stringify({ ...head, type }))).toMatchObject({
        outcome: 'message',
        message: { error: null, data: null },
      });
  });

  test('unknown keys do not disturb, unknown types are told by name', () => {
    const more = { ...head, type: 'start_recording', later: { x: 1 } };
    expect(readServerMessage(JSON.stringify(more))).toMatchObject({ outcome: 'message' });
    const unknown = JSON.stringify({ ...head, type: 'diarization_update' });
    expect(readServerMessage(unknown)).toEqual({ outcome: 'unknown', type: 'diarization_update' });
  });

  test('a language of a later version does not cost a final', () => {
    const yue = {
      ...head,
      type: 'transcript',
      data: { id: '0', is_final: true, utterance: { ...utterance, language: 'yue' } },
    };
    expect(readServerMessage(JSON.stringify(yue))).toMatchObject({ outcome: 'message' });
  });

  test.each([
    ['not JSON', '{'],
    ['no type', '[]'],
    ['no type', '{"type":1}'],
    ['transcript: session_id, created_at, data', '{"type":"transcript"}'],
  ])('what cannot be read says why without its content: %s', (reason, frame) => {
    expect(readServerMessage(frame)).toEqual({ outcome: 'malformed', reason });
  });

  test('the client speaks two commands', () => {
    const takes = [
      { type: 'audio_chunk', data: { chunk: 'AAAA' } },
      { type: 'audio_chunk', data: { chunk: '' }, message_id: 'm1' },
      { type: 'stop_recording' },
    ];
    const refuses = [
      { type: 'audio_chunk' },
      { type: 'audio_chunk', data: { chunk: '!!' } },
      { type: 'audio_chunk', data: {} },
      { type: 'pause' },
      {},
    ];
    for (const command of takes) expect(ClientMessage.safeParse(command).success).toBe(true);
    for (const command of refuses) expect(ClientMessage.safeParse(command).success).toBe(false);
  });
});

test('a callback is named after its message, sixteen in all', () => {
  expect(LiveCallbackEvent.options).toHaveLength(16);
  for (const payload of messages.filter(({ type }) => type !== 'error')) {
    const callback = { id, event: `live.${String(payload['type'])}`, payload };
    expect(LiveCallback.safeParse(callback).success).toBe(true);
  }
});

test('a job’s callback tells success or error', () => {
  const success = { id, event: 'transcription.success', payload: { metadata, transcription } };
  const failure = {
    id,
    event: 'transcription.error',
    error: { code: 422, message: 'x' },
    custom_metadata: null,
  };
  for (const body of [success, failure]) expect(PreRecordedCallback.parse(body)).toEqual(body);
  expect(PreRecordedCallback.safeParse({ id, event: 'success' }).success).toBe(false);
});

test('a job record carries every key, null where there is nothing', () => {
  const least = {
    id,
    request_id: jobRequestId(id),
    version: 2,
    status: 'queued',
    created_at: head.created_at,
  };
  expect(JobRecord.parse({ ...least, kind: 'live' })).toEqual({
    ...least,
    kind: 'live',
    completed_at: null,
    custom_metadata: null,
    error_code: null,
    post_session_metadata: {},
    file: null,
    request_params: null,
    result: null,
  });
  expect(least.request_id).toBe('G-7d0c1b52');
  for (const bad of [
    { status: 'finished' },
    { kind: 'video' },
    { error_code: 399 },
    { error_code: 600 },
  ])
    expect(JobRecord.safeParse({ ...least, kind: 'live', ...bad }).success).toBe(false);
});

test('results are read in the forms that services have sent', () => {
  const block = { success: true, is_empty: false, exec_time: 0.1, error: null };
  const base = {
    id,
    request_id: 'G-1',
    version: 2,
    status: 'done',
    created_at: head.created_at,
    kind: 'live',
  };
  for (const extra of [
    { sentiment_analysis: { ...block, results: '[]' } },
    { sentiment_analysis: { ...block, results: [sentiment] } },
    { chapterization: { ...block, results: { chapters: [chapter] } } },
    { chapterization: { ...block, results: [chapter] } },
    {
      summarization: {
        success: false,
        is_empty: true,
        exec_time: 0,
        error: { status_code: 500, exception: 'E', message: 'm' },
        results: null,
      },
    },
    { transcription: { ...transcription, sentences: [{ ...block, results: ['One.'] }] } },
  ])
    expect(
      JobRecord.safeParse({ ...base, result: { metadata, messages: [], ...extra } }).success,
    ).toBe(true);
});

test('an error body holds everything but validation_errors always', () => {
  const body = {
    timestamp: 't',
    path: '/v2/live',
    request_id: 'G-1',
    statusCode: 400,
    message: 'm',
  };
  expect(ErrorBody.safeParse(body).success).toBe(true);
  expect(ErrorBody.safeParse({ ...body, validation_errors: ['a must be b'] }).success).toBe(true);
  for (const key of Object.keys(body))
    expect(ErrorBody.safeParse({ ...body, [key]: undefined }).success).toBe(false);
});

test('an uploaded file needs its six facts', () => {
  const facts = {
    id,
    filename: 'a.wav',
    extension: 'wav',
    size: 1,
    audio_duration: 1,
    number_of_channels: 1,
  };
  const audio_url = 'https://stt.example.net/file/x';
  expect(UploadedFile.safeParse({ audio_url, audio_metadata: facts }).success).toBe(true);
  for (const key of Object.keys(facts))
    expect(
      UploadedFile.safeParse({ audio_url, audio_metadata: { ...facts, [key]: undefined } }).success,
    ).toBe(false);
});

test.each(callEventTypes)('%s has an example that its own schema takes', (type) => {
  expect(CallEvent.parse(eventExamples[type])).toEqual(eventExamples[type]);
});

test('the example call’s ledger adds up', () => {
  for (const { ledger } of eventExamples['call.ended'].data.legs)
    expect(ledger.acknowledged + ledger.gaps + ledger.paused).toBe(ledger.received);
});
