import type { WrapUp } from '../../protocol/wrap-up.ts';
import type { LlmConfig } from '../config.ts';
import type { SpokenTurn } from '../types.ts';
import { recordBy, withSecondOpinion } from './model-record.ts';
import { summaryBy } from './model-tasks.ts';
import { llmProvider } from './provider.ts';

/** The outcome of one question to the operator's model. `problem` says what was wrong, for a person. */
export type ModelTrial = { model: string; ms: number; problem?: string; todo?: string };

/** An invented call. It holds nothing of a real one, so that it may be sent at any time. */
const invented: SpokenTurn[] = (
  [
    ['agent', 'Good morning, how can I help you?'],
    ['customer', 'My parcel has not arrived. It should have come on Monday.'],
    ['agent', 'I am sorry. I will send a new one today, at no cost.'],
  ] as const
).map(([role, text], at) => ({ role, text, start: at, end: at + 1, utterance_id: `utt_${at}` }));

const noRecord: WrapUp = {
  reason: null,
  done: [],
  outcome: { value: 'unknown', utterance_ids: [] },
  promises: [],
  facts: [],
  disposition: null,
  mood: null,
};

const todos: Partial<Record<string, string>> = {
  LlmUnreachable: 'start the model, or correct TRUNKLINE_LLM_URL',
  LlmTimeout: 'give it longer with TRUNKLINE_LLM_TIMEOUT_MS, or choose a faster model',
  LlmBudget: 'wait a minute, or raise TRUNKLINE_LLM_CALLS_PER_MINUTE',
  LlmRefused:
    'compare TRUNKLINE_LLM_URL (up to and with /v1), TRUNKLINE_LLM_MODEL and TRUNKLINE_LLM_KEY with the service',
};
const otherModel =
  'choose another TRUNKLINE_LLM_MODEL: this one does not answer with the JSON that is asked for';

/** Asks the model for a summary and a record as a call would. Undefined where no model is configured. */
export async function tryModel(config: LlmConfig): Promise<ModelTrial | undefined> {
  const llm = llmProvider(config);
  if (llm === undefined || config.llmModel === undefined) return undefined;
  const startedAtMs = performance.now();
  const asked = await summaryBy(llm, invented, 'concise');
  const trial = { model: config.llmModel, ms: Math.round(performance.now() - startedAtMs) };
  const record = 'value' in asked ? await recordBy(llm, invented) : undefined;
  const failure = 'failure' in asked ? asked.failure : record && 'failure' in record ? record.failure : undefined; // prettier-ignore
  if (failure === undefined) {
    const isProven = record !== undefined && 'value' in record && withSecondOpinion(noRecord, record.value, invented).reason !== null; // prettier-ignore
    if (isProven) return trial;
    const problem = 'the reason in its record of a call was proven by no words of that call; wrap-ups stay those of the rules'; // prettier-ignore
    return { ...trial, problem, todo: otherModel };
  }
  const { message, exception } = failure;
  return { ...trial, problem: message, todo: todos[exception] ?? otherModel };
}
