import type { Clock } from '../../lib/clock.ts';
import type { Logger } from '../../lib/log.ts';
import type { StreamingRequest } from '../../protocol/live-request.ts';
import type { ServerMessage } from '../../protocol/live-messages.ts';
import type { SpeechClient } from '../../speech-client/client.ts';
import type { Journal, RecoveredLeg } from '../journal/journal.ts';
import type { LedgerCounts } from './ledger.ts';
import type { WaitingResults } from '../events/timeline.ts';

/** One leg's encoding as the speech interface says it; the body of POST /v2/live must always hold it. */
export type LegRequest = StreamingRequest & {
  encoding: 'wav/pcm' | 'wav/alaw' | 'wav/ulaw';
  bit_depth: 8 | 16;
  sample_rate: NonNullable<StreamingRequest['sample_rate']>;
  channels: 1 | 2;
};

export type LegAudioOptions = {
  legId: string;
  callId: string;
  /** The whole body of POST /v2/live, `custom_metadata` included. Acknowledgements are always asked for. */
  request: LegRequest;
  region?: 'us-west' | 'eu-west';
  journal: Journal;
  speech: SpeechClient;
  /** Keep the audio after it is acknowledged: `journal.recordingOf(legId)` reads it. */
  recording: boolean;
  /** Start paused: the call was paused before this leg opened or before the process was killed. */
  paused?: boolean;
  /** What `journal.recovered` had for this leg after a restart: session, position and ledger go on from there. */
  recovered?: RecoveredLeg;
  /** Results that the call has heard and not told: they are journalled with the leg. */
  waiting?(): WaitingResults | undefined;
  log: Logger;
  clock: Clock;
  /**
   * Every message but acks, in the service's order, each identity once in this process; messages that a
   * lost socket swallowed come from GET at the end. After a restart an identity may come again:
   * `messageIdentity(message)` in speech-client/messages.ts is what to compare by.
   * Call time of a message = the leg's own offset in the call + `offsetS` + its session time.
   */
  onMessage(message: ServerMessage, sessionId: string, offsetS: number): void;
  onState(state: LegState): void;
  /** Audio of the leg that will never be transcribed, once per hole, in order of position but for what a service took back. */
  onGap(gap: LegGap): void;
  /** A session was created for this leg (first one, or after the old was lost or grew too old). */
  onSession?(session: LegSession): void;
};

export type LegSession = {
  id: string;
  /** Leg time of the session's first byte, seconds. */ offsetS: number;
};

export type LegState =
  /** A session is being asked for; audio waits in the journal. */
  | { at: 'opening' }
  | { at: 'live'; sessionId: string }
  /** Socket lost; the same session is being resumed. */
  | { at: 'resuming'; sessionId: string }
  /** No session can be had for now; asked again by itself. */
  | { at: 'waiting'; cause: 'unreachable' | 'busy' | 'unauthorized' | 'refused' }
  /** The bound of sessions is passed: audio is kept, nothing more is sent. */
  | { at: 'journal-only' }
  | { at: 'finishing'; sessionId?: string }
  | { at: 'ended' };

export type GapCause =
  /** Disk full or failing while the service was away: no copy is left. */
  | 'journal'
  /** The journal of an earlier run was damaged here. */
  | 'damaged'
  /** The service acknowledged it and, by its own count after a drop, has it no more. */
  | 'service'
  /** `finish` ran out of time. */
  | 'deadline'
  /** The bound of sessions per leg was passed. */
  | 'sessions'
  /** The service does not take our request for a session, and the call is over. */
  | 'refused';

/** Leg time counts from the leg's first byte; silence that we added counts too. */
export type LegGap = { startS: number; durationS: number; bytes: number; cause: GapCause };

export type FinishDeadlines = {
  /** How long the last finals may take once the service has every byte. */
  finalsMs: number;
  /** How long unacknowledged audio may wait for a service that cannot be reached. */
  withinMs: number;
  /**
   * Awaited after the last message and gap, before the journal forgets that the leg was unfinished:
   * what was handed over is durable then. A process killed before that finds the leg again (F46).
   * False: it is not and will not be here, the journal keeps the leg.
   */
  settled?: () => Promise<boolean>;
};

export type LegOutcome = {
  ledger: LedgerCounts;
  sessions: LegSession[];
  /** `late`: a deadline passed before the service had said its last word. */
  finals: 'complete' | 'late';
};

export type LegAudio = {
  readonly legId: string;
  /** Carrier bytes, unchanged. Never blocks and keeps no reference to the buffer. */
  push(bytes: Buffer): void;
  /** What the carrier lost: silence of this many bytes goes instead, outside the ledger's sum. */
  filler(bytes: number): void;
  /** From here on pushed bytes reach neither journal nor wire; silence of the same length does. */
  pause(): void;
  resume(): void;
  ledger(): LedgerCounts;
  /** Leg time of the next byte, seconds. */
  positionS(): number;
  state(): LegState;
  sessionId(): string | undefined;
  sessions(): LegSession[];
  /** No more audio comes. Resolves when all is acknowledged and the finals are in, or a deadline passed. Once. */
  finish(deadlines: FinishDeadlines): Promise<LegOutcome>;
  /** Another language: a new session takes over from one frame to the next. */
  changeRequest(request: LegRequest): void;
  /** What `waiting` says has changed and must outlive a kill. */
  keepState(): void;
  /** The process stops: sockets go, journal and session stay for the next start. Resolves when the journal is on disk. */
  leave(): Promise<void>;
  /** Erasure: session, journal and recording go now. The hosted side is erased by `speech.erase(sessionId)`. */
  abandon(): Promise<void>;
};
