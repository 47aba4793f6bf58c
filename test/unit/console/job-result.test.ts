import { beforeAll, describe, expect, test } from 'vitest';
import {
  jobId,
  recordedJob,
  recordedResult,
  type RecordedJob,
} from '../../support/browser/recorded-jobs.ts';

/** The modules of the Jobs view that need no document, as the browser runs them. */
type ResultEntry = {
  text: string;
  name?: string;
  voice?: number;
  entities: { text: string }[];
  sentiments: { sentiment: string }[];
  translations: { language: string; text: string }[];
};
type Result = RecordedJob['result'];

const page = new URL('../../../src/console/page/', import.meta.url);
let entriesOf: (result: unknown) => ResultEntry[];
let failuresOf: (result: unknown) => { part: string; message: string }[];
let downloadsOf: (job: unknown) => { name: string; format: string; text: string }[];
let talkOf: (entries: ResultEntry[]) => { name: string; seconds: number }[];
let age: (iso: string, nowMs: number) => string;
let requestOf: (address: string, wanted: Set<string>) => Record<string, unknown>;

beforeAll(async () => {
  ({ entriesOf, failuresOf, downloadsOf, talkOf } = await import(
    new URL('job-result.js', page).href
  ));
  ({ age } = await import(new URL('format.js', page).href));
  ({ requestOf } = await import(new URL('uploads.js', page).href));
});

function withUtterances(change: (utterance: object, at: number) => object): unknown {
  const result = recordedResult();
  const { utterances } = result.transcription!;
  return {
    ...result,
    transcription: { ...result.transcription, utterances: utterances.map(change) },
  };
}

describe('the utterances of a job', () => {
  test('are named by speaker, else by channel where there are several, else not at all', () => {
    expect(entriesOf(recordedResult()).map(({ name, voice }) => [name, voice])).toEqual([
      ['Speaker 1', 0],
      ['Speaker 2', 1],
      ['Speaker 1', 0],
      ['Speaker 3', 2],
      ['Speaker 2', 1],
    ]);
    const channels = withUtterances((one, at) => ({ ...one, speaker: undefined, channel: at % 2 }));
    expect(entriesOf(channels).map(({ name }) => name)).toEqual(
      [1, 2, 1, 2, 1].map((channel) => `Channel ${channel}`),
    );
    const one = withUtterances((utterance) => ({ ...utterance, speaker: undefined }));
    expect(new Set(entriesOf(one).map(({ name }) => name))).toEqual(new Set([undefined]));
  });

  test('have what was found in them, and of two that speak at once the right one has it', () => {
    const both = withUtterances((one, at) => ({ ...one, start: 5, end: 11, channel: at }));
    const found = entriesOf(both).filter(({ entities }) => entities.length > 0);
    // Words outside of that time belong to nobody.
    expect(found.map(({ text, entities }) => [text.includes('Oriane'), entities.length])).toEqual([
      [true, 1],
    ]);
    const feelings = entriesOf(recordedResult()).map(({ sentiments }) => sentiments.length);
    expect(feelings).toEqual([1, 1, 0, 0, 1]);
  });

  test('have their translation where its times are theirs', () => {
    const result = recordedResult();
    const utterances = result.transcription!.utterances.map((one) => ({ ...one, text: 'traduit' }));
    const moved = utterances.map((one, at) => (at === 0 ? { ...one, start: one.start + 1 } : one));
    const results = [{ error: null, full_transcript: '', languages: ['fr'], utterances: moved }];
    const translated = entriesOf({ ...result, translation: { success: true, results } });
    expect(translated.map(({ translations }) => translations.length)).toEqual([0, 1, 1, 1, 1]);
    expect(translated[1]?.translations).toEqual([{ language: 'fr', text: 'traduit' }]);
  });

  test('are there whatever else is missing, empty or of another shape', () => {
    const bare = { transcription: { utterances: recordedResult().transcription!.utterances } };
    expect(entriesOf(bare)).toHaveLength(5);
    const odd = {
      ...bare,
      sentiment_analysis: { success: true, results: 'mostly calm' },
      named_entity_recognition: { success: false, results: null },
      translation: { success: false, results: null },
    };
    expect(entriesOf(odd)).toHaveLength(5);
    expect([entriesOf(null), entriesOf({}), talkOf([])]).toEqual([[], [], []]);
  });
});

test('a result that was asked for and did not come is reported with its reason', () => {
  const error = { status_code: 501, exception: 'NotConfigured', message: 'no model for it' };
  const failed = { success: false, is_empty: true, exec_time: 0, error, results: [] };
  const result: Result = { ...recordedResult(), diarization: failed };
  expect(failuresOf(recordedResult())).toEqual([]);
  expect(failuresOf(result)).toEqual([{ part: 'speakers', message: 'no model for it' }]);
});

describe('the files of a job', () => {
  test('are those that it has, under a name that every disk takes', () => {
    const names = (job: RecordedJob) => downloadsOf(job).map(({ name }) => name);
    expect(names(recordedJob())).toEqual(
      ['txt', 'srt', 'vtt', 'json'].map((format) => `harbour meeting.${format}`),
    );
    const { transcription, ...rest } = recordedResult();
    const { subtitles: _, ...plain } = transcription!;
    expect(names(recordedJob({ result: { ...rest, transcription: plain } }))).toHaveLength(2);
    expect(names(recordedJob({ result: null }))).toEqual([]);
    const named = (filename: string | null) =>
      names(recordedJob({ file: { ...recordedJob().file!, filename } }))[0];
    expect(named('a/b\\c:d*?"<>|\u0000.wav')).toBe('a_b_c_d_______.txt');
    expect(named('..')).toBe(`${jobId}.txt`);
    expect(named(null)).toBe(`${jobId}.txt`);
  });

  test('say who spoke when, and in JSON everything', () => {
    const [txt, , , json] = downloadsOf(recordedJob());
    expect(txt?.text.split('\n').slice(0, 2)).toEqual([
      '0:00 Speaker 1: Good morning, everybody. Let us begin with the harbour.',
      '0:05 Speaker 2: Thank you, Oriane. The new crane is late again, and I am angry.',
    ]);
    expect(JSON.parse(json?.text ?? '')).toEqual(recordedJob());
  });
});

test('an age is told in the largest unit that fits', () => {
  const now = Date.parse('2026-02-03T12:00:00Z');
  const ago = (seconds: number) => age(new Date(now - seconds * 1_000).toISOString(), now);
  expect([0, 59, -300].map(ago)).toEqual(['just now', 'just now', 'just now']);
  const told = new Intl.RelativeTimeFormat(undefined, { numeric: 'always', style: 'short' });
  expect([60, 3_599, 3_600, 86_399, 86_400 * 3].map(ago)).toEqual([
    ...[told.format(-1, 'minute'), told.format(-59, 'minute')],
    ...[told.format(-1, 'hour'), told.format(-23, 'hour'), told.format(-3, 'day')],
  ]);
});

test('a job is asked for with its subtitles and with what was ticked', () => {
  const asked = requestOf('https://files.example.com/a.mp3', new Set(['diarization']));
  expect(asked).toMatchObject({
    audio_url: 'https://files.example.com/a.mp3',
    subtitles: true,
    diarization: true,
    summarization: false,
    chapterization: false,
  });
});
