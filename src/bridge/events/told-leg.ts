import type { Cadence } from '../../protocol/api.ts';
import type { EventLeg, Role } from '../../protocol/events.ts';
import type { LedgerCounts } from '../records/ledger.ts';
import type { LegLanguage } from '../records/leg-language.ts';
import type { LegRecord } from '../records/leg-record.ts';

/** The part of a leg that the call's events need. */
export type ToldLeg = {
  readonly record: LegRecord;
  readonly offsetS: number | undefined;
  readonly reconnects: number;
  readonly isDone: boolean;
  /** The language that is spoken on the leg, as far as it is sure. */
  readonly language: Pick<LegLanguage, 'now' | 'all' | 'of'>;
  roleOf(channel: number): Role;
  cadence(): Cadence;
  readonly audio: {
    sessionId(): string | undefined;
    ledger(): LedgerCounts;
    /** Writes the leg's state to its journal now. */
    keepState(): void;
    /** Marks the leg's state as changed. The journal writes it with its next batch. */
    stateChanged(): void;
  };
};

export function eventLeg(leg: ToldLeg): EventLeg {
  const { id, role, track } = leg.record;
  const session_id = leg.audio.sessionId() ?? null;
  return { id, role, track, session_id, language: leg.language.now };
}
