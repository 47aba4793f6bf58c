import { parsePreRecordedRequest } from '../../protocol/parse-pre-recorded.ts';
import type { PreRecordedRequest } from '../../protocol/pre-recorded.ts';
import { languageCodeOf, languagesNamed } from '../../protocol/language-names.ts';

/** The options of a job as the command line gives them. */
export type JobWishes = {
  diarize?: true;
  subtitles?: string[];
  sentences?: true;
  summary?: string;
  chapters?: true;
  entities?: true;
  sentiment?: true;
  translate?: string[];
  redact?: string[];
  /** Codes, names, or `auto`. */
  language?: string[];
  codeSwitching?: true;
  vocabulary?: string[];
  callback?: string;
};

/** Maps the beginning of a request field to the option that a user knows. */
const optionOf: readonly [RegExp, string][] = [
  [/^subtitles_config\S*/, '--subtitles'],
  [/^summarization_config\S*/, '--summary'],
  [/^translation_config\S*/, '--translate'],
  [/^pii_redaction_config\S*/, '--redact'],
  [/^language_config\S*/, '--language'],
  [/^custom_vocabulary_config\S*/, '--vocabulary'],
  [/^callback_config\S*/, '--callback'],
];

/** The body of `POST /v2/pre-recorded` without its audio, or the problems with the options. */
export function jobRequest(wishes: JobWishes): { body: object } | { problems: string[] } {
  const { subtitles, summary, translate, redact, vocabulary, callback } = wishes;
  const languages = wishes.language && languagesNamed(wishes.language.join(','));
  if (wishes.language && languages === undefined) {
    const unknown = wishes.language.find((one) => languageCodeOf(one) === undefined);
    return {
      problems: [
        `--language ${unknown ?? wishes.language.join()}: name languages by code or name (es, Spanish), or auto alone`,
      ],
    };
  }
  const body = {
    ...(wishes.diarize ? { diarization: true } : {}),
    ...(subtitles ? { subtitles: true, subtitles_config: { formats: subtitles } } : {}),
    ...(wishes.sentences ? { sentences: true } : {}),
    ...(summary === undefined
      ? {}
      : { summarization: true, summarization_config: { type: summary } }),
    ...(wishes.chapters ? { chapterization: true } : {}),
    ...(wishes.entities ? { named_entity_recognition: true } : {}),
    ...(wishes.sentiment ? { sentiment_analysis: true } : {}),
    ...(translate
      ? { translation: true, translation_config: { target_languages: translate } }
      : {}),
    ...(redact ? { pii_redaction: true, pii_redaction_config: { entity_types: redact } } : {}),
    ...languageConfig(languages, wishes.codeSwitching),
    ...(vocabulary ? { custom_vocabulary: true, custom_vocabulary_config: { vocabulary } } : {}),
    ...(callback === undefined ? {} : { callback: true, callback_config: { url: callback } }),
  } satisfies Partial<Record<keyof PreRecordedRequest, unknown>>;
  // The options are checked first, so that a mistake is reported before hours of audio are uploaded.
  const parsed = parsePreRecordedRequest({ ...body, audio_url: 'https://audio.example/' });
  if (parsed.ok) return { body };
  return {
    problems: parsed.status === 422 ? [parsed.message] : parsed.validationErrors.map(inOptions),
  };
}

function languageConfig(languages: string[] | undefined, codeSwitching: true | undefined) {
  if (languages === undefined && codeSwitching === undefined) return {};
  return {
    language_config: {
      languages: languages ?? [],
      ...(codeSwitching ? { code_switching: true } : {}),
    },
  };
}

function inOptions(problem: string): string {
  for (const [field, option] of optionOf)
    if (field.test(problem)) return problem.replace(field, option);
  return problem;
}
