import { Problem } from '../port/problem.ts';
import type { Recogniser } from '../hearing/recogniser.ts';

/**
 * Refuses a request that names a language which no installed model reads beside others that one does: its speech would
 * be written down in the wrong language. Where no language is covered, the recogniser itself says so.
 */
export function refuseUncovered(recogniser: Recogniser, asked: readonly string[]): void {
  const { languages: covered } = recogniser.status();
  const missing = asked.filter((language) => !covered.includes(language));
  if (missing.length === 0 || missing.length === asked.length) return;
  throw new Problem(
    422,
    `Invalid parameter: no installed model covers ${missing.join(', ')}; language_config.languages may name ${covered.join(', ')}`,
  );
}
