import { describe, expect, test } from 'vitest';
import {
  contentsOf,
  kindsOf,
  shortcomings,
} from '../../../../src/commands/transcription/result-files.ts';
import {
  clockTime,
  resultText,
  transcriptText,
} from '../../../../src/commands/transcription/transcript-text.ts';
import type { Utterance } from '../../../../src/protocol/addons.ts';
import type { PreRecordedResult } from '../../../../src/protocol/job.ts';

const said = (
  start: number,
  text: string,
  { channel = 0, ...speaker }: { channel?: number; speaker?: number } = {},
): Utterance => ({
  start,
  end: start + 1,
  text,
  channel,
  ...speaker,
  confidence: 1,
  language: 'en',
  words: [],
});

const transcript = (...utterances: Utterance[]) => ({
  full_transcript: utterances.map(({ text }) => text).join(' '),
  languages: ['en' as const],
  utterances,
});

const resultOf = (more: Partial<PreRecordedResult> = {}): PreRecordedResult => ({
  metadata: {
    audio_duration: 1,
    number_of_distinct_channels: 1,
    billing_time: 1,
    transcription_time: 1,
  },
  transcription: transcript(said(0, 'Hello.')),
  ...more,
});

const block = <T>(results: T) => ({
  success: true,
  is_empty: false,
  exec_time: 0,
  error: null,
  results,
});
const failed = (message: string) => ({
  success: false,
  is_empty: true,
  exec_time: 0,
  error: { status_code: 503, exception: 'Unavailable', message },
  results: null,
});

describe('the text of a recording', () => {
  test('speakers and channels are turns; what one says in one go is one turn', () => {
    const list = [
      said(62, 'My card', { speaker: 0 }),
      said(63.5, 'is lost.', { speaker: 0 }),
      said(65, 'Hello.', { speaker: 1 }),
      said(3_700, 'Goodbye.', { speaker: 1 }),
    ];
    expect(transcriptText(transcript(...list), 1).split('\n')).toEqual([
      '[00:01:02] Speaker 1: My card is lost.',
      '[00:01:05] Speaker 2: Hello.',
      '[01:01:40] Speaker 2: Goodbye.',
    ]);
    const channels = [said(0, 'Hi.'), said(1, 'Hello.', { channel: 1 })];
    expect(transcriptText(transcript(...channels), 2)).toBe(
      '[00:00:00] Channel 1: Hi.\n[00:00:01] Channel 2: Hello.',
    );
    expect(transcriptText(transcript(said(0, 'Hi.', { channel: 1, speaker: 0 })), 2)).toBe(
      '[00:00:00] Channel 2, speaker 1: Hi.',
    );
  });

  test('one voice is read as paragraphs, or by sentences where they were asked for', () => {
    const list = [said(0, 'One.'), said(1.5, 'Two.'), said(30, 'Three.')];
    expect(transcriptText(transcript(...list), 1)).toBe('One. Two.\n\nThree.');
    const sentences = [block(['One.', ' Two.'])];
    expect(transcriptText({ ...transcript(...list), sentences }, 1)).toBe('One.\nTwo.');
    expect(transcriptText(transcript(), 1)).toBe('');
  });

  test('each thing that was asked for has its section', () => {
    const sentiment = [
      { text: 'Hello.', sentiment: 'neutral', emotion: 'neutral', start: 0, end: 1, channel: 0 },
    ];
    const text = resultText(
      resultOf({
        translation: block([{ ...transcript(said(0, 'Hallo.')), languages: ['de'], error: null }]),
        summarization: block('A greeting.'),
        chapterization: block({
          chapters: [
            {
              headline: 'Greeting',
              gist: 'They greet',
              keywords: [],
              start: 0,
              end: 1,
              sentences: [],
              text: '',
            },
          ],
        }),
        named_entity_recognition: block([
          { entity_type: 'NAME_GIVEN', text: 'Laura', start: 3, end: 4 },
        ]),
        sentiment_analysis: block(JSON.stringify(sentiment)),
      }),
      true,
    );
    expect(text).toBe(
      [
        'Hello.',
        'Translation (de)\n\nHallo.',
        'Summary\n\nA greeting.',
        'Chapters\n\n[00:00:00] Greeting: They greet',
        'Entities\n\n[00:00:03] NAME_GIVEN: Laura',
        'Sentiment\n\n[00:00:00] neutral (neutral): Hello.\n',
      ].join('\n\n'),
    );
  });

  test('words of a stranger move no cursor', () => {
    const hostile = said(0, 'a\u001b[2Jb\rc\u009bd', { speaker: 0 });
    expect(resultText(resultOf({ transcription: transcript(hostile) }), true)).toBe(
      '[00:00:00] Speaker 1: a[2Jbcd\n',
    );
  });

  test('sentiment that is no list is left out', () => {
    for (const odd of ['', 'no json', '{}'])
      expect(resultText(resultOf({ sentiment_analysis: block(odd) }), true)).toBe('Hello.\n');
  });

  test('times have hours, also strange ones', () => {
    expect([0, 59.99, 3_599, 86_400, -1].map(clockTime)).toEqual(
      ['00:00:00', '00:00:59', '00:59:59', '24:00:00', '00:00:00'], // prettier-ignore
    );
  });
});

describe('the files of a recording', () => {
  const wanted = { isJson: false, subtitles: ['srt', 'vtt'], languages: ['de'] };

  test('text or JSON, subtitles, and the same of each translation', () => {
    expect(kindsOf(wanted)).toEqual(['txt', 'srt', 'vtt', 'de.txt', 'de.srt', 'de.vtt']);
    expect(kindsOf({ ...wanted, isJson: true })).toEqual([
      'json',
      'srt',
      'vtt',
      'de.srt',
      'de.vtt',
    ]);
  });

  test('each has what the result has of it; the line ends of subtitles stay', () => {
    const subtitles = [{ format: 'srt' as const, subtitles: '1\r\n00:00\r\nHello.\r\n' }];
    const result = resultOf({
      transcription: { ...transcript(said(0, 'Hello.')), subtitles },
      translation: block([
        { ...transcript(said(0, 'Hallo.')), subtitles, languages: ['de'], error: null },
      ]),
    });
    expect(Object.fromEntries(contentsOf(result, {}, wanted))).toEqual({
      txt: 'Hello.\n',
      srt: '1\r\n00:00\r\nHello.\r\n',
      'de.txt': 'Hallo.\n',
      'de.srt': '1\r\n00:00\r\nHello.\r\n',
    });
    expect(JSON.parse(contentsOf(result, { id: 1 }, { ...wanted, isJson: true }).get('json') ?? '')).toEqual({ id: 1 }); // prettier-ignore
  });

  test('a done job names each part that it lacks, with the reason', () => {
    expect(shortcomings(resultOf({ summarization: block('All well.') }))).toEqual([]);
    const error = { status_code: 500, exception: 'Model', message: 'no such language' };
    expect(
      shortcomings(
        resultOf({
          diarization: failed('no model'),
          translation: block([{ ...transcript(), languages: ['de'], error }]),
        }),
      ),
    ).toEqual(['diarization: no model', 'translation (de): no such language']);
    expect(shortcomings(resultOf({ translation: failed('translation needs a key') }))).toEqual([
      'translation needs a key',
    ]);
  });
});
