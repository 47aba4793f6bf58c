import { describe, expect, test } from 'vitest';
import type { Utterance } from '../../../../src/protocol/addons.ts';
import { PostFinalResult } from '../../../../src/protocol/job.ts';
import { StreamingRequest, type LiveRequest } from '../../../../src/protocol/live-request.ts';
import {
  isWanted,
  message,
  utteranceId,
} from '../../../../src/speech-service/live/words/server-messages.ts';
import { utteranceOf } from '../../../../src/speech-service/results/utterance.ts';
import {
  add,
  noResults,
  resultOf,
} from '../../../../src/speech-service/live/words/session-result.ts';
import {
  decodeLines,
  encodeLine,
  type LogLine,
} from '../../../../src/speech-service/live/outgoing/session-log.ts';

const said = (text: string, start: number, channel = 0): Utterance => ({
  text, start, end: start + 1, channel, confidence: 0.9, language: 'en', words: [],
}); // prettier-ignore
const block = { success: true, is_empty: false, exec_time: 0.1, error: null };
const failure = { status_code: 500, exception: 'AddonFailed', message: 'no' };
const request = (realtime: object): LiveRequest =>
  StreamingRequest.parse({ channels: 2, realtime_processing: realtime });

describe('the result of a session', () => {
  test('is in order of time over the channels, trimmed, with billing for each channel', () => {
    const record = noResults();
    record.utterances.push(
      { id: '01_0', utterance: said(' later.', 5, 1), decidedS: 6 },
      { id: '00_0', utterance: said(' First', 1), decidedS: 2 },
    );
    const result = resultOf(
      request({}),
      record,
      {},
      { audioS: 7.5, channels: 2, transcriptionS: 8 },
    );
    expect(result.transcription).toMatchObject({
      full_transcript: 'First later.',
      languages: ['en'],
    });
    expect(result.metadata).toEqual({
      audio_duration: 7.5,
      number_of_distinct_channels: 2,
      billing_time: 15,
      transcription_time: 8,
    });
    expect(Object.keys(result)).toEqual(['metadata', 'transcription']);
  });

  test('tells where a voice was heard and no words were found, as long as there are not too many', () => {
    const record = noResults();
    const figures = { audioS: 2, channels: 1, transcriptionS: 1 };
    const stretch = { channel: 0, start: 1.00049, end: 1.75 };
    add(record, { add: 'unread', stretch });
    const { metadata } = PostFinalResult.parse(resultOf(request({}), record, {}, figures));
    expect(metadata.unread).toEqual([{ channel: 0, start: 1, end: 1.75 }]);
    for (let more = 0; more < 2_000; more++) add(record, { add: 'unread', stretch });
    expect(resultOf(request({}), record, {}, figures).metadata.unread).toHaveLength(1_000);
  });

  test('has a block for each add-on that was asked for; sentiment is JSON text without bare words', () => {
    const record = noResults();
    record.entities.push(
      { ...block, results: [{ entity_type: 'NAME', text: 'Oriane', start: 1, end: 2 }] },
      { ...block, success: false, error: failure, results: null },
    );
    record.sentiments.push({
      ...block,
      results: [
        { sentiment: 'negative', emotion: 'anger', text: 'No.', start: 1, end: 2, channel: 0 },
      ],
    });
    const result = resultOf(
      request({ named_entity_recognition: true, sentiment_analysis: true, translation: true, translation_config: { target_languages: ['fr'] } }),
      record, {}, { audioS: 1, channels: 1, transcriptionS: 1 },
    ); // prettier-ignore
    expect(result.named_entity_recognition).toMatchObject({
      success: false,
      error: failure,
      results: [{ text: 'Oriane' }],
    });
    expect(typeof result.sentiment_analysis?.results).toBe('string');
    expect(result.sentiment_analysis?.results).not.toMatch(/\b(true|false|null)\b/);
    expect(result.translation?.results).toMatchObject([{ languages: ['fr'], utterances: [] }]);
    expect(PostFinalResult.parse(result)).toEqual(result);
  });
});

describe('live words', () => {
  test('begin with exactly one space each, and the text with one', () => {
    const utterance = utteranceOf(
      { index: 0, text: '  I  lost ', start: 0, end: 1, confidence: 0.5, language: 'xx', words: [{ word: ' I', start: 0, end: 0.1, confidence: 1 }, { word: 'lost', start: 0.2, end: 1, confidence: 1 }] },
      1,
      'en',
    ); // prettier-ignore
    expect(utterance).toMatchObject({ text: ' I lost', channel: 1, language: 'en' });
    expect(utterance.words.map((word) => word.word).join('')).toBe(utterance.text);
  });

  test('have ids with two digits of channel and a counter', () => {
    expect(utteranceId(1, 23)).toBe('01_00000023');
  });
});

describe('flags', () => {
  const none = Object.fromEntries(
    Object.keys(StreamingRequest.parse({}).messages_config).map((flag) => [flag, false]),
  );

  test('a refused ack goes to whoever asked for acks or for errors', () => {
    const refused = message('id', 0, 'audio_chunk', {
      acknowledged: false,
      error: { message: 'no' },
      data: null,
    });
    expect(isWanted(refused, none as never)).toBe(false);
    expect(isWanted(refused, { ...none, receive_errors: true } as never)).toBe(true);
    expect(isWanted(refused, { ...none, receive_acknowledgments: true } as never)).toBe(true);
  });

  test('every class of message has its flag and only that one', () => {
    const utterance = said(' hi', 0);
    const table = [
      [message('i', 0, 'speech_start', { data: { time: 0, channel: 0 } }), 'receive_speech_events'],
      [
        message('i', 0, 'transcript', { data: { id: 'u', is_final: true, utterance } }),
        'receive_final_transcripts',
      ],
      [
        message('i', 0, 'transcript', { data: { id: 'u', is_final: false, utterance } }),
        'receive_partial_transcripts',
      ],
      [
        message('i', 0, 'named_entity_recognition', { error: null, data: null }),
        'receive_realtime_processing_events',
      ],
      [
        message('i', 0, 'post_summarization', { error: null, data: null }),
        'receive_post_processing_events',
      ],
      [message('i', 0, 'end_session', {}), 'receive_lifecycle_events'],
    ] as const;
    for (const [each, flag] of table) {
      expect(isWanted(each, { ...none, [flag]: true } as never)).toBe(true);
      const others = Object.fromEntries(Object.keys(none).map((name) => [name, name !== flag]));
      expect(isWanted(each, others as never)).toBe(false);
    }
  });
});

describe('the log of a session', () => {
  const lines: LogLine[] = [
    { line: 'message', socket: true, callback: false, text: '{"type":"transcript","text":"é\\n"}' },
    {
      line: 'record',
      entry: { add: 'utterance', id: '00_0', utterance: said(' a\u2028b', 1), decidedS: 2.5 },
    },
    { line: 'confirmed', count: 12 },
    { line: 'called-back', count: 3 },
    { line: 'webhook', target: '1f0c', count: 2 },
    { line: 'stopped' },
  ];

  test('is read back as it was written', () => {
    expect(decodeLines(Buffer.from(lines.map(encodeLine).join('')))).toEqual(lines);
  });

  test('loses only the line that a crash cut in two', () => {
    const bytes = Buffer.from(lines.map(encodeLine).join(''));
    for (let length = 0; length <= bytes.length; length++) {
      const read = decodeLines(bytes.subarray(0, length));
      expect(read).toEqual(lines.slice(0, read.length));
    }
  });
});
