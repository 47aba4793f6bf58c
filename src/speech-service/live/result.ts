import type {
  AddonBlock,
  NamedEntity,
  SentimentItem,
  Transcription,
  TranslatedTranscript,
  Utterance,
} from '../../protocol/addons.ts';
import type { PostFinalResult } from '../../protocol/job.ts';
import type { LiveRequest } from '../../protocol/live-request.ts';

/** The utterances of a session and the answers of its add-ons, gathered over its life. */
export type SessionResults = {
  /** `decidedS` is the second from which a restarted process recognises the channel again. */
  utterances: { id: string; utterance: Utterance; decidedS: number }[];
  entities: AddonBlock<NamedEntity[]>[];
  sentiments: AddonBlock<SentimentItem[]>[];
  translations: TranslationOutcome[];
};

type TranslationOutcome = { targetLanguage: string; block: AddonBlock<Utterance> };

export function noResults(): SessionResults {
  return { utterances: [], entities: [], sentiments: [], translations: [] };
}

/** One line of the session's log; all of them build the results again after a restart. */
export type ResultEntry =
  | { add: 'utterance'; id: string; utterance: Utterance; decidedS: number }
  | { add: 'entities'; block: AddonBlock<NamedEntity[]> }
  | { add: 'sentiment'; block: AddonBlock<SentimentItem[]> }
  | { add: 'translation'; outcome: TranslationOutcome };

export function add(record: SessionResults, entry: ResultEntry): void {
  switch (entry.add) {
    case 'utterance': {
      const { id, utterance, decidedS } = entry;
      record.utterances.push({ id, utterance, decidedS });
      return;
    }
    case 'entities':
      record.entities.push(entry.block);
      return;
    case 'sentiment':
      record.sentiments.push(entry.block);
      return;
    case 'translation':
      record.translations.push(entry.outcome);
      return;
  }
}

/** The utterances of all channels in order of time. */
export function utterancesOf(record: SessionResults): Utterance[] {
  return record.utterances
    .map(({ utterance }) => utterance)
    .sort((a, b) => a.start - b.start || a.channel - b.channel);
}

export function transcriptionOf(utterances: readonly Utterance[]): Transcription {
  const texts = utterances.map((utterance) => utterance.text.trim()).filter((text) => text !== '');
  return {
    full_transcript: texts.join(' '),
    languages: [...new Set(utterances.map((utterance) => utterance.language))],
    utterances: [...utterances],
  };
}

export type PostBlocks = Pick<PostFinalResult, 'summarization' | 'chapterization'>;

export type ResultFigures = {
  audioS: number;
  channels: number;
  /** From the first audio to the end of the processing. */
  transcriptionS: number;
};

/** The data of `post_final_transcript`. A block is there when its feature was requested. */
export function resultOf(
  request: LiveRequest,
  record: SessionResults,
  post: PostBlocks,
  figures: ResultFigures,
): PostFinalResult {
  const utterances = utterancesOf(record);
  const { realtime_processing: realtime } = request;
  return {
    metadata: {
      audio_duration: round3(figures.audioS),
      number_of_distinct_channels: figures.channels,
      billing_time: round3(figures.audioS * figures.channels),
      transcription_time: round3(figures.transcriptionS),
    },
    transcription: transcriptionOf(utterances),
    ...(realtime.translation ? { translation: translationBlock(request, record) } : {}),
    ...(post.summarization ? { summarization: post.summarization } : {}),
    ...(realtime.named_entity_recognition
      ? { named_entity_recognition: merged(record.entities) }
      : {}),
    ...(realtime.sentiment_analysis ? { sentiment_analysis: sentimentBlock(record) } : {}),
    ...(post.chapterization ? { chapterization: post.chapterization } : {}),
  };
}

export const round3 = (value: number): number => Math.round(value * 1e3) / 1e3;

/** Merges blocks into one. Successful results are kept and the first failure is named. */
function merged<T>(blocks: readonly AddonBlock<T[]>[]): AddonBlock<T[]> {
  const results = blocks.flatMap((block) => block.results ?? []);
  const error = blocks.find((block) => block.error !== null)?.error ?? null;
  return {
    success: error === null,
    is_empty: results.length === 0,
    exec_time: round3(blocks.reduce((sum, block) => sum + block.exec_time, 0)),
    error,
    results: error !== null && results.length === 0 ? null : results,
  };
}

/** The interface gives sentiment as a string of JSON. Released clients break when it is null, so it is never. */
function sentimentBlock(record: SessionResults): AddonBlock<string> {
  const block = merged(record.sentiments);
  const items = [...(block.results ?? [])].sort((a, b) => a.start - b.start);
  return { ...block, results: block.results === null ? '' : JSON.stringify(items) };
}

function translationBlock(
  request: LiveRequest,
  record: SessionResults,
): AddonBlock<TranslatedTranscript[]> {
  const targets = request.realtime_processing.translation_config?.target_languages ?? [];
  const outcomes = record.translations;
  const results = targets.map((target): TranslatedTranscript => {
    const own = outcomes.filter((outcome) => outcome.targetLanguage === target);
    const translated = own
      .flatMap(({ block }) => (block.results === null ? [] : [block.results]))
      .sort((a, b) => a.start - b.start || a.channel - b.channel);
    return {
      error: own.find(({ block }) => block.error !== null)?.block.error ?? null,
      ...transcriptionOf(translated),
      languages: [target],
    };
  });
  const errors = results.flatMap((result) => (result.error === null ? [] : [result.error]));
  return {
    success: errors.length === 0,
    is_empty: results.every((result) => result.utterances.length === 0),
    exec_time: round3(outcomes.reduce((sum, { block }) => sum + block.exec_time, 0)),
    error: errors[0] ?? null,
    results,
  };
}
