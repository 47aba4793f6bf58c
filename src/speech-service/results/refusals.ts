import { redactionProblem } from '../../language/redaction/names.ts';
import type { PreRecordedRequest } from '../../protocol/pre-recorded.ts';

/**
 * Why a well-formed request cannot be done here, as its client is told with 422; undefined for one that can.
 * A job that redacts a type which nothing finds would leave every text as it is and look redacted.
 */
export function whyNotDoable(request: PreRecordedRequest): string | undefined {
  if (!request.pii_redaction) return undefined;
  for (const [i, name] of (request.pii_redaction_config?.entity_types ?? []).entries()) {
    const problem = redactionProblem(name);
    if (problem !== undefined) return `pii_redaction_config.entity_types.${i} ${problem}`;
  }
  return undefined;
}
