import { z } from 'zod';
import { failed, succeeded } from '../block.ts';
import type { AddonBlock, Utterance } from '../../protocol/addons.ts';
import type { SummarizationType, TranslationConfig } from '../../protocol/addon-configs.ts';
import type { SpokenTurn } from '../types.ts';
import { askAbout, malformed, unused, type Asked } from './ask.ts';
import type { LlmFailure, LlmProvider } from './provider.ts';
import type { LanguageTasks, PromptAnswer, Translated } from '../tasks.ts';

export function failedBlock<T>(failure: LlmFailure, startedAtMs: number): AddonBlock<T> {
  return failed(failure.statusCode, failure.exception, failure.message, startedAtMs);
}

const lengths: Record<SummarizationType, string> = {
  general: 'one paragraph of at most 150 words',
  bullet_points: 'at most eight lines that each begin with "- "',
  concise: 'at most three sentences',
};

export async function summaryBy(
  llm: LlmProvider,
  turns: readonly SpokenTurn[],
  type: SummarizationType,
  signal?: AbortSignal,
): Promise<Asked<string>> {
  const asked = await askAbout(llm, {
    task: `Summarise the call for a manager in ${lengths[type]}: who called about what, what was tried, what was agreed, amounts, dates and numbers as said, how it ended.`,
    form: '{"summary": string}',
    text: textOf(turns),
    schema: z.object({ summary: z.string().trim().min(1).max(4_000) }),
    ...(signal ? { signal } : {}),
  });
  return 'value' in asked ? { value: asked.value.summary } : asked;
}

const ChapterAnswer = z.object({
  chapters: z
    .array(
      z.object({
        first_turn: z.int().min(0),
        headline: z.string().trim().min(1).max(200),
        gist: z.string().trim().min(1).max(120),
        keywords: z.array(z.string().trim().min(1).max(60)).max(12),
        summary: z.string().trim().min(1).max(1_500),
      }),
    )
    .min(1)
    .max(60),
});

type NamedChapter = z.infer<typeof ChapterAnswer>['chapters'][number];

/**
 * Asks the model for the turns at which chapters begin and for their titles. Sentences and times come from the call
 * itself.
 */
export async function chaptersBy(
  llm: LlmProvider,
  turns: readonly SpokenTurn[],
  signal?: AbortSignal,
): Promise<Asked<NamedChapter[]>> {
  const asked = await askAbout(llm, {
    task: 'Divide the call into chapters, each from the turn that opens its topic. Turns are numbered.',
    form: '{"chapters": [{"first_turn": number, "headline": string, "gist": string of at most five words, "keywords": [string], "summary": string}]}',
    text: turns.map((turn, i) => `${i} ${turn.role}: ${turn.text.trim()}`).join('\n'),
    schema: ChapterAnswer,
    ...(signal ? { signal } : {}),
  });
  if ('failure' in asked) return asked;
  const named = asked.value.chapters.toSorted((a, b) => a.first_turn - b.first_turn);
  const starts = named.map((chapter, i) => (i === 0 ? 0 : chapter.first_turn));
  const isValid = starts.every(
    (start, i) => start < turns.length && (i === 0 || start > (starts[i - 1] ?? 0)),
  );
  if (!isValid)
    return unused(llm, malformed('the chapters of the language model do not fit the call'));
  return { value: named.map((chapter, i) => ({ ...chapter, first_turn: starts[i] ?? 0 })) };
}

export async function translationBy(
  llm: LlmProvider,
  utterance: Utterance,
  target: string,
  settings: Partial<TranslationConfig>,
  signal?: AbortSignal,
): Promise<AddonBlock<Translated>> {
  const startedAtMs = performance.now();
  const text = utterance.text.trim();
  if (text === '') return succeeded(translated(utterance, target, ''), startedAtMs, true);
  const asked = await askAbout(llm, {
    task: `Translate the text from ${utterance.language} to ${target} (ISO 639-1 codes), keeping numbers, names and marks such as [NAME_1].${wishesOf(settings)}`,
    form: '{"translation": string}',
    text,
    schema: z.object({
      translation: z.string().trim().min(1).max(longestTranslation(text)),
    }),
    ...(signal ? { signal } : {}),
  });
  if ('failure' in asked) return failedBlock(asked.failure, startedAtMs);
  return succeeded(translated(utterance, target, asked.value.translation), startedAtMs);
}

/**
 * Translates many utterances in one prompt and returns one text for each. Thousands of separate prompts would use up
 * the budget of an hour, and a model translates better when it sees the lines as one conversation.
 */
export async function translationsBy(
  llm: LlmProvider,
  { utterances, target, config, before }: LanguageTasks['translateAll']['input'],
  signal?: AbortSignal,
): Promise<AddonBlock<string[]>> {
  const startedAtMs = performance.now();
  const texts = utterances.map((utterance) => utterance.text.trim());
  if (texts.every((text) => text === '')) return succeeded(texts, startedAtMs, true);
  const languages = [...new Set(utterances.map((utterance) => utterance.language))].join(', ');
  const isAdapted = config.context_adaptation !== false && before.length > 0;
  const context = isAdapted ? { said_before: before } : {};
  const asked = await askAbout(llm, {
    task:
      `Translate the ${texts.length} texts of the list "texts" from ${languages} to ${target} (ISO 639-1 codes), ` +
      'each by itself and in the same order, keeping numbers, names and marks such as [NAME_1]. An empty text stays ' +
      `empty.${isAdapted ? ' What was said before them is only there to be understood.' : ''}${wishesOf(config)}`,
    form: `{"translations": [${texts.length} strings]}`,
    text: JSON.stringify({ ...context, texts }),
    schema: z.object({ translations: z.array(z.string().trim()).length(texts.length) }),
    ...(signal ? { signal } : {}),
  });
  if ('failure' in asked) return failedBlock(asked.failure, startedAtMs);
  const { translations } = asked.value;
  const fits = translations.every(
    (translation, i) =>
      (translation === '') === (texts[i] === '') &&
      translation.length <= longestTranslation(texts[i] ?? ''),
  );
  if (fits) return succeeded(translations, startedAtMs);
  const misfit = malformed('the translations of the language model do not fit their texts');
  return failedBlock(unused(llm, misfit).failure, startedAtMs);
}

function longestTranslation(text: string): number {
  return Math.max(200, text.length * 6);
}

/** The longest description of a call that a client may add for its translation. */
const contextCharactersMax = 4_000;

/** The settings of a translation in words. A setting that is left out adds nothing. */
function wishesOf(settings: Partial<TranslationConfig>): string {
  const wishes = [
    ...(settings.model === 'enhanced'
      ? ['Translate as a native speaker would say it, idioms by their meaning.']
      : []),
    ...(settings.informal === true
      ? ['Address people informally, where the language knows it.']
      : []),
    ...(settings.informal === false
      ? ['Address people formally, where the language knows it.']
      : []),
    ...(settings.lipsync === true
      ? ['Keep each translation about as long to speak as its original.']
      : []),
    ...(settings.context_adaptation === false ? ['Translate by the words alone.'] : []),
    ...(settings.context !== undefined && settings.context_adaptation !== false
      ? [`What the texts are about: ${settings.context.slice(0, contextCharactersMax)}`]
      : []),
  ];
  return wishes.map((wish) => ` ${wish}`).join('');
}

/** A translated utterance keeps its time. Its words get no times: they do not match the words that were said. */
function translated(utterance: Utterance, target: string, text: string): Translated {
  return {
    original_language: utterance.language,
    target_language: target,
    translated_utterance: {
      ...utterance,
      language: target,
      text: text === '' ? '' : ` ${text}`,
      words: [],
    },
  };
}

export async function promptBy(
  llm: LlmProvider,
  transcript: string,
  { prompt, model }: { prompt: string; model: string | undefined },
  signal?: AbortSignal,
): Promise<AddonBlock<PromptAnswer>> {
  const startedAtMs = performance.now();
  const asked = await askAbout(llm, {
    task: `Answer from the transcript alone: ${prompt}`,
    form: '{"response": string}',
    text: transcript,
    schema: z.object({ response: z.string().max(20_000) }),
    model,
    ...(signal ? { signal } : {}),
  });
  if ('failure' in asked) return failedBlock(asked.failure, startedAtMs);
  return succeeded(
    { prompt, response: asked.value.response },
    startedAtMs,
    asked.value.response === '',
  );
}

export async function structuredBy(
  llm: LlmProvider,
  transcript: string,
  classes: readonly string[],
  signal?: AbortSignal,
): Promise<AddonBlock<string>> {
  const startedAtMs = performance.now();
  const names = classes.length > 0 ? classes.join(', ') : 'whatever stands out';
  const asked = await askAbout(llm, {
    task: `Extract from the transcript, as lists of strings by class: ${names}.`,
    form: '{"data": {"<class>": [string]}}',
    text: transcript,
    schema: z.object({ data: z.record(z.string().max(80), z.array(z.string().max(500)).max(200)) }),
    ...(signal ? { signal } : {}),
  });
  if ('failure' in asked) return failedBlock(asked.failure, startedAtMs);
  return succeeded(JSON.stringify(asked.value.data), startedAtMs);
}

function textOf(turns: readonly SpokenTurn[]): string {
  return turns.map((turn) => `${turn.role}: ${turn.text.trim()}`).join('\n');
}
