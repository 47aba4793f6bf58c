import { failed } from './block.ts';
import type { PromptAnswer, Translated, TranslationConfig } from './llm/types.ts';
import type { RedactInput, RedactOutput } from './redaction/types.ts';
import type { RewriteSettings } from './rewrite/types.ts';
import type {
  AddonBlock,
  CallInsight,
  Chapter,
  NamedEntity,
  SentimentItem,
  SummaryType,
  Turn,
  Utterance,
} from './types.ts';

// The process that gives tasks to the runner imports this file: it stays free of the data the work needs.

/** What language work there is, by name: the input and the answer of each task. */
export type LanguageTasks = {
  /** Custom vocabulary, custom spelling, punctuation: text and words of the answer agree. */
  rewrite: { input: { utterance: Utterance; realtime: RewriteSettings }; output: Utterance };
  entities: {
    input: { utterance: Utterance; types?: string[] };
    output: AddonBlock<NamedEntity[]>;
  };
  sentiment: { input: { utterance: Utterance }; output: AddonBlock<SentimentItem[]> };
  /** One block per target language, in the order of the request. */
  translation: {
    input: { utterance: Utterance; config: TranslationConfig };
    output: AddonBlock<Translated>[];
  };
  summarization: {
    input: { utterances: (Utterance & { role?: string })[]; type: SummaryType };
    output: AddonBlock<string>;
  };
  chapterization: {
    /** `starts` names the turns where chapters begin, where somebody else has found them. */
    input: { utterances: (Utterance & { role?: string })[]; starts?: number[] };
    output: AddonBlock<{ chapters: Chapter[] }>;
  };
  /** All that `call.summary` says about a call. */
  call: {
    input: { turns: Turn[]; summaryType: SummaryType; language: string };
    output: AddonBlock<CallInsight>;
  };
  /** Free prompts about a transcript; one block per prompt. */
  audioToLlm: {
    input: { transcript: string; prompts: string[] };
    output: AddonBlock<AddonBlock<PromptAnswer>[]>;
  };
  structuredData: {
    input: { transcript: string; classes: string[] };
    output: AddonBlock<string>;
  };
  redact: { input: RedactInput; output: AddonBlock<RedactOutput> };
};

export type TaskName = keyof LanguageTasks;

export function turnOf(
  utterance: Utterance & { role?: string },
): Turn & { words: Utterance['words'] } {
  const { role, channel, text, start, end, words } = utterance;
  return { role: role ?? `channel ${channel}`, text: text.trim(), start, end, words };
}

/** The answer of a task that could not be done in time or at all. */
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
