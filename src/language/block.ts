import type { AddonBlock } from '../protocol/addons.ts';

/** Seconds since `startedAtMs`, exact to the microsecond. The speech API calls this value `exec_time`. */
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

/** Runs pure work as an add-on. An exception becomes the add-on's error block and never reaches the caller. */
export function asBlock<T>(
  work: () => { results: T; isEmpty: boolean; notCovered?: string[] },
): AddonBlock<T> {
  const startedAtMs = performance.now();
  try {
    const { results, isEmpty, notCovered = [] } = work();
    const block = succeeded(results, startedAtMs, isEmpty);
    return notCovered.length === 0 ? block : { ...block, not_covered: notCovered };
  } catch (error) {
    // Only the kind of error is reported: the message of a bug may quote the caller's text.
    const kind = error instanceof Error ? error.name : 'Error';
    return failed(500, 'LanguageTaskFailed', `the language task failed (${kind})`, startedAtMs);
  }
}

/** The error block for a task that needs a language model where none is configured. */
export function needsProvider<T>(what: string): AddonBlock<T> {
  const message = `${what} needs a language model: set TRUNKLINE_LLM_URL and TRUNKLINE_LLM_MODEL`;
  return failed(501, 'NotConfigured', message, performance.now());
}
