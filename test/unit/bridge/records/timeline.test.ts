import { describe, expect, test } from 'vitest';
import { finalOf, isNothing, place } from '../../../../src/bridge/records/timeline.ts';
import type { ServerMessage } from '../../../../src/protocol/live-messages.ts';

const at = { sessionId: '7d0c1b52-6a0e-4f1b-9b0a-2f6f4c6b8e11', zeroS: 10.25 };
const envelope = { session_id: at.sessionId, created_at: '2026-02-03T09:15:00.000Z' };
const utterance = {
  start: 0.42,
  end: 1.94,
  confidence: 0.93,
  channel: 0,
  language: 'en',
  text: ' I lost my card.',
  words: [
    { word: ' I', start: 0.42, end: 0.5, confidence: 0.97 },
    { word: ' lost', start: 0.56, end: 0.84, confidence: 0.95 },
  ],
};
const final: ServerMessage = {
  ...envelope,
  type: 'transcript',
  data: { id: '00_00000003', is_final: true, utterance },
};

describe('messages on the call’s one clock', () => {
  test('a final is moved to call time, words and all, and loses its leading spaces', () => {
    const placed = place(final, at);
    expect(placed).toMatchObject({
      kind: 'result',
      result: {
        type: 'call.transcript',
        key: '00_00000003',
        start: 10.67,
        end: 12.19,
        text: 'I lost my card.',
        data: {
          utterance_id: '00_00000003',
          words: [
            { word: 'I', start: 10.67, end: 10.75 },
            { word: 'lost', start: 10.81, end: 11.09 },
          ],
        },
      },
    });
  });

  test('a partial is no result, and a final without words is nothing', () => {
    const partial: ServerMessage = {
      ...envelope,
      type: 'transcript',
      data: { id: 'x', is_final: false, utterance },
    };
    expect(place(partial, at)).toMatchObject({
      kind: 'partial',
      partial: { text: 'I lost my card.', start: 10.67 },
    });
    const empty: ServerMessage = {
      ...envelope,
      type: 'transcript',
      data: { id: 'x', is_final: true, utterance: { ...utterance, text: ' ' } },
    };
    expect(place(empty, at)).toEqual({ kind: 'none' });
  });

  test('sentiment and entities keep the interface’s field names, their times moved', () => {
    const sentiment: ServerMessage = {
      ...envelope,
      type: 'sentiment_analysis',
      error: null,
      data: {
        utterance_id: 'u',
        utterance,
        results: [
          {
            sentiment: 'negative',
            emotion: 'distress',
            text: 'I lost my card.',
            start: 0.42,
            end: 1.94,
            channel: 0,
          },
        ],
      },
    };
    expect(place(sentiment, at)).toMatchObject({
      result: {
        type: 'call.sentiment',
        data: { results: [{ start: 10.67, end: 12.19, emotion: 'distress' }] },
      },
    });
    const entities: ServerMessage = {
      ...envelope,
      type: 'named_entity_recognition',
      error: null,
      data: {
        utterance_id: 'u',
        utterance,
        results: [{ entity_type: 'NAME', text: 'Oriane', start: 1, end: 1.5 }],
      },
    };
    expect(place(entities, at)).toMatchObject({
      result: { type: 'call.entities', data: { results: [{ start: 11.25, end: 11.75 }] } },
    });
  });

  test('an utterance without entities is no event', () => {
    const none: ServerMessage = {
      ...envelope,
      type: 'named_entity_recognition',
      error: null,
      data: { utterance_id: 'u', utterance, results: [] },
    };
    const placed = place(none, at);
    if (placed.kind !== 'result') throw new Error('the utterance may be a piece of an entity');
    expect(isNothing(placed.result)).toBe(true);
    const found = { entity_type: 'NAME', text: 'Oriane', start: 1, end: 1.5 };
    const some = place({ ...none, data: { utterance_id: 'u', utterance, results: [found] } }, at);
    expect(some.kind === 'result' && isNothing(some.result)).toBe(false);
  });

  test('a failed add-on is laid to the final before it, with its error', () => {
    const failed: ServerMessage = {
      ...envelope,
      type: 'sentiment_analysis',
      error: { message: 'engine away' },
      data: null,
    };
    expect(place(failed, at, finalOf(final))).toMatchObject({
      result: {
        key: '00_00000003',
        data: { utterance_id: '00_00000003', results: [], error: { message: 'engine away' } },
      },
    });
    expect(place(failed, at)).toEqual({ kind: 'none' });
  });

  test('each target language of a translation is its own result', () => {
    const translation = (target_language: string): ServerMessage => ({
      ...envelope,
      type: 'translation',
      error: null,
      data: {
        utterance_id: 'u',
        utterance,
        original_language: 'en',
        target_language,
        translated_utterance: { ...utterance, text: ' bonjour' },
      },
    });
    const keys = ['fr', 'de'].map((target) => {
      const placed = place(translation(target), at);
      return placed.kind === 'result' ? placed.result.key : undefined;
    });
    expect(keys).toEqual(['u:fr', 'u:de']);
  });

  test('acks and life-cycle messages are nothing for the timeline', () => {
    expect(place({ ...envelope, type: 'end_session' }, at)).toEqual({ kind: 'none' });
    expect(place({ ...envelope, type: 'error', error: { message: 'x' }, data: null }, at)).toEqual({
      kind: 'none',
    });
  });
});
