import type { PreRecordedResult } from '../../protocol/job.ts';
import { resultText, transcriptText, withoutControl } from './transcript-text.ts';

export type Wanted = { isJson: boolean; subtitles: string[]; languages: string[] };

/** The kinds of result files of one recording, named by their extensions. */
export function kindsOf({ isJson, subtitles, languages }: Wanted): string[] {
  const translated = languages.flatMap((language) => [
    ...(isJson ? [] : [`${language}.txt`]),
    ...subtitles.map((format) => `${language}.${format}`),
  ]);
  return [isJson ? 'json' : 'txt', ...subtitles, ...translated];
}

/** The contents of each of these files, as far as the result has them. */
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

/** Carriage returns, which one of the two formats uses, are kept. */
function subtitlesText(subtitles: string): string {
  return subtitles.split('\r\n').map(withoutControl).join('\r\n');
}

/** Requested results that are missing although the job is done, each with the service's reason. */
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
  // If all of a translation failed, each language would repeat the same reason.
  const untranslated = (result.translation?.success ? result.translation.results : null) ?? [];
  return [
    ...failed,
    ...untranslated.flatMap(({ error, languages }) =>
      error === null ? [] : [reasonFor(`translation (${languages.join(', ')})`, error.message)],
    ),
  ];
}

/** Most messages already name the result. */
function reasonFor(name: string, message = 'failed, without a reason'): string {
  return message.startsWith(name) ? message : `${name}: ${message}`;
}
