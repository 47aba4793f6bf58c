import type { InFlightState } from '../../speech-client/in-flight.ts';
import type { WaitingResults } from './timeline.ts';
import type { LedgerSnapshot } from './ledger.ts';

/** A leg as the journal stores it. It is written as a whole after a change, at most once a second. */
export type LegSnapshot = {
  legId: string;
  callId: string;
  recording: boolean;
  paused: boolean;
  finishing: boolean;
  silence: number;
  /** The leg's own file holds everything needed before this position. */
  spilled: number;
  ledger: LedgerSnapshot;
  current?:
    | {
        id: string;
        url: string;
        service?: string | undefined;
        flight: InFlightState;
        /** Leg positions, by channel, up to which words have been returned. */
        said?: number[] | undefined;
      }
    | undefined;
  sessions: SessionSnapshot[];
  /** True if a session was being requested. Its answer may never have arrived. */
  asking?: boolean | undefined;
  waiting?: WaitingResults | undefined;
  done?: boolean;
};

/** One live session as the leg and its journal store it. */
export type SessionSnapshot = {
  id: string;
  /** The speech node that has the session. */
  service?: string | undefined;
  /** The leg position of its first byte. `end` is the position after its last one, once another session took over. */
  base: number;
  end?: number | undefined;
  /** Leg positions, by channel, up to which earlier sessions had returned words of audio that this one hears again. */
  from?: number[] | undefined;
  /**
   * Leg positions, by channel, up to which the session had returned words when it was lost. Its acks may be behind
   * that.
   */
  said?: number[] | undefined;
  /** The session is lost, and the gap for its missing words has already been reported. */
  isUnsaid?: true | undefined;
  /** True if messages may be missing that GET can still return. */
  unread: boolean;
};
