import { Thread, type Failure } from './thread.ts';
import type { LanguageConfig } from './config.ts';
import { withModel, type OnThread } from './llm/route.ts';
import { llmProvider } from './llm/provider.ts';
import { failedTask, type LanguageTasks, type TaskName } from './tasks.ts';

export type LanguageRunnerOptions = {
  /** Names the language model, if there is one. */
  config?: LanguageConfig;
  /** Orders that may wait per thread; one more is answered with an error block at once. */
  queueLimit?: number;
  /** The thread's own file; another one only where a thread's misbehaviour is the subject. */
  workerUrl?: URL;
  onReplaced?(failure: Failure): void;
};

export type RunOptions = { deadlineMs?: number; signal?: AbortSignal };

export type LanguageRunner = AsyncDisposable & {
  /** Does the task on a thread. Always answers, with the error block when there is no result; never throws. */
  run<K extends TaskName>(
    task: K,
    input: LanguageTasks[K]['input'],
    options?: RunOptions,
  ): Promise<LanguageTasks[K]['output']>;
  /** Loads the data before the first call needs it. */
  warm(): Promise<void>;
};

/** Whole calls take seconds and must not stand before a sentence that somebody waits for: they have their own thread. */
const wholeCallTasks = new Set<TaskName>(['summarization', 'chapterization', 'call']);

const liveDeadlineMs = 2_000;
const wholeCallDeadlineMs = 20_000;

function deadlineOf(task: TaskName): number {
  return wholeCallTasks.has(task) ? wholeCallDeadlineMs : liveDeadlineMs;
}

const reasons: Record<Failure, [number, string, string]> = {
  deadline: [504, 'LanguageDeadline', 'the language task did not end before its deadline'],
  crashed: [500, 'LanguageThreadLost', 'the thread of the language task ended before its answer'],
  full: [503, 'LanguageBusy', 'too many language tasks are waiting'],
  closed: [503, 'LanguageClosed', 'the language runner is closed'],
  aborted: [499, 'LanguageAborted', 'the language task was no longer wanted'],
};

export function startLanguageRunner(options: LanguageRunnerOptions = {}): LanguageRunner {
  const thread = (idleMs: number): Thread =>
    new Thread({
      workerUrl: options.workerUrl ?? new URL('./worker.ts', import.meta.url),
      queueLimit: options.queueLimit ?? 1_000,
      idleMs,
      onReplaced: (failure) => options.onReplaced?.(failure),
    });
  const live = thread(0);
  const wholeCalls = thread(60_000);
  const llm = llmProvider(options.config);
  let lastId = 0;

  async function runOnThread<K extends TaskName>(
    task: K,
    input: LanguageTasks[K]['input'],
    { deadlineMs, signal }: RunOptions = {},
  ): Promise<LanguageTasks[K]['output']> {
    const startedAtMs = performance.now();
    const isWholeCall = wholeCallTasks.has(task);
    const chosen = isWholeCall ? wholeCalls : live;
    const id = ++lastId;
    const abort = (): void => chosen.abort(id);
    const result = await new Promise<{ output: unknown } | { failure: Failure }>((settle) => {
      if (signal?.aborted) {
        settle({ failure: 'aborted' });
        return;
      }
      signal?.addEventListener('abort', abort, { once: true });
      chosen.give({ id, task, input, deadlineMs: deadlineMs ?? deadlineOf(task), settle });
    });
    signal?.removeEventListener('abort', abort);
    if ('output' in result) return result.output as LanguageTasks[K]['output'];
    return failedTask(task, input, ...reasons[result.failure], startedAtMs);
  }

  return {
    run(task, input, runOptions = {}) {
      if (!llm || runOptions.signal?.aborted) return runOnThread(task, input, runOptions);
      const onThread: OnThread = (name, its) => runOnThread(name, its, runOptions);
      const deadlineMs = runOptions.deadlineMs ?? deadlineOf(task);
      return withModel(llm, task, input, onThread, { ...runOptions, deadlineMs });
    },
    async warm() {
      await runOnThread('entities', { utterance: emptyUtterance }, { deadlineMs: 30_000 });
    },
    async [Symbol.asyncDispose]() {
      await Promise.all([live.close(), wholeCalls.close()]);
    },
  };
}

const emptyUtterance = {
  start: 0,
  end: 0,
  confidence: 1,
  channel: 0,
  words: [],
  text: '',
  language: 'en',
};
