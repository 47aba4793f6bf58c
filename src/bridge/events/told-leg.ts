import type { Cadence } from '../../protocol/api.ts';
import type { Role } from '../../protocol/events.ts';
import type { LedgerCounts } from '../records/ledger.ts';
import type { LegRecord } from '../records/leg-record.ts';

/** A leg as the events of its call see it. The call's own leg has more, and none of it is told. */
export type ToldLeg = {
  readonly record: LegRecord;
  readonly offsetS: number | undefined;
  readonly reconnects: number;
  readonly isDone: boolean;
  roleOf(channel: number): Role;
  cadence(): Cadence;
  readonly audio: {
    sessionId(): string | undefined;
    ledger(): LedgerCounts;
    /** Writes what the leg knows to its journal now. */
    keepState(): void;
    /** The journal writes what the leg knows with its next batch. */
    stateChanged(): void;
  };
};
