import { performTask } from '../../../src/language/perform.ts';
import type { LanguageTasks, TaskName } from '../../../src/language/tasks.ts';
import type { Utterance } from '../../../src/protocol/addons.ts';
import { PreRecordedResult } from '../../../src/protocol/job.ts';
import { parsePreRecordedRequest } from '../../../src/protocol/parse-pre-recorded.ts';
import type { AddonRunner } from '../../../src/speech-service/results/answer.ts';
import { resultOf } from '../../../src/speech-service/results/result.ts';

/** Replaces the language threads for the tasks that it contains. Other tasks are done at once in this thread. */
export type TaskAnswers = {
  [K in TaskName]?: (input: LanguageTasks[K]['input']) => LanguageTasks[K]['output'];
};

export function runnerHere(answers: TaskAnswers = {}): AddonRunner {
  return {
    run: (task, input) =>
      Promise.resolve((answers[task] ?? ((own) => performTask(task, own)))(input)),
  };
}

/** An utterance with the words of the text, half a second each. */
export function spoken(text: string, start: number, more: Partial<Utterance> = {}): Utterance {
  const pieces = text.split(' ');
  const words = pieces.map((word, i) => ({
    word: i === 0 ? word : ` ${word}`,
    start: start + i * 0.5,
    end: start + i * 0.5 + 0.4,
    confidence: 0.9,
  }));
  const end = start + pieces.length * 0.5;
  return { text, start, end, words, channel: 0, confidence: 0.9, language: 'en', ...more };
}

/** The result of a job as a client reads it: through JSON and the API's schema. */
export async function resultFor(
  body: object,
  utterances: Utterance[],
  more: Partial<Parameters<typeof resultOf>[0]> = {},
): Promise<PreRecordedResult> {
  const parsed = parsePreRecordedRequest({ audio_url: 'https://files.example/a.wav', ...body });
  if (!parsed.ok) throw new Error(JSON.stringify(parsed));
  const result = await resultOf({
    request: parsed.request,
    durationS: 12.3456,
    distinctChannels: 2,
    transcriptionS: 1.5,
    utterances,
    language: runnerHere(),
    owner: 'job',
    signal: new AbortController().signal,
    ...more,
  });
  return PreRecordedResult.parse(JSON.parse(JSON.stringify(result)));
}
