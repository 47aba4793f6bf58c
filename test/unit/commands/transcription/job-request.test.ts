import { describe, expect, test } from 'vitest';
import { jobRequest } from '../../../../src/commands/transcription/wished-job.ts';
import { parsePreRecordedRequest } from '../../../../src/protocol/parse-pre-recorded.ts';

describe('the request of a job', () => {
  test('has what was asked for and nothing else', () => {
    expect(jobRequest({})).toEqual({ body: {} });
    const wishes = jobRequest({
      diarize: true,
      subtitles: ['srt', 'vtt'],
      sentences: true,
      summary: 'concise',
      chapters: true,
      entities: true,
      sentiment: true,
      translate: ['de', 'fr'],
      redact: ['PCI'],
      language: ['en'],
      vocabulary: ['Trunkline'],
      callback: 'https://crm.example/done',
    });
    const body = 'body' in wishes ? wishes.body : {};
    expect(parsePreRecordedRequest({ ...body, audio_url: 'https://a.example' })).toMatchObject({
      ok: true,
      ignored: [],
      request: {
        diarization: true,
        subtitles: true,
        subtitles_config: { formats: ['srt', 'vtt'] },
        sentences: true,
        summarization: true,
        summarization_config: { type: 'concise' },
        chapterization: true,
        named_entity_recognition: true,
        sentiment_analysis: true,
        translation: true,
        translation_config: { target_languages: ['de', 'fr'] },
        pii_redaction: true,
        pii_redaction_config: { entity_types: ['PCI'] },
        language_config: { languages: ['en'] },
        custom_vocabulary: true,
        custom_vocabulary_config: { vocabulary: ['Trunkline'] },
        callback: true,
        callback_config: { url: 'https://crm.example/done' },
      },
    });
  });

  test('languages are codes or names, found where none is named, and may change', () => {
    const configOf = (wishes: Parameters<typeof jobRequest>[0]): unknown => {
      const answer = jobRequest(wishes);
      return 'body' in answer
        ? (answer.body as Record<string, unknown>)['language_config']
        : answer;
    };
    expect(configOf({ language: ['Spanish', 'de-CH'] })).toEqual({ languages: ['es', 'de'] });
    expect(configOf({ language: ['auto'] })).toEqual({ languages: [] });
    expect(configOf({ codeSwitching: true })).toEqual({ languages: [], code_switching: true });
    expect(configOf({})).toBeUndefined();
  });

  test.each([
    [{ subtitles: ['ass'] }, '--subtitles'],
    [{ summary: 'call.wav' }, '--summary'],
    [{ translate: ['klingon'] }, '--translate'],
    [{ redact: ['CARDS'] }, '--redact'],
    [{ language: ['es', 'klingon'] }, '--language klingon'],
    [{ language: ['auto', 'es'] }, '--language'],
    [{ callback: 'not a url' }, '--callback'],
  ])('a slip in %j is told by its option', (wishes, option) => {
    const answer = jobRequest(wishes);
    expect('problems' in answer && answer.problems.join()).toContain(option);
  });
});
