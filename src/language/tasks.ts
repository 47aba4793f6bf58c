import { asBlock, failed } from './block.ts';
import { findEntities } from './entities/find.ts';
import { scoreSentiment } from './sentiment/score.ts';
import { splitSentences } from './text/sentences.ts';
import { summarize } from './summary/summarize.ts';
import { timelineOf } from './timing.ts';
import { chaptersOf } from './summary/chapters.ts';
import { insightOf } from './summary/insight.ts';
import { redactStep, type RedactInput, type RedactOutput } from './redaction/redact.ts';
import { rewriteUtterance, type RewriteSettings } from './rewrite/rewrite.ts';
import { translationAnswers, type TranslationConfig, type Translated } from './llm/translation.ts';
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
    input: { utterances: (Utterance & { role?: string })[] };
    output: AddonBlock<{ chapters: Chapter[] }>;
  };
  /** All that `call.summary` says about a call. */
  call: {
    input: { turns: Turn[]; summaryType: SummaryType; language: string };
    output: AddonBlock<CallInsight>;
  };
  redact: { input: RedactInput; output: AddonBlock<RedactOutput> };
};

export type TaskName = keyof LanguageTasks;

type Perform = {
  [K in TaskName]: (input: LanguageTasks[K]['input']) => LanguageTasks[K]['output'];
};

const perform: Perform = {
  rewrite: ({ utterance, realtime }) => {
    try {
      return rewriteUtterance(utterance, realtime);
    } catch {
      // The words as they were recognised are better than none.
      return utterance;
    }
  },
  entities: ({ utterance, types }) =>
    asBlock(() => {
      const at = timelineOf(utterance);
      const results = findEntities(utterance.text, types).map((span) => ({
        entity_type: span.type,
        text: span.text,
        ...at(span.start, span.end),
      }));
      return { results, isEmpty: results.length === 0 };
    }),
  sentiment: ({ utterance }) =>
    asBlock(() => {
      const at = timelineOf(utterance);
      const results = splitSentences(utterance.text).map((span) => {
        const text = utterance.text.slice(span.start, span.end);
        const { label, emotion } = scoreSentiment(text);
        const time = at(span.start, span.end);
        return { sentiment: label, emotion, text, ...time, channel: utterance.channel };
      });
      return { results, isEmpty: results.length === 0 };
    }),
  translation: ({ config }) => translationAnswers(config),
  summarization: ({ utterances, type }) =>
    asBlock(() => {
      const results = summarize(utterances.map(turnOf), type);
      return { results, isEmpty: results === '' };
    }),
  chapterization: ({ utterances }) =>
    asBlock(() => {
      const chapters = chaptersOf(utterances.map(turnOf));
      return { results: { chapters }, isEmpty: chapters.length === 0 };
    }),
  call: ({ turns, summaryType }) =>
    asBlock(() => ({ results: insightOf(turns, summaryType), isEmpty: turns.length === 0 })),
  redact: (input) => asBlock(() => ({ results: redactStep(input), isEmpty: false })),
};

function turnOf(utterance: Utterance & { role?: string }): Turn & { words: Utterance['words'] } {
  const { role, channel, text, start, end, words } = utterance;
  return { role: role ?? `channel ${channel}`, text: text.trim(), start, end, words };
}

/** Does the task where it is called; the runner calls it in its worker thread. */
export function performTask<K extends TaskName>(
  task: K,
  input: LanguageTasks[K]['input'],
): LanguageTasks[K]['output'] {
  return perform[task](input);
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
