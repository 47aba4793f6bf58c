import type { PromptAnswer } from '../../language/tasks.ts';
import { failed, succeeded } from '../../language/block.ts';
import type { AddonBlock } from '../../protocol/addons.ts';
import { execTimeOf } from './blocks.ts';
import type { LanguageWork } from './language-work.ts';

/** One block for each prompt. Each prompt is a separate request, so a failure affects only its own answer. */
export async function promptAnswers(
  work: LanguageWork,
  transcript: string,
  prompts: readonly string[],
  model: string | undefined,
): Promise<AddonBlock<AddonBlock<PromptAnswer>[]>> {
  const blocks: AddonBlock<PromptAnswer>[] = [];
  for (const prompt of prompts) blocks.push(await askOne(work, transcript, prompt, model));
  const error = blocks.find((block) => block.error !== null)?.error ?? null;
  return {
    success: error === null,
    is_empty: blocks.every((block) => block.is_empty),
    exec_time: execTimeOf(blocks),
    error,
    results: blocks,
  };
}

/** An add-on whose text a model writes, with its public name. */
type AskedAddon = { addon: string; prompt: string };

/** The block of a text that only a model can write. */
export async function textAnswer(
  work: LanguageWork,
  transcript: string,
  { addon, prompt }: AskedAddon,
): Promise<AddonBlock<string>> {
  const block = await askOne(work, transcript, prompt, undefined);
  // The model's answer comes from `audio_to_llm`, which this client did not request, so the error names the add-on
  // instead.
  const error = block.error && {
    ...block.error,
    message: block.error.message.replaceAll('audio_to_llm', addon),
  };
  return { ...block, error, results: block.results?.response ?? null };
}

export const moderation = {
  addon: 'moderation',
  prompt:
    'Name what in the transcript is insulting, hateful, violent, sexual or about self-harm, each with who says it, in ' +
    'a few lines. Answer with an empty response when there is nothing of the kind.',
};

export const nameConsistency = {
  addon: 'name_consistency',
  prompt:
    'List the names of people, firms and products that are spelled in more than one way in the transcript, one a line: ' +
    'the spelling to use, a colon, the others. Answer with an empty response when there are none.',
};

async function askOne(
  work: LanguageWork,
  transcript: string,
  prompt: string,
  model: string | undefined,
): Promise<AddonBlock<PromptAnswer>> {
  const startedAtMs = performance.now();
  if (transcript === '') return succeeded({ prompt, response: '' }, startedAtMs, true);
  const input = { transcript, prompts: [prompt], model };
  const block = await work.patientBlock('audioToLlm', input);
  const own = block.results?.[0];
  if (own) return own;
  const { status_code, exception, message } = block.error ?? noAnswer;
  return failed(status_code, exception, message, startedAtMs);
}

const noAnswer = { status_code: 500, exception: 'AddonFailed', message: 'no answer' };
