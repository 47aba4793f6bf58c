import type { InFlightState } from '../../speech-client/in-flight.ts';
import type { WaitingResults } from './timeline.ts';
import type { LedgerSnapshot } from './ledger.ts';

/** A leg as the journal stores it. The whole snapshot is written after a change, at most once a second. */
export type LegSnapshot = {
  legId: string;
  callId: string;
  recording: boolean;
  paused: boolean;
  finishing: boolean;
  silence: number;
  /** The leg's own file holds all audio that is still needed before this position. */
  spilled: number;
  ledger: LedgerSnapshot;
  current?:
    | {
        id: string;
        url: string;
        service?: string | undefined;
        flight: InFlightState;
        /** Leg positions, by channel, up to which the leg's sessions have returned words. */
        said?: number[] | undefined;
      }
    | undefined;
  sessions: SessionSnapshot[];
  /** True if a session was being requested. The answer may never have arrived. */
  asking?: boolean | undefined;
  waiting?: WaitingResults | undefined;
  done?: boolean;
};

/** One live session as the leg and its journal store it. */
export type SessionSnapshot = {
  id: string;
  /** The speech node that has the session. */
  service?: string | undefined;
  /**
   * The leg position of the session's first byte. `end` is the position after its last byte; it is set when another
   * session has taken over.
   */
  base: number;
  end?: number | undefined;
  /**
   * Leg positions, by channel. This session hears audio before them again, but earlier sessions had already returned
   * its words.
   */
  from?: number[] | undefined;
  /**
   * Leg positions, by channel, up to which the session had returned words when it was lost. Its acks may not have
   * reached that far.
   */
  said?: number[] | undefined;
  /** True if the session is lost and the gap for its missing words was already reported. */
  isUnsaid?: true | undefined;
  /** True if messages may be missing that GET can still return. */
  unread: boolean;
};
