import type { LedgerCounts } from './ledger.ts';

/** What a killed process left of a leg. */
export type RecoveredLeg = {
  legId: string;
  callId: string;
  ledger: LedgerCounts;
  /** The live session that held the leg, if it may still be alive. */
  sessionId: string | undefined;
  /** True when the leg's `finish` had begun: no more audio can come. */
  finishing: boolean;
  recording: boolean;
  paused: boolean;
};

export type Recording = {
  bytes: number;
  /** Raw audio of the leg, silence included where the call was paused or the carrier lost something. */
  read(from: number, to: number): AsyncIterable<Buffer>;
};

export type Journal = AsyncDisposable & {
  /** Legs that an earlier run left unfinished, by leg id. `openLegAudio({recovered})` takes one over. */
  readonly recovered: ReadonlyMap<string, RecoveredLeg>;
  /** Whole once the leg has ended, up to the last few seconds before. */
  recordingOf(legId: string): Promise<Recording | undefined>;
  /** Removes everything of a leg from the disk, recording included. */
  erase(legId: string): Promise<void>;
  health(): { state: 'ok' | 'degraded' | 'down'; detail?: string };
};
