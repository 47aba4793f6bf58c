import type {
  Chapter,
  NamedEntity,
  SentimentItem,
  Utterance,
} from '../../../src/protocol/addons.ts';
import type { ApiModel } from '../../../src/protocol/model-reports.ts';
import type { PreRecordedJobRecord, PreRecordedResult } from '../../../src/protocol/job.ts';

/** Recorded answers for the Jobs view: the service's records of jobs in every state. */
export type RecordedJob = PreRecordedJobRecord & {
  progress?: { seconds_done: number; seconds: number };
  error_message?: string;
};

type JobLine = { speaker: number; start: number; end: number; text: string };

const script: JobLine[] = [
  {
    speaker: 0,
    start: 0.4,
    end: 4.9,
    text: 'Good morning, everybody. Let us begin with the harbour.',
  },
  {
    speaker: 1,
    start: 5.6,
    end: 11.2,
    text: 'Thank you, Oriane. The new crane is late again, and I am angry.',
  },
  { speaker: 0, start: 12.1, end: 15.8, text: 'It was promised for the 21st of June.' },
  {
    speaker: 2,
    start: 16.4,
    end: 21.3,
    text: 'The yard in Lisbon says August. It costs us $89 an hour.',
  },
  { speaker: 1, start: 41.2, end: 46.9, text: 'Then let us hire one. That would be wonderful.' },
];

export const jobId = '0d9a4c1e-52b7-4f0e-8a41-6b1de4c3f001';
const uploadedAt = '2026-02-03T09:15:00.000Z';

export function jobIdOf(number: number): string {
  return `0d9a4c1e-52b7-4f0e-8a41-${String(number).padStart(12, '0')}`;
}

/** A finished job with all features that the page requests. */
export function recordedJob(change: Partial<RecordedJob> = {}): RecordedJob {
  const id = change.id ?? jobId;
  return {
    id,
    request_id: `G-${id.slice(0, 8)}`,
    version: 2,
    kind: 'pre-recorded',
    status: 'done',
    created_at: uploadedAt,
    completed_at: '2026-02-03T09:15:09.000Z',
    custom_metadata: null,
    error_code: null,
    post_session_metadata: {},
    file: {
      id: '5f2c7f0b-3f0f-4a9b-9d0e-0f2f4c6b8e11',
      filename: 'harbour meeting.wav',
      source: null,
      audio_duration: 60,
      number_of_channels: 2,
    },
    request_params: { audio_url: 'http://127.0.0.1/file/5f2c7f0b', model: 'model-1' },
    result: recordedResult(),
    ...change,
  };
}

export function recordedResult(): PreRecordedResult {
  const utterances = script.map(utteranceOf);
  const block = <T>(results: T) => ({
    ...{ success: true, is_empty: false, exec_time: 0.1, error: null },
    results,
  });
  return {
    metadata: {
      ...{ audio_duration: 60, number_of_distinct_channels: 1, billing_time: 60 },
      transcription_time: 2.4,
    },
    transcription: {
      full_transcript: script.map(({ text }) => text).join(' '),
      languages: ['en'],
      utterances,
      subtitles: [
        {
          format: 'srt',
          subtitles: '1\n00:00:00,400 --> 00:00:04,900\nGood morning, everybody.\n',
        },
        {
          format: 'vtt',
          subtitles: 'WEBVTT\n\n00:00:00.400 --> 00:00:04.900\nGood morning, everybody.\n',
        },
      ],
    },
    summarization: block('The new crane is late. The team hires one until August.'),
    chapterization: block({
      chapters: [
        chapter('The harbour', 0.4, 15.8, 'The crane was promised for June.'),
        chapter('Hiring a crane', 16.4, 46.9, 'The yard says August.'),
      ],
    }),
    named_entity_recognition: block([
      entity('NAME_GIVEN', 'Oriane', 5.6, 7.2),
      entity('DATE', 'the 21st of June', 13.8, 15.8),
      entity('LOCATION_CITY', 'Lisbon', 17.1, 17.9),
      entity('MONEY', '$89', 20, 20.5),
    ]),
    sentiment_analysis: block(
      JSON.stringify([
        feeling('neutral', 'neutral', 0.4, 4.9),
        feeling('negative', 'anger', 5.6, 11.2),
        feeling('positive', 'relief', 41.2, 46.9),
      ]),
    ),
  };
}

function utteranceOf({ speaker, start, end, text }: JobLine): Utterance {
  const words = text.split(' ');
  const step = (end - start) / words.length;
  return {
    ...{ start, end, text, speaker, language: 'en', confidence: 0.9, channel: 0 },
    words: words.map((word, at) => ({
      word: at === 0 ? word : ` ${word}`,
      start: start + at * step,
      end: start + (at + 1) * step,
      confidence: 0.9,
    })),
  };
}

function entity(entity_type: string, text: string, start: number, end: number): NamedEntity {
  return { entity_type, text, start, end };
}

function feeling(
  sentiment: SentimentItem['sentiment'],
  emotion: SentimentItem['emotion'],
  start: number,
  end: number,
): SentimentItem {
  return { sentiment, emotion, start, end, text: '', channel: 0 };
}

function chapter(headline: string, start: number, end: number, summary: string): Chapter {
  return { headline, gist: headline, keywords: [], start, end, sentences: [], text: '', summary };
}

/** One job in each state, newest first. */
export function recordedJobs(): RecordedJob[] {
  const { file } = recordedJob();
  const unknown = { audio_duration: null, number_of_channels: null };
  const at = (minutesAgo: number) => new Date(Date.now() - minutesAgo * 60_000).toISOString();
  const waits = { completed_at: null, result: null };
  return [
    recordedJob({
      ...waits,
      id: jobIdOf(4),
      status: 'queued',
      created_at: at(0),
      file: file && { ...file, ...unknown, filename: 'board-2026-02.mp3' },
    }),
    recordedJob({
      ...waits,
      id: jobIdOf(3),
      status: 'processing',
      created_at: at(3),
      file: file && {
        ...file,
        filename: 'interview with the pilots of the northern basin.m4a',
        audio_duration: 1_830,
      },
      progress: { seconds_done: 612, seconds: 1_830 },
    }),
    recordedJob({
      ...waits,
      id: jobIdOf(2),
      status: 'error',
      created_at: at(125),
      error_code: 422,
      error_message: 'the file holds no audio: its only stream is a picture',
      file: file && { ...file, ...unknown, filename: 'scan.png.wav' },
    }),
    recordedJob({ created_at: at(60 * 30) }),
  ];
}

/** A model for recordings that is not installed. */
export function missingModel(name: 'voice-encoder' | 'whisper-tiny-en'): ApiModel {
  const facts = {
    'voice-encoder': { gain: 'tells the speakers of a recording apart', megabytes: 28 },
    'whisper-tiny-en': { gain: 'halves the wrong words of recordings', megabytes: 76 },
  };
  const command = `npx trunkline models pull ${name}`;
  return { name, ...facts[name], state: 'missing', share: null, detail: null, command };
}
