import { round3 } from '../../lib/round.ts';
import type {
  AddonBlock,
  AddonError,
  SentimentItem,
  Transcription,
  TranslatedTranscript,
  Utterance,
} from '../../protocol/addons.ts';
import type { ResultMetadata, WordlessSpeech } from '../../protocol/job.ts';

/** The audio facts of a result. Identical channels are billed once. */
export function metadataOf(figures: {
  audioS: number;
  channels: number;
  transcriptionS: number;
  wordless?: readonly WordlessSpeech[];
}): ResultMetadata {
  const { wordless = [] } = figures;
  return {
    audio_duration: round3(figures.audioS),
    number_of_distinct_channels: figures.channels,
    billing_time: round3(figures.audioS * figures.channels),
    transcription_time: round3(figures.transcriptionS),
    ...(wordless.length === 0 ? {} : { unread: wordless.map(rounded) }),
  };
}

function rounded({ channel, start, end }: WordlessSpeech): WordlessSpeech {
  return { channel, start: round3(start), end: round3(end) };
}

export function inOrder(a: Utterance, b: Utterance): number {
  return a.start - b.start || a.channel - b.channel;
}

/** The transcription of the utterances. Its languages are ordered by the amount of speech in each, most first. */
export function transcriptionOf(utterances: readonly Utterance[]): Transcription {
  const texts = utterances.map((utterance) => utterance.text.trim());
  const said = new Map<string, number>();
  for (const [i, { language }] of utterances.entries())
    said.set(language, (said.get(language) ?? 0) + (texts[i]?.length ?? 0));
  return {
    full_transcript: texts.filter((text) => text !== '').join(' '),
    languages: [...said].toSorted(([, a], [, b]) => b - a).map(([language]) => language),
    utterances: [...utterances],
  };
}

/** Merges blocks into one. Successful results are kept and the first failure is named. */
export function merged<T>(blocks: readonly AddonBlock<T[]>[]): AddonBlock<T[]> {
  const results = blocks.flatMap((block) => block.results ?? []);
  const error = blocks.find((block) => block.error !== null)?.error ?? null;
  const notCovered = [...new Set(blocks.flatMap((block) => block.not_covered ?? []))];
  return {
    success: error === null,
    is_empty: results.length === 0,
    exec_time: execTimeOf(blocks),
    error,
    results: error !== null && results.length === 0 ? null : results,
    ...(notCovered.length === 0 ? {} : { not_covered: notCovered }),
  };
}

export function execTimeOf(blocks: readonly { exec_time: number }[]): number {
  return round3(blocks.reduce((sum, block) => sum + block.exec_time, 0));
}

/** The API gives sentiment as a string of JSON. Released clients break if it is null, so it never is. */
export function sentimentBlock(blocks: readonly AddonBlock<SentimentItem[]>[]): AddonBlock<string> {
  const block = merged(blocks);
  const items = (block.results ?? []).toSorted((a, b) => a.start - b.start);
  return { ...block, results: block.results === null ? '' : JSON.stringify(items) };
}

/** The outcome of one target language: its translations, and the first reason why one is missing. */
export type TargetTranslation = {
  target: string;
  utterances: Utterance[];
  error: AddonError | null;
  /** Sentences and subtitles made from the translated utterances. */
  derived?: Pick<Transcription, 'sentences' | 'subtitles'>;
};

export function translationBlock(
  outcomes: readonly TargetTranslation[],
  execS: number,
): AddonBlock<TranslatedTranscript[]> {
  const results = outcomes.map(({ target, utterances, error, derived }) => ({
    error,
    ...transcriptionOf(utterances),
    languages: [target],
    ...derived,
  }));
  const error = results.find((result) => result.error !== null)?.error ?? null;
  return {
    success: error === null,
    is_empty: results.every((result) => result.utterances.length === 0),
    exec_time: round3(execS),
    error,
    results,
  };
}
