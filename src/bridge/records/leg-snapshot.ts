import type { InFlightState } from '../../speech-client/in-flight.ts';
import type { WaitingResults } from './timeline.ts';
import type { LedgerSnapshot } from './ledger.ts';

/** A leg as the journal remembers it, written whole whenever it changed, at most once a second. */
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
        /** Leg positions, by channel, up to which it has spoken. */
        said?: number[] | undefined;
      }
    | undefined;
  sessions: SessionSnapshot[];
  /** A session was being asked for: its answer may never have come. */
  asking?: boolean | undefined;
  waiting?: WaitingResults | undefined;
  done?: boolean;
};

/** One live session of a leg, as the leg and its journal remember it. */
export type SessionSnapshot = {
  id: string;
  /** The speech node that has it. */
  service?: string | undefined;
  /** Leg position of its first byte, and after its last one once another session took over. */
  base: number;
  end?: number | undefined;
  /** Leg positions, by channel, up to which sessions before it had spoken of audio that it hears again. */
  from?: number[] | undefined;
  /** Leg positions, by channel, up to which it had spoken when it was lost: its acks may say less. */
  said?: number[] | undefined;
  /** It is lost for good, and that the rest of what it heard was never said has been told. */
  isUnsaid?: true | undefined;
  /** Messages may be missing that GET still has. */
  unread: boolean;
};
