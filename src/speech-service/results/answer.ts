import type { LanguageRunner } from '../../language/runner.ts';
import type { LanguageTasks, TaskName } from '../../language/tasks.ts';
import type { Clock } from '../../lib/clock.ts';
import type { AddonBlock } from '../../protocol/addons.ts';

/** The methods of the language runner that the service uses. */
export type AddonRunner = Pick<LanguageRunner, 'run'> & Partial<Pick<LanguageRunner, 'warm'>>;

export type AddonFailure = { status: number; exception: string; message: string };

export type AddonAnswer<K extends TaskName> =
  { output: LanguageTasks[K]['output'] } | { failure: AddonFailure };

/**
 * Runs one task of the language runner, which promises an answer within its deadline. Nothing here relies on that
 * promise: a task that throws, hangs or is slow counts as failed and delays nothing else.
 */
export async function answerOf<K extends TaskName>(
  { runner, clock }: { runner: AddonRunner; clock: Clock },
  task: K,
  input: LanguageTasks[K]['input'],
  options: { deadlineMs: number; owner: string; signal?: AbortSignal },
): Promise<AddonAnswer<K>> {
  let cancel = (): void => undefined;
  const late = new Promise<{ failure: AddonFailure }>((resolve) => {
    // This deadline is later than the runner's own, whose answer names the reason more exactly.
    cancel = clock.after(options.deadlineMs + 250, () => resolve({ failure: tooSlow(task) }));
  });
  const work = async (): Promise<AddonAnswer<K>> => {
    try {
      return { output: await runner.run(task, input, options) };
    } catch {
      // The error's text is not passed on: it may quote the caller's words.
      return { failure: { status: 500, exception: 'AddonFailed', message: `${task} failed` } };
    }
  };
  const answer = await Promise.race([work(), late]);
  cancel();
  return answer;
}

export function failedBlock(
  { status, exception, message }: AddonFailure,
  execS = 0,
): AddonBlock<never> {
  return {
    success: false,
    is_empty: true,
    exec_time: execS,
    error: { status_code: status, exception, message },
    results: null,
  };
}

export const noAnswer: AddonFailure = {
  status: 500,
  exception: 'AddonFailed',
  message: 'no answer',
};

function tooSlow(task: string): AddonFailure {
  return { status: 504, exception: 'AddonDeadline', message: `${task} did not answer in time` };
}
