import { succeeded } from '../block.ts';
import { turnOf, type LanguageTasks, type TaskName } from '../tasks.ts';
import type { Chapter, Utterance } from '../../protocol/addons.ts';
import type { SpokenTurn } from '../types.ts';
import type { LlmProvider } from './provider.ts';
import { hasKnownParties, recordBy, withSecondOpinion } from './model-record.ts';
import {
  chaptersBy,
  failedBlock,
  promptBy,
  structuredBy,
  summaryBy,
  translationBy,
  translationsBy,
} from './model-tasks.ts';

/** Added to an extractive summary if a model was asked and failed. */
export const fallbackNote = '(Extractive summary: the language model gave no usable answer.)';

/**
 * The share of a task's time that the model may use. The rest is kept for the extractive form, in case the model fails.
 */
const shareForModel = 0.6;

type Input<K extends TaskName> = LanguageTasks[K]['input'];
type Output<K extends TaskName> = LanguageTasks[K]['output'];

/** Runs a task on the language thread, without a model. */
export type OnThread = <K extends TaskName>(task: K, input: Input<K>) => Promise<Output<K>>;

/** Tasks that use a model where one is configured. A task that is not listed needs none. */
type Routes = {
  [K in TaskName]?: (
    llm: LlmProvider,
    input: Input<K>,
    onThread: OnThread,
    signal?: AbortSignal,
  ) => Promise<Output<K>>;
};

/**
 * The main thread asks the model, where waiting costs nothing. The language thread makes the extractive form meanwhile,
 * and it is returned if the model fails.
 */
const routes: Routes = {
  translation: (llm, { utterance, config }, _onThread, signal) =>
    Promise.all(
      config.target_languages.map((target) =>
        translationBy(llm, utterance, target, config, signal),
      ),
    ),
  translateAll: (llm, input, _onThread, signal) => translationsBy(llm, input, signal),
  async audioToLlm(llm, { transcript, prompts, model }, _onThread, signal) {
    const startedAtMs = performance.now();
    const blocks = await Promise.all(
      prompts.map((prompt) => promptBy(llm, transcript, { prompt, model }, signal)),
    );
    return succeeded(blocks, startedAtMs, blocks.length === 0);
  },
  structuredData: (llm, { transcript, classes }, _onThread, signal) =>
    structuredBy(llm, transcript, classes, signal),
  async summarization(llm, input, onThread, signal) {
    const startedAtMs = performance.now();
    const extracted = onThread('summarization', input);
    if (!input.utterances.some((utterance) => utterance.text.trim() !== '')) return extracted;
    const asked = await summaryBy(llm, input.utterances.map(turnOf), input.type, signal);
    const extractive = await extracted;
    if ('value' in asked) return succeeded(asked.value, startedAtMs);
    if (extractive.results === null) return failedBlock(asked.failure, startedAtMs);
    return { ...extractive, results: `${extractive.results} ${fallbackNote}`.trim() };
  },
  async chapterization(llm, input, onThread, signal) {
    const startedAtMs = performance.now();
    const chapters = await chaptersOfModel(llm, input.utterances, onThread, signal);
    // Without `abstractive_summary` the chapters are the extractive ones.
    return chapters ? succeeded({ chapters }, startedAtMs) : onThread('chapterization', input);
  },
  async call(llm, input, onThread, signal) {
    const startedAtMs = performance.now();
    const spoken = input.turns.filter((turn) => turn.text.trim() !== '');
    const isAsked = spoken.length > 0 && hasKnownParties(spoken);
    const [block, summary, chapters, record] = await Promise.all([
      onThread('call', input),
      spoken.length > 0 ? summaryBy(llm, spoken, input.summaryType, signal) : undefined,
      chaptersOfModel(llm, spoken.map(utteranceOf), onThread, signal),
      isAsked ? recordBy(llm, spoken, signal) : undefined,
    ]);
    if (block.results === null) return block;
    const results = {
      ...block.results,
      ...(summary && 'value' in summary
        ? { summary: summary.value, summary_kind: 'llm' as const }
        : {}),
      ...(chapters ? { chapters: chapters.length > 1 ? chapters : [] } : {}),
      ...(record && 'value' in record && block.results.wrap_up.reason !== null
        ? { wrap_up: withSecondOpinion(block.results.wrap_up, record.value, spoken) }
        : {}),
    };
    return succeeded(results, startedAtMs, block.is_empty);
  },
};

export async function withModel<K extends TaskName>(
  llm: LlmProvider,
  task: K,
  input: Input<K>,
  onThread: OnThread,
  { deadlineMs, signal }: { deadlineMs: number; signal?: AbortSignal },
): Promise<Output<K>> {
  const route = routes[task];
  if (!route) return onThread(task, input);
  const late = AbortSignal.timeout(Math.max(50, deadlineMs * shareForModel));
  return route(llm, input, onThread, signal ? AbortSignal.any([late, signal]) : late);
}

async function chaptersOfModel(
  llm: LlmProvider,
  utterances: readonly (Utterance & { role?: string })[],
  onThread: OnThread,
  signal?: AbortSignal,
): Promise<Chapter[] | undefined> {
  const spoken = utterances.filter((utterance) => utterance.text.trim() !== '');
  if (spoken.length === 0) return undefined;
  const asked = await chaptersBy(llm, spoken.map(turnOf), signal);
  if ('failure' in asked) return undefined;
  const starts = asked.value.map((chapter) => chapter.first_turn);
  const cut = await onThread('chapterization', { utterances: [...spoken], starts });
  return cut.results?.chapters.map((chapter, i) => {
    const { headline, gist, keywords, summary } = asked.value[i] ?? chapter;
    return { ...chapter, headline, gist, keywords, summary, abstractive_summary: summary };
  });
}

function utteranceOf(turn: SpokenTurn): Utterance & { role: string } {
  return { ...turn, confidence: 1, channel: 0, words: [], language: 'en' };
}
