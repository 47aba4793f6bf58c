import { z } from 'zod';
import { reasonOf } from '../../lib/errors.ts';
import { parseJson } from '../../lib/json.ts';
import type { LlmConfig } from '../config.ts';

/** Why a model gave no usable answer. The message is for an operator and never quotes the call. */
export type LlmFailure = { statusCode: number; exception: string; message: string };

type LlmAnswer = { text: string } | { failure: LlmFailure };

/** `model` names another model of the same service than the configured one. */
type LlmPrompt = { system: string; user: string; model?: string | undefined };

export type LlmProvider = {
  /** Sends one prompt. Never throws and never takes longer than the configured time. */
  complete(prompt: LlmPrompt, signal?: AbortSignal): Promise<LlmAnswer>;
  /** Called with the reason each time an answer cannot be used. */
  onUnused?: ((failure: LlmFailure) => void) | undefined;
};

const Completion = z.object({
  choices: z.array(z.object({ message: z.object({ content: z.string() }) })).min(1),
});

/** A useful answer is about a page of text. Anything longer than this is a mistake or an attack. */
const answerBytesMax = 512 * 1024;

/** A client for the configured address, or undefined if none is configured. */
export function llmProvider(
  config: LlmConfig | undefined,
  monotonicMs: () => number = () => performance.now(),
  onUnused?: (failure: LlmFailure) => void,
): LlmProvider | undefined {
  if (config?.llmUrl === undefined || config.llmModel === undefined) return undefined;
  const { llmUrl: url, llmModel, llmKey: key, llmTimeoutMs: timeoutMs } = config;
  const address = `${url.replace(/\/+$/, '')}/chat/completions`;
  const started: number[] = [];
  return {
    onUnused,
    async complete({ system, user, model = llmModel }, signal) {
      const nowMs = monotonicMs();
      while (started.length > 0 && (started[0] ?? 0) <= nowMs - 60_000) started.shift();
      if (started.length >= config.llmCallsPerMinute)
        return failure(
          429,
          'LlmBudget',
          'the budget of model calls a minute is spent (TRUNKLINE_LLM_CALLS_PER_MINUTE)',
        );
      started.push(nowMs);
      const late = AbortSignal.timeout(timeoutMs);
      try {
        const response = await fetch(address, {
          method: 'POST',
          // The operator's address is trusted, but not an address that it redirects to.
          redirect: 'error',
          headers: {
            'content-type': 'application/json',
            ...(key === undefined ? {} : { authorization: `Bearer ${key}` }),
          },
          body: JSON.stringify({
            model,
            temperature: 0,
            messages: [
              { role: 'system', content: system },
              { role: 'user', content: user },
            ],
          }),
          signal: signal ? AbortSignal.any([late, signal]) : late,
        });
        if (!response.ok) {
          await response.body?.cancel();
          return failure(
            502,
            'LlmRefused',
            `the language model answered with status ${response.status}`,
          );
        }
        const body = await boundedText(response);
        if (body === undefined)
          return failure(502, 'LlmTooLong', 'the answer of the language model was too long');
        const completion = Completion.safeParse(parseJson(body));
        return completion.success
          ? { text: completion.data.choices[0]?.message.content ?? '' }
          : failure(502, 'LlmMalformed', 'the language model did not answer in the expected form');
      } catch (error) {
        if (late.aborted)
          return failure(
            504,
            'LlmTimeout',
            `the language model did not answer within ${timeoutMs} ms`,
          );
        return failure(
          502,
          'LlmUnreachable',
          `the language model could not be reached (${causeOf(error)})`,
        );
      }
    },
  };
}

function failure(statusCode: number, exception: string, message: string): LlmAnswer {
  return { failure: { statusCode, exception, message } };
}

async function boundedText(response: Response): Promise<string | undefined> {
  const decoder = new TextDecoder();
  let text = '';
  let bytes = 0;
  if (!response.body) return '';
  for await (const chunk of response.body as AsyncIterable<Uint8Array>) {
    bytes += chunk.byteLength;
    // Leaving the loop cancels the body.
    if (bytes > answerBytesMax) return undefined;
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

function causeOf(error: unknown): string {
  const cause = error instanceof Error ? error.cause : undefined;
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : undefined;
  return code ?? reasonOf(error);
}
