import type { AddonBlock } from '../protocol/addons.ts';

/** Seconds with microseconds kept: what the interface calls `exec_time`. */
function secondsSince(startedAtMs: number): number {
  return Math.round((performance.now() - startedAtMs) * 1000) / 1e6;
}

export function succeeded<T>(results: T, startedAtMs: number, isEmpty = false): AddonBlock<T> {
  return {
    success: true,
    is_empty: isEmpty,
    exec_time: secondsSince(startedAtMs),
    error: null,
    results,
  };
}

export function failed<T>(
  statusCode: number,
  exception: string,
  message: string,
  startedAtMs: number,
): AddonBlock<T> {
  return {
    success: false,
    is_empty: true,
    exec_time: secondsSince(startedAtMs),
    error: { status_code: statusCode, exception, message },
    results: null,
  };
}

/** Runs pure work as an add-on: whatever it throws becomes the error block, never the caller's problem. */
export function asBlock<T>(work: () => { results: T; isEmpty: boolean }): AddonBlock<T> {
  const startedAtMs = performance.now();
  try {
    const { results, isEmpty } = work();
    return succeeded(results, startedAtMs, isEmpty);
  } catch (error) {
    // The text may be quoted in the message of a bug, so only the kind of error goes out.
    const kind = error instanceof Error ? error.name : 'Error';
    return failed(500, 'LanguageTaskFailed', `the language task failed (${kind})`, startedAtMs);
  }
}

/** The answer where a language model is needed and none is configured: an error by name, never a made-up result. */
export function needsProvider<T>(what: string): AddonBlock<T> {
  const message = `${what} needs a language model: set TRUNKLINE_LLM_URL and TRUNKLINE_LLM_MODEL`;
  return failed(501, 'NotConfigured', message, performance.now());
}
