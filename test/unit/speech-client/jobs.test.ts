import { expect, test } from 'vitest';
import { maxTextChars } from '../../../src/speech-client/bounds.ts';
import { maxUtterances, stateIn } from '../../../src/speech-client/jobs-api.ts';

const utterance = { start: 0.5, end: 1, channel: 1, text: ' hello', language: 'en' };
const done = (utterances: unknown[], audio_duration = 10): object => ({
  status: 'done',
  result: { metadata: { audio_duration }, transcription: { utterances } },
});

test('the words of a finished job are read, from services that leave keys out too', () => {
  expect(stateIn(done([utterance, { start: 2, end: 3, text: ' yes' }]))).toEqual({
    outcome: 'done',
    spoken: [
      { channel: 1, start: 0.5, end: 1, text: ' hello', language: 'en' },
      { channel: 0, start: 2, end: 3, text: ' yes', language: '' },
    ],
  });
  expect(stateIn({ status: 'done', result: null })).toEqual({ outcome: 'done', spoken: [] });
});

test.each([
  [{ status: 'queued' }, { outcome: 'unfinished' }],
  [{ status: 'something new' }, { outcome: 'unfinished' }],
  [
    { status: 'error', error_code: 422, error_message: 'no speech' },
    { outcome: 'failed', code: 422, reason: 'no speech' },
  ],
  [{ status: 'error' }, { outcome: 'failed', code: 500, reason: '' }],
])('a record of %j is %j', (record, state) => {
  expect(stateIn(record)).toEqual(state);
});

test('a record of another form is a failure of the service, whatever it holds', () => {
  for (const odd of [
    undefined,
    'done',
    {},
    done([null]),
    done([{ ...utterance, start: 'soon' }]),
    done([{ ...utterance, start: Infinity }]),
    { status: 'error', error_code: 'E1' },
  ])
    expect(stateIn(odd)).toMatchObject({ outcome: 'failed', code: 502 });
});

test('times lie in the audio, texts and their number are bounded, whatever a record says', () => {
  const state = stateIn(
    done([
      { ...utterance, start: -5, end: 1e12, text: 'x'.repeat(1_000_000) },
      ...Array.from({ length: maxUtterances + 5 }, () => utterance),
    ]),
  );
  if (state.outcome !== 'done') throw new Error(state.outcome);
  expect(state.spoken).toHaveLength(maxUtterances);
  expect(state.spoken[0]).toMatchObject({ start: 0, end: 10 });
  expect(state.spoken[0]?.text.length).toBe(maxTextChars);
});
