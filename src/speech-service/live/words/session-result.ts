import type {
  AddonBlock,
  NamedEntity,
  SentimentItem,
  TranslatedTranscript,
  Utterance,
} from '../../../protocol/addons.ts';
import type { PostFinalResult, WordlessSpeech } from '../../../protocol/job.ts';
import type { LiveRequest } from '../../../protocol/live-request.ts';
import { withSpeakers, type VoiceTurn } from '../../../hearing/speakers/speaker-turns.ts';
import {
  execTimeOf,
  inOrder,
  merged,
  metadataOf,
  sentimentBlock,
  transcriptionOf,
  translationBlock,
} from '../../results/blocks.ts';

/** The utterances of a session and the answers of its add-ons, collected over its life. */
export type SessionResults = {
  /** `decidedS` is the second from which a restarted process recognises the channel again. */
  utterances: { id: string; utterance: Utterance; decidedS: number }[];
  entities: AddonBlock<NamedEntity[]>[];
  sentiments: AddonBlock<SentimentItem[]>[];
  translations: TranslationOutcome[];
  /** Stretches with a voice but without recognised words. */
  wordless: WordlessSpeech[];
  /** The turns of each voice, if the client said that its one channel carries all parties. Known at the end. */
  turns?: readonly VoiceTurn[];
};

/** A session lists at most this many stretches without words. The counter of their seconds has no such limit. */
const mostWordless = 1_000;

type TranslationOutcome = { targetLanguage: string; block: AddonBlock<Utterance> };

export function noResults(): SessionResults {
  return { utterances: [], entities: [], sentiments: [], translations: [], wordless: [] };
}

/** One line of the session's log. After a restart, all lines together build the results again. */
export type ResultEntry =
  | { add: 'utterance'; id: string; utterance: Utterance; decidedS: number }
  | { add: 'entities'; block: AddonBlock<NamedEntity[]> }
  | { add: 'sentiment'; block: AddonBlock<SentimentItem[]> }
  | { add: 'translation'; outcome: TranslationOutcome }
  | { add: 'unread'; stretch: WordlessSpeech };

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
    case 'unread':
      if (record.wordless.length < mostWordless) record.wordless.push(entry.stretch);
      return;
  }
}

/** The utterances of all channels in order of time. */
export function utterancesOf(record: SessionResults): Utterance[] {
  return record.utterances.map(({ utterance }) => utterance).sort(inOrder);
}

/** The utterances with their speakers if these were told apart. An utterance is cut where another speaker continues. */
export function spokenOf(record: SessionResults): Utterance[] {
  const utterances = utterancesOf(record);
  return record.turns === undefined ? utterances : withSpeakers(utterances, record.turns);
}

export type PostBlocks = Pick<PostFinalResult, 'summarization' | 'chapterization'>;

type ResultFigures = {
  audioS: number;
  channels: number;
  /** The seconds from the first audio to the end of the processing. */
  transcriptionS: number;
};

/** The data of `post_final_transcript`. It has a block for each requested feature. */
export function resultOf(
  request: LiveRequest,
  record: SessionResults,
  post: PostBlocks,
  figures: ResultFigures,
): PostFinalResult {
  const utterances = spokenOf(record);
  const { realtime_processing: realtime } = request;
  return {
    metadata: metadataOf({ ...figures, wordless: record.wordless }),
    transcription: transcriptionOf(utterances),
    ...(realtime.translation ? { translation: translationsOf(request, record) } : {}),
    ...(post.summarization ? { summarization: post.summarization } : {}),
    ...(realtime.named_entity_recognition
      ? { named_entity_recognition: merged(record.entities) }
      : {}),
    ...(realtime.sentiment_analysis
      ? { sentiment_analysis: sentimentBlock(record.sentiments) }
      : {}),
    ...(post.chapterization ? { chapterization: post.chapterization } : {}),
  };
}

function translationsOf(
  request: LiveRequest,
  record: SessionResults,
): AddonBlock<TranslatedTranscript[]> {
  const targets = request.realtime_processing.translation_config?.target_languages ?? [];
  const blocks = record.translations.map(({ block }) => block);
  const outcomes = targets.map((target) => {
    const own = record.translations.filter((outcome) => outcome.targetLanguage === target);
    return {
      target,
      utterances: own
        .flatMap(({ block }) => (block.results === null ? [] : [block.results]))
        .sort(inOrder),
      error: own.find(({ block }) => block.error !== null)?.block.error ?? null,
    };
  });
  return translationBlock(outcomes, execTimeOf(blocks));
}
