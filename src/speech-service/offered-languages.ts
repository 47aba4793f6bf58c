import { Problem } from '../port/problem.ts';
import { modelsFor } from '../hearing/models/catalogue.ts';
import type { Recogniser } from '../hearing/recogniser.ts';

/**
 * Refuses a request that names several languages if the installed models read only some of them: speech in the others
 * would be written down in a wrong language. If no model reads any of them, the recogniser itself reports it.
 */
export function refuseUncovered(recogniser: Recogniser, asked: readonly string[]): void {
  const { languages: covered } = recogniser.status();
  const missing = asked.filter((language) => !covered.includes(language));
  if (missing.length === 0 || missing.length === asked.length) return;
  throw new Problem(
    422,
    `Invalid parameter: no installed model covers ${missing.join(', ')}; language_config.languages may name ${covered.join(', ')}${modelsFor(missing)}`,
  );
}
