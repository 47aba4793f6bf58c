import { isAbroad } from '../abroad/number-words.ts';
import type { LanguageTasks, TaskName } from '../tasks.ts';
import { splitSentences } from '../text/sentences.ts';
import type { Utterance } from '../../protocol/addons.ts';
import type { FeltSentences, SentenceFeelings } from '../types.ts';

/** The share of a task's time in which feelings are asked for. The rest is kept for the task. */
const shareOfTime = 0.6;

/** A live sentence is asked for this often. */
const tries = 3;

const withFeelings = new Set<TaskName>(['sentiment', 'sentimentAll']);

/**
 * The input of a task with what its sentences express, where only a model can tell: the lexicon is English. Runs in the
 * main thread, which may wait for the model's process.
 */
export async function withFelt<K extends TaskName>(
  task: K,
  input: LanguageTasks[K]['input'],
  feelings: SentenceFeelings,
  { deadlineMs, signal }: { deadlineMs: number; signal?: AbortSignal | undefined },
): Promise<LanguageTasks[K]['input']> {
  if (!withFeelings.has(task)) return input;
  const isLive = task === 'sentiment';
  const asked = input as LanguageTasks['sentimentAll']['input'] & LanguageTasks['sentiment']['input']; // prettier-ignore
  const utterances = isLive ? [asked.utterance] : asked.utterances;
  if (!utterances.some(({ language }) => isAbroad(language))) return input;
  if (!(await feelings.isThere())) return input;
  const felt: FeltSentences = new Map();
  const untilMs = performance.now() + deadlineMs * shareOfTime;
  for (const text of sentencesOf(utterances)) {
    if (performance.now() >= untilMs || signal?.aborted) break;
    // The model may just be starting, which takes a second.
    for (let left = tries; left > 0 && !felt.has(text); left--) {
      if (performance.now() >= untilMs) break;
      const label = await feelings.of(text, isLive);
      if (label !== undefined) felt.set(text, label);
    }
  }
  return { ...input, felt };
}

function* sentencesOf(utterances: readonly Utterance[]): Generator<string> {
  for (const { text, language } of utterances) {
    if (!isAbroad(language)) continue;
    for (const { start, end } of splitSentences(text)) yield text.slice(start, end);
  }
}
