import type { PreRecordedResult } from '../../protocol/job.ts';
import { resultText, transcriptText, withoutControl } from './transcript-text.ts';

export type Wanted = { isJson: boolean; subtitles: string[]; languages: string[] };

/** What is made of one recording, by the ends of the names of its files. */
export function kindsOf({ isJson, subtitles, languages }: Wanted): string[] {
  const translated = languages.flatMap((language) => [
    ...(isJson ? [] : [`${language}.txt`]),
    ...subtitles.map((format) => `${language}.${format}`),
  ]);
  return [isJson ? 'json' : 'txt', ...subtitles, ...translated];
}

/** The text of each of those files, as far as the result has it. */
export function contentsOf(
  result: PreRecordedResult,
  json: unknown,
  { isJson }: Wanted,
): Map<string, string> {
  const contents = new Map<string, string>();
  if (isJson) contents.set('json', `${JSON.stringify(json, null, 2)}\n`);
  else contents.set('txt', resultText(result, false));
  for (const { format, subtitles } of result.transcription?.subtitles ?? [])
    contents.set(format, subtitlesText(subtitles));
  const channels = result.metadata.number_of_distinct_channels;
  for (const translated of result.translation?.results ?? []) {
    const [language = ''] = translated.languages;
    if (translated.error !== null) continue;
    if (!isJson)
      contents.set(`${language}.txt`, `${withoutControl(transcriptText(translated, channels))}\n`);
    for (const { format, subtitles } of translated.subtitles ?? [])
      contents.set(`${language}.${format}`, subtitlesText(subtitles));
  }
  return contents;
}

/** The carriage returns of one of the two styles stay. */
function subtitlesText(subtitles: string): string {
  return subtitles.split('\r\n').map(withoutControl).join('\r\n');
}

/** What was asked for and did not come about, though the job is done: each with the reason that was given. */
export function shortcomings(result: PreRecordedResult): string[] {
  const blocks = {
    translation: result.translation,
    summary: result.summarization,
    entities: result.named_entity_recognition,
    sentiment: result.sentiment_analysis,
    chapters: result.chapterization,
    diarization: result.diarization,
    sentences: result.transcription?.sentences?.[0] ?? result.sentences,
  };
  const failed = Object.entries(blocks).flatMap(([name, block]) =>
    block && !block.success ? [reasonFor(name, block.error?.message)] : [],
  );
  // Where all of a translation failed, each language says the same once more.
  const untranslated = (result.translation?.success ? result.translation.results : null) ?? [];
  return [
    ...failed,
    ...untranslated.flatMap(({ error, languages }) =>
      error === null ? [] : [reasonFor(`translation (${languages.join(', ')})`, error.message)],
    ),
  ];
}

/** Most messages name the thing themselves. */
function reasonFor(name: string, message = 'failed, without a reason'): string {
  return message.startsWith(name) ? message : `${name}: ${message}`;
}
