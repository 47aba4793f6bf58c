import { RunningLeg } from './leg-running.ts';
import type { LegAudio, LegAudioOptions } from './leg-types.ts';

export type {
  LegRequest,
  LegAudioOptions,
  LegSession,
  LegState,
  GapCause,
  LegGap,
  FinishDeadlines,
  LegOutcome,
  LegAudio,
} from './leg-types.ts';

/**
 * Journal, ledger and live sessions of one leg; knows nothing of calls and events. The first session is asked
 * for at once; a leg that is `recovered` goes on with its old session.
 */
export function openLegAudio(options: LegAudioOptions): LegAudio {
  return new RunningLeg(options);
}
