import { failed } from './block.ts';
import type { TranslationConfig } from '../protocol/addon-configs.ts';
import type { CoveredSpan, RedactedPiece, RedactInput, RedactOutput } from './redaction/redact.ts';
import type { RedactAllInput, RedactAllOutput, RedactKnownInput } from './redaction/redact-all.ts';
import type { RewriteSettings } from './rewrite/rewrite.ts';
import type {
  AddonBlock,
  Chapter,
  NamedEntity,
  SentimentItem,
  Utterance,
} from '../protocol/addons.ts';
import { doubtfulOf } from './text/doubt.ts';
import type { SummarizationType } from '../protocol/addon-configs.ts';
import type { HeardEntity, OverFinals } from './values/over-finals.ts';
import type { WrittenContext } from './values/written.ts';
import type { CallInsight, FeltSentences, SpokenTurn, ValueContext } from './types.ts';

// The main thread imports this file, which itself imports types only. So the name lists and lexicons, which take
// megabytes, are loaded in the worker threads alone.

export type Translated = {
  original_language: string;
  target_language: string;
  translated_utterance: Utterance;
};

/** The settings of a translation that reach the model. Only the targets are required. */
type TranslationSettings = Pick<TranslationConfig, 'target_languages'> & Partial<TranslationConfig>;

export type PromptAnswer = { prompt: string; response: string };

/** All language tasks by name, with the input and the answer of each. */
export type LanguageTasks = {
  /** Applies custom vocabulary, custom spelling and punctuation. Text and words of the answer agree. */
  rewrite: { input: { utterance: Utterance; realtime: RewriteSettings }; output: Utterance };
  entities: {
    /** With `day`, the day of the recording, entities get their values. */
    input: { utterance: Utterance; types?: string[]; day?: string };
    output: AddonBlock<NamedEntity[]>;
  };
  /** Finds entities of one speaker across several finals, each with its value. */
  entitiesOverFinals: { input: OverFinals; output: AddonBlock<HeardEntity[]> };
  sentiment: {
    /** `felt` holds what a model heard in sentences of other languages. Without it they are `unknown`. */
    input: { utterance: Utterance; felt?: FeltSentences };
    output: AddonBlock<SentimentItem[]>;
  };
  /** One block per target language, in the order of the request. */
  translation: {
    input: { utterance: Utterance; config: TranslationSettings };
    output: AddonBlock<Translated>[];
  };
  summarization: {
    input: { utterances: (Utterance & { role?: string })[]; type: SummarizationType };
    output: AddonBlock<string>;
  };
  chapterization: {
    /** `starts` gives the turns where chapters begin, if they are already known. */
    input: { utterances: (Utterance & { role?: string })[]; starts?: number[] };
    output: AddonBlock<{ chapters: Chapter[] }>;
  };
  /** Everything that the event `call.summary` says about a call. */
  call: {
    input: {
      turns: SpokenTurn[];
      summaryType: SummarizationType;
      language: string;
      /** With `about`, entities also get their values. */
      about?: ValueContext | undefined;
    };
    output: AddonBlock<CallInsight>;
  };
  /** Runs free prompts about a transcript and returns one block per prompt. */
  audioToLlm: {
    /** `model` names a model of the configured service that is used instead of the configured model. */
    input: { transcript: string; prompts: string[]; model?: string | undefined };
    output: AddonBlock<AddonBlock<PromptAnswer>[]>;
  };
  structuredData: {
    input: { transcript: string; classes: string[] };
    output: AddonBlock<string>;
  };
  /** The texts as a person reads them, with their numbers in figures. */
  written: { input: WrittenInput; output: AddonBlock<string[]> };
  redact: { input: RedactInput; output: AddonBlock<RedactOutput> };

  // Rewrites a batch of some dozens of utterances in the lane of whole calls. A finished transcript has thousands.

  writtenAll: { input: WrittenInput; output: AddonBlock<string[]> };
  /** The utterances as captions show them. */
  writtenUtterances: { input: { utterances: Utterance[] }; output: AddonBlock<Utterance[]> };
  rewriteAll: {
    input: { utterances: Utterance[]; realtime: RewriteSettings };
    output: AddonBlock<Utterance[]>;
  };
  redactAll: { input: RedactAllInput; output: AddonBlock<RedactAllOutput> };
  redactKnown: { input: RedactKnownInput; output: AddonBlock<RedactedPiece[]> };
  /** Finds entities in redacted texts. A marker names the words it replaced, so nothing else is searched for there. */
  entitiesAll: {
    input: { utterances: (Utterance & { covered?: CoveredSpan[] })[]; day?: string };
    output: AddonBlock<NamedEntity[]>;
  };
  sentimentAll: {
    input: { utterances: Utterance[]; felt?: FeltSentences };
    output: AddonBlock<SentimentItem[]>;
  };
  /** Returns one text for each utterance. `before` holds the preceding utterances, as context only. */
  translateAll: {
    input: {
      utterances: Utterance[];
      target: string;
      config: TranslationSettings;
      before: string[];
    };
    output: AddonBlock<string[]>;
  };
};

type WrittenInput = { texts: string[]; context: WrittenContext };

export type TaskName = keyof LanguageTasks;

/** The runner sends an order to a worker thread, and the thread sends a reply. */
export type OrderMessage = { id: number; task: TaskName; input: unknown };
export type AnswerMessage = { ready: true } | { id: number; output: unknown };

export function turnOf(
  utterance: Utterance & { role?: string },
): SpokenTurn & { words: Utterance['words'] } {
  const { role, channel, text, start, end, words } = utterance;
  return { role: role ?? `channel ${channel}`, text: text.trim(), start, end, words, doubtful: doubtfulOf(words) }; // prettier-ignore
}

/** The answer of a task that failed or ran out of time. */
export function failedTask<K extends TaskName>(
  task: K,
  input: LanguageTasks[K]['input'],
  statusCode: number,
  exception: string,
  message: string,
  startedAtMs: number,
): LanguageTasks[K]['output'] {
  const block = failed(statusCode, exception, message, startedAtMs);
  if (task === 'rewrite') return (input as LanguageTasks['rewrite']['input']).utterance;
  if (task !== 'translation') return block as LanguageTasks[K]['output'];
  const { config } = input as LanguageTasks['translation']['input'];
  return config.target_languages.map(() => block) as LanguageTasks[K]['output'];
}
