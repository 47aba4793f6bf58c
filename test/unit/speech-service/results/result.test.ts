import { expect, test } from 'vitest';
import { performTask } from '../../../../src/language/perform.ts';
import { parsePreRecordedRequest } from '../../../../src/protocol/parse-pre-recorded.ts';
import { PreRecordedResult } from '../../../../src/protocol/job.ts';
import type { Utterance } from '../../../../src/protocol/addons.ts';
import type { AddonRunner } from '../../../../src/speech-service/results/answer.ts';
import { resultOf } from '../../../../src/speech-service/results/result.ts';

/** The language tasks done at once in this thread. */
const here: AddonRunner = { run: (task, input) => Promise.resolve(performTask(task, input)) };

function said(text: string, start: number, more: Partial<Utterance> = {}): Utterance {
  const spoken = text.split(' ');
  const words = spoken.map((word, i) => ({
    word: i === 0 ? word : ` ${word}`,
    start: start + i * 0.5,
    end: start + i * 0.5 + 0.4,
    confidence: 0.9,
  }));
  const end = start + spoken.length * 0.5;
  return { text, start, end, words, channel: 0, confidence: 0.9, language: 'en', ...more };
}

async function resultWith(
  body: object,
  utterances: Utterance[],
  more: Partial<Parameters<typeof resultOf>[0]> = {},
): Promise<PreRecordedResult> {
  const parsed = parsePreRecordedRequest({ audio_url: 'https://files.example/a.wav', ...body });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed));
  const result = await resultOf({
    request: parsed.request,
    durationS: 12.3456,
    distinctChannels: 2,
    transcriptionS: 1.5,
    utterances,
    language: here,
    owner: 'job',
    signal: new AbortController().signal,
    ...more,
  });
  return PreRecordedResult.parse(JSON.parse(JSON.stringify(result)));
}

test('a plain job has its figures and its transcription, most spoken language first, and no block', async () => {
  const utterances = [
    said('Later words in the other channel.', 4, { channel: 1 }),
    said('Bonjour.', 1, { language: 'fr' }),
  ];
  const result = await resultWith({}, utterances);
  expect(Object.keys(result)).toEqual(['metadata', 'transcription']);
  expect(result.metadata).toEqual({
    audio_duration: 12.346,
    number_of_distinct_channels: 2,
    billing_time: 24.691,
    transcription_time: 1.5,
  });
  expect(result.transcription).toMatchObject({
    full_transcript: 'Bonjour. Later words in the other channel.',
    languages: ['en', 'fr'],
  });
});
