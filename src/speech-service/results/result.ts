import { setImmediate } from 'node:timers/promises';
import { asBlock, succeeded } from '../../language/block.ts';
import { systemClock, type Clock } from '../../lib/clock.ts';
import type { AddonBlock, Transcription, Utterance } from '../../protocol/addons.ts';
import type { PreRecordedResult, WordlessSpeech } from '../../protocol/job.ts';
import type { PreRecordedRequest } from '../../protocol/pre-recorded.ts';
import { personName } from '../../protocol/people.ts';
import type { AddonRunner } from './answer.ts';
import {
  inOrder,
  merged,
  metadataOf,
  sentimentBlock,
  transcriptionOf,
  translationBlock,
} from './blocks.ts';
import { LanguageWork } from './language-work.ts';
import { moderation, nameConsistency, promptAnswers, textAnswer } from './model-answers.ts';
import { redacted, type RedactedUtterances } from './redaction.ts';
import { displayLines, sentencesOf } from './result-sentences.ts';
import { subtitlesOf } from '../../language/text/subtitles.ts';
import { translated } from './translation.ts';

export type ResultInput = {
  request: PreRecordedRequest;
  durationS: number;
  distinctChannels: number;
  transcriptionS: number;
  /** Text without a leading space, and words of one channel. The speaker is set if diarization ran. */
  utterances: Utterance[];
  /** Stretches with a voice but without recognised words. */
  wordless?: readonly WordlessSpeech[];
  /** The outcome of the diarization, if it was requested. */
  diarization?: AddonBlock<unknown>;
  language: AddonRunner;
  owner: string;
  signal: AbortSignal;
  clock?: Clock;
  deadlineMs?: number;
};

/** The deadline of one order of language work. A model may need long for two hours of talk. */
const orderDeadlineMs = 120_000;

/**
 * The result of a job:
 *
 *   words ─▶ rewritten ─▶ redacted ─┬─▶ transcription, sentences, subtitles
 *                                   └─▶ every add-on, every prompt to a model
 *
 * Nothing behind the redaction sees the removed words. An add-on that fails gets an error block. Throws only when
 * the signal is aborted.
 */
export async function resultOf(input: ResultInput): Promise<PreRecordedResult> {
  const { request, signal, owner } = input;
  const work = new LanguageWork({
    runner: input.language,
    clock: input.clock ?? systemClock,
    owner,
    signal,
    deadlineMs: input.deadlineMs ?? orderDeadlineMs,
  });
  const ordered = input.utterances.toSorted(inOrder);
  const spoken = request.diarization ? numberedSpeakers(ordered) : ordered.map(withoutSpeaker);
  const heard = await redacted(work, request, await rewritten(work, request, spoken));
  const utterances = heard.utterances.map(({ covered: _, ...utterance }) => utterance);
  return {
    metadata: metadataOf({
      audioS: input.durationS,
      channels: input.distinctChannels,
      transcriptionS: input.transcriptionS,
      ...(input.wordless ? { wordless: input.wordless } : {}),
    }),
    transcription: {
      ...transcriptionOf(utterances),
      ...(await derivedOf(work, request, utterances)),
    },
    ...diarizationOf(request, input.diarization),
    ...(heard.error === null ? {} : { pii_redaction: { ...nothing, error: heard.error } }),
    ...(await addonsOf(work, request, heard, utterances)),
  };
}

/** Numbers the speakers from 0 by their first appearance. */
function numberedSpeakers(utterances: readonly Utterance[]): Utterance[] {
  const numbers = new Map<number, number>();
  return utterances.map((utterance) => {
    if (utterance.speaker === undefined) return utterance;
    const number = numbers.get(utterance.speaker) ?? numbers.size;
    numbers.set(utterance.speaker, number);
    return { ...utterance, speaker: number };
  });
}

function withoutSpeaker({ speaker: _, ...utterance }: Utterance): Utterance {
  return utterance;
}

/** Applies punctuation, vocabulary and spelling. A batch without an answer keeps the recognised words. */
async function rewritten(
  work: LanguageWork,
  request: PreRecordedRequest,
  utterances: Utterance[],
): Promise<Utterance[]> {
  const { custom_vocabulary, custom_spelling, punctuation_enhanced } = request;
  if (!custom_vocabulary && !custom_spelling && !punctuation_enhanced) return utterances;
  const realtime = {
    custom_vocabulary,
    custom_vocabulary_config: request.custom_vocabulary_config,
    custom_spelling,
    custom_spelling_config: request.custom_spelling_config,
    punctuation_enhanced,
  };
  const parts = await work.inParts(
    utterances,
    ({ text }) => text.length,
    (part) => work.block('rewriteAll', { utterances: part, realtime }),
  );
  return parts.flatMap(({ part, block }) => block.results ?? part);
}

/**
 * Builds the results that every transcript has, the original and its translations. Two hours of talk take a tenth of a
 * second for each step; between two steps the thread is free for live sessions.
 */
async function derivedOf(
  work: LanguageWork,
  request: PreRecordedRequest,
  utterances: readonly Utterance[],
): Promise<Pick<Transcription, 'sentences' | 'subtitles'>> {
  const derived: Pick<Transcription, 'sentences' | 'subtitles'> = {};
  await setImmediate();
  if (request.sentences)
    derived.sentences = [
      asBlock(() => {
        const results = sentencesOf(utterances);
        return { results, isEmpty: results.length === 0 };
      }),
    ];
  await setImmediate();
  if (request.subtitles)
    derived.subtitles = subtitlesOf(await written(work, utterances), request.subtitles_config);
  return derived;
}

/** Captions are read: their numbers are in figures. The words of the result stay as they were said. */
async function written(work: LanguageWork, utterances: readonly Utterance[]): Promise<Utterance[]> {
  const parts = await work.inParts(
    utterances,
    ({ text }) => text.length,
    (part) => work.block('writtenUtterances', { utterances: part }),
  );
  return parts.flatMap(({ part, block }) => block.results ?? part);
}

const nothing = { success: false, is_empty: true, exec_time: 0, results: null };

/**
 * The block of a failed diarization, as released clients document it. After a success the utterances carry the
 * speakers.
 */
function diarizationOf(
  request: PreRecordedRequest,
  given: AddonBlock<unknown> | undefined,
): Pick<PreRecordedResult, 'diarization'> {
  if (!request.diarization || !given || given.success) return {};
  // An empty list even after a failure: released clients fail on null.
  return { diarization: { ...given, is_empty: true, results: [] } };
}

type AddonBlocks = Omit<PreRecordedResult, 'metadata' | 'transcription' | 'diarization'>;

/** A function for each requested block; none for a block that was not requested. */
type BlockMakers = {
  [Name in keyof AddonBlocks]?: (() => Promise<AddonBlocks[Name]>) | undefined | false;
};

/** The requested add-on blocks, made in parallel. Each has one order at a time with the language threads. */
async function addonsOf(
  work: LanguageWork,
  request: PreRecordedRequest,
  heard: RedactedUtterances,
  utterances: Utterance[],
): Promise<AddonBlocks> {
  const channels = new Set(utterances.map(({ channel }) => channel)).size;
  const roles = utterances.map((utterance) => ({
    ...utterance,
    role: personName({ ...utterance, channels }).toLowerCase(),
  }));
  const makers: BlockMakers = {
    ...blocksOfWords(work, request, { heard, utterances, roles }),
    ...blocksOfTranscript(work, request, roles),
    display_mode:
      request.display_mode === true &&
      (() => {
        const startedAtMs = performance.now();
        const lines = displayLines(sentencesOf(utterances));
        return Promise.resolve(succeeded(lines, startedAtMs, lines.length === 0));
      }),
  };
  // The add-ons start one after the other. Data for a thread is copied, and copying two hours of talk several times at
  // once would block this thread.
  let begun = Promise.resolve();
  const blocks = await Promise.all(
    Object.entries(makers).map(async ([name, make]) => {
      if (typeof make !== 'function') return [];
      await (begun = begun.then(() => setImmediate()));
      return [[name, await make()] as const];
    }),
  );
  return Object.fromEntries(blocks.flat());
}

type WithRole = Utterance & { role: string };

/** The blocks made from the utterances, one by one or together. */
function blocksOfWords(
  work: LanguageWork,
  request: PreRecordedRequest,
  {
    heard,
    utterances,
    roles,
  }: { heard: RedactedUtterances; utterances: Utterance[]; roles: WithRole[] },
): BlockMakers {
  const lengthOf = ({ text }: { text: string }): number => text.length;
  return {
    translation: request.translation && (() => translationOf(work, request, utterances)),
    summarization:
      request.summarization &&
      (() => {
        const type = request.summarization_config?.type ?? 'general';
        // Words are most of the data to copy, and a summary has no times.
        const turns = roles.map((utterance) => ({ ...utterance, words: [] }));
        return work.block('summarization', { utterances: turns, type });
      }),
    named_entity_recognition:
      request.named_entity_recognition &&
      (async () => {
        const parts = await work.inParts(heard.utterances, lengthOf, (part) =>
          work.block('entitiesAll', { utterances: part, day: work.day }),
        );
        const block = merged(parts.map((part) => part.block));
        const results = block.results?.toSorted((a, b) => a.start - b.start) ?? null;
        return { ...block, results };
      }),
    sentiment_analysis:
      request.sentiment_analysis &&
      (async () => {
        const parts = await work.inParts(utterances, lengthOf, (part) =>
          work.block('sentimentAll', { utterances: part }),
        );
        return sentimentBlock(parts.map((part) => part.block));
      }),
    chapterization:
      request.chapterization === true &&
      (() => work.block('chapterization', { utterances: roles })),
  };
}

/** The blocks made from the whole conversation, as a language model reads it. */
function blocksOfTranscript(
  work: LanguageWork,
  request: PreRecordedRequest,
  roles: WithRole[],
): BlockMakers {
  const isOneVoice = new Set(roles.map(({ role }) => role)).size < 2;
  const transcript = roles
    .filter(({ text }) => text.trim() !== '')
    .map(({ role, text }) => (isOneVoice ? text.trim() : `${role}: ${text.trim()}`))
    .join('\n');
  return {
    audio_to_llm:
      request.audio_to_llm &&
      (() => {
        const { prompts = [], model } = request.audio_to_llm_config ?? {};
        return promptAnswers(work, transcript, prompts, model);
      }),
    moderation: request.moderation === true && (() => textAnswer(work, transcript, moderation)),
    name_consistency:
      request.name_consistency === true && (() => textAnswer(work, transcript, nameConsistency)),
    structured_data_extraction:
      request.structured_data_extraction === true &&
      (() => {
        const classes = request.structured_data_extraction_config?.classes ?? [];
        return work.patientBlock('structuredData', { transcript, classes });
      }),
  };
}

async function translationOf(
  work: LanguageWork,
  request: PreRecordedRequest,
  utterances: readonly Utterance[],
): Promise<PreRecordedResult['translation']> {
  const config = request.translation_config;
  if (!config) return undefined;
  const { outcomes, execS } = await translated(work, config, utterances);
  for (const outcome of outcomes)
    outcome.derived = await derivedOf(work, request, outcome.utterances);
  return translationBlock(outcomes, execS);
}
